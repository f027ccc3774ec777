"""Continuity: which file follows which, and whether the balance is the same at the seam."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.display import format_count
from p2p_analytics.statements.rows import strip_label

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import date

    import polars as pl


_DAY: Final = timedelta(days=1)
_CLOCK_CHANGE: Final = timedelta(hours=3)  # the largest step of a clock, apart from changes of the date


ExplainingRow = tuple[str, str | None, str, int | None]
"""The action of a `Change`, and day, person and cents of its row."""


class Period(NamedTuple):
    """First and last instant, each None if it is not known."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True)
class Balance:
    """The balance of one account and currency in one file, and whether it agrees with the rows.

    ``subaccount`` names the service, the product of the account, and the number of the group of a snapshot.
    ``is_superseded`` is whether a later snapshot of the group replaces the file. ``dates`` is the period of the rows,
    ``stated`` the period in the text of the file. ``remarks`` gives the reasons besides the difference for which the
    file is not reconciled. ``rows`` has ``payment_id``, ``date`` and ``known_cents`` of its transactions in the order
    in which they moved the balance.
    """

    file: str
    format: str
    account: str | None
    currency: str | None
    subaccount: tuple[str, str, int]
    is_superseded: bool
    opening: int | None
    moved: int | None
    closing: int | None
    difference: int | None
    is_reconciled: bool | None
    suggestion: str | None
    explaining: tuple[tuple[ExplainingRow, ...], ...]
    remarks: str | None
    dates: Period
    stated: Period
    rows: pl.DataFrame = field(compare=False)

    @property
    def period(self) -> Period:
        """The period that the file names, else the period of its rows."""
        return Period(self.stated.start or self.dates.start, self.stated.end or self.dates.end)


class OtherRow(NamedTuple):
    """A row that is in no file, such as a payment of a sync: when and by how much it moved the balance.

    ``cents`` is None if it is not known; so is ``service``.
    """

    at: datetime
    cents: int | None
    currency: str
    service: str | None = None


class Seam(NamedTuple):
    """What connects a file with the file before.

    ``days`` and ``months`` count the days or months between the two that are in no file. ``is_double`` is whether both
    files are about the same days and share no row. ``is_filled`` is whether rows from elsewhere explain the change of
    the balance to the cent. ``others`` counts such rows if they do not explain it, and ``others_cents`` is their sum;
    None if that is not known.
    """

    before: Balance | None = None
    gap_cents: int | None = None
    days: int = 0
    months: int = 0
    is_overlap: bool = False
    is_double: bool = False
    is_filled: bool = False
    others: int = 0
    others_cents: int | None = None
    remark: str | None = None


class _Covered:
    """The days that files are about, of each account and subaccount, and the rows that come from elsewhere.

    A file without rows in a currency leaves no days of it out.
    """

    def __init__(self, balances: Sequence[Balance], others: Iterable[OtherRow]) -> None:
        self._rows = sorted(others, key=attrgetter("at"))
        spans: dict[tuple[object, ...], set[tuple[datetime, datetime]]] = defaultdict(set)
        for balance in balances:
            start, end = balance.period
            if start and end:
                spans[balance.account, balance.subaccount].add((start, end))
        merged = {(row.at, row.at) for row in self._rows if row.service is None}  # of files that are not here
        parts = {(balance.account, balance.subaccount) for balance in balances}
        self._spans = {(one, part): sorted(spans[one, part] | spans[None, part] | merged) for one, part in parts}

    def list_spans(self, balance: Balance) -> list[tuple[datetime, datetime]]:
        """Return the first and last instants of the periods in which nothing of a balance is left out, in order."""
        return self._spans[balance.account, balance.subaccount]

    def list_others(self, balance: Balance, start: datetime | None, end: datetime | None) -> list[OtherRow]:
        """Return the rows from elsewhere that moved a balance in a period, if both ends of this are known."""
        if start is None or end is None:
            return []
        code, services = balance.currency or UNKNOWN_CURRENCY, {balance.subaccount[0], None}
        at = attrgetter("at")
        rows = self._rows[bisect_left(self._rows, start, key=at) : bisect_right(self._rows, end, key=at)]
        return [row for row in rows if row.currency == code and row.service in services]


