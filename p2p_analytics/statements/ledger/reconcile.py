"""Reconciliation: opening balance + rows that moved it = closing balance, in each file and from file to file.

The rows of a file are put into the order in which they moved the balance; some files list the newest row first.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from math import comb
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd
import polars as pl

from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.display import clean_line, format_count
from p2p_analytics.frames.schema import DOES_NOT_ADD_UP, FLAG, GAP, INSTANT, TEXT, WHOLE, parse_dtype
from p2p_analytics.money import LARGEST_CENTS
from p2p_analytics.statements.ledger.files import Balance, Period, find_equal_balances, find_replaced, join_files
from p2p_analytics.statements.ledger.transactions import COUNTERPARTY
from p2p_analytics.statements.problems import POSSIBLE_DOUBLE, Problem
from p2p_analytics.statements.rows import slice_by_files, strip_label

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from p2p_analytics.statements.ledger.files import ExplainingRow, OtherRow, Seam
    from p2p_analytics.statements.ledger.identity import Book
    from p2p_analytics.statements.rows import FileInfo

RECONCILIATION: Final[Mapping[str, str]] = {
    "file": TEXT,
    "account": TEXT,
    "currency": TEXT,
    "opening_cents": WHOLE,
    "moved_cents": WHOLE,
    "closing_cents": WHOLE,
    "difference_cents": WHOLE,
    "reconciled": FLAG,
    "suggestion": TEXT,
    "period_start": INSTANT,
    "period_end": INSTANT,
    "follows": TEXT,
    "gap_cents": WHOLE,
    "note": TEXT,
}
_GROUP: Final = "group"  # the number of the balance that a row belongs to: one per file, account and currency
_NAMES: Final = ("file", "account", "currency")
_NEEDED: Final = (
    *_NAMES, "line", "date", "kind", "payment_id", "moved_cents", "flow_cents", "opening_cents", "closing_cents",
    "balance_cents",
)  # fmt: skip
_SEGMENT: Final = (_GROUP, "segment")
_LINE: Final = pl.when("is_reversed").then(-pl.col("line")).otherwise("line")
_BREAK: Final = 1 << 32  # a balance that does not follow counts for more than any number of dates
_TRANSACTION: Final = ("payment_id", "date", "line", "known_cents", "offset_cents", "moved_cents", "flow_cents")
_MOST_SETS: Final = 5
_LARGEST_SET: Final = 3
_MOST_CANDIDATES: Final = 5_000  # sets that are tried
_ODDS: Final = 100  # 1 in 100 is the largest chance that some set explains the difference by accident
_TENTH: Final = 10
# People pay round amounts, so a round difference has fewer values that it could be.
_ROUND: Final = (1000, 500, 100, 50, 25, 10, 5)  # cents
_HALF: Final = 1 << 32
_LONGEST_NAME: Final = 80


class Change(NamedTuple):
    """What to do with one row: leave it out, count it, reverse its sign, or read its amount."""

    row: int
    action: str


class Reconciled(NamedTuple):
    """The table of all files, their balances and problems, and the balance after each row, where it is known.

    It is stated, or counted on from a stated or opening balance, or back from a stated or closing one. It is null for
    notices, beyond an unreadable amount, and where the balances of the file do not agree with its rows.
    """

    table: pd.DataFrame
    balances: list[Balance]
    problems: list[Problem]
    running: pl.Series


def reconcile(
    rows: pl.DataFrame,
    files: Iterable[FileInfo],
    others: Iterable[OtherRow] = (),
    books: Mapping[str, Book] = MappingProxyType({}),
) -> Reconciled:
    """Return whether the balances of each file agree with its rows, and with the balances of the file before.

    ``rows`` are ROWS of all files, before payments of several files are united. Only files about one balance follow
    each other: one service, product and, if ``books`` has it, group. ``others`` can explain a change between files to
    the cent. The table is in order of account, currency, service and period. A balance that a file does not state
    follows from its rows; ``reconciled`` is null where one is not known, or where the only one is stated in a single
    row.
    """
    of_files = {info.file: info for info in files}
    balances: list[Balance] = []
    running: list[pl.Series] = []
    for part in slice_by_files(rows):
        ordered, names = _order_rows(part)
        balances += _check_groups(part, ordered, names, of_files, books)
        running.append(_count_balances(ordered))
    joined = join_files(balances, others)
    lines = [
        {
            "file": balance.file,
            "account": balance.account,
            "currency": balance.currency,
            "opening_cents": balance.opening,
            "moved_cents": balance.moved,
            "closing_cents": balance.closing,
            "difference_cents": balance.difference,
            "reconciled": balance.is_reconciled,
            "suggestion": balance.suggestion,
            "period_start": balance.period.start,
            "period_end": balance.period.end,
            "follows": seam.before and seam.before.file,
            "gap_cents": seam.gap_cents,
            "note": " ".join(filter(None, [balance.remarks, seam.remark])) or None,
        }
        for balance, seam in joined
    ]
    balances = [replace(balance, rows=balance.rows.clear()) for balance, _ in joined]
    return Reconciled(frame_lines(lines, RECONCILIATION), balances, _list_problems(joined), pl.concat(running))


def _check_groups(
    rows: pl.DataFrame,
    ordered: pl.DataFrame,
    names: pl.DataFrame,
    files: Mapping[str, FileInfo],
    books: Mapping[str, Book],
) -> Iterator[Balance]:
    """Yield the balance of each file, account and currency, except for groups with nothing in them."""
    known, offsets = pl.col("known_cents"), pl.col("offset_cents").drop_nulls()
    has_balance = pl.any_horizontal(pl.col("opening_cents", "closing_cents", "balance_cents").is_not_null())
    is_row = ~pl.col("is_notice")
    sums = ordered.group_by(_GROUP, maintain_order=True).agg(
        transactions=is_row.sum(),
        opening=pl.col("opening_cents").drop_nulls().first(),
        closing=pl.col("closing_cents").drop_nulls().last(),
        first_offset=offsets.first(),
        last_offset=offsets.last(),
        stated=offsets.len(),
        high=(known // _HALF).sum(),  # two sums, because one of 64 bits could overflow
        low=(known % _HALF).sum(),
        largest=known.cast(pl.Float64).abs().sum(),
        largest_balance=pl.col("balance_cents").cast(pl.Float64).abs().max(),
        unknown=(is_row & pl.col("moved_cents").is_null()).sum(),
        unread=(is_row & pl.all_horizontal(pl.col("moved_cents", "flow_cents").is_null())).sum(),
        start=pl.col("date").filter(is_row).min(),
        end=pl.col("date").filter(is_row).max(),
        is_blank=(pl.col("is_notice") & ~has_balance).all(),
    )
    named = pl.concat([names, sums], how="horizontal")
    groups = named.with_columns(pl.col("is_blank") & ~pl.col("is_blank").all().over("file"))
    every = ordered.filter(~pl.col("is_notice")).select(_TRANSACTION)
    every_move, at = every.select("payment_id", "date", "known_cents"), 0
    for group in groups.iter_rows(named=True):
        transactions, moves = (each.slice(at, group["transactions"]) for each in (every, every_move))
        at += len(transactions)
        if group["is_blank"]:
            continue
        info, book = files[group["file"]], books.get(group["file"])
        opening, moved, closing = _add_up(group)
        is_known = opening is not None and moved is not None and closing is not None
        is_alone = group["stated"] == 1 and group["opening"] is None and group["closing"] is None
        difference = closing - opening - moved if is_known else None
        agrees = not (difference or info.is_broken or group["unknown"])
        suggestion, explaining = _explain(transactions, rows, info.file, difference) if difference else (None, ())
        undecided = group["unknown"] - group["unread"]
        remarks = {  # apart from the difference
            "Rows have too many or too few cells.": info.is_broken,
            f"{format_count(group['unread'], 'amount was', 'amounts were')} not read.": group["unread"],
            f"{format_count(undecided, 'row has', 'rows have')} a status that does not say whether money moved.": (
                undecided > 0
            ),
            "The amounts are too large to add up.": moved is None,
            "Only one balance is stated, which leaves nothing to check.": is_alone,
        }
        yield Balance(
            info.file,
            info.format,
            group["account"],
            group["currency"],
            # The members of a group, which are the product of its files, can be renamed.
            (info.service, "" if book else info.product, book.number if book else 0),
            book is not None and book.replaced_until is not None,
            opening,
            moved,
            closing,
            difference,
            agrees if is_known and not is_alone else None,
            suggestion,
            explaining,
            " ".join(remark for remark, is_true in remarks.items() if is_true) or None,
            dates=Period(group["start"], group["end"]),
            stated=Period(info.period_start, info.period_end),
            rows=moves,
        )


def _add_up(group: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return opening balance, movement and closing balance; None where one is not known or beyond 64 bits."""
    moved = group["high"] * _HALF + group["low"]
    opening, closing = group["opening"], group["closing"]
    amounts = (group["largest"], group["largest_balance"] or 0, abs(opening or 0), abs(closing or 0))
    if sum(amounts) > LARGEST_CENTS // 2:
        return opening, None, closing
    if group["stated"]:
        opening = group["first_offset"] if opening is None else opening
        closing = group["last_offset"] + moved if closing is None else closing
    return opening, moved, closing


