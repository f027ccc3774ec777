"""Continuity: which file follows which, and whether the balance is the same at the seam."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.display import format_count
from p2p_analytics.money import format_cents
from p2p_analytics.statements.problems import describe_others
from p2p_analytics.statements.rows import strip_label

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
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
    rows: pl.DataFrame

    @property
    def period(self) -> Period:
        """The period that the file names, else that of its rows."""
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

    ``days`` and ``months`` count those between the two that no file is about. ``is_filled`` says whether rows from
    elsewhere explain the change of the balance to the cent. ``others`` is how many there are of a gap that they do not
    explain, and ``others_cents`` by how much they moved the balance; None if it is not known.
    """

    before: Balance | None = None
    gap_cents: int | None = None
    days: int = 0
    months: int = 0
    is_overlap: bool = False
    is_filled: bool = False
    others: int = 0
    others_cents: int | None = None
    remarks: tuple[str, ...] = ()


class _Covered:
    """The days that files are about, of each account and subaccount, and the rows that come from elsewhere.

    A file without rows in a currency leaves no days of it out.
    """

    def __init__(self, balances: Iterable[Balance], others: Iterable[OtherRow]) -> None:
        self._spans: dict[tuple[str | None, tuple[str, str, int]], list[tuple[datetime, datetime]]] = defaultdict(list)
        self._rows = sorted(others, key=attrgetter("at"))
        self._instants = [row.at for row in self._rows]
        self._sorted: dict[tuple[str | None, tuple[str, str, int]], list[tuple[datetime, datetime]]] = {}
        for balance in balances:
            start, end = balance.period
            if start and end:
                self._spans[balance.account, balance.subaccount].append((start, end))

    def list_spans(self, balance: Balance) -> list[tuple[datetime, datetime]]:
        """Return the first and last instants of the periods in which nothing of a balance is left out, in order."""
        key = balance.account, balance.subaccount
        if key not in self._sorted:
            files = (self._spans.get((account, balance.subaccount), []) for account in {balance.account, None})
            merged = ((row.at, row.at) for row in self._rows if row.service is None)  # of files that are not here
            self._sorted[key] = sorted({*chain(*files), *merged})
        return self._sorted[key]

    def list_others(self, balance: Balance, start: datetime, end: datetime) -> list[OtherRow]:
        """Return the rows from elsewhere that moved a balance in a period."""
        code, services = balance.currency or UNKNOWN_CURRENCY, {balance.subaccount[0], None}
        rows = self._rows[bisect_left(self._instants, start) : bisect_right(self._instants, end)]
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
        if balance.is_superseded:
            seam = Seam(remarks=("A later export of the group replaces this file.",))
        elif before and balance.period.start is not None:
            seam = _find_seam(before, balance, covered)
        else:
            seam = Seam()
        joined.append((balance, seam))
        if id(balance) in replaced:
            continue
        if before is None or _ends_later(balance, before):
            before = balance
    return joined


def _ends_later(balance: Balance, before: Balance) -> bool:
    """Return whether files follow the later one of two; of two that end together, one with a closing balance."""
    end, earlier = (each.period.end or each.period.start for each in (balance, before))
    if end is None or earlier is None:
        return False
    return end > earlier or (end == earlier and (balance.closing is not None or before.closing is None))


def find_replaced(balances: Sequence[Balance]) -> list[Balance]:
    """Return the balances that another file replaces: a later snapshot, or a file that adds up while they do not.

    The file that adds up has the whole period, and the same format, account, currency and subaccount. A file of the
    same name was read again, and only needs to begin or end with it: a strange row can be before or after the others.
    """
    sound = defaultdict(list)
    for balance in balances:
        if balance.is_reconciled and balance.period.start and balance.period.end:
            sound[balance.format, *_find_owner(balance)].append((strip_label(balance.file), *_find_days(balance)))

    def is_replaced(balance: Balance) -> bool:
        if balance.is_superseded:
            return True
        if balance.is_reconciled is not False or not balance.period.start or not balance.period.end:
            return False
        start, end = _find_days(balance)
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