def join_files(balances: Iterable[Balance], others: Iterable[OtherRow] = ()) -> list[tuple[Balance, Seam]]:
    """Return the balances by account, currency, subaccount and period, each with its seam; those without a period last.

    A file follows the one that ends last of those before it; none follows a file that another one replaces. Where two
    files have rows of the same days, their rows say whether the balances connect.
    """
    listed = sorted(balances, key=_sort_key)
    replaced = {id(balance) for balance in find_replaced(listed)}
    covered = _Covered(listed, others)
    joined: list[tuple[Balance, Seam]] = []
    before: Balance | None = None
    for balance in listed:
        if before and _find_owner(before) != _find_owner(balance):
            before = None
        seam = Seam()
        if balance.is_superseded:
            seam = Seam(remark="A later export of the group replaces this file.")
        elif before and balance.period.start is not None:
            seam = _find_seam(before, balance, covered)
        joined.append((balance, seam))
        if id(balance) not in replaced and (before is None or _ends_later(balance, before)):
            before = balance
    return joined


def _ends_later(balance: Balance, before: Balance) -> bool:
    """Return whether files follow the later one of two; of two that end together, one with a closing balance."""
    end, earlier = (each.period.end or each.period.start for each in (balance, before))
    if end is None or earlier is None:
        return False
    return end > earlier or (end == earlier and (balance.closing is not None or before.closing is None))


def find_replaced(balances: Sequence[Balance], cut_off: Collection[str] = ()) -> list[Balance]:
    """Return the balances that another file replaces: a later snapshot, or a file that adds up while they do not.

    The file that adds up has the whole period, and the same format, account, currency and subaccount. A file of the
    same name was read again, and only needs to begin or end with it: a strange row can be before or after the others.
    """
    sound = defaultdict(list)
    for balance in balances:
        start, end = balance.period
        if balance.is_reconciled and start and end:
            key = (balance.format, *_find_owner(balance))
            sound[key].append((strip_label(balance.file), start.date(), end.date()))

    def is_replaced(balance: Balance) -> bool:
        start, end = (each and each.date() for each in balance.period)
        is_wrong = balance.is_reconciled is False or balance.file in cut_off
        if balance.is_superseded or not is_wrong or not start or not end:
            return balance.is_superseded
        name = strip_label(balance.file)
        return any(
            (first <= start and end <= last) or (file == name and (first == start or last == end))
            for file, first, last in sound[balance.format, *_find_owner(balance)]
        )

    return [balance for balance in balances if is_replaced(balance)]


def _sort_key(balance: Balance) -> tuple[object, ...]:
    words = tuple((word is None, word or "") for word in (balance.account, balance.currency))
    instants = tuple((each is None, each.timestamp() if each else 0) for each in balance.period)
    cents = tuple((each is None, each or 0) for each in (balance.opening, balance.moved, balance.closing))
    content = strip_label(balance.file), *cents, len(balance.rows)  # labels depend on the order of imports
    return (*words, balance.subaccount, *instants, *content, balance.file, balance.format)


def _find_owner(balance: Balance) -> tuple[object, ...]:
    return balance.account, balance.currency, balance.subaccount


def _find_seam(before: Balance, balance: Balance, covered: _Covered) -> Seam:
    start, end = balance.dates.start, before.dates.end
    is_overlap = start is not None and end is not None and start < end
    touches = is_overlap or (start is not None and start == end)
    common, moved_after = _find_overlap(before.rows, balance.rows) if touches else (0, 0)
    gap = None
    if (common or not is_overlap) and balance.opening is not None and before.closing is not None:
        gap = balance.opening - (before.closing - moved_after)
    rows = covered.list_others(balance, before.period.end, balance.period.start)
    moved = None if any(row.cents is None for row in rows) else sum(row.cents or 0 for row in rows)
    is_filled = bool(rows) and moved == gap
    is_apart = not (common or is_overlap or is_filled)
    days, months = _count_gap(before, balance, covered) if is_apart else (0, 0)
    months = 0 if gap == 0 else months  # there was nothing to list
    remark = f"{format_count(common, 'row is', 'rows are')} in the file before too." if common else None
    if common == len(balance.rows) > 0:
        remark = "The file before has all of these rows."
    return Seam(
        before,
        gap,
        days,
        months,
        is_overlap or common > 0,
        is_overlap and not common and _share_days(before, balance),
        is_filled,
        len(rows) if not is_filled and (gap or days or months) else 0,
        moved,
        remark,
    )


