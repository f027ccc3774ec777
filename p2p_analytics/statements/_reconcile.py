"""Reconciliation: opening balance + rows that moved it = closing balance, in each file and from file to file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.display import clean_line, format_count
from p2p_analytics.money import LARGEST_CENTS
from p2p_analytics.statements._rows import slice_by_files
from p2p_analytics.statements.balances import (
    GROUP,
    MOST_STEPS,
    Balance,
    Explanations,
    OrderedRows,
    Period,
    find_explanations,
    frame_balances,
    frame_joined,
    join_files,
    list_balance_problems,
    list_balances,
    order_rows,
    running_balance,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from datetime import datetime

    import pandas as pd
    import polars as pl

    from p2p_analytics.statements._format import Problem
    from p2p_analytics.statements.balances import OtherRows

__all__ = ["Reconciled", "reconcile", "reconcile_balances", "running_balance"]

_TRANSACTION: Final = ("payment_id", "line", "known_cents", "offset_cents", "moved_cents", "flow_cents")
_ALL_STEPS: Final = 4 * MOST_STEPS  # of all files in one call
_HALF: Final = 1 << 32
_ID_LENGTH: Final = 80


class Reconciled(NamedTuple):
    """The table of all files, their balances as `Statements.list_balances` returns them, and their problems."""

    table: pd.DataFrame
    balances: pd.DataFrame
    problems: list[Problem]


def reconcile(
    rows: pl.DataFrame,
    broken_files: Collection[str] = (),
    periods: Mapping[str, tuple[datetime | None, datetime | None]] | None = None,
    subaccounts: Mapping[str, tuple[str, str]] | None = None,
    formats: Mapping[str, str] | None = None,
) -> Reconciled:
    """Return whether the balances of each file agree with its rows, and with those of the file before.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS of all files, before payments that are in several files are united, with ``payment_id`` filled.
    broken_files : collection of str
        Files with rows that have too many or too few cells; they are never reconciled.
    periods : mapping of str to tuple of datetime or None, optional
        First and last instant that a file says it is about; the default is the period of the dates of its rows.
    subaccounts : mapping of str to tuple of str, optional
        The service of each file, and the product or group that its balance is of; by default all files are about one
        balance. Only files about one balance follow each other.
    formats : mapping of str to str, optional
        The format of each file. A file that adds up replaces those of its format that do not.

    Returns
    -------
    Reconciled
        The table has one row per file, account and currency, with the columns and dtypes of `RECONCILIATION`; ordered
        by account, currency, service and period. ``opening_cents`` and ``closing_cents`` are those of the file, or
        follow from the balances that it states in its rows. ``difference_cents`` is closing - opening - moved.
        ``reconciled`` is null where a balance is not known, or where the only one is that of a single row.
        ``suggestion`` lists the smallest sets of rows that explain the difference. ``follows`` is the file before, and
        ``gap_cents`` the change of the balance between the two that neither has; 0 if they connect, and null where it
        is not known. ``note`` says, in sentences, which periods overlap or leave something out, and why a file is not
        reconciled although its balances are known.
    """
    options = frozenset(broken_files), periods or {}, subaccounts or {}, formats or {}
    joined = join_files(_check_groups(rows, *options))
    balances = frame_balances(balance for balance, _ in joined)
    return Reconciled(frame_joined(joined), balances, list_balance_problems(joined))


def reconcile_balances(balances: pd.DataFrame, others: OtherRows | None = None) -> Reconciled:
    """Return the same for the balances of files that were read earlier, of which the rows are not known.

    Parameters
    ----------
    balances : DataFrame
        `BALANCES`.
    others : OtherRows, optional
        Rows that come from elsewhere. A change of the balance that they explain to the cent is no gap.
    """
    joined = join_files(list_balances(balances), others)
    return Reconciled(frame_joined(joined), balances, list_balance_problems(joined))


def _check_groups(
    rows: pl.DataFrame,
    broken_files: frozenset[str],
    periods: Mapping[str, tuple[datetime | None, datetime | None]],
    subaccounts: Mapping[str, tuple[str, str]],
    formats: Mapping[str, str],
) -> Iterator[Balance]:
    """Yield the balance of each file, account and currency."""
    steps = _ALL_STEPS
    for group, transactions in _list_groups(rows):
        file = group["file"]
        opening, moved, closing = _add_up(group)
        is_known = opening is not None and moved is not None and closing is not None
        difference = closing - opening - moved if is_known else None
        is_broken = file in broken_files
        agrees = not (difference or is_broken or group["unknown"])
        explanations = None
        if difference:
            explanations = _explain(transactions, difference, min(steps, MOST_STEPS))
            steps -= explanations.steps
        remarks = _list_remarks(group, explanations, is_broken=is_broken, is_too_large=moved is None)
        yield Balance(
            file,
            formats.get(file, ""),
            group["account"],
            group["currency"],
            subaccounts.get(file, ("", "")),
            opening,
            moved,
            closing,
            difference,
            agrees if is_known and not _has_nothing_to_check(group) else None,
            _describe(explanations, transactions) if explanations else None,
            " ".join(remarks) or None,
            dates=Period(group["start"], group["end"]),
            stated=Period(*periods.get(file, ())),
            rows=transactions.select("payment_id", "known_cents"),
        )


def _list_groups(rows: pl.DataFrame) -> Iterator[tuple[Mapping[str, Any], pl.DataFrame]]:
    """Yield the sums and transactions of each file, account and currency; groups with nothing in them are left out."""
    import polars as pl

    for part in slice_by_files(rows):
        ordered = order_rows(part)
        transactions = ordered.rows.filter(~pl.col("is_notice")).select(_TRANSACTION)
        at = 0
        for group in _sum_groups(ordered).iter_rows(named=True):
            if not group["is_blank"]:
                yield group, transactions.slice(at, group["transactions"])
            at += group["transactions"]


def _sum_groups(ordered: OrderedRows) -> pl.DataFrame:
    """Return one row per file, account and currency, in the order of their groups."""
    import polars as pl

    known, offsets = pl.col("known_cents"), pl.col("offset_cents").drop_nulls()
    date = pl.col("date").filter(~pl.col("is_notice"))
    has_balance = pl.any_horizontal(pl.col("opening_cents", "closing_cents", "balance_cents").is_not_null())
    sums = ordered.rows.group_by(GROUP, maintain_order=True).agg(
        (~pl.col("is_notice")).sum().alias("transactions"),
        pl.col("opening_cents").drop_nulls().first().alias("opening"),
        pl.col("closing_cents").drop_nulls().last().alias("closing"),
        offsets.first().alias("first_offset"),
        offsets.last().alias("last_offset"),
        offsets.len().alias("stated"),
        # Two sums, because one of 64 bits could overflow.
        (known // _HALF).sum().alias("high"),
        (known % _HALF).sum().alias("low"),
        known.cast(pl.Float64).abs().sum().alias("largest"),
        pl.col("balance_cents").cast(pl.Float64).abs().max().alias("largest_balance"),
        (~pl.col("is_notice") & pl.col("moved_cents").is_null()).sum().alias("unknown"),
        (~pl.col("is_notice") & pl.all_horizontal(pl.col("moved_cents", "flow_cents").is_null())).sum().alias("unread"),
        date.min().alias("start"),
        date.max().alias("end"),
        (pl.col("is_notice") & ~has_balance).all().alias("is_blank"),
    )
    named = pl.concat([ordered.names, sums], how="horizontal")
    return named.with_columns(pl.col("is_blank") & ~pl.col("is_blank").all().over("file"))


def _add_up(group: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return opening balance, movement and closing balance; None where one is not known or beyond 64 bits."""
    moved = group["high"] * _HALF + group["low"]
    opening, closing = group["opening"], group["closing"]
    if _is_too_large(group):
        return opening, None, closing
    if group["stated"]:
        opening = group["first_offset"] if opening is None else opening
        closing = group["last_offset"] + moved if closing is None else closing
    return opening, moved, closing


