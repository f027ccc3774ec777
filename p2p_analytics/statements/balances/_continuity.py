"""Continuity: which file follows which, and whether the balance is the same at the seam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from p2p_analytics.display import format_count
from p2p_analytics.money import format_cents

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    import polars as pl


class Period(NamedTuple):
    """First and last instant, each None if it is not known."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True)
class Balance:
    """The balance of one account and currency in one file.

    ``subaccount`` is the service, and the product or group of the account that the balance is of.
    ``dates`` is the period of the rows, ``stated`` that which the file names; ``rows`` has ``payment_id`` and
    ``known_cents`` of its transactions in the order in which they moved the balance.
    """

    file: str
    account: str | None
    currency: str | None
    subaccount: tuple[str, ...]
    opening: int | None
    moved: int | None
    closing: int | None
    dates: Period
    stated: Period
    rows: pl.DataFrame

    @property
    def period(self) -> Period:
        """The period that the file names, else that of its rows."""
        return Period(self.stated.start or self.dates.start, self.stated.end or self.dates.end)


class Seam(NamedTuple):
    """What connects a file with the file before."""

    follows: str | None = None
    gap_cents: int | None = None
    remarks: tuple[str, ...] = ()


def join_files(balances: Iterable[Balance]) -> list[tuple[Balance, Seam]]:
    """Return the balances by account, currency, subaccount and period, each with its seam; those without a period last.

    A file follows the one that ends last of those before it.
    """
    joined: list[tuple[Balance, Seam]] = []
    before: Balance | None = None
    for balance in sorted(balances, key=_sort_key):
        if before and _find_owner(before) != _find_owner(balance):
            before = None
        joined.append((balance, _find_seam(before, balance) if before and balance.period.start else Seam()))
        ends = [(each.period.end or each.period.start) for each in (before, balance) if each]
        if len(ends) == 1 or (ends[0] and ends[1] and ends[1] >= ends[0]):
            before = balance
    return joined


def _sort_key(balance: Balance) -> tuple[object, ...]:
    words = tuple((word is None, word or "") for word in (balance.account, balance.currency))
    instants = tuple((each is None, each.timestamp() if each else 0) for each in balance.period)
    return (*words, balance.subaccount, *instants, balance.file)


def _find_owner(balance: Balance) -> tuple[object, ...]:
    return balance.account, balance.currency, balance.subaccount


def _find_seam(before: Balance, balance: Balance) -> Seam:
    remarks: list[str] = []
    common, moved_after = _find_overlap(before, balance)
    is_mixed = not common and _is_before(balance.dates.start, before.dates.end)
    if common == len(balance.rows) > 0:
        remarks.append("The file before has all of these rows.")
    elif common:
        verb = "is" if common == 1 else "are"
        remarks.append(f"{format_count(common, 'row', 'rows')} {verb} in the file before too.")
    elif is_mixed:
        remarks.append("The file before is about the same days, but has none of these rows.")
    else:
        remarks += _describe_gap(before, balance)
    if balance.opening is None or before.closing is None or is_mixed:
        return Seam(before.file, None, tuple(remarks))
    gap = balance.opening - (before.closing - moved_after)
    if gap:
        amount = " ".join(filter(None, [format_cents(gap), balance.currency]))
        remarks.append(f"The balance changed by {amount} between the file before and this one: rows are missing.")
    return Seam(before.file, gap, tuple(remarks))


def _find_overlap(before: Balance, balance: Balance) -> tuple[int, int]:
    """Return how many rows both files have, and the cents that the file before moved in the overlap.

    The overlap begins with the first row that moved the balance in both: a payment that was pending in the file before
    can be a row of this one without being in the overlap.
    """
    if not before.dates.end or not balance.dates.start or balance.dates.start > before.dates.end:
        return 0, 0
    common = before.rows.join(balance.rows, on="payment_id", how="semi")
    numbered = before.rows.with_row_index("at").filter(before.rows["known_cents"] != 0)
    moved = numbered.join(balance.rows, on=["payment_id", "known_cents"], how="semi")["at"].to_list()
    return len(common), sum(before.rows["known_cents"][min(moved) :]) if moved else 0


def _is_before(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and one < other


def _describe_gap(before: Balance, balance: Balance) -> list[str]:
    """Return a remark if the periods that both files name leave days out, or their rows leave whole months out."""
    if before.stated.end and balance.stated.start:
        days = (balance.stated.start.date() - before.stated.end.date()).days - 1
        if days < 1:
            return []
        verb = "is" if days == 1 else "are"
        return [f"{format_count(days, 'day', 'days')} between the file before and this one {verb} in neither."]
    end, start = before.period.end, balance.period.start
    if not end or not start:
        return []
    months = start.year * 12 + start.month - end.year * 12 - end.month - 1
    if months < 1:
        return []
    return [f"{format_count(months, 'month', 'months')} without rows after the file before: a file may be missing."]
