"""The history of one account: every line with what it moved, from its payments, the ledger and invented activity.

The ledger begins with the town's balances at the end of the generated history. Before that, the lines follow the
town's rules: the balance pays what it covers, otherwise the bank pays all of it, and what exceeds the most that is kept
goes to the bank. A transfer at that moment brings the balance to the ledger's, and from then on the entries of
the ledger are the movements. So the balance after the last line is the user's balance.

The invented activity is everything other than payments between people: merchants, cards, deposits, rewards, transfers.
Each month of an account has a separate random generator, so a month does not depend on the others.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from p2p_analytics.sandbox.domain.test_user import DAY_US
from p2p_analytics.sandbox.statements.lines import (
    BALANCE,
    BANK,
    COMPLETE,
    DEBIT_CARD,
    FAILED,
    ISSUED,
    STATUSES,
    TRANSFERS,
    Account,
    Line,
    LineType,
)
from p2p_analytics.sandbox.storage.accounts import Entry, list_account_entries, list_account_payments
from p2p_analytics.sandbox.storage.rows import LARGEST, Payment, Person
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.sandbox.town.build import MOST_KEPT_CENTS
from p2p_analytics.sandbox.town.timeline import SECOND_US, list_months, to_microseconds
from p2p_analytics.vocabulary import Action, Status, TargetType

_INSTANT_FEE_SHARE: Final = 57  # one part in 57 of an instant transfer is its fee
_LEAST_INSTANT_FEE: Final = 25
_LEAST_TRANSFER: Final = 1_000
_MERCHANTS: Final = ("Corner Pantry", "Blue Kettle Diner", "Pine & Paper", "Tram Kiosk", 'The "Old" Cinema, Hall 2')
_TIPPED: Final = "Blue Kettle Diner"
_FIRST_ID: Final = 9_000_000_000_000_000_000  # above the ids of payments, which are below 9 * 10**18
_IDS: Final = 223_000_000_000_000_000  # so that all are below 2**63


class _Activity(NamedTuple):
    """One event: ``cents`` are as the account holder sees them; of a transfer, the percentage of the balance."""

    when_us: int
    type: LineType
    cents: int
    merchant: str = ""
    tip_cents: int = 0
    tax_cents: int = 0
    is_failed: bool = False
    line_id: int = 0


class _TownStart(NamedTuple):
    """The moment at which the ledger begins, and the balance with which it begins."""

    balance_cents: int


_Event: TypeAlias = Payment | _Activity | Entry | _TownStart


def read_account(store: Store, user: Person) -> Account:
    """Return the whole history of an account, from one snapshot of the database."""
    with store.reading() as connection:
        settings = store.settings()
        payments = list_account_payments(connection, user.user_id)
        entries = list_account_entries(connection, user.user_id)
        others = {payment.actor_id for payment in payments} | {payment.target_user_id for payment in payments}
        people = {**store.people_by_id(others - {None}), user.user_id: user}  # type: ignore[arg-type]
    seed = settings["seed"]
    start_us, end_us = town_period_us(settings)
    opening = random.Random(f"{seed} {user.user_id}").randrange(2_000, 20_000)  # noqa: S311 - a repeatable history
    walk = _Walk(user, people, payments, entries, town_start_us=end_us, balance_cents=opening)
    town_start = _TownStart(sum(entry.cents for entry in entries if entry.step == "opening"))
    events: list[tuple[int, int, _Event]] = [
        (end_us, LARGEST, town_start),  # the ledger begins after everything else of its moment
        *(
            ((one.completed_us if one.status == Status.SETTLED else None) or one.created_us, one.payment_id, one)
            for one in payments
        ),
        *((one.when_us, one.line_id, one) for one in _make_activity(seed, user.user_id, start_us, end_us)),
        *(
            (entry.date_us, LARGEST + entry.entry_id, entry)
            for entry in entries
            if entry.payment_id is None and entry.step != "opening"
        ),
    ]
    for when_us, _, event in sorted(events, key=itemgetter(0, 1)):
        walk.add(when_us, event)
    return Account(user, opening, walk.lines, people)


def town_period_us(settings: Mapping[str, str]) -> tuple[int, int]:
    """Return the start and the end of a town's generated history."""
    now = datetime.fromisoformat(settings["now"])
    return to_microseconds(now - timedelta(days=365 * int(settings["years"]))), to_microseconds(now)


def _make_line_id(user_id: int, *key: object) -> int:
    """Return the id of a line that is not a payment: 19 digits, the same for the same user and key."""
    digest = hashlib.sha256(repr((user_id, *key)).encode()).digest()
    return _FIRST_ID + int.from_bytes(digest[:8]) % _IDS


def _make_activity(seed: str, user_id: int, start_us: int, end_us: int) -> Iterator[_Activity]:
    """Yield the activity of an account from one instant to another, in no particular order."""
    for number, month_us in enumerate(list_months(start_us, end_us)):
        rng = random.Random(f"{seed} {user_id} {month_us}")  # noqa: S311 - a repeatable history
        for place, event in enumerate(_make_month(rng, number, month_us)):
            if start_us <= event.when_us < end_us:
                yield event._replace(line_id=_make_line_id(user_id, month_us, place))


