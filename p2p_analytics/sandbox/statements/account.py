"""The history of one account: every line with what it moved, from its payments, the ledger and invented activity.

The ledger begins with the town's balances at the end of the generated history. Before that, the lines follow the
town's rules: the balance pays what it covers, otherwise the bank pays all of it, and what exceeds the most that is kept
goes to the bank. A transfer at that moment brings the balance to the ledger's, and from then on the entries of
the ledger are the movements. So the balance after the last line is the user's balance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from p2p_analytics.sandbox.statements.activity import Activity, make_activity, make_line_id, make_opening_balance
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
from p2p_analytics.sandbox.town.timeline import to_microseconds
from p2p_analytics.vocabulary import Action, Status, TargetType

_INSTANT_FEE_SHARE: Final = 57  # one part in 57 of an instant transfer is its fee
_LEAST_INSTANT_FEE: Final = 25
_LEAST_TRANSFER: Final = 1_000


class _TownStart(NamedTuple):
    """The moment at which the ledger begins, and the balance with which it begins."""

    balance_cents: int


_Event: TypeAlias = Payment | Activity | Entry | _TownStart


def read_account(store: Store, user: Person) -> Account:
    """Return the whole history of an account, from one snapshot of the database."""
    with store.reading() as connection:
        settings = store.settings()
        payments = list_account_payments(connection, user.user_id)
        entries = list_account_entries(connection, user.user_id)
        others = {payment.actor_id for payment in payments} | {payment.target_user_id for payment in payments}
        people = {**store.people_by_id(others - {None}), user.user_id: user}  # type: ignore[arg-type]
    start_us, end_us = town_period_us(settings)
    opening = make_opening_balance(settings["seed"], user.user_id)
    walk = _Walk(user, people, payments, entries, town_start_us=end_us, balance_cents=opening)
    for when_us, event in _sort_events(settings["seed"], user, payments, entries, start_us, end_us):
        walk.add(when_us, event)
    return Account(user, opening, walk.lines, people)


def town_period_us(settings: Mapping[str, str]) -> tuple[int, int]:
    """Return the start and the end of a town's generated history."""
    now = datetime.fromisoformat(settings["now"])
    return to_microseconds(now - timedelta(days=365 * int(settings["years"]))), to_microseconds(now)


def date_payment(payment: Payment) -> int:
    """Return the instant of a payment's line: of its completion if it is settled, otherwise of its creation."""
    if payment.status == Status.SETTLED and payment.completed_us is not None:
        return payment.completed_us
    return payment.created_us


def _sort_events(  # noqa: PLR0913, PLR0917 - all that an account's history is made of
    seed: str, user: Person, payments: Sequence[Payment], entries: Sequence[Entry], start_us: int, end_us: int
) -> list[tuple[int, _Event]]:
    """Return all events, oldest first; the ledger begins after everything else of its moment."""
    opening = sum(entry.cents for entry in entries if _is_opening(entry))
    dated: list[tuple[int, int, _Event]] = [(end_us, LARGEST, _TownStart(opening))]
    dated += [(date_payment(payment), payment.payment_id, payment) for payment in payments]
    dated += [(one.when_us, one.line_id, one) for one in make_activity(seed, user.user_id, start_us, end_us)]
    dated += [
        (entry.date_us, LARGEST + entry.entry_id, entry)
        for entry in entries
        if entry.payment_id is None and not _is_opening(entry)
    ]
    return [(when_us, event) for when_us, _, event in sorted(dated, key=lambda one: one[:2])]