def _explain(
    transactions: pl.DataFrame, rows: pl.DataFrame, file: str, difference: int
) -> tuple[str | None, tuple[tuple[ExplainingRow, ...], ...]]:
    """Return sets of rows that explain a difference, as in "without A and without B; counting C", and what they are.

    If the rows state balances, only rows between two that do not agree are considered.
    """
    offset = transactions["offset_cents"]
    disagrees = offset.backward_fill() != offset.shift(1).forward_fill()
    at = disagrees.fill_null(value=False).arg_true().to_list() or list(range(len(transactions)))
    candidates = transactions[at]
    found = find_explanations(candidates["moved_cents"].to_list(), candidates["flow_cents"].to_list(), difference)
    if not found:
        return None, ()
    has_more, found = len(found) > _MOST_SETS, found[:_MOST_SETS]
    ids, lines = candidates["payment_id"], candidates["line"]

    def name(row: int) -> str:
        return clean_line(ids[row])[:_LONGEST_NAME] or f"line {lines[row]}"

    sets = [" and ".join(f"{change.action} {name(change.row)}" for change in changes) for changes in found]
    distinct = list(dict.fromkeys(sets))  # rows of one id are in several
    suggestion = "; ".join([*distinct, "others"] if has_more else distinct)
    shown = [[(change.action, lines[change.row]) for change in changes] for changes in found]
    of_file = rows.filter(
        pl.col("file").cast(pl.String) == file, pl.col("line").is_in([line for each in shown for _, line in each])
    )
    described = of_file.select("line", pl.col("date").dt.date(), COUNTERPARTY.cast(pl.String), "flow_cents")
    of_line = {
        line: (day and day.isoformat(), clean_line(person)[:_LONGEST_NAME] or f"line {line}", cents)
        for line, day, person, cents in described.iter_rows()
    }
    return suggestion, tuple(tuple((action, *of_line[line]) for action, line in each) for each in shown)


