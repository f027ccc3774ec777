"""The part of narwhals that analyses may use: spellings that give the same numbers on every engine.

Engines fail on some of the others, and silently disagree on some, such as parts of dates in the zone of a session.
"""

import ast
from pathlib import Path

import narwhals.stable.v2 as nw
import pytest

import p2p_analytics.analyses

FOLDER = Path(p2p_analytics.analyses.__file__).parent
# One engine each, in its own words.
OF_ONE_ENGINE = {"_ranks.py", "_duckdb.py", "_pandas.py", "_polars.py", "_spark.py"}
OF_ARRAYS = "_series"  # a folder without narwhals: arrays have some methods of the same names
FUNCTIONS = {"coalesce", "col", "concat", "concat_str", "from_native", "len", "lit", "when"}
DTYPES = {"Boolean", "Float64", "Int64", "String"}
AGGREGATES = {"count", "max", "mean", "min", "sum"}
EXPRESSIONS = AGGREGATES | {
    "abs", "alias", "cast", "contains", "cum_sum", "fill_null", "is_in", "is_null", "otherwise", "over", "replace_all",
    "shift", "strip_chars", "then", "to_lowercase", "when",
}  # fmt: skip
NAMESPACES = {"str"}
FRAMES = {
    "agg", "collect", "collect_schema", "drop", "filter", "group_by", "head", "join", "lazy", "select",
    "sort", "to_native", "unique", "with_columns",
}  # fmt: skip
# Words of Python's own types and modules as well, which are looked at only in an expression.
OF_PYTHON = {"count", "exp", "get", "log", "median", "replace", "rows", "sort", "split", "to_date", "weekday"}
OF_NARWHALS = {
    name
    for thing in (nw.Expr, nw.LazyFrame, type(nw.col("a").str), type(nw.col("a").dt), type(nw.col("a").list))
    for name in dir(thing)
    if not name.startswith("_")
} - OF_PYTHON  # fmt: skip
# `people` is finished on Polars whatever the engine; `_open` only compares dtypes.
ALLOWED = {"people.py": {"rank"}, "_open.py": {"Datetime"}}
CLASSES = ("\\b", "\\B", "\\w", "\\W", "\\d", "\\D", "\\s", "\\S")  # of letters: ASCII only on some engines
IN_ORDER = {"shift", "cum_sum"}


def find_forbidden(source, allowed=frozenset()):
    """Return every spelling in a module outside the subset."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    found = [each for node in nodes for each in check_import(node)]
    found += [f"agg of {ast.unparse(each)}" for call in calls for each in list_in_agg(call) if not is_plain(each)]
    found += [each for call in calls for each in check_call(call, allowed)]
    found += [f"division {ast.unparse(node)}" for node in nodes if is_inexact(node)]
    windows = [call.func.value for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "over"]
    found += [f"order of {ast.unparse(call)}" for call in calls if is_shifted(call) and call not in windows]
    return found


def check_import(node):
    """Yield an import of narwhals that may change with its version."""
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    for name in names:
        is_type = name == "narwhals.dtypes"  # for type checkers
        if name.split(".")[0] == "narwhals" and not name.startswith("narwhals.stable.v2") and not is_type:
            yield f"import of {name}"


def check_call(call, allowed):
    """Yield the name, namespace, pattern or order of a call that is outside the subset."""
    if not isinstance(call.func, ast.Attribute):
        return
    name, receiver = call.func.attr, call.func.value
    if isinstance(receiver, ast.Name) and receiver.id == "nw":
        if name not in FUNCTIONS | DTYPES | allowed:
            yield f"nw.{name}"
        return
    in_expression = is_expression(receiver)
    if name in (OF_NARWHALS | OF_PYTHON if in_expression else OF_NARWHALS):
        if name not in (EXPRESSIONS if in_expression else EXPRESSIONS | FRAMES) | allowed:
            yield f"method {name}"
        elif isinstance(receiver, ast.Attribute) and in_expression and receiver.attr not in NAMESPACES:
            yield f"namespace {receiver.attr}"
    if name in {"contains", "replace_all"} and any(has_class(each) for each in call.args):
        yield f"pattern {ast.unparse(call.args[0])}"
    is_ordered = any(keyword.arg in {"order_by", None} for keyword in call.keywords)
    if name == "over" and is_shifted(receiver) != is_ordered and not allowed:
        yield f"order of {ast.unparse(call)}"


def is_shifted(node):
    """Return whether an expression depends on the order of rows."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return is_call and node.func.attr in IN_ORDER and is_expression(node)


