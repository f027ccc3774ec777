"""One more column of text for every row of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from p2p_analytics.analyses._engine._engines import find_engine, read_names
from p2p_analytics.analyses._engine._kinds import Selection
from p2p_analytics.analyses._engine._open import plan_casts, refuse_forked_process
from p2p_analytics.analyses._engine._pandas import find_pandas

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


def add_text_column(native: Any, columns: Sequence[str], name: str, value: nw.Expr, *, what: str) -> Any:  # noqa: ANN401 - of each kind
    """Return every row of a frame with one more column, made of columns of text; for pandas that column alone.

    A missing column is null. Columns of another dtype that holds text, such as a categorical, become text.

    Raises
    ------
    SchemaError
        The input is no frame of an engine that works, or its session could give wrong results; or a column is of
        another type.
    """
    refuse_forked_process()
    engine = find_engine(native, what=what)
    engine.check(native, what)
    names = read_names(native, what=what)
    given = [column for column in columns if column in names]
    missing = {column: nw.lit(None, dtype=nw.String()) for column in columns if column not in names}
    rows = find_pandas(native)
    if rows is not None:
        frame = _read_pandas(rows, given, what)
        changes = {**plan_casts(frame.collect_schema(), what), **missing} if given else missing
        added = _change(frame, changes).select(value.alias(name)).collect()
        return _build_series(added, name, rows)
    frame = nw.from_native(native)
    casts = plan_casts(frame.lazy().select(*given).collect_schema(), what) if given else {}
    found = _change(frame, {**casts, **missing}).with_columns(**{name: value})
    if name in names:  # else it is the last column anyway, and narwhals cannot name each column of Spark
        found = found.select(*(column for column in names if column != name), name)
    return found.to_native()


def _change(frame: Any, changes: dict[str, nw.Expr]) -> Any:  # noqa: ANN401 - a frame or a lazy frame
    return frame.with_columns(**changes) if changes else frame


def _read_pandas(native: pd.DataFrame, given: list[str], what: str) -> nw.LazyFrame[Any]:
    if given:
        return find_engine(native, what=what).read(native, Selection(given, frozenset(given)), what)
    import polars as pl

    return nw.from_native(pl.DataFrame({"row": range(len(native))})).lazy()


def _build_series(table: nw.DataFrame[Any], name: str, native: pd.DataFrame) -> pd.Series[Any]:
    import pandas as pd

    dtype: Any = pd.StringDtype(na_value=float("nan"))
    return pd.Series(dtype.__from_arrow__(table.get_column(name).to_arrow()), index=native.index, name=name)