def find_explanations(
    moved: Sequence[int | None], flow: Sequence[int | None], difference: int
) -> list[tuple[Change, ...]]:
    """Return the smallest sets of one, two or three rows that explain a difference in cents, the likeliest first.

    Larger sets change no signs, and need a chance below 1 % that some set of their size explains it by accident.
    ``moved`` is None where an amount could not be read; ``flow`` is the amount whether or not it moved the balance.
    """
    changes: list[tuple[Change, int]] = []
    for row, (cents, amount) in enumerate(zip(moved, flow, strict=True)):
        if cents:
            changes.append((Change(row, "without"), -cents))
        elif cents == 0 and amount:
            changes.append((Change(row, "counting"), amount))
    unread = [(Change(row, "reading"),) for row, cents in enumerate(moved) if cents is None]
    singles = [(change,) for change, cents in changes if cents == difference]
    singles += [(Change(row, "reversing"),) for row, cents in enumerate(moved) if cents and -2 * cents == difference]
    if unread or singles:
        return [*(unread if len(unread) == 1 else ()), *singles]
    found = (_find_sets(changes, size, difference) for size in range(2, _LARGEST_SET + 1))
    return next(filter(None, found), [])


def _find_sets(changes: Sequence[tuple[Change, int]], size: int, difference: int) -> list[tuple[Change, ...]]:
    """Return the sets of a size that explain a difference; none if one of them could do so by accident.

    The chance is the number of sets divided by the amounts in the range of their sums, without a tenth at each end.
    """
    count = comb(len(changes), size)
    amounts = [cents for _, cents in changes]
    step = next((step for step in _ROUND if difference % step == 0), 1)
    needed = count * step * _ODDS
    if not amounts or count > _MOST_CANDIDATES or needed > size * (max(amounts) - min(amounts)):
        return []
    sets = list(combinations(changes, size))
    sums = [sum(cents for _, cents in each) for each in sets]
    ordered, left_out = sorted(sums), len(sums) // _TENTH
    if not sums or needed > ordered[-1 - left_out] - ordered[left_out]:
        return []
    found = [each for each, cents in zip(sets, sums, strict=True) if cents == difference]
    return [tuple(change for change, _ in each) for each in found]


