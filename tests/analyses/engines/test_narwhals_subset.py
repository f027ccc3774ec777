"""The part of narwhals that analyses may use: spellings that give the same numbers on every engine.

Engines fail on some of the others, and silently disagree on some, such as parts of dates in the zone of a session.
"""

import ast
from pathlib import Path

import narwhals.stable.v2 as nw
import pytest

import p2p_analytics.analyses

FOLDER = Path(p2p_analytics.analyses.__file__).parent
# One engine each, in its own words; and arrays, which have some methods of the same names.
OTHERS = {"_ranks.py", "_duckdb.py", "_pandas.py", "_polars.py", "_spark.py", *(FOLDER / "_series").glob("*.py")}
FUNCTIONS = {
    "Boolean", "Expr", "Float64", "Int64", "String", "Unknown", "Categorical", "Enum", "LazyFrame", "DataFrame",
    "coalesce", "col", "concat", "concat_str", "from_native", "len", "lit", "when",
}  # fmt: skip
EXPRESSIONS = {
    "abs", "alias", "cast", "contains", "count", "cum_sum", "fill_null", "is_in", "is_null", "max", "min", "over",
    "replace_all", "shift", "str", "strip_chars", "sum", "to_lowercase",
}  # fmt: skip
FRAMES = {
    "collect", "collect_schema", "columns", "drop", "filter", "group_by", "head", "implementation", "join", "lazy",
    "select", "sort", "to_native", "unique", "with_columns",
}  # fmt: skip
# Words of Python's own types and modules as well, and of Polars where a small result is finished in this process.
OF_PYTHON = {"get", "iter_rows", "replace", "rows", "split", "to_arrow", "to_date", "to_list", "to_numpy", "weekday"}
OF_NARWHALS = {
    name
    for thing in (nw.Expr, nw.LazyFrame, *(type(getattr(nw.col("a"), each)) for each in ("str", "dt", "list")))
    for name in dir(thing)
    if not name.startswith("_")
}
# `people` is finished on Polars whatever the engine, `_open` only compares dtypes, and the others are Python's.
ALLOWED = {
    "_open.py": {"Datetime"},
    "calendar.py": {"month", "year"},
    "columns.py": {"name"},
    "people.py": {"rank", "year"},
    "series.py": {"median", "name"},
}


def find_others(path):
    """Return the names of narwhals outside the subset in a module."""
    attributes = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Attribute)]
    functions = {node.attr for node in attributes if ast.unparse(node.value) == "nw"}
    methods = {node.attr for node in attributes if ast.unparse(node.value) not in {"nw", "pl", "np", "pd"}}
    return (functions - FUNCTIONS) | (methods & (OF_NARWHALS - EXPRESSIONS - FRAMES - OF_PYTHON))


PATHS = [path for path in sorted(FOLDER.rglob("*.py")) if not {path, path.name} & OTHERS]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: str(path.relative_to(FOLDER)))
def test_only_the_subset(path):
    """Analyses use nothing else."""
    assert find_others(path) <= ALLOWED.get(path.name, set())