def _is_opening(entry: Entry) -> bool:
    return entry.step == "opening"


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
        if isinstance(event, Activity):
            self._add_activity(event)
        elif isinstance(event, _TownStart):
            self._add_transfer(when_us, "start", event.balance_cents - self._balance_cents)
        elif isinstance(event, Entry):
            self._add_transfer(when_us, ("deposit", event.entry_id), event.cents, simulated=False)
        elif event.refund_of is not None:
            cents, is_simulated = event.amount_cents, event.payment_id not in self._posted
            line = Line(
                when_us, event.payment_id, LineType.REFUND, COMPLETE, cents, cents, destination=BALANCE,
                payment=self._by_id.get(event.refund_of or 0),
            )  # fmt: skip
            self._append(line, simulated=is_simulated)
            if is_simulated:
                self._sweep(when_us, event.payment_id, MOST_KEPT_CENTS)
        elif event.status == Status.SETTLED:
            self._add_settled(when_us, event)
        else:
            posted = self._posted.get(event.payment_id)
            self._append(self._build_line(when_us, event), simulated=True)
            is_held = (
                event.action == Action.PAY
                and event.target_user_id is None
                and (event.status == Status.PENDING or event.payment_id in self._refunded)
            )
            if posted is None:
                is_held = is_held and when_us <= self._town_start_us and self._balance_cents >= event.amount_cents
                posted = -event.amount_cents if is_held else 0
            if posted:
                line_id = make_line_id(self._user.user_id, "hold", event.payment_id)
                hold = Line(when_us, line_id, LineType.HOLD, COMPLETE, posted, posted, funding_source=BALANCE)
                self._append(hold, simulated=event.payment_id not in self._posted)

    # -- payments -----------------------------------------------------------------------------------

    def _add_settled(self, when_us: int, payment: Payment) -> None:
        cents, fee, posted = payment.amount_cents, payment.fee_cents or 0, self._posted.get(payment.payment_id)
        line = self._build_line(when_us, payment)
        if line.cents > 0:
            self._append(line._replace(moved_cents=cents, destination=BALANCE), simulated=posted is None)
            if posted is None:
                kept = MOST_KEPT_CENTS if when_us <= self._town_start_us else self._balance_cents - cents
                self._sweep(when_us, payment.payment_id, kept)
            return
        if posted is not None:
            fee, is_covered = -posted - cents, True
        else:
            is_covered = when_us <= self._town_start_us and self._balance_cents >= cents + fee
        line = line._replace(funding_source=BALANCE if is_covered else BANK)
        self._append(line._replace(moved_cents=-cents * is_covered), simulated=posted is None)
        if fee:
            fee_line = Line(
                when_us, make_line_id(self._user.user_id, "fee", payment.payment_id), LineType.FEE, COMPLETE, -fee,
                -fee * is_covered, funding_source=line.funding_source,
            )  # fmt: skip
            self._append(fee_line, simulated=posted is None)

    def _build_line(self, when_us: int, payment: Payment) -> Line:
        """Return the line of a payment, without sources and without a movement."""
        is_out = (payment.actor_id == self._user.user_id) == (payment.action == Action.PAY)
        return Line(
            when_us=when_us,
            line_id=payment.payment_id,
            type=LineType.PAYMENT if payment.action == Action.PAY else LineType.CHARGE,
            status=STATUSES[Status(payment.status)],
            cents=-payment.amount_cents if is_out else payment.amount_cents,
            moved_cents=0,
            note=payment.note,
            from_name=self._name(payment.actor_id),
            to_name=self._name_target(payment),
            payment=payment,
        )

    def _name(self, user_id: int) -> str:
        person = self._people[user_id]
        return person.display_name if person.display_name.strip() else person.username

    def _name_target(self, payment: Payment) -> str:
        """Return the name of a target; the email of a pending one is not shown, as in lists of payments."""
        if payment.target_user_id is not None:
            return self._name(payment.target_user_id)
        is_email = payment.target_type == TargetType.EMAIL
        is_hidden = is_email and payment.status == Status.PENDING
        address = None if is_hidden else payment.target_email or payment.target_phone
        return address or f"unregistered {TargetType.EMAIL if is_email else TargetType.PHONE}"

    # -- everything else ----------------------------------------------------------------------------

    def _add_activity(self, event: Activity) -> None:
        if event.type in TRANSFERS:
            self._add_cash_out(event)
            return
        cents = event.cents
        line = Line(
            event.when_us, event.line_id, event.type, COMPLETE, cents, cents,
            note="For your first month" if event.type is LineType.NEW else "",
            tip_cents=event.tip_cents, tax_cents=event.tax_cents,
        )  # fmt: skip
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

    def _add_cash_out(self, event: Activity) -> None:
        """Append a transfer of a part of the balance to the bank, if there is enough."""
        cents = self._balance_cents * event.cents // 100
        if cents < _LEAST_TRANSFER:
            return
        is_instant = event.type is LineType.INSTANT_TRANSFER
        line = Line(
            event.when_us, event.line_id, event.type, FAILED if event.is_failed else ISSUED, -cents,
            0 if event.is_failed else -cents, destination=DEBIT_CARD if is_instant else BANK,
            fee_cents=max(_LEAST_INSTANT_FEE, cents // _INSTANT_FEE_SHARE) if is_instant else 0,
        )  # fmt: skip
        self._append(line, simulated=True)

    def _sweep(self, when_us: int, key: int, kept_cents: int) -> None:
        """Transfer to the bank what exceeds the balance that is kept."""
        if self._balance_cents > kept_cents:
            self._add_transfer(when_us, ("sweep", key), kept_cents - self._balance_cents)

    def _add_transfer(self, when_us: int, key: object, cents: int, *, simulated: bool = True) -> None:
        """Append a standard transfer to the bank, or from it where `cents` is positive."""
        if cents:
            line = Line(
                when_us, make_line_id(self._user.user_id, "transfer", key), LineType.STANDARD_TRANSFER, ISSUED, cents,
                cents, destination=BALANCE if cents > 0 else BANK,
            )  # fmt: skip
            self._append(line, simulated=simulated)

    def _append(self, line: Line, *, simulated: bool) -> None:
        self.lines.append(line)
        if simulated:
            self._balance_cents += line.moved_cents