def frame_lines(lines: Sequence[Mapping[str, object]], dtypes: Mapping[str, str]) -> pd.DataFrame:
    """Return a frame with the columns and dtypes of a schema, one row per line."""
    return pd.DataFrame(
        {name: pd.array([line[name] for line in lines], dtype=parse_dtype(dtype)) for name, dtype in dtypes.items()}
    )


def find_balance(balances: Sequence[Balance], currencies: Collection[str]) -> int | None:
    """Return the closing balance of an account's last file; None if its currencies and files have several, or none."""
    last: dict[tuple[object, ...], int | None] = {}
    replaced = find_replaced(balances)
    dated = [balance for balance in balances if balance.period.end and balance not in replaced]
    for balance in sorted(dated, key=lambda each: (each.period.end, strip_label(each.file), each.closing or 0)):
        code = balance.currency or UNKNOWN_CURRENCY
        if code in currencies:
            last[code, balance.subaccount] = balance.closing
    closings = [cents for cents in last.values() if cents is not None]
    return closings[0] if len(closings) == len(currencies) == 1 else None


def _list_problems(joined: Sequence[tuple[Balance, Seam]]) -> list[Problem]:
    """Return a problem for each balance that does not add up, each seam with a gap, and each file that doubles another.

    A file that another one replaces has no difference and no gap; a double counts in any case.
    """
    replaced = {id(balance) for balance in find_replaced([balance for balance, _ in joined])}
    standing = [(balance, seam) for balance, seam in joined if id(balance) not in replaced]
    problems = []
    for balance, _ in standing:
        if balance.is_reconciled is False:
            remarks = (balance.remarks or "").rstrip(".").lower()
            problem = _describe(balance, DOES_NOT_ADD_UP, balance.period, remarks, balance.explaining)
            problems.append(problem._replace(cents=balance.difference or None))
    problems += [gap for balance, seam in standing if (gap := _describe_gap(balance, seam))]
    of_balances = {later: earlier for earlier, later in find_equal_balances([balance for balance, _ in joined])}
    for at, (balance, seam) in enumerate(joined):
        before, reason = (seam.before, "days") if seam.is_double else (None, "balances")
        if at in of_balances:
            before = before or joined[of_balances[at]][0]
        if before:
            problems.append(_describe(balance, POSSIBLE_DOUBLE, balance.dates, reason)._replace(other_file=before.file))
    return problems


def _describe_gap(balance: Balance, seam: Seam) -> Problem | None:
    """Return the problem of a seam; the days are days that no file is about, else the last and first day in one."""
    cents = None if seam.is_filled else seam.gap_cents or None
    if seam.before is None or seam.is_overlap or not (seam.days or seam.months or cents):
        return None
    period = Period(seam.before.period.end, balance.period.start)
    problem = _describe(balance, GAP, period, seam.days, seam.months, seam.others, seam.others_cents)
    if seam.days and problem.first_day and problem.last_day:
        day = timedelta(days=1)
        problem = problem._replace(first_day=problem.first_day + day, last_day=problem.last_day - day)
    return problem._replace(cents=cents, other_file=seam.before.file)


def _describe(balance: Balance, code: str, period: Period, *details: object) -> Problem:
    """Return a problem of a balance in the days of a period."""
    first, last = (each and each.date() for each in period)
    return Problem(
        code,
        balance.file,
        field="balance",
        first_day=first,
        last_day=last,
        currency=balance.currency,
        details=details,
    )