def _is_too_large(group: Mapping[str, Any]) -> bool:
    amounts = (group["largest"], group["largest_balance"] or 0, abs(group["opening"] or 0), abs(group["closing"] or 0))
    return sum(amounts) > LARGEST_CENTS // 2


def _has_nothing_to_check(group: Mapping[str, Any]) -> bool:
    return group["stated"] == 1 and group["opening"] is None and group["closing"] is None


def _explain(transactions: pl.DataFrame, difference: int, most_steps: int) -> Explanations:
    """Return the sets of rows that explain a difference; only of rows between balances that do not agree, if stated."""
    offset = transactions["offset_cents"]
    disagrees = offset.backward_fill() != offset.shift(1).forward_fill()
    at = disagrees.fill_null(value=False).arg_true().to_list() or list(range(len(transactions)))
    rows = transactions[at]
    found = find_explanations(rows["moved_cents"].to_list(), rows["flow_cents"].to_list(), difference, most_steps)
    sets = (tuple(change._replace(row=at[change.row]) for change in changes) for changes in found.sets)
    return found._replace(sets=tuple(sets))


def _describe(explanations: Explanations, transactions: pl.DataFrame) -> str | None:
    """Return the sets of rows as text: "without A and reversing B; counting C"."""
    if not explanations.sets:
        return None
    ids, lines = transactions["payment_id"], transactions["line"]

    def name(row: int) -> str:
        return clean_line(ids[row])[:_ID_LENGTH] or f"line {lines[row]}"

    sets = [" and ".join(f"{change.action} {name(change.row)}" for change in changes) for changes in explanations.sets]
    distinct = list(dict.fromkeys(sets))  # rows of one id are in several
    return "; ".join([*distinct, "others"] if explanations.has_more else distinct)


def _list_remarks(
    group: Mapping[str, Any], explanations: Explanations | None, *, is_broken: bool, is_too_large: bool
) -> Iterator[str]:
    """Yield why a file is not reconciled, apart from its difference."""
    if is_broken:
        yield "Rows have too many or too few cells."
    if group["unread"]:
        verb = "was" if group["unread"] == 1 else "were"
        yield f"{format_count(group['unread'], 'amount', 'amounts')} {verb} not read."
    undecided = group["unknown"] - group["unread"]
    if undecided > 0:
        verb = "has" if undecided == 1 else "have"
        yield f"{format_count(undecided, 'row', 'rows')} {verb} a status that does not say whether money moved."
    if is_too_large:
        yield "The amounts are too large to add up."
    if _has_nothing_to_check(group):
        yield "Only one balance is stated, which leaves nothing to check."
    if explanations and not explanations.is_complete:
        yield "Not all sets of three rows were searched."
