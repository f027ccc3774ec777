"""Balances of statement files in an archive: what an import adds to them, and the problems that follow from all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from p2p_analytics.archive.tables import BATCH, MERGED, SCHEMAS
from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.display import format_money
from p2p_analytics.frames.arrow import is_among
from p2p_analytics.frames.own_money import is_bank_or_card
from p2p_analytics.frames.problem_days import parse_days
from p2p_analytics.frames.row_currencies import fill_codes
from p2p_analytics.frames.schema import (
    BALANCES,
    DOES_NOT_ADD_UP,
    FOLLOWS_A_GAP,
    PLACE,
    PROBLEMS,
    TEXT,
    WHOLE,
    select_payments,
    set_dtypes,
)
from p2p_analytics.money import to_units
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from datetime import date

    import pandas as pd

    from p2p_analytics.records import Me
    from p2p_analytics.statements import OtherRows

    ReadRows = Callable[[], OtherRows]

_ORDER: Final = ("currency", "service", "product", "first_date", "last_date", "file", "format")
# What `find_other_rows` needs of payments and of rows of statements.
MOVES: Final = ("payment_id", "status", "date_created", "date_completed", "flow_cents", "currency", "source")
STATED: Final = (*MOVES, "funding_source", "file", BATCH)
_DERIVED: Final = (DOES_NOT_ADD_UP, FOLLOWS_A_GAP)


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


def find_other_rows(listed: pd.DataFrame, stated: pd.DataFrame, balances: pd.DataFrame) -> OtherRows:
    """Return the rows that moved the balance and are in no file of which the balances are known.

    These are settled payments that the service listed, and settled rows of a merged history or of files that an earlier
    version imported, of which the service is not known. A row counts when it is completed. A payment that is pending in
    a file and settled by what the service says moved the balance later.

    Parameters
    ----------
    listed : DataFrame
        The columns `MOVES` of the payments that the service listed.
    stated : DataFrame
        The columns `STATED` of the rows of statements.
    balances : DataFrame
        `BALANCES` of the archive, with ``batch``.
    """
    import pandas as pd

    from p2p_analytics.statements import SERVICE, OtherRow, OtherRows

    stated = stated[stated["status"] == Status.SETTLED.value]
    is_known = _has_balances(stated, balances)
    is_further = (listed["status"] == Status.SETTLED.value) & ~is_among(listed["payment_id"], stated["payment_id"])
    others = stated[~is_known]
    ends = others.groupby(["file", BATCH], dropna=False)["date_created"].agg(["min", "max"]).dropna()
    is_own = ~others["funding_source"].fillna("").map(is_bank_or_card).astype(bool)
    parts = [listed[is_further].assign(service=SERVICE), others[is_own].assign(service=None)]
    rows = pd.concat([part[[*MOVES, "service"]].astype({"service": TEXT}) for part in parts], ignore_index=True)
    rows = rows.assign(at=rows["date_completed"].fillna(rows["date_created"]), currency=fill_codes(rows))
    rows = rows[rows["at"].notna() & (rows["flow_cents"] != 0).fillna(value=True)].sort_values("at", kind="stable")
    return OtherRows(
        [
            OtherRow(row["at"].to_pydatetime(), row["flow_cents"], row["currency"], row["service"])
            for row in _list_rows(rows[["at", "flow_cents", "currency", "service"]])
        ],
        list(zip(ends["min"].dt.to_pydatetime(), ends["max"].dt.to_pydatetime(), strict=True)),
    )


def list_problems(problems: pd.DataFrame, balances: pd.DataFrame, read_others: ReadRows) -> pd.DataFrame:
    """Return the problems that an archive keeps, as far as they are open, and those of its balances, each once.

    Parameters
    ----------
    problems : DataFrame
        PROBLEMS, PLACE and ``batch`` of the archive.
    balances : DataFrame
        `BALANCES` of the archive.
    read_others : callable
        Returns what `find_other_rows` does; it is called only if there is a gap.
    """
    import pandas as pd

    from p2p_analytics.statements import OtherRows, list_once, reconcile_balances

    found = reconcile_balances(balances).problems
    is_kept_gap = ((problems["problem"] == FOLLOWS_A_GAP) & ~_has_balances(problems, balances)).any()
    others = OtherRows()
    if is_kept_gap or any(problem.problem == FOLLOWS_A_GAP for problem in found):
        others = read_others()
        found = reconcile_balances(balances, others).problems
    columns = {**PROBLEMS, **PLACE}
    derived = pd.DataFrame(found, columns=["file", "line", "payment_id", "field", "value", "problem"])
    kept = _drop_closed(drop_derived(problems, balances), balances, others)
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


def _drop_closed(problems: pd.DataFrame, balances: pd.DataFrame, others: OtherRows) -> pd.DataFrame:
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
    is_open = [
        not (
            (row["problem"] == DOES_NOT_ADD_UP and _is_replaced(row["value"], sound))
            or (row["problem"] == FOLLOWS_A_GAP and _is_filled(row["value"], covered, others))
        )
        for row in _list_rows(problems)
    ]
    return problems[np.array(is_open, dtype=bool)].reset_index(drop=True)


def _is_replaced(value: str, sound: Sequence[tuple[str, str, date, date]]) -> bool:
    """Return whether a file that adds up has the period of one that does not."""
    days = parse_days(DOES_NOT_ADD_UP, value)
    return days is not None and any(
        (name, currency) == (days.format, days.currency) and first <= days.start and days.end <= last
        for name, currency, first, last in sound
    )


def _is_filled(value: str, covered: Sequence[tuple[date, date]], others: OtherRows) -> bool:
    """Return whether there are files between two others, and in each month between them unless the balance changed.

    Rows of no file explain a change of the balance to the cent, or it stays.
    """
    days = parse_days(FOLLOWS_A_GAP, value)
    if days is None:
        return False
    start, end, is_changed = days.start, days.end, "the balance changed" in days.found
    if is_changed and _is_explained(value, start, end, others):
        return True
    spans = [] if is_changed else [(first.date(), last.date()) for first, last in others.spans]
    within = [
        (first, last)
        for first, last in (*covered, *spans)
        if start < last and first < end and (first, last) != (start, end)
    ]
    inside = [(max(first, start), min(last, end)) for first, last in within]
    months = {month for first, last in inside for month in range(_number(first), _number(last) + 1)}
    needed = () if is_changed else range(_number(start) + 1, _number(end))
    return bool(inside) and months >= set(needed)


def _is_explained(value: str, start: date, end: date, others: OtherRows) -> bool:
    """Return whether the rows between two days moved the balance by what the value of a gap says."""
    moved: dict[str, list[int | None]] = {}
    for row in others.rows:
        if start < row.at.date() < end and f", {row.currency}, " in value:
            moved.setdefault(row.currency, []).append(row.cents)
    amounts = (
        format_money(to_units(sum(filter(None, cents))), currency=None if code == UNKNOWN_CURRENCY else code)
        for code, cents in moved.items()
        if None not in cents
    )
    return any(f"the balance changed by {amount}" in value for amount in amounts)


def _number(day: date) -> int:
    return day.year * 12 + day.month


def _list_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows with None for nulls."""
    columns = [
        [None if is_null else value for value, is_null in zip(column.tolist(), column.isna(), strict=True)]
        for _, column in frame.items()
    ]
    return [dict(zip(frame.columns, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _describe(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in BALANCES)