def is_inexact(node):
    """Return whether an expression is divided by a number, by which Polars multiplies the inverse."""
    is_division = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    return is_division and isinstance(node.right, ast.Constant) and is_expression(node.left)


def has_class(node):
    """Return whether a literal pattern has a class of letters."""
    return (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and any(each in node.value for each in CLASSES)
    )


def is_expression(node):
    """Return whether a chain of calls begins with a function of narwhals, or `col`."""
    while isinstance(node, ast.Call | ast.Attribute | ast.UnaryOp | ast.BinOp):
        if isinstance(node, ast.BinOp):
            return is_expression(node.left) or is_expression(node.right)
        if isinstance(node, ast.UnaryOp):
            node = node.operand
        elif isinstance(node, ast.Call):
            if ast.unparse(node.func) in {"col", "nw.concat", "nw.from_native", "nw.from_dict"}:
                return ast.unparse(node.func) == "col"
            node = node.func
        else:
            node = node.value
    return isinstance(node, ast.Name) and node.id == "nw"


def list_in_agg(call):
    """Yield the arguments of `.agg`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "agg":
        yield from call.args
        yield from (keyword.value for keyword in call.keywords)


def is_plain(node):
    """Return whether an aggregate is nw.len(), or a plain sum, min, max, count or mean of a column."""
    if isinstance(node, ast.Starred) and isinstance(node.value, ast.GeneratorExp):
        node = node.value.elt
    return ast.unparse(node) == "nw.len()" or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in AGGREGATES
        and not (node.args or node.keywords)
        and isinstance(node.func.value, ast.Call)
        and ast.unparse(node.func.value.func) in {"col", "nw.col"}
    )


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: str(path.relative_to(FOLDER)))
def test_only_the_subset(path):
    """Analyses use nothing else."""
    if path.parent.name == OF_ARRAYS:
        assert "narwhals" not in path.read_text("utf-8")
    elif path.name not in OF_ONE_ENGINE:
        assert find_forbidden(path.read_text("utf-8"), ALLOWED.get(path.name, set())) == []


def test_the_subset_exists():
    """Every name is one of narwhals, and modules use most of them: the list is as short as it can be."""
    sources = "\n".join(path.read_text("utf-8") for path in FOLDER.rglob("*.py"))
    names = {node.attr for node in ast.walk(ast.parse(sources)) if isinstance(node, ast.Attribute)}
    assert (FUNCTIONS | DTYPES | EXPRESSIONS | FRAMES) - names == {"mean"}
    assert all(hasattr(nw, name) for name in FUNCTIONS | DTYPES)


@pytest.mark.parametrize(
    ("spelling", "found"),
    [
        ("f.agg(*(col('a').sum() / 100 for a in b))", "agg of"),
        ("(col('a') - col('b')).dt.total_seconds()", "method total_seconds"),
        ("col('a').list.sum()", "namespace list"),
        ("col('a').cast(nw.Datetime('us', 'UTC'))", "nw.Datetime"),
        ("(col('a') + col('b')) / 2.0", "division"),
        ("normalise('note').str.replace_all('\\\\s+', ' ')", "pattern"),
        ("col('a').shift(1).over('b')", "order of"),
        ("from narwhals.selectors import all", "import of narwhals.selectors"),
        ("f.agg(*(col(name).sum() for name in names), col('a').max(), payments=nw.len())", None),
        ("f.with_columns(a=col('a').shift(1).over('b', order_by=['c']), b=col('a').cum_sum().over(**order))", None),
        ("nw.col('a') / (nw.col('a') * 0 + 100)", None),
    ],
)
def test_spellings(spelling, found):
    """Each that is outside of the subset is named."""
    names = find_forbidden(f"def f(g):\n    {spelling}\n")
    assert any(name.startswith(found) for name in names) if found else names == []
