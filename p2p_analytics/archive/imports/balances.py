"""Balances of statement files in an archive: what an import adds to them, and the problems that follow from all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from p2p_analytics.archive.tables import BATCH, SCHEMAS
from p2p_analytics.frames.row_currencies import fill_codes
from p2p_analytics.frames.schema import (
    BALANCES,
    DOES_NOT_ADD_UP,
    FOLLOWS_A_GAP,
    PLACE,
    PROBLEMS,
    select_payments,
    set_dtypes,
)

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    import pandas as pd

    from p2p_analytics.records import Me

_NAMES: Final = ("file", "format", "currency", "service", "product")
_ORDER: Final = ("currency", "service", "product", "first_date", "last_date", "file", "format")
_DERIVED: Final = (DOES_NOT_ADD_UP, FOLLOWS_A_GAP)


class FileBalances(NamedTuple):
    """`BALANCES` of an archive with the batch of each row, and the problems that follow from them."""

    table: pd.DataFrame
    problems: pd.DataFrame


def merge_balances(known: pd.DataFrame, given: pd.DataFrame, account: str, batch: int) -> FileBalances:
    """Return the balances of an archive with those of further files.

    A file that was read before, by its name, format, currency and product, replaces what was known of it. So that two
    files with one name, of different months, are both known, that holds for a period within the new one, and for one
    that did not add up and begins or ends with the new one.

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

    from p2p_analytics.statements import reconcile_balances

    columns = dict(SCHEMAS["statement_balances"])
    table = set_dtypes(known, columns).assign(account=account)
    new = set_dtypes(given.assign(account=account, **{BATCH: batch}), columns)
    rows, given_rows = (_list_rows(frame) for frame in (table, new))
    held = {_describe(row) for row in rows}
    is_new = [_describe(row) not in held for row in given_rows]
    by_name: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in given_rows:
        by_name.setdefault(_name(row), []).append(row)
    is_kept = [
        not any(_replaces(other, row) for other in by_name.get(_name(row), ()) if _describe(other) != _describe(row))
        for row in rows
    ]
    parts = [table[np.array(is_kept, dtype=bool)], new[np.array(is_new, dtype=bool)]]
    table = pd.concat(parts).sort_values(list(_ORDER), na_position="last", ignore_index=True)
    checked = reconcile_balances(table)
    numbers = table.groupby("file")[BATCH].max()
    found = pd.DataFrame(checked.problems, columns=["file", "line", "payment_id", "field", "value", "problem"])
    problems = set_dtypes(found.assign(**{BATCH: found["file"].map(numbers)}), dict(SCHEMAS["statement_problems"]))
    return FileBalances(table, problems[list(SCHEMAS["statement_problems"])])


def drop_outdated(problems: pd.DataFrame, balances: FileBalances) -> pd.DataFrame:
    """Return problems without those of balances that do not follow from the files of an archive any more."""
    import numpy as np

    names = [*PROBLEMS, *PLACE]
    derived = {tuple(row.values()) for row in _list_rows(balances.problems[names])}
    files = set(balances.table["file"])
    is_kept = [
        row["problem"] not in _DERIVED or row["file"] not in files or tuple(row.values()) in derived
        for row in _list_rows(problems[names])
    ]
    return problems[np.array(is_kept, dtype=bool)].reset_index(drop=True)


def select_gaps(problems: pd.DataFrame, files: Collection[str]) -> pd.DataFrame:
    """Return the problems of gaps after or before files."""
    after = tuple(f"after {file!r}, " for file in files)
    is_gap = problems["problem"] == FOLLOWS_A_GAP
    return problems[is_gap & (problems["file"].isin(list(files)) | problems["value"].str.startswith(after))]


def set_balance(
    me: Me, rows: pd.DataFrame, balances: pd.DataFrame, *, given_to: datetime, known_to: datetime | None
) -> Me:
    """Return the owner of an archive with the closing balance of its last file.

    Parameters
    ----------
    me : Me
        The owner, with the balance that was known.
    rows : DataFrame
        The rows of statements in the archive, which show its currencies.
    balances : DataFrame
        `BALANCES` of the archive.
    given_to : datetime
        The end of the new statements.
    known_to : datetime or None
        The end of statements that an earlier version imported, of which no balances are known; None without such.
    """
    from p2p_analytics.statements import find_balance

    if known_to is not None and given_to < known_to:
        return me
    payments = select_payments(rows)
    codes = fill_codes(payments if len(payments) else rows)
    return msgspec.structs.replace(me, balance_cents=find_balance(balances, set(codes)))


def _list_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows with None for nulls."""
    cells = frame.astype(object)
    rows: Any = cells.where(cells.notna(), None).to_dict("records")
    return list(rows)


def _name(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in _NAMES)


def _describe(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in BALANCES)


def _replaces(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Return whether a file with the name of an earlier one is this file, read again."""
    (start, end), (first, last) = (
        (row["period_start"] or row["first_date"], row["period_end"] or row["last_date"]) for row in (new, old)
    )
    if start is None or end is None or first is None or last is None:
        return first is None or last is None
    is_within = start <= first and last <= end
    return is_within or (old["reconciled"] is False and (start == first or end == last))