def _share_days(before: Balance, balance: Balance) -> bool:
    """Return whether both files have rows in the days of both, and half of the rows of one file are there.

    A month can have a few rows of the next: a payment that was begun in it.
    """
    dates = [balance.rows["date"] for balance in (before, balance)]
    start, end = max(each.min() for each in dates), min(each.max() for each in dates)  # type: ignore[type-var]
    counts = [each.is_between(start, end).sum() for each in dates]
    return all(counts) and any(2 * count >= len(each) for count, each in zip(counts, dates, strict=True))


def _find_overlap(before: pl.DataFrame, rows: pl.DataFrame) -> tuple[int, int]:
    """Return how many rows both files have, and the cents that the file before moved in the overlap.

    The overlap begins with the first row that moved the balance in both: a payment that was pending in the file before
    can be a row of this one without being in the overlap.
    """
    common = before.join(rows, on="payment_id", how="semi")
    numbered = before.with_row_index("at").filter(before["known_cents"] != 0)
    moved = numbered.join(rows, on=["payment_id", "known_cents"], how="semi")["at"].to_list()
    if not moved and len(common) == len(rows):  # nothing moved within the file before: its first row is the overlap
        moved = before.with_row_index("at").join(rows, on=["payment_id", "known_cents"], how="semi")["at"].to_list()
    return len(common), sum(before["known_cents"][min(moved) :]) if moved else 0


def _count_gap(before: Balance, balance: Balance, covered: _Covered) -> tuple[int, int]:
    """Return how many days the periods that both files name leave out, or how many whole months their rows do.

    Other files of the account and subaccount may be about them in another currency.
    """
    end, start = before.stated.end, balance.stated.start
    if end and start:
        # Most files follow each other closely; to look at the periods of all files for each one takes long.
        return (_count_days(end, start, covered.list_spans(balance)) if start - end >= _DAY - _CLOCK_CHANGE else 0), 0
    if before.period.end is None or balance.period.start is None:
        return 0, 0
    first, last = _number_month(before.period.end), _number_month(balance.period.start)
    if last - first < 2:  # noqa: PLR2004 - no month lies between
        return 0, 0
    spans = covered.list_spans(balance)
    return 0, _count_left_out(first, last, [(_number_month(start), _number_month(end)) for start, end in spans])


def _count_days(end: datetime, start: datetime, spans: Iterable[tuple[datetime, datetime]]) -> int:
    """Return how many whole days between two instants are in no span.

    The days begin with the instant after the first one, so the days of any zone are right. Clocks may change between
    them by few hours; more are part of a day, as between files that were read with different zones.
    """
    midnight = end + timedelta(microseconds=1)
    changed = abs((start - midnight + _DAY / 2) % _DAY - _DAY / 2)
    changed = changed if changed <= _CLOCK_CHANGE else timedelta()
    numbers = [((first - midnight + changed) // _DAY, (last - midnight - changed) // _DAY) for first, last in spans]
    return _count_left_out(-1, (start - midnight + changed) // _DAY, numbers)


def _count_left_out(end: int, start: int, spans: list[tuple[int, int]]) -> int:
    """Return how many numbers between two others are in no span; the spans are sorted."""
    count, at = 0, end + 1
    for first, last in sorted(spans):
        if first >= start:
            break
        count += max(first - at, 0)
        at = max(at, last + 1)
    return count + max(start - at, 0)


def _number_month(day: date) -> int:
    return day.year * 12 + day.month
