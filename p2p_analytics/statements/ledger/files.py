"""How files of one balance relate: which follows which, which replaces another, and which looks like a copy."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import polars as pl

from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.display import format_count
from p2p_analytics.statements.ledger.identity import GIVEN, SHARED
from p2p_analytics.statements.problems import COPY, Problem
from p2p_analytics.statements.rows import NOTICE, strip_label
from p2p_analytics.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import date
    from typing import Any


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

    ``subaccount`` is service, product and number of the group of a snapshot; a later snapshot makes a file superseded.
    ``dates`` is the period of the rows, ``stated`` that in the text. ``remarks`` are further reasons for not
    reconciling. ``rows`` has ``payment_id``, ``date`` and ``known_cents`` in the order in which they moved the balance.
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
    """A row in no file, such as a payment of a sync: when and by how much it moved the balance, if known."""

    at: datetime
    cents: int | None
    currency: str
    service: str | None = None


class Seam(NamedTuple):
    """What connects a file with the file before: days or months between them in no file, and the change of the balance.

    ``is_double``: both are about the same days and share no row. ``is_filled``: rows from elsewhere explain the change
    to the cent; else ``others`` counts them, and ``others_cents`` is their sum, if known.
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
    """The days that files are about, of each account and subaccount, and the rows that come from elsewhere."""

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
    """Return the balances by account, currency, subaccount and period, each with its seam; undated ones last.

    A file follows the one that ends last of those before it; none follows a file that another one replaces.
    """

    def rank(balance: Balance) -> tuple[object, ...]:
        words = tuple((word is None, word or "") for word in (balance.account, balance.currency))
        instants = tuple((each is None, each.timestamp() if each else 0) for each in balance.period)
        cents = tuple((each is None, each or 0) for each in (balance.opening, balance.moved, balance.closing))
        content = strip_label(balance.file), *cents, len(balance.rows)  # labels depend on the order of imports
        return (*words, balance.subaccount, *instants, *content, balance.file, balance.format)

    listed = sorted(balances, key=rank)
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
        if id(balance) in replaced:
            continue
        end, last = (each and (each.period.end or each.period.start) for each in (balance, before))
        # Of two that end together, the one with a closing balance is followed.
        knows, knew = (each is not None and each.closing is not None for each in (balance, before))
        if before is None or (end and last and (end, knows) >= (last, knew)):
            before = balance
    return joined


