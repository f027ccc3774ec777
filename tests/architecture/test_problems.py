"""Problems are data: no module compares the sentence of a problem, or reads anything from it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
COLUMN: Final = "problem"
ATTRIBUTES: Final = {COLUMN, "sentence"}
GETTERS: Final = {"col", "column", "field", "get", "getattr"}
# Methods of text, of columns of text and of patterns that find something in a text.
SEARCHES: Final = {
    "contains", "contains_any", "count", "count_matches", "endswith", "ends_with", "eq", "equals", "extract",
    "extract_all", "find", "findall", "finditer", "fullmatch", "index", "is_in", "isin", "match", "ne", "partition",
    "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rpartition", "rsplit", "search", "split",
    "splitlines", "startswith", "starts_with", "strip_prefix", "strip_suffix", "sub",
}  # fmt: skip


class _Search(ast.NodeVisitor):
    """The functions of a module in which a sentence is compared or searched, each with the line."""

    def __init__(self) -> None:
        self.found: list[tuple[str, int]] = []
        self._function = ""
        self._names: set[str] = set()  # variables that hold sentences
        self._columns: dict[str, set[int]] = {}  # variables that hold rows, with the places of sentences in a row

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer = self._function, self._names, self._columns
        self._function, self._names, self._columns = node.name, set(), {}
        self.generic_visit(node)
        self._function, self._names, self._columns = outer

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._bind(target, node.value)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self._bind(node.target, node.value)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self._bind(node.target, node.iter)
        self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        for part in node.generators:
            self._bind(part.target, part.iter)
        self.generic_visit(node)

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp  # noqa: N815

    def visit_Compare(self, node: ast.Compare) -> None:
        is_identity = all(isinstance(each, ast.Is | ast.IsNot) for each in node.ops)
        self._check(node, () if is_identity else (node.left, *node.comparators))

    def visit_Match(self, node: ast.Match) -> None:
        self._check(node, (node.subject,))

    def visit_Call(self, node: ast.Call) -> None:
        is_search = isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES
        self._check(node, (node.func.value, *node.args) if is_search else ())

    def _check(self, node: ast.expr | ast.stmt, operands: tuple[ast.expr, ...]) -> None:
        if any(map(self._is_sentence, operands)):
            self.found.append((self._function, node.lineno))
        self.generic_visit(node)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        """Record which variables hold sentences."""
        if isinstance(target, ast.Tuple):
            names = [(at, each.id) for at, each in enumerate(target.elts) if isinstance(each, ast.Name)]
            places = self._find_places(value)
            self._names |= {name for at, name in names if at in places}
        elif isinstance(target, ast.Name) and self._is_sentence(value):
            self._names.add(target.id)
        elif isinstance(target, ast.Name):
            self._columns[target.id] = self._find_places(value)

    def _find_places(self, rows: ast.expr) -> set[int]:
        """Return the places of sentences in the rows of a zip, or of a selection of columns."""
        places = set()
        for node in ast.walk(rows):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip":
                places |= {at for at, each in enumerate(node.args) if self._is_sentence(each)}
            elif isinstance(node, ast.List | ast.Tuple):
                places |= {at for at, each in enumerate(node.elts) if _is_column(each) or self._is_sentence(each)}
            elif isinstance(node, ast.Name):
                places |= self._columns.get(node.id, set())
        return places

    def _is_sentence(self, node: ast.expr) -> bool:
        """Return whether an expression is a sentence, a column of sentences, or made of one."""
        found = False
        match node:
            case ast.Name(id=name):
                found = name in self._names
            case ast.Attribute(value=value, attr=name):
                found = name in ATTRIBUTES or self._is_sentence(value)
            case ast.Subscript(value=value, slice=ast.Tuple(elts=[*_, key]) | key):
                found = _is_column(key) or self._is_sentence(value)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in GETTERS:
                found = any(map(_is_column, args))
            case ast.Call(func=ast.Attribute(value=value)) | ast.NamedExpr(value=value):
                found = self._is_sentence(value)
        return found


def _is_column(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == COLUMN


def find_searches(source: str) -> Iterator[tuple[str, int]]:
    """Yield the function and the line of each comparison or search of a sentence."""
    search = _Search()
    search.visit(ast.parse(source))
    yield from search.found


def test_no_module_reads_a_sentence() -> None:
    """The columns of PROBLEMS state everything that code needs; the sentence is only written out."""
    found = [
        f"{path.relative_to(ROOT)}, line {line}: {function}"
        for path in sorted((ROOT / "p2p_analytics").rglob("*.py"))
        for function, line in find_searches(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        "problem.problem == REFUSED",
        "'gap' in problem.sentence",
        "problems['problem'].isin(texts)",
        "problems.loc[is_known, 'problem'].str.contains('add up')",
        "rows.filter(pl.col('problem').str.starts_with('skipped'))",
        "row.get('problem').partition(':')",
        "PATTERN.fullmatch(row['problem'])",
        "re.search('gap', problem.problem.lower())",
        "match problem.sentence:\n    case 'gap': pass",
        "text = problem.problem\nif text.startswith('gap'): pass",
        "[text for text in problems['problem'] if text != 'gap']",
        "{file for file, text in zip(problems['file'], problems['problem']) if 'gap' in text}",
        "rows = problems[['file', 'problem']].itertuples()\n[text.split() for _, text in rows]",
        "if (text := row['problem']) == 'gap': pass",
    ],
)
def test_the_check_sees_a_search(source: str) -> None:
    """Comparisons, methods of text, columns and patterns, also of a variable that holds the sentence."""
    assert len(list(find_searches(source))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "problems['code'] == GAP",
        "problem.code in CODES",
        "[name for name in PROBLEMS if name != 'problem']",
        "problems.assign(problem=problems['problem'].mask(is_skipped, 'skipped'))",
        "print(f'{problem.file}: {problem.sentence}')",
        "{file for file, text in zip(problems['file'], problems['problem']) if file == 'may.csv'}",
        "row['problem'] is not None",
    ],
)
def test_the_check_allows_to_write_it_out(source: str) -> None:
    """Codes are compared, and sentences are written, hidden and checked for null."""
    assert list(find_searches(source)) == []