def _find_days(balance: Balance) -> tuple[date, date]:
    """Return the first and the last day of a balance with a period."""
    start, end = balance.period
    if start is None or end is None:
        raise ValueError("the period is not known")
    return start.date(), end.date()


def _find_seam(before: Balance, balance: Balance, covered: _Covered) -> Seam:
    is_overlap = _is_before(balance.dates.start, before.dates.end)
    touches = is_overlap or (balance.dates.start is not None and balance.dates.start == before.dates.end)
    common = moved_after = 0
    remarks: list[str] = []
    if touches:
        common, moved_after = _find_overlap(before.rows, balance.rows)
        remarks += _describe_overlap(common, len(balance.rows), is_overlap=is_overlap)
    gap = None
    if (common or not is_overlap) and balance.opening is not None and before.closing is not None:
        gap = balance.opening - (before.closing - moved_after)
    rows = _list_others(before, balance, covered)
    moved = None if any(row.cents is None for row in rows) else sum(row.cents or 0 for row in rows)
    is_filled = bool(rows) and moved == gap
    days = months = 0
    if not common and not is_overlap:
        days, months = (0, 0) if is_filled else _count_gap(before, balance, covered)
        months = 0 if gap == 0 else months  # there was nothing to list
        remarks += _describe_gap(days, months)
    if gap:
        reason = "rows of these days come from elsewhere" if is_filled else "rows are missing"
        amount = _format_amount(gap, balance)
        remarks.append(f"The balance changed by {amount} between the file before and this one: {reason}.")
    others = len(rows) if not is_filled and (gap or days or months) else 0
    if others:
        remarks.append(f"{describe_others(others, _format_amount(moved, balance))}.")
    return Seam(before, gap, days, months, is_overlap or common > 0, is_filled, others, moved, tuple(remarks))


def _list_others(before: Balance, balance: Balance, covered: _Covered) -> list[OtherRow]:
    """Return the rows from elsewhere that moved the balance between two files."""
    end, start = before.period.end, balance.period.start
    return covered.list_others(balance, end, start) if end and start else []


def _format_amount(cents: int | None, balance: Balance) -> str | None:
    return None if cents is None else " ".join(filter(None, [format_cents(cents), balance.currency]))


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


def _describe_overlap(common: int, count: int, *, is_overlap: bool) -> list[str]:
    """Return a remark on the rows that the file before has too."""
    if common == count > 0:
        return ["The file before has all of these rows."]
    if common:
        return [f"{format_count(common, 'row', 'rows')} {'is' if common == 1 else 'are'} in the file before too."]
    return ["The file before is about the same days, but has none of these rows."] if is_overlap else []


def _is_before(one: datetime | None, other: datetime | None) -> bool:
    return one is not None and other is not None and one < other


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
    if last - first < 2:  # noqa: PLR2004 - there is no month between
        return 0, 0
    spans = covered.list_spans(balance)
    return 0, _count_left_out(first, last, [(_number_month(start), _number_month(end)) for start, end in spans])


def _count_days(end: datetime, start: datetime, spans: Iterable[tuple[datetime, datetime]]) -> int:
    """Return how many whole days between two instants are in no span.

    The days begin with the instant after the first one, so those of any zone are right. Clocks may be changed between,
    by few hours; more are part of a day, as between files that were read with different zones.
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


def _describe_gap(days: int, months: int) -> list[str]:
    """Return a remark on the days or months between two files that neither has."""
    remarks = []
    if days:
        verb = "is" if days == 1 else "are"
        remarks.append(f"{format_count(days, 'day', 'days')} between the file before and this one {verb} in neither.")
    if months:
        number = format_count(months, "month", "months")
        remarks.append(f"{number} without rows after the file before: a file may be missing.")
    return remarks
