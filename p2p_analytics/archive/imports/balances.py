"""Balances of statement files in an archive: what an import adds to them, and the problems that follow from all."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec

from p2p_analytics.archive.tables import BATCH, MERGED, SCHEMAS
from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.frames.arrow import is_among
from p2p_analytics.frames.row_currencies import fill_codes
from p2p_analytics.frames.schema import (
    BALANCES,
    DOES_NOT_ADD_UP,
    FOLLOWS_A_GAP,
    PLACE,
    PROBLEMS,
    WHOLE,
    select_payments,
    set_dtypes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import pandas as pd

    from p2p_analytics.records import Me

    OtherDays = Mapping[str | None, Sequence[date]]
    ReadDays = Callable[[], OtherDays]

_ORDER: Final = ("currency", "service", "product", "first_date", "last_date", "file", "format")
_DERIVED: Final = (DOES_NOT_ADD_UP, FOLLOWS_A_GAP)
# The values of these problems, in archives of which the files' balances are not known.
_DAY: Final = r"\d{4}-\d\d-\d\d"
_DIFFERENCE: Final = re.compile(
    rf"(?P<format>[^,]*), (?P<currency>[^,]*), (?P<start>{_DAY})(?: to (?P<end>{_DAY}))?: ", re.ASCII
)
_GAP: Final = re.compile(
    rf"after .*, (?P<start>{_DAY}) to (?P<end>{_DAY}): (?P<changed>.*the balance changed)?", re.ASCII | re.DOTALL
)


def merge_balances(known: pd.DataFrame, given: pd.DataFrame, account: str, batch: int) -> pd.DataFrame:
    """Return the balances of an archive with those of further files.

    All are kept, so that the order of imports does not matter; a file that is read again as it was is there once.

    Parameters
    ----------
    known : DataFrame
        `BALANCES` of the archive, with the batch of each row.
    given : DataFrame
        `BALANCES` of the files to add.
    account : str
        The account of the archive.
    batch : int
        The number of the import.
    """
    import numpy as np
    import pandas as pd

    columns = dict(SCHEMAS["statement_balances"])
    table = set_dtypes(known, columns).assign(account=account)
    new = set_dtypes(given.assign(account=account, **{BATCH: batch}), columns)
    held = {_describe(row) for row in _list_rows(table)}
    is_new = [_describe(row) not in held for row in _list_rows(new)]
    parts = [table, new[np.array(is_new, dtype=bool)]]
    return pd.concat(parts).sort_values(list(_ORDER), na_position="last", ignore_index=True)


def find_other_days(listed: pd.DataFrame, stated: pd.DataFrame, balances: pd.DataFrame) -> OtherDays:
    """Return the days that rows of no file of which the balances are known are about, by service.

    These are payments that the service listed, each with its day, and rows of a merged history or of files that an
    earlier version imported: the days from the first to the last row of each file. The service of these is not known:
    they are under None.

    Parameters
    ----------
    listed : DataFrame
        ``payment_id`` and ``date_created`` of the payments that the service listed.
    stated : DataFrame
        The same columns, ``file`` and ``batch`` of the rows of statements.
    balances : DataFrame
        `BALANCES` of the archive.
    """
    from p2p_analytics.statements import SERVICE

    is_known = _has_balances(stated, balances)
    is_in_file = is_among(listed["payment_id"], stated.loc[is_known, "payment_id"])
    days = listed.loc[~is_in_file, "date_created"].dropna().dt.floor("D").unique()
    ends = stated[~is_known].groupby("file", dropna=False)["date_created"].agg(["min", "max"]).dropna()
    spans = ((first.date(), last.date()) for first, last in zip(ends["min"], ends["max"], strict=True))
    within = {first + timedelta(days=day) for first, last in spans for day in range((last - first).days + 1)}
    return {SERVICE: sorted(instant.date() for instant in days), None: sorted(within)}


def list_problems(problems: pd.DataFrame, balances: pd.DataFrame, read_other_days: ReadDays) -> pd.DataFrame:
    """Return the problems that an archive keeps, as far as they are open, and those of its balances, each once.

    Parameters
    ----------
    problems : DataFrame
        PROBLEMS, PLACE and ``batch`` of the archive.
    balances : DataFrame
        `BALANCES` of the archive.
    read_other_days : callable
        Returns what `find_other_days` does; it is called only if there is a gap.
    """
    import pandas as pd

    from p2p_analytics.statements import list_once, reconcile_balances

    found = reconcile_balances(balances).problems
    is_kept_gap = ((problems["problem"] == FOLLOWS_A_GAP) & ~_has_balances(problems, balances)).any()
    other_days: OtherDays = {}
    if is_kept_gap or any(problem.problem == FOLLOWS_A_GAP for problem in found):
        other_days = read_other_days()
        found = reconcile_balances(balances, other_days).problems
    columns = {**PROBLEMS, **PLACE}
    derived = pd.DataFrame(found, columns=["file", "line", "payment_id", "field", "value", "problem"])
    kept = _drop_closed(drop_derived(problems, balances), balances, other_days)
    kept = kept.assign(line=kept["line"].mask(kept["line"] == 0))  # of a whole file, in archives of earlier versions
    listed = pd.concat([kept, set_dtypes(derived, columns)], ignore_index=True)
    return list_once(listed, balances, [BATCH])[list(columns)]


def drop_derived(problems: pd.DataFrame, balances: pd.DataFrame) -> pd.DataFrame:
    """Return problems without those of balances that an archive holds, because `list_problems` derives these."""
    is_derived = problems["problem"].isin(_DERIVED) & _has_balances(problems, balances)
    return problems[~is_derived].reset_index(drop=True)


def _has_balances(rows: pd.DataFrame, balances: pd.DataFrame) -> pd.Series[bool]:
    """Return whether rows or problems are of an import that has brought balances of their file, or of a later one.

    A name is not enough: a file of a merged history, or of an import of an earlier version, can have the same one.
    """
    first = rows["file"].map(balances.groupby("file")[BATCH].min()).astype(WHOLE)
    return ((rows[BATCH] != MERGED) & (first <= rows[BATCH])).fillna(value=False).astype(bool)


def select_gaps(problems: pd.DataFrame, files: Collection[str]) -> pd.DataFrame:
    """Return the problems of gaps after or before files."""
    after = tuple(f"after {file!r}, " for file in files)
    is_gap = problems["problem"] == FOLLOWS_A_GAP
    return problems[is_gap & (problems["file"].isin(list(files)) | problems["value"].str.startswith(after))]


def set_balance(me: Me, rows: pd.DataFrame, balances: pd.DataFrame) -> Me:
    """Return the owner of an archive with the closing balance of its last file.

    The balance that was known stays while rows that come from no file of which the balances are known, such as those of
    a merged history or of files that an earlier version imported, are later than all of these files.

    Parameters
    ----------
    me : Me
        The owner, with the balance that was known.
    rows : DataFrame
        The rows of statements in the archive, which show its currencies.
    balances : DataFrame
        `BALANCES` of the archive.
    """
    from p2p_analytics.statements import find_balance

    others = rows.loc[~_has_balances(rows, balances), "date_created"].max()
    last = balances[["last_date", "period_end"]].max().max()
    if others == others and not last >= others:  # noqa: PLR0124 - NaT
        return me
    payments = select_payments(rows)
    codes = fill_codes(payments if len(payments) else rows)
    return msgspec.structs.replace(me, balance_cents=find_balance(balances, set(codes)))


def _drop_closed(problems: pd.DataFrame, balances: pd.DataFrame, other_days: OtherDays) -> pd.DataFrame:
    """Return problems without those of files of which no balances are known, and which other files or rows resolve."""
    import numpy as np

    if not problems["problem"].isin(_DERIVED).any():
        return problems
    spans = [
        (row["format"], row["currency"] or UNKNOWN_CURRENCY, row["reconciled"], first.date(), last.date())
        for row in _list_rows(balances)
        if (first := row["period_start"] or row["first_date"]) and (last := row["period_end"] or row["last_date"])
    ]
    sound = [(name, currency, first, last) for name, currency, is_sound, first, last in spans if is_sound]
    covered = [(first, last) for *_, first, last in spans]
    covered += [(day, day) for days in other_days.values() for day in days]
    is_open = [
        not (
            (row["problem"] == DOES_NOT_ADD_UP and _is_replaced(row["value"], sound))
            or (row["problem"] == FOLLOWS_A_GAP and _is_filled(row["value"], covered))
        )
        for row in _list_rows(problems)
    ]
    return problems[np.array(is_open, dtype=bool)].reset_index(drop=True)


def _is_replaced(value: str, sound: Sequence[tuple[str, str, date, date]]) -> bool:
    """Return whether a file that adds up has the period of one that does not."""
    match = _DIFFERENCE.match(value)
    if match is None:
        return False
    start, end = (date.fromisoformat(day) for day in (match["start"], match["end"] or match["start"]))
    return any(
        (name, currency) == (match["format"], match["currency"]) and first <= start and end <= last
        for name, currency, first, last in sound
    )


def _is_filled(value: str, covered: Sequence[tuple[date, date]]) -> bool:
    """Return whether there are rows between two files, and in each month between them unless the balance changed."""
    match = _GAP.match(value)
    if match is None:
        return False
    start, end = (date.fromisoformat(match[name]) for name in ("start", "end"))
    within = [
        (first, last) for first, last in covered if start < last and first < end and (first, last) != (start, end)
    ]
    inside = [(max(first, start), min(last, end)) for first, last in within]
    months = {month for first, last in inside for month in range(_number(first), _number(last) + 1)}
    needed = () if match["changed"] else range(_number(start) + 1, _number(end))
    return bool(inside) and months >= set(needed)


def _number(day: date) -> int:
    return day.year * 12 + day.month


def _list_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows with None for nulls."""
    cells = frame.astype(object)
    rows: Any = cells.where(cells.notna(), None).to_dict("records")
    return list(rows)


def _describe(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in BALANCES)
