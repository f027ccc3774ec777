"""The public function that pairs transfers with a bank account."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd

from p2p_analytics import settings
from p2p_analytics.bank._bank_file import BankRow, read_bank
from p2p_analytics.display import to_zone
from p2p_analytics.errors import ConfigurationError, describe_type
from p2p_analytics.frames.own_money import is_bank_or_card
from p2p_analytics.frames.schema import INSTANT, KIND_PAYMENT, TEXT, WHOLE, require
from p2p_analytics.history import describe_history_call
from p2p_analytics.times import EPOCH, find_zone
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from zoneinfo import ZoneInfo


BANK_MATCHES: Final[Mapping[str, str]] = {
    "account_id": TEXT,
    "payment_id": TEXT,
    "kind": TEXT,
    "date": INSTANT,
    "flow_cents": WHOLE,
    "fee_cents": WHOLE,
    "currency": TEXT,
    "bank_line": WHOLE,
    "bank_date": INSTANT,
    "bank_description": TEXT,
    "bank_amount_cents": WHOLE,
    "days": WHOLE,
    "state": TEXT,
}
SERVICES: Final = ("venmo", "cash app", "cashapp", "paypal", "wise", "transferwise", "revolut", "monzo")
_SKIP_TRANSFER: Final = 1
_SKIP_ROW: Final = 2
_PAIR: Final = 3
_TRANSFER: Final = "transfer"
_NEEDED: Final = ("payment_id", "status", "date_created", "kind", "flow_cents")
_OPTIONAL: Final = ("account_id", "fee_cents", "currency", "funding_source")


class Candidate(NamedTuple):
    """A bank row: its day, and whether its description names a payment service."""

    day: int
    is_named: bool


class _Movement(NamedTuple):
    """A row of PAYMENTS that may be in the bank account, with its number; the day is counted from 1970."""

    number: int
    account_id: str | None
    payment_id: str | None
    kind: str
    date: datetime
    day: int
    flow_cents: int
    fee_cents: int | None
    currency: str | None


def match_bank(  # noqa: PLR0913 - each is an independent option of a public function
    payments: object,
    bank: str | os.PathLike[str] | pd.DataFrame,
    *,
    columns: Mapping[str, str] | None = None,
    names: Iterable[str] = SERVICES,
    days: int = 5,
    tz: str | ZoneInfo = "UTC",
    day_first: bool | None = None,
) -> pd.DataFrame:
    """Return the transfers of a statement paired with the rows of a bank account, and those without a pair.

    A transfer out of the service is money into the bank account, less the fee, and the reverse. Transfers get bank rows
    of exactly this amount, each row once: as many pairs as possible, then as many as possible with rows that name a
    payment service, then the fewest days between the two. A transfer with a fee that finds none is compared with the
    amount before the fee. Payments that were funded by a bank or card, not by the balance of the service, are in the
    bank account too: they are paired with the remaining rows that name a payment service, and listed only then.

    Parameters
    ----------
    payments : Statements, History or DataFrame
        PAYMENTS with ``kind``, as `read_statements` returns them.
    bank : path or DataFrame
        A CSV file or frame with a date, a description, and an amount that is positive for money into the bank account,
        or columns for money out and in. Rows without an amount are skipped.
    columns : mapping of str to str, optional
        The names of columns that are not found by themselves: for any of the fields ``date``, ``description``,
        ``amount``, ``debit``, ``credit``, ``sign`` and ``currency``.
    names : iterable of str
        A description with one of these words names a payment service.
    days : int
        Maximum number of days between a transfer and its bank row, in either direction.
    tz : str or ZoneInfo
        Zone in which the date of a transfer is compared with the date of the bank.
    day_first : bool, optional
        Whether the day or the month is first in dates that end in the year; only needed if it cannot be found out.

    Returns
    -------
    DataFrame
        One row per pair, per settled transfer without a pair, and per bank row that names a payment service and has no
        pair, in order of time, with the columns and dtypes of `BANK_MATCHES`. ``bank_date`` is midnight UTC of the
        day, ``days`` are from the transfer to the bank row, ``bank_line`` is counted from 1, and ``state`` is "paired",
        "only in statement" or "only in bank", or "outside the bank file" for a transfer without a pair before the first
        or after the last day of the bank's rows, where the file cannot say anything.

    Raises
    ------
    StatementError
        The bank file cannot be read, or a date or amount in it is not clear.
    SchemaError
        The payments lack a column.
    ConfigurationError
        An argument is invalid, or privacy mode is on, in which amounts are invented.
    """
    if settings.privacy() or getattr(payments, "private", False):
        raise ConfigurationError("In privacy mode amounts are invented and match no bank account: switch it off first.")
    if isinstance(days, bool) or not isinstance(days, int) or days < 0:
        raise ConfigurationError(f"days={days!r} is not valid: give the number of days, 0 or more.")
    movements, funded = _read_movements(payments, find_zone(tz))
    rows = read_bank(bank, columns, day_first=day_first)
    rows.sort(key=lambda row: (row.day, row.description or "", row.line))
    words = [names] if isinstance(names, str) else list(names)
    if not all(isinstance(word, str) and word.strip() for word in words):
        raise ConfigurationError("names are words such as 'venmo': leave out empty ones.")
    whole_words = "|".join(rf"(?<!\w){re.escape(word.strip())}(?!\w)" for word in words) or r"(?!)"
    pattern = re.compile(whole_words, re.IGNORECASE)
    matcher = _Matcher(rows, [bool(pattern.search(row.description or "")) for row in rows], days)
    # A fee is inside the amount that left the service.
    matcher.match(movements, lambda each: -each.flow_cents - (each.fee_cents or 0 if each.flow_cents < 0 else 0))
    matcher.match([transfer for transfer in movements if transfer.fee_cents], lambda transfer: -transfer.flow_cents)
    matcher.match(funded, lambda payment: payment.flow_cents, named_only=True)
    return _build_frame(movements, matcher)


class _Matcher:
    """Pairs of movements and bank rows; what has a pair gets no other."""

    def __init__(self, rows: list[BankRow], named: list[bool], days: int) -> None:
        self.rows = rows
        self.named = named
        self._days = days
        self.pairs: dict[_Movement, int] = {}
        self._used: set[int] = set()

    def match(
        self, movements: Iterable[_Movement], expect: Callable[[_Movement], int], *, named_only: bool = False
    ) -> None:
        """Pair movements with the rows of the expected amount."""
        groups: dict[tuple[int, str], list[_Movement]] = defaultdict(list)
        for movement in movements:
            if movement not in self.pairs:
                groups[expect(movement), movement.currency or ""].append(movement)
        rows_of: dict[int, list[int]] = defaultdict(list)
        for at, row in enumerate(self.rows):
            if at not in self._used and (self.named[at] or not named_only):
                rows_of[row.cents].append(at)
        for cents, currency in sorted(groups):
            same = groups[cents, currency]
            free = [at for at in rows_of[cents] if at not in self._used]
            rows = [at for at in free if not currency or self.rows[at].currency in {None, currency}]
            near = [Candidate(self.rows[at].day, self.named[at]) for at in rows]
            for one, other in assign([movement.day for movement in same], near, self._days):
                self.pairs[same[one]] = rows[other]
                self._used.add(rows[other])

    def list_rest(self) -> list[BankRow]:
        """Return the rows that name a payment service and have no pair."""
        return [row for at, row in enumerate(self.rows) if self.named[at] and at not in self._used]


def _read_movements(payments: object, zone: ZoneInfo) -> tuple[list[_Movement], list[_Movement]]:
    """Return the settled transfers, and the payments that a bank or card funded, both in order of time."""
    frame = getattr(payments, "payments", payments)
    if not isinstance(frame, pd.DataFrame):
        raise ConfigurationError(
            "payments is what read_statements returns, or a history, not "
            f"{describe_type(payments)}{describe_history_call(payments)}."
        )
    require(frame.columns, _NEEDED, what="match_bank", instead="what read_statements returns")
    settled = frame[(frame["status"] == Status.SETTLED) & frame["date_created"].notna() & frame["flow_cents"].notna()]
    columns = settled.reindex(columns=[*_NEEDED, *_OPTIONAL]).astype(object)
    transfers, funded = [], []
    for number, row in enumerate(columns.where(columns.notna(), None).to_dict("records")):
        instant = row["date_created"].to_pydatetime()
        movement = _Movement(
            number=number,
            account_id=row["account_id"],
            payment_id=row["payment_id"],
            kind=row["kind"] or KIND_PAYMENT,
            date=instant,
            day=(to_zone(instant, zone).date() - EPOCH.date()).days,
            flow_cents=int(row["flow_cents"]),
            fee_cents=None if row["fee_cents"] is None else int(row["fee_cents"]),
            currency=row["currency"],
        )
        if movement.kind == _TRANSFER:
            transfers.append(movement)
        elif movement.flow_cents < 0 and is_bank_or_card(row["funding_source"]):
            funded.append(movement)
    return sorted(transfers, key=_sort_key), sorted(funded, key=_sort_key)


def _sort_key(movement: _Movement) -> tuple[object, ...]:
    return movement.day, movement.date, movement.payment_id or "", movement.account_id or ""


def _build_frame(transfers: list[_Movement], matcher: _Matcher) -> pd.DataFrame:
    funded = [movement for movement in matcher.pairs if movement.kind != _TRANSFER]
    days = [row.day for row in matcher.rows]
    first, last = (min(days), max(days)) if days else (-math.inf, math.inf)
    lines = [_describe(None, row, "only in bank") for row in matcher.list_rest()]
    for movement in (*transfers, *funded):
        at = matcher.pairs.get(movement)
        alone = "only in statement" if first <= movement.day <= last else "outside the bank file"
        lines.append(_describe(movement, *((None, alone) if at is None else (matcher.rows[at], "paired"))))
    by_line = sorted(lines, key=lambda line: line["bank_line"] or 0)
    by_id = sorted(by_line, key=lambda line: (line["payment_id"] is None, line["payment_id"] or ""))
    lines = sorted(by_id, key=lambda line: line["date"] or line["bank_date"])  # of one instant, bank rows come last
    return pd.DataFrame(
        {name: pd.Series([line[name] for line in lines], dtype=dtype) for name, dtype in BANK_MATCHES.items()}
    )


def _describe(movement: _Movement | None, row: BankRow | None, state: str) -> dict[str, Any]:
    """Return a row of the result."""
    line: dict[str, Any] = dict.fromkeys(BANK_MATCHES) | {"state": state}
    if movement:
        line |= {name: value for name, value in movement._asdict().items() if name in line}
    if row:
        line |= {
            "bank_line": row.line,
            "bank_date": EPOCH + timedelta(days=row.day),
            "bank_description": row.description,
            "bank_amount_cents": row.cents,
        }
        line["currency"] = line["currency"] or row.currency
    if movement and row:
        line["days"] = row.day - movement.day
    return line


def assign(transfers: Sequence[int], rows: Sequence[Candidate], most_days: int) -> list[tuple[int, int]]:
    """Return the positions of the pairs of transfers and bank rows that are at most some days apart.

    The pairs are as many as possible; of these assignments, those with most rows that name a payment service; of
    these, the one with the fewest days between the two of each pair, all added up. So a transfer does not always get
    the closest row: that could leave another transfer without one.

    Parameters
    ----------
    transfers : sequence of int
        Day of each transfer, ascending.
    rows : sequence of Row
        In ascending order of their days.
    most_days : int
        Maximum number of days between the two of a pair.
    """
    pairs = []
    for some, others in _split(transfers, rows, most_days):
        days, near = [transfers[at] for at in some], [rows[at] for at in others]
        pairs += [(some[one], others[other]) for one, other in _assign_near(days, near, most_days)]
    return pairs


def _split(transfers: Sequence[int], rows: Sequence[Candidate], most_days: int) -> list[tuple[list[int], list[int]]]:
    """Return groups of transfers and rows that are too far from all other groups for a pair."""
    events = sorted(
        [(day, 0, at) for at, day in enumerate(transfers)] + [(row.day, 1, at) for at, row in enumerate(rows)]
    )
    groups: list[tuple[list[int], list[int]]] = [([], [])]
    for (before, *_), (day, side, at) in pairwise([(events[0][0] if events else 0, 0, 0), *events]):
        if day - before > most_days:
            groups.append(([], []))
        groups[-1][side].append(at)
    return [group for group in groups if all(group)]


def _assign_near(transfers: Sequence[int], rows: Sequence[Candidate], most_days: int) -> list[tuple[int, int]]:
    """Return the best assignment, one in which no two pairs cross: to uncross two pairs never makes them longer.

    For each transfer only the rows in its reach are compared: earlier rows are out of reach of all later transfers, and
    later rows were out of reach of all transfers before.
    """
    scores: list[tuple[int, int, int]] = [(0, 0, 0)]  # of the transfers so far, with the rows up to each one in reach
    begin = 0
    steps = []
    for day in transfers:
        first = bisect_left(rows, day - most_days, key=attrgetter("day"))
        end = bisect_right(rows, day + most_days, key=attrgetter("day"))
        above = scores[first - begin :] or scores[-1:]
        above += above[-1:] * (end - first + 1 - len(above))
        scores, begin = above[:1], first
        choice = bytearray([_SKIP_TRANSFER])
        for at, row in enumerate(rows[first:end], start=1):
            count, named, nearness = above[at - 1]
            pair = (count + 1, named + row.is_named, nearness - abs(row.day - day))
            best, chosen = max((above[at], _SKIP_TRANSFER), (scores[-1], _SKIP_ROW), (pair, _PAIR))
            scores.append(best)
            choice.append(chosen)
        steps.append((first, choice))
    # From the last transfer back, the choices give the pairs of the best assignment.
    pairs = []
    other = len(rows)
    for one in range(len(steps) - 1, -1, -1):
        first, choice = steps[one]
        other = min(other, first + len(choice) - 1)
        while other > first and choice[other - first] == _SKIP_ROW:
            other -= 1
        if other > first and choice[other - first] == _PAIR:
            other -= 1
            pairs.append((one, other))
    return pairs[::-1]