def find_replaced(balances: Sequence[Balance], cut_off: Collection[str] = ()) -> list[Balance]:
    """Return the balances that another file replaces: a later snapshot, or a file that adds up while they do not.

    That has the whole period, and the same format and owner; of the same name, it only needs to begin or end with it.
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
    is_double = is_overlap and not common
    if is_double:  # both have rows in the days of both, and half of the rows of one; a month can have some of the next
        dates = [each.rows["date"] for each in (before, balance)]
        shared = max(each.min() for each in dates), min(each.max() for each in dates)  # type: ignore[type-var]
        counts = [each.is_between(*shared).sum() for each in dates]
        is_double = all(counts) and any(2 * count >= len(each) for count, each in zip(counts, dates, strict=True))
    rows = covered.list_others(balance, before.period.end, balance.period.start)
    moved = None if any(row.cents is None for row in rows) else sum(row.cents or 0 for row in rows)
    is_filled = bool(rows) and moved == gap
    is_apart = not (common or is_overlap or is_filled)
    days, months = _count_gap(before, balance, covered.list_spans(balance)) if is_apart else (0, 0)
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
        is_double,
        is_filled,
        len(rows) if not is_filled and (gap or days or months) else 0,
        moved,
        remark,
    )


def _find_overlap(before: pl.DataFrame, rows: pl.DataFrame) -> tuple[int, int]:
    """Return how many rows both files have, and the cents that the file before moved since the first common one.

    A pending payment of the file before can be a row of this one without being in the overlap.
    """
    common = before.join(rows, on="payment_id", how="semi")
    numbered = before.with_row_index("at").filter(before["known_cents"] != 0)
    moved = numbered.join(rows, on=["payment_id", "known_cents"], how="semi")["at"].to_list()
    if not moved and len(common) == len(rows):  # nothing moved within the file before: its first row is the overlap
        moved = before.with_row_index("at").join(rows, on=["payment_id", "known_cents"], how="semi")["at"].to_list()
    return len(common), sum(before["known_cents"][min(moved) :]) if moved else 0


def _count_gap(before: Balance, balance: Balance, spans: Sequence[tuple[datetime, datetime]]) -> tuple[int, int]:
    """Return how many days the stated periods leave out, or how many whole months the rows do."""
    end, start = before.stated.end, balance.stated.start
    if end and start:
        if start - end < _DAY - _CLOCK_CHANGE:
            return 0, 0
        # The days begin with the instant after the first file, so the days of any zone are right. Clocks may change
        # between them by few hours; more are part of a day, as between files that were read with different zones.
        midnight = end + timedelta(microseconds=1)
        changed = abs((start - midnight + _DAY / 2) % _DAY - _DAY / 2)
        changed = changed if changed <= _CLOCK_CHANGE else timedelta()
        days = [((first - midnight + changed) // _DAY, (last - midnight - changed) // _DAY) for first, last in spans]
        return _count_left_out(-1, (start - midnight + changed) // _DAY, days), 0
    if before.period.end is None or balance.period.start is None:
        return 0, 0
    first, last = _number_month(before.period.end), _number_month(balance.period.start)
    if last - first < 2:  # noqa: PLR2004 - no month lies between
        return 0, 0
    return 0, _count_left_out(first, last, [(_number_month(start), _number_month(end)) for start, end in spans])


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


_OF_CONTENT: Final = r"^(.+)-[0-9a-f]{16}-[0-9]+$"
_SIDES: Final = ("moment_side", "amount_side")
_LOST: Final = ("moment_lost", "amount_lost")
_MOMENT: Final = ("alike", "moment", "amount", *_LOST)
_ROW: Final = ("account", "payment_id")
_PAIR: Final = ("account", "file", "other_file")
_MINUTE: Final = 60_000_000
_UNIT: Final = 100  # cents
_STATE: Final = ("owner", "balance", "moved")
_FEWEST_BALANCES: Final = 3  # that two files with the same rows have in common
_MOST_FILES: Final = 30  # that have rows alike in one minute or day: such rows are frequent


def list_copies(rows: pl.DataFrame, versions: pl.DataFrame) -> list[Problem]:
    """Return a problem for each two files where one looks like a copy of the other; it names the later one.

    A copy of a row with an id is the same payment. Where ids are made of the content, it is another, and counts twice.
    Two rows look alike if one has lost its seconds, its time of day, which also moves it by a day in another zone, or
    its cents, as by a spreadsheet. A file looks like a copy if half of its rows in the days of the other file, or half
    of that file's, have such a row in the other. A file that has both rows shows that they are two. ``rows`` has one
    row per transaction, ``versions`` further rows of them.
    """
    if rows["file"].n_unique() < 2:  # noqa: PLR2004 - a copy is of another file
        return []
    candidates = _select_candidates(rows)
    shared = _select_shared(candidates)
    if shared.is_empty():
        return []
    is_shared = pl.col("payment_id").is_in(shared["payment_id"].unique().implode())
    known = pl.concat(
        each.filter(is_shared).select(pl.col("account", "file").cast(pl.String), "payment_id")
        for each in (rows, versions)
    )
    alike = _find_alike(shared, known).group_by(_PAIR)
    counts = alike.agg(pl.col("payment_id").n_unique().alias("alike"), pl.col("line").min())
    day = pl.col("day")
    files = candidates.group_by("account", "file").agg(
        day.min().alias("first"), day.max().alias("last"), pl.col("payment_id").min().alias("id")
    )
    others = files.rename({name: f"other_{name}" for name in ("file", "first", "last", "id")})
    pairs = counts.join(files, on=["account", "file"]).join(others, on=["account", "other_file"])
    near = pairs.select(*_PAIR, "other_first", "other_last").join(
        candidates.select("account", "file", "day"), on=["account", "file"]
    )
    is_near = day.is_between(pl.col("other_first") - 1, pl.col("other_last") + 1)
    totals = near.filter(is_near).group_by(_PAIR).agg(pl.len().alias("rows"))
    found = pairs.join(totals, on=_PAIR).sort(_PAIR).rows(named=True)
    is_half = {(each["account"], each["file"], each["other_file"]): 2 * each["alike"] >= each["rows"] for each in found}

    def is_later_copy(pair: Mapping[str, Any]) -> bool:
        account, file, other = pair["account"], pair["file"], pair["other_file"]
        # Which one is later does not depend on folders and imports.
        this = pair["last"], strip_label(file), pair["id"]
        that = pair["other_last"], strip_label(other), pair["other_id"]
        return this > that and (is_half[account, file, other] or is_half[account, other, file])

    return [
        Problem(
            COPY,
            pair["file"],
            pair["line"],
            other_file=pair["other_file"],
            details=(format_count(pair["alike"], "row looks", "rows look"),),
        )
        for pair in filter(is_later_copy, found)
    ]


def _select_candidates(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that become other payments if copied; they are ``alike`` but for amounts and times."""
    own, cents, us = pl.col("payment_id"), pl.col("flow_cents"), pl.col("date").dt.epoch("us")
    is_made = pl.col(GIVEN).is_null() | pl.col(SHARED)
    size, is_transaction = cents.abs(), pl.col("kind").ne_missing(NOTICE)
    candidates = rows.filter(is_made, cents != 0, pl.col("date", "file").is_not_null(), is_transaction)
    texts = pl.col("account", "type", "counterparty_name", "currency", "status", "note").cast(pl.String)
    return candidates.select(
        "payment_id",
        "line",
        pl.col("account", "file").cast(pl.String),
        # One hash takes a tenth of the time and memory that the texts take.
        pl.struct(texts, pl.coalesce(own.str.extract(_OF_CONTENT), GIVEN).alias("group"), cents > 0)
        .hash()
        .alias("alike"),
        size.alias("cents"),
        ((size + _UNIT // 2) // _UNIT * _UNIT).alias("rounded"),
        (size % _UNIT == 0).alias("lacks_cents"),
        us.alias("us"),
        (us // DAY_US).alias("day"),
        (us % DAY_US == 0).alias("lacks_time"),
        (us % _MINUTE == 0).alias("lacks_seconds"),
    )


def _select_shared(candidates: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that can look like rows of another file, once for each time and amount at which they can.

    `_LOST` is what a row lost of its time (1: seconds, 2: time of day) and amount (1: cents); `_SIDES` are 1 for the
    row that lost it, 2 for the other one, and 0 if nothing was lost.
    """

    def list_sides(
        rows: pl.DataFrame, name: str, key: pl.Expr, lost: int = 0, lacks: str | None = None
    ) -> pl.DataFrame:
        side = pl.when(lacks).then(1).otherwise(2) if lacks else pl.lit(0)
        return rows.with_columns(key.alias(name), side.alias(f"{name}_side"), pl.lit(lost).alias(f"{name}_lost"))

    of_day = list_sides(candidates, "moment", pl.col("day"), 2, "lacks_time")
    near = [of_day.filter("lacks_time").with_columns((pl.col("day") + more).alias("moment")) for more in (-1, 1)]
    of_minute = list_sides(candidates, "moment", pl.col("us") // _MINUTE, 1, "lacks_seconds")
    times = pl.concat([list_sides(candidates, "moment", pl.col("us")), of_minute, of_day, *near])
    of_units = list_sides(times, "amount", pl.col("rounded"), 1, "lacks_cents")
    found = pl.concat([list_sides(times, "amount", pl.col("cents")), of_units])
    found = found.filter(pl.any_horizontal(pl.col(*_LOST) > 0))
    found = found.filter(found.select(pl.struct(_MOMENT).hash().is_duplicated()).to_series())
    files = pl.col("file").n_unique().over(*_MOMENT)
    has_both = (
        pl.col(side).n_unique().over(*_MOMENT) > (pl.col(lost) > 0) for side, lost in zip(_SIDES, _LOST, strict=True)
    )
    return found.filter(files.is_between(2, _MOST_FILES), *has_both)


def _find_alike(shared: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return rows with each other file that has a row that looks like it, where neither file has both."""
    key = [*_MOMENT, *_SIDES]
    of_other = [pl.when(pl.col(side) > 0).then(3 - pl.col(side)).otherwise(0).alias(side) for side in _SIDES]
    files = shared.select(*key, "file").unique()
    of_file = files.select(*_MOMENT, *of_other, other_file="file")
    rows = shared.join(of_file, on=key, how="inner", nulls_equal=True).filter(pl.col("file") != pl.col("other_file"))
    rows = rows.join(known.rename({"file": "other_file"}), on=[*_ROW, "other_file"], how="anti")
    of_row = rows.select(*_MOMENT, *of_other, file="other_file", other_file="file")
    return rows.join(of_row.unique(), on=[*key, "file", "other_file"], how="semi", nulls_equal=True)


def find_equal_balances(balances: Sequence[Balance]) -> list[tuple[int, int]]:
    """Return pairs of positions of balances with equal running balances and other ids; one per later balance.

    At least half of the rows of one, and three different balances, are equal. States with three ids recur each month.
    """
    owners = [(each.account, each.currency, each.subaccount) for each in balances]
    counts = Counter(owners)
    used = [
        (at, each)
        for at, (each, owner) in enumerate(zip(balances, owners, strict=True))
        if counts[owner] > 1 and each.opening is not None and each.moved is not None and not each.is_superseded
    ]
    if not used:
        return []
    numbers = {owner: number for number, owner in enumerate(counts)}
    lengths = [len(each.rows) for _, each in used]
    rows = pl.concat([each.rows[["payment_id", "known_cents"]] for _, each in used]).select(
        id="payment_id",
        moved="known_cents",
        owner=np.repeat([numbers[owners[at]] for at, _ in used], lengths),
        at=np.repeat([at for at, _ in used], lengths),
        opening=np.repeat([each.opening for _, each in used], lengths),
    )
    rows = rows.with_columns(balance=pl.col("moved").cum_sum().over("at") + pl.col("opening"))
    rows = rows.filter(pl.col("moved") != 0)
    sizes = dict(rows.group_by("at").len().iter_rows())
    rows = rows.filter(rows.select(pl.struct(_STATE).hash().is_duplicated()).to_series())
    rows = rows.filter(pl.col("id").n_unique().over(_STATE) == 2)  # noqa: PLR2004
    pairs = rows.join(rows, on=_STATE, suffix="_later").filter(
        pl.col("at") < pl.col("at_later"), pl.col("id") != pl.col("id_later")
    )
    equal = pairs.group_by("at", "at_later").agg(
        pl.struct(_STATE).n_unique().alias("equal"), pl.col("balance").n_unique().alias("balances")
    )
    found: dict[int, int] = {}
    for at, later, count, different in equal.sort("at").iter_rows():
        if different >= _FEWEST_BALANCES and 2 * count >= min(sizes[at], sizes[later]):
            found.setdefault(later, at)
    return [(at, later) for later, at in found.items()]