def _make_month(rng: random.Random, number: int, month_us: int) -> Iterator[_Activity]:
    def at(first_day: int, last_day: int) -> int:
        return month_us + (rng.randint(first_day, last_day) - 1) * DAY_US + rng.randrange(86_400) * SECOND_US

    yield _Activity(at(1, 3), LineType.DIRECT_DEPOSIT, rng.randrange(12_000, 40_000))
    for _ in range(rng.randint(1, 3)):
        # The total includes a tip of 18 % in a restaurant, and a tax of 8 %.
        when_us, merchant, net = at(2, 24), rng.choice(_MERCHANTS), rng.randrange(450, 4_800)
        tip, tax = round(net * 18 / 100) if merchant == _TIPPED else 0, round(net * 8 / 100)
        yield _Activity(when_us, LineType.MERCHANT, -(net + tip + tax), merchant, tip, tax)
    if number % 4 == 2:  # noqa: PLR2004 - every fourth month something is returned
        merchant, when_us, cents = rng.choice(_MERCHANTS), at(5, 20), rng.randrange(600, 4_000)
        yield _Activity(when_us, LineType.MERCHANT, -cents, merchant)
        yield _Activity(when_us + 2 * DAY_US, LineType.REFUND, cents // 2, merchant)
    if number % 3 == 1:
        yield _Activity(at(12, 16), LineType.CARD_PAYMENT, -rng.randrange(2_000, 9_000))
    yield _Activity(at(17, 19), LineType.CARD_REWARD, rng.randrange(100, 900))
    transfer = LineType.INSTANT_TRANSFER if number % 2 else LineType.STANDARD_TRANSFER
    yield _Activity(at(25, 28), transfer, rng.randrange(30, 80))
    if number % 12 == 5:  # noqa: PLR2004 - once a year
        yield _Activity(at(25, 28), LineType.STANDARD_TRANSFER, 90, is_failed=True)
    if number == 1:
        yield _Activity(at(8, 20), LineType.NEW, 101)


class _Walk:
    """One pass over the events of an account, which become lines."""

    def __init__(  # noqa: PLR0913 - all that an account's history is made of
        self,
        user: Person,
        people: Mapping[int, Person],
        payments: Iterable[Payment],
        entries: Iterable[Entry],
        *,
        town_start_us: int,
        balance_cents: int,
    ) -> None:
        self.lines: list[Line] = []
        self._user = user
        self._people = people
        self._by_id = {payment.payment_id: payment for payment in payments}
        self._refunded = {payment.refund_of for payment in payments}
        self._town_start_us = town_start_us
        self._balance_cents = balance_cents  # of the simulation, which ends at the town's start
        self._posted: dict[int, int] = {}
        for entry in entries:
            if entry.payment_id is not None:
                self._posted[entry.payment_id] = self._posted.get(entry.payment_id, 0) + entry.cents

    def add(self, when_us: int, event: _Event) -> None:
        """Append the lines of an event."""
        if isinstance(event, _Activity):
            self._add_activity(event)
        elif isinstance(event, _TownStart):
            self._add_transfer(when_us, "start", event.balance_cents - self._balance_cents)
        elif isinstance(event, Entry):
            self._add_transfer(when_us, ("deposit", event.entry_id), event.cents, simulated=False)
        elif event.refund_of is not None:
            cents, is_simulated = event.amount_cents, event.payment_id not in self._posted
            line = Line(when_us, event.payment_id, LineType.REFUND, COMPLETE, cents, cents, destination=BALANCE)
            self._append(line._replace(payment=self._by_id.get(event.refund_of or 0)), simulated=is_simulated)
            if is_simulated:
                self._sweep(when_us, event.payment_id, MOST_KEPT_CENTS)
        elif event.status == Status.SETTLED:
            self._add_settled(when_us, event)
        else:
            self._append(self._build_line(when_us, event), simulated=True)
            self._add_hold(when_us, event)

    # -- payments -----------------------------------------------------------------------------------

    def _build_line(self, when_us: int, payment: Payment) -> Line:
        """Return the line of a payment, without sources and without a movement."""
        is_out = (payment.actor_id == self._user.user_id) == (payment.action == Action.PAY)
        if payment.target_user_id is not None:
            to_name = self._name(payment.target_user_id)
        else:  # the email of a pending payment is not shown, as in lists of payments
            is_email = payment.target_type == TargetType.EMAIL
            address = None if is_email and payment.status == Status.PENDING else payment.target_email
            kind = TargetType.EMAIL if is_email else TargetType.PHONE
            to_name = address or payment.target_phone or f"unregistered {kind}"
        return Line(
            when_us=when_us,
            line_id=payment.payment_id,
            type=LineType.PAYMENT if payment.action == Action.PAY else LineType.CHARGE,
            status=STATUSES[Status(payment.status)],
            cents=-payment.amount_cents if is_out else payment.amount_cents,
            moved_cents=0,
            note=payment.note,
            from_name=self._name(payment.actor_id),
            to_name=to_name,
            payment=payment,
        )

    def _name(self, user_id: int) -> str:
        person = self._people[user_id]
        return person.display_name if person.display_name.strip() else person.username

    def _add_settled(self, when_us: int, payment: Payment) -> None:
        cents, fee, posted = payment.amount_cents, payment.fee_cents or 0, self._posted.get(payment.payment_id)
        line, is_simulated = self._build_line(when_us, payment), posted is None
        is_before_start = when_us <= self._town_start_us
        if line.cents > 0:
            self._append(line._replace(moved_cents=cents, destination=BALANCE), simulated=is_simulated)
            if is_simulated:
                kept = MOST_KEPT_CENTS if is_before_start else self._balance_cents - cents
                self._sweep(when_us, payment.payment_id, kept)
            return
        if posted is not None:
            fee, is_covered = -posted - cents, True
        else:
            is_covered = is_before_start and self._balance_cents >= cents + fee
        source = BALANCE if is_covered else BANK
        self._append(line._replace(moved_cents=-cents * is_covered, funding_source=source), simulated=is_simulated)
        if fee:
            line_id = self._make_id("fee", payment.payment_id)
            fee_line = Line(when_us, line_id, LineType.FEE, COMPLETE, -fee, -fee * is_covered, funding_source=source)
            self._append(fee_line, simulated=is_simulated)

    def _add_hold(self, when_us: int, payment: Payment) -> None:
        """Append the hold of money that was sent to an address without an account."""
        posted = self._posted.get(payment.payment_id)
        is_simulated = posted is None
        if posted is None:
            is_held = (
                payment.action == Action.PAY
                and payment.target_user_id is None
                and (payment.status == Status.PENDING or payment.payment_id in self._refunded)
                and when_us <= self._town_start_us
                and self._balance_cents >= payment.amount_cents
            )
            posted = -payment.amount_cents if is_held else 0
        if posted:
            line_id = self._make_id("hold", payment.payment_id)
            hold = Line(when_us, line_id, LineType.HOLD, COMPLETE, posted, posted, funding_source=BALANCE)
            self._append(hold, simulated=is_simulated)

    # -- everything else ----------------------------------------------------------------------------

    def _add_activity(self, event: _Activity) -> None:
        cents = event.cents
        line = Line(event.when_us, event.line_id, event.type, COMPLETE, cents, cents)
        if event.type in TRANSFERS:  # of a part of the balance to the bank, if there is enough
            cents = self._balance_cents * event.cents // 100
            if cents >= _LEAST_TRANSFER:
                line = line._replace(cents=-cents, moved_cents=0 if event.is_failed else -cents, destination=BANK)
                line = line._replace(status=FAILED if event.is_failed else ISSUED)
                if event.type is LineType.INSTANT_TRANSFER:
                    fee = max(_LEAST_INSTANT_FEE, cents // _INSTANT_FEE_SHARE)
                    line = line._replace(destination=DEBIT_CARD, fee_cents=fee)
                self._append(line, simulated=True)
            return
        line = line._replace(tip_cents=event.tip_cents, tax_cents=event.tax_cents)
        if event.type is LineType.NEW:
            line = line._replace(note="For your first month")
        if event.merchant:
            sides = (self._name(self._user.user_id), event.merchant)
            from_name, to_name = sides if cents < 0 else sides[::-1]
            line = line._replace(from_name=from_name, to_name=to_name)
        if cents > 0:
            self._append(line._replace(destination=BALANCE), simulated=True)
            self._sweep(event.when_us, event.line_id, MOST_KEPT_CENTS)
        elif self._balance_cents >= -cents:
            self._append(line._replace(funding_source=BALANCE), simulated=True)
        else:
            source = DEBIT_CARD if event.type is LineType.MERCHANT else BANK
            self._append(line._replace(funding_source=source, moved_cents=0), simulated=True)

    def _sweep(self, when_us: int, key: int, kept_cents: int) -> None:
        """Transfer to the bank what exceeds the balance that is kept."""
        if self._balance_cents > kept_cents:
            self._add_transfer(when_us, ("sweep", key), kept_cents - self._balance_cents)

    def _add_transfer(self, when_us: int, key: object, cents: int, *, simulated: bool = True) -> None:
        """Append a standard transfer to the bank, or from it where `cents` is positive."""
        if cents:
            line_id, to = self._make_id("transfer", key), BALANCE if cents > 0 else BANK
            line = Line(when_us, line_id, LineType.STANDARD_TRANSFER, ISSUED, cents, cents, destination=to)
            self._append(line, simulated=simulated)

    def _make_id(self, *key: object) -> int:
        return _make_line_id(self._user.user_id, *key)

    def _append(self, line: Line, *, simulated: bool) -> None:
        self.lines.append(line)
        if simulated:
            self._balance_cents += line.moved_cents