def _order_rows(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows of each balance in the order in which they moved it, and the file, account and currency of each.

    The order is that with the fewest stated balances that do not follow from the one before, then with the fewest dates
    that go back: of lines, of lines reversed, or of dates. ``known_cents`` is ``moved_cents``, or 0 where that is not
    known; ``offset_cents`` is the balance before the first row, as each stated balance implies it.
    """
    # Rows of one file mostly follow each other, so groups are numbered once for each run of rows with the same names.
    keys, own = rows.select(_NAMES), pl.col(_NAMES[1:])
    runs = keys.select(pl.struct(_NAMES).rle_id().alias("run")).to_series()
    only = pl.when(own.drop_nulls().n_unique().over("file") == 1).then(own.min().over("file"))
    firsts = keys.filter(runs.diff().fill_null(1) != 0).with_columns(own.fill_null(only))
    names = firsts.unique().sort(_NAMES, nulls_last=True)
    numbers = firsts.join(names.with_row_index(_GROUP), on=_NAMES, nulls_equal=True, how="left", maintain_order="left")
    groups = numbers[_GROUP].gather(runs)
    is_notice = (pl.col("kind") == "notice").fill_null(value=False)
    known = pl.when(is_notice).then(0).otherwise(pl.col("moved_cents").fill_null(0))
    by_line = rows.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("position"),
        *(name for name in _NEEDED if name not in _NAMES),
        groups,
        is_notice=is_notice,
        known_cents=known,
    )
    group, line = (pl.col(name).cast(pl.Int64).diff() for name in (_GROUP, "line"))
    is_next = ((group > 0) | ((group == 0) & (line > 0))).fill_null(value=True)
    if not by_line.select(is_next.all()).item():
        by_line = by_line.sort(_GROUP, "line", "position")
    # Whether the lines are reversed, and whether the dates are the order, of groups not ordered by line.
    transactions = by_line.filter(~pl.col("is_notice"))
    forward = transactions.group_by(_GROUP).agg(_count_contradictions().alias("forward"))
    wrong = forward.filter(pl.col("forward") > 0)
    ordered = by_line
    if not wrong.is_empty():
        mixed = transactions.join(wrong, on=_GROUP)
        before, backward = pl.col("forward").first(), _count_contradictions(is_reversed=True)
        chosen = mixed.group_by(_GROUP).agg(
            (backward < before).alias("is_reversed"), pl.min_horizontal(before, backward).alias("fewest")
        )
        orders = (
            mixed.join(chosen, on=_GROUP)
            .sort("date", _LINE, nulls_last=True)
            .group_by(_GROUP)
            .agg(pl.col("is_reversed").first(), (_count_contradictions() < pl.col("fewest").first()).alias("is_dated"))
        )
        ordered = (
            by_line.join(orders, on=_GROUP, how="left")
            .sort(_GROUP, pl.when("is_dated").then("date"), _LINE, "position", nulls_last=True)
            .drop("is_dated", "is_reversed")
        )
    offset = pl.col("balance_cents") - pl.col("known_cents").cum_sum().over(_GROUP)
    return ordered.with_columns(offset.alias("offset_cents")), names


def _count_balances(ordered: pl.DataFrame) -> pl.Series:
    """Return the balance after each row, as in `Reconciled`, in the order of the file."""
    opening = pl.col("opening_cents").drop_nulls().first().over(_GROUP)
    closing = pl.col("closing_cents").drop_nulls().last().over(_GROUP) - pl.col("total").last().over(_GROUP)
    last = pl.col("segment").max().over(_GROUP)
    contradicts = ((last == 0) & (opening != closing)).fill_null(value=False)
    stated = pl.col("offset_cents")
    before_first = pl.coalesce(
        stated.forward_fill().over(_SEGMENT),
        pl.when((pl.col("segment") == 0) & ~contradicts).then(opening),
        stated.backward_fill().over(_SEGMENT),
        pl.when((pl.col("segment") == last) & ~contradicts).then(closing),
    )
    return (
        ordered.with_columns(
            # The rows from one unreadable amount to the next are a segment: no balance is known across it.
            (~pl.col("is_notice") & pl.col("moved_cents").is_null()).cum_sum().over(_GROUP).alias("segment"),
            pl.col("known_cents").cum_sum().over(_GROUP).alias("total"),
        )
        .select(
            "position",
            pl.when("is_notice").then("balance_cents").otherwise(before_first + pl.col("total")).alias("balance_cents"),
        )
        .sort("position")["balance_cents"]
    )


def _count_contradictions(*, is_reversed: bool = False) -> pl.Expr:
    """Return how many stated balances do not follow from the one before, and how many rows are older than it."""
    columns = (pl.col(name) for name in ("known_cents", "balance_cents", "date"))
    moved, balance, date = (column.reverse() for column in columns) if is_reversed else columns
    offsets = (balance - moved.cum_sum()).drop_nulls()
    return (offsets.diff() != 0).sum().cast(pl.Int64) * _BREAK + (date.drop_nulls().diff() < pl.duration()).sum()
