"""Words and names that the project avoids, and where they occur.

Run as a program, it lists them: ``python tests/architecture/language.py p2p_analytics tests README.md``.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

AVOIDED: Final = {
    "anew": r"\banew\b",
    "whose": r"\bwhose\b",
    "tell": r"\b(?:tells?|told|telling)\b",
    "stand in": r"\b(?:stands?|stood|standing) in\b|\bstand-ins?\b",
    "somebody": r"\b(?:some|any|no)body\b",
    "what is": r"\b[Ww]hat (?:is|are|of)\b",
    "lay out": r"\b(?:lays?|laid|laying) out\b",
    "away with": r"\baway with\b",
    "so many": r"\bso (?:many|few)\b",
    "beforehand": r"\bbeforehand\b",
    "as it came": r"\bas (?:it|they) came\b",
    "those who": r"\b[Tt]hose (?:who|that|which)\b",
}
"""Expressions to avoid, each with the pattern that finds it; a standard term says the same."""
_ANY: Final = re.compile("|".join(AVOIDED.values()))  # most passages have none

# Endings alone would find nouns and verbs too: "feed", "need", "seed", "speed", "embed", "shed", "bed", "red".
_ENDS_IN_ED: Final = {"bed", "embed", "exceed", "feed", "need", "proceed", "red", "seed", "shared", "shed", "speed"}
_IRREGULAR: Final = {
    "begun", "bought", "bound", "broken", "brought", "built", "caught", "chosen", "done", "drawn", "driven", "fallen",
    "found", "given", "gone", "grown", "held", "hidden", "kept", "known", "left", "lent", "lost", "made", "meant",
    "met", "paid", "said", "seen", "sent", "shown", "sold", "spent", "spoken", "stood", "sworn", "taken", "thrown",
    "told", "understood", "won", "worn", "written",
}  # fmt: skip


# A participle before a noun, as in `allowed_methods`, is an adjective; before one of these it is the name's verb.
_PARTICLES: Final = {
    "as",
    "at",
    "back",
    "by",
    "down",
    "for",
    "from",
    "in",
    "into",
    "of",
    "off",
    "on",
    "out",
    "to",
    "up",
    "with",
}


class Finding(NamedTuple):
    """One occurrence."""

    path: str
    line: int
    expression: str
    text: str

    def __str__(self) -> str:
        """Return the place and the words."""
        return f"{self.path}:{self.line}: {self.expression}: {self.text}"


def find_in(paths: Iterable[Path]) -> Iterator[Finding]:
    """Yield the avoided expressions of Python and Markdown files, and functions named by a bare participle."""
    for path in paths:
        source = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            tree = ast.parse(source)
            passages = list(_passages(source, tree))
            yield from _participles(path, tree)
        else:
            passages = _without_code(source)
        for line, text in filter(lambda passage: _ANY.search(passage[1]), passages):
            for expression, pattern in AVOIDED.items():
                for match in re.finditer(pattern, text):
                    start = max(0, match.start() - 40)
                    shown = " ".join(text[start : match.end() + 40].split())
                    yield Finding(str(path), line + text[: match.start()].count("\n"), expression, shown)


def files_below(roots: Iterable[Path]) -> list[Path]:
    """Return the Python, Markdown, HTML and template files in folders, sorted."""
    suffixes = {".py", ".md", ".html", ".jinja"}
    found = [path for root in roots for path in ([root] if root.is_file() else sorted(root.rglob("*")))]
    return [path for path in found if path.suffix in suffixes and path.is_file()]


def walk_statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the statements of a module, nested ones too, and what holds them; most nodes are expressions."""
    waiting: list[ast.AST] = [tree]
    for node in waiting:
        yield node
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]


def _passages(source: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of the comments, the docstrings and the other string constants with a blank in them."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def _without_code(source: str) -> list[tuple[int, str]]:
    """Return the lines of a Markdown or HTML text that are no code, with their numbers."""
    lines, fenced = [], False
    for number, line in enumerate(source.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            lines.append((number, re.sub(r"`[^`]*`", "``", line)))
    return lines


def _participles(path: Path, tree: ast.Module) -> Iterator[Finding]:
    for node in walk_statements(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first, *others = node.name.strip("_").split("_")
        is_participle = first in _IRREGULAR or (first.endswith("ed") and first not in _ENDS_IN_ED)
        if is_participle and (not others or others[0] in _PARTICLES) and not _is_property(node):
            yield Finding(str(path), node.lineno, "participle", node.name)


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(
        "property" in ast.unparse(decorator) or ".setter" in ast.unparse(decorator) for decorator in node.decorator_list
    )


def main(arguments: list[str]) -> int:
    """Print the findings below the given paths, and their number by expression."""
    findings = list(find_in(files_below(map(Path, arguments))))
    counts = Counter(finding.expression for finding in findings)
    sys.stdout.write(
        "".join(f"{finding}\n" for finding in findings) + f"{len(findings)} {dict(counts.most_common())}\n"
    )
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
