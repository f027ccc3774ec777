"""Columns of the payments that count, from any kind of frame, checked and in the dtypes of the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import narwhals.stable.v2 as nw

from p2p_analytics import forks
from p2p_analytics.analyses._engine import _columns
from p2p_analytics.analyses._engine._checks import USUAL_ENDS, check_rows
from p2p_analytics.analyses._engine._engines import find_engine, read_names
from p2p_analytics.analyses._engine._kinds import Selection
from p2p_analytics.analyses._engine._pandas import find_pandas
from p2p_analytics.analyses._engine._usual import Question
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames import schema as frames
from p2p_analytics.frames.row_currencies import code_expression

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from narwhals.dtypes import DType
    from narwhals.stable.v2.typing import IntoFrame

    from p2p_analytics.vocabulary import Status

_DTYPES: Final[Mapping[str, DType]] = {
    frames.TEXT: nw.String(),
    frames.WHOLE: nw.Int64(),
    frames.INSTANT: nw.Int64(),
    frames.FLAG: nw.Boolean(),
}


class Payments(NamedTuple):
    """The payments that an analysis counts.

    Attributes
    ----------
    frame : LazyFrame
        The columns asked for, in the schema's dtypes; instants are microseconds since 1970 in UTC.
    currency : str
        The one currency that they are in; US dollars if there are no payments, and "XXX" if it is not known.
    ends : tuple of int
        Instants within the calendar, of which none of the frame is before the first or after the last.
    """

    frame: nw.LazyFrame[Any]
    currency: str
    ends: tuple[int, int]


def open_frame(  # noqa: PLR0913 - each changes which rows or columns are read
    native: IntoFrame,
    needed: Sequence[str],
    *,
    what: str,
    status: Status | None = None,
    optional: Sequence[str] = (),
    by_currency: bool = False,
    sums: bool = True,
    every_kind: bool = False,
) -> Payments:
    """Return the needed and optional columns of the payments that count.

    Payments count if they are of the kind "payment", which a frame without ``kind``, or a row without a value in it,
    is; and with ``status``, if they have it and a direction. A missing optional column, which is text, is null, and a
    column that the schema does not have is text. A lazy frame is queried for the checks. With ``by_currency``, the
    payments may be in several currencies, and the currency that is returned has no meaning; a column of currencies that
    is wanted has no nulls. Without ``sums`` amounts are not added up, and only one of 2**53 cents or more is refused.
    With ``every_kind``, rows of every kind count.

    Raises
    ------
    SchemaError
        The input is no frame of an engine that works, or its session could give wrong results; it lacks a column or has
        it twice; a column is of another type; the rows that count are in several currencies, or have amounts that add
        up to 2**53 cents or more; or the query of a lazy frame fails.
    """
    refuse_forked_process()
    engine = find_engine(native, what=what)
    names = read_names(native, what=what)
    needed = list(dict.fromkeys([*needed, *(["status", "direction"] if status else [])]))
    _require(native, names, needed, what)
    wanted = dict.fromkeys([*needed, *optional])
    given = [name for name in dict.fromkeys([*wanted, "kind", "currency", "source"]) if name in names]
    if duplicates := [name for name in given if names.count(name) > 1]:
        raise SchemaError(
            f"{what} needs a frame with distinct column names, not two columns {duplicates[0]}; rename or drop one."
        )
    read = engine.read(native, Selection(given, frozenset(wanted), status), what)
    dtypes = engine.read_dtypes(read, given)
    names = [*dtypes]
    columns = engine.plan_columns(read, names, what)
    casts = plan_casts(dtypes, what)
    changes = {name: cast for name, cast in casts.items() if name in wanted}
    with frames.refuse_failing_query(native, what=what):
        unusual = engine.count_unusual(read, Question(names, currency=not by_currency, rows=sums), what)
    has_kinds = "kind" in names and not (every_kind or unusual.is_one_kind)
    counted = engine.keep_counted(read, dtypes, status, has_kinds=has_kinds)
    currency, ends = US_DOLLARS, USUAL_ENDS
    if not unusual.is_none:
        currency, ends = check_rows(engine.select(counted, columns), native, what, by_currency=by_currency, sums=sums)
    if "currency" in wanted:
        changes["currency"] = code_expression(names)
    else:
        columns = {name: column for name, column in columns.items() if name in wanted}
    missing = {name: engine.write_null() for name in optional if name not in given}
    frame = engine.select(counted, columns | missing)
    if changes:  # else a step less, for which DuckDB takes a millisecond
        frame = frame.select(*(changes[name].alias(name) if name in changes else name for name in wanted))
    return Payments(frame, currency, ends)


def refuse_forked_process() -> None:
    if forks.is_marked():
        raise ConfigurationError(
            "Analyses could hang in a process forked after its parent loaded Polars, because threads are not forked: "
            'start workers with multiprocessing.get_context("spawn").'
        )


def _require(native: IntoFrame, names: Sequence[str], needed: Sequence[str], what: str) -> None:
    frame = find_pandas(native)
    indexed = () if frame is None else {*needed} - {*names} & {*frame.index.names}
    advice = {"instead": "frame.reset_index(), because the index has them"} if indexed else {}
    frames.require(names, needed, what=what, **advice)


def plan_casts(found: Mapping[str, DType], what: str) -> dict[str, nw.Expr]:
    """Return the casts of columns to the dtypes of the schema, but for dates, of which an engine makes numbers."""
    casts = {}
    for name, dtype in found.items():
        wanted = _find_dtype(name)
        becomes_number = _columns.find_kind(name) == frames.INSTANT and isinstance(dtype, (nw.Datetime, nw.Date))
        if dtype == wanted or becomes_number:
            continue
        if not _is_castable(dtype, wanted):
            advice = "cast it, if it holds cents and not currency units" if wanted == nw.Int64 else "cast it"
            raise _columns.build_error(what, name, _columns.find_kind(name), str(dtype), advice)
        casts[name] = nw.col(name).cast(wanted)
    return casts


def _find_dtype(name: str) -> DType:
    return _DTYPES[_columns.find_kind(name)]


def _is_castable(found: DType, wanted: DType) -> bool:
    """Return whether a column can be cast without a change of its values; one with only nulls is Unknown."""
    if isinstance(found, nw.Unknown):
        return True
    if wanted == nw.String:
        return isinstance(found, (nw.Categorical, nw.Enum))
    return wanted == nw.Int64 and found.is_integer()
