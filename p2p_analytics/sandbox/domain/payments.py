"""State transitions of payments and charges (document: "States and transitions", "Sandbox outcomes").

Each public method of `Transitions` is one transaction on the single write connection: it is atomic, and of several
calls that would end the same pending payment exactly one succeeds.
"""

from __future__ import annotations

import sqlite3
from typing import Final, NamedTuple

from p2p_analytics.money import format_cents
from p2p_analytics.sandbox.domain.orders import Order
from p2p_analytics.sandbox.domain.test_user import DAY_US, TEST_USER_ID
from p2p_analytics.sandbox.errors import (
    InsufficientFundsError,
    NewUserAmountError,
    NoRecipientError,
    NotFoundError,
    OutcomeAmountError,
    RoleError,
    SelfPaymentError,
    SettingError,
    StateError,
)
from p2p_analytics.sandbox.storage import ledger
from p2p_analytics.sandbox.storage.ledger import Account
from p2p_analytics.sandbox.storage.rows import Payment, Person, Spelling
from p2p_analytics.sandbox.storage.store import Store, insert_payments
from p2p_analytics.vocabulary import Action, Audience, Medium, Resolution, Status, TargetType

EXPIRY_DAYS: Final = 30
LARGEST_DEPOSIT_CENTS: Final = 10**12
# Each write advances the town's clock by slightly more than a second: new payments are ordered, no two share a second,
# and their datetimes have a fraction.
STEP_US: Final = 1_000_001
_FAILS, _SETTLES, _CHARGE_SETTLES = 20, 10, -10
_FOR_NEW_USERS: Final = (30, -20)  # to an unregistered email or phone
_ENDS: Final = {
    Resolution.APPROVE: Status.SETTLED,
    Resolution.DENY: Status.CANCELLED,
    Resolution.CANCEL: Status.CANCELLED,
}


class Outcome(NamedTuple):
    """Payment after a write, its refund, the people in it, and the balance of the caller."""

    payment: Payment
    refund: Payment | None
    people: dict[int, Person]
    balance_cents: int


class Transitions:
    """Writes to the payments of one sandbox."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(
        self, caller: int, order: Order, application: str | None = None, *, separate_new_users: bool = False
    ) -> Outcome:
        """Create a payment or charge, for POST /payments.

        Parameters
        ----------
        application : str, optional
            Name of the application that the caller uses.
        separate_new_users : bool
            Raise NewUserAmountError where the test user is sent an amount of the document's rows for new users.
        """
        with self._store.writing() as connection:
            now_us = self._begin(connection)
            kind, text = order.recipient  # an id must be the id of a user; an email or phone need not
            column = "user_id" if kind is TargetType.USER else kind.value
            row = connection.execute(f"SELECT user_id FROM users WHERE {column} = ?", (text,)).fetchone()  # noqa: S608 - a column of this enumeration
            if row is None and kind is TargetType.USER:
                raise NoRecipientError("user_id is not the id of a user.")
            target = None if row is None else int(row[0])
            if target == caller:
                raise SelfPaymentError("You cannot pay or charge yourself.")
            payment = _build_payment(self._store.next_payment_id(), caller, target, order, now_us)
            status = self._settle_new(connection, payment, separate_new_users=separate_new_users)
            payment = payment._replace(
                status=status.value,
                completed_us=None if status is Status.PENDING else payment.created_us,
                application=application,
            )
            insert_payments(connection, [payment])
            return self._build_outcome(caller, payment)

    def resolve(self, caller: int, payment_id: int, resolution: Resolution) -> Outcome:
        """Approve, deny or cancel a payment, for PUT /payments/:payment."""
        with self._store.writing() as connection:
            now_us = self._begin(connection)
            payment = self._store.payment(payment_id)
            if payment is None or not may_see(self._store, caller, payment):
                raise NotFoundError
            if resolution is Resolution.CANCEL:
                if caller != payment.actor_id:
                    raise RoleError("Only the user who made a payment or request can cancel it.")
            elif payment.action != Action.CHARGE or caller != payment.target_user_id:
                raise RoleError(f"Only the user who received a request can {resolution} it.")
            if not _end(connection, payment, _ENDS[resolution], now_us):
                raise StateError(f"This payment is {payment.status}, and only a pending one can be changed.")
            if resolution is Resolution.APPROVE:
                if not self._transfer(connection, payment, payer=caller, receiver=payment.actor_id):
                    raise InsufficientFundsError("The balance does not cover this request; it stays pending.")
            elif payment.action == Action.PAY:
                self._refund(connection, payment, now_us)
            ended = self._store.payment(payment_id)
            assert ended is not None  # noqa: S101 - nothing removes a payment
            return self._build_outcome(caller, ended)

    def advance(self, microseconds: int) -> None:
        """Advance the town's clock, and expire the payments that are due by then."""
        with self._store.writing() as connection:
            self._begin(connection, microseconds)

    def deposit(self, user_id: int, cents: int) -> None:
        """Move money from a user's bank to the balance, or a negative amount back to the bank."""
        if abs(cents) > LARGEST_DEPOSIT_CENTS:
            raise SettingError(
                f"{format_cents(cents)} is too much: at most {format_cents(LARGEST_DEPOSIT_CENTS)} at once."
            )
        with self._store.writing() as connection:
            if not ledger.post(connection, None, "deposit", {user_id: cents, Account.BANK: -cents}):
                raise SettingError(f"The balance does not cover {format_cents(-cents)}: withdraw less.")

    def link_bank(self, user_id: int, *, linked: bool) -> None:
        """Link or unlink a user's bank, which pays the payments that the balance does not cover."""
        query = "INSERT OR IGNORE INTO banks VALUES (?)" if linked else "DELETE FROM banks WHERE user_id = ?"
        self._store.write(query, (user_id,))

    def trust(self, user_id: int, friend_id: int, *, trusted: bool) -> None:
        """Add or remove a friend's trust; charges by a trusted friend settle at once."""
        with self._store.writing() as connection:
            if not self._store.are_friends(user_id, friend_id):
                raise SettingError(f"{friend_id} is not a friend of {user_id}: only friends can be trusted.")
            query = (
                "INSERT OR IGNORE INTO trusts VALUES (?, ?)"
                if trusted
                else "DELETE FROM trusts WHERE user_id = ? AND trusted_id = ?"
            )
            connection.execute(query, (user_id, friend_id))

    def _begin(self, connection: sqlite3.Connection, microseconds: int = STEP_US) -> int:
        """Advance the clock, expire the payments that are due, and return the new time."""
        query = "UPDATE clock SET now_us = now_us + ? RETURNING now_us"
        now_us = int(connection.execute(query, (microseconds,)).fetchone()[0])
        due = (
            "SELECT * FROM payments WHERE status = 'pending' AND action = 'pay' AND created_us <= ? "
            "AND target_user_id IS NULL ORDER BY created_us, payment_id"
        )
        for row in connection.execute(due, (now_us - EXPIRY_DAYS * DAY_US,)).fetchall():
            payment = Payment(*row)
            expires_us = payment.created_us + EXPIRY_DAYS * DAY_US
            _end(connection, payment, Status.EXPIRED, expires_us)
            self._refund(connection, payment, expires_us)
        return now_us

    def _settle_new(self, connection: sqlite3.Connection, payment: Payment, *, separate_new_users: bool) -> Status:
        """Move the money of a new payment and return its status."""
        actor, target = payment.actor_id, payment.target_user_id
        if target == TEST_USER_ID:
            signed = payment.amount_cents if payment.action == Action.PAY else -payment.amount_cents
            if separate_new_users and signed in _FOR_NEW_USERS:
                raise NewUserAmountError("This amount is for a new user: send it to an unregistered email or phone.")
            if signed not in (_FAILS, _SETTLES, _CHARGE_SETTLES):
                raise OutcomeAmountError(
                    "The test user takes payments of 0.10 and 0.20 and charges of -0.10, nothing else."
                )
            if signed == _FAILS:
                return Status.FAILED
        if payment.action == Action.PAY:
            receiver = Account.ESCROW if target is None else target
            if not self._transfer(connection, payment, payer=actor, receiver=receiver):
                return Status.FAILED
            return Status.PENDING if target is None else Status.SETTLED
        query = (
            "SELECT 1 FROM trusts JOIN friendships ON friendships.user_id = trusts.user_id AND friend_id = trusted_id "
            "WHERE trusts.user_id = ? AND trusted_id = ?"
        )
        trusted = target == TEST_USER_ID or connection.execute(query, (target, actor)).fetchone() is not None
        # A charge of a trusted friend that the balance does not cover stays pending, like any other charge.
        if target is not None and trusted and self._transfer(connection, payment, payer=target, receiver=actor):
            return Status.SETTLED
        return Status.PENDING

    def _transfer(self, connection: sqlite3.Connection, payment: Payment, *, payer: int, receiver: int) -> bool:
        """Move money from the payer's balance, or all of it from the payer's bank where one is linked."""
        fee = payment.fee_cents or 0
        moved = {payer: -payment.amount_cents - fee, receiver: payment.amount_cents, Account.FEES: fee}
        if ledger.post(connection, payment.payment_id, "balance", moved):
            return True
        if connection.execute("SELECT 1 FROM banks WHERE user_id = ?", (payer,)).fetchone() is None:
            return False
        from_bank = {Account.BANK if account == payer else account: cents for account, cents in moved.items()}
        return ledger.post(connection, payment.payment_id, "bank", from_bank)

    def _refund(self, connection: sqlite3.Connection, payment: Payment, when_us: int) -> None:
        """Return the escrow of a payment to its sender, by a refund payment."""
        refund = payment.build_refund(self._store.next_payment_id(), when_us)
        insert_payments(connection, [refund])
        moved = {Account.ESCROW: -payment.amount_cents, payment.actor_id: payment.amount_cents}
        ledger.post(connection, refund.payment_id, "refund", moved)

    def _build_outcome(self, caller: int, payment: Payment) -> Outcome:
        refund = self._store.refund(payment.payment_id)
        parties = [caller, payment.actor_id, *([] if payment.target_user_id is None else [payment.target_user_id])]
        people = self._store.people_by_id(parties)
        return Outcome(payment, refund, people, people[caller].balance_cents)


def may_see(store: Store, viewer: int, payment: Payment) -> bool:
    """Return whether a user sees a payment: its parties do, other users according to its audience."""
    parties = [one for one in (payment.actor_id, payment.target_user_id) if one is not None]
    if viewer in parties or payment.audience == Audience.PUBLIC:
        return True
    return payment.audience == Audience.FRIENDS and any(store.are_friends(viewer, one) for one in parties)


def _build_payment(payment_id: int, caller: int, target: int | None, order: Order, now_us: int) -> Payment:
    kind, text = order.recipient
    is_user = target is not None
    return Payment(
        payment_id=payment_id,
        status=Status.PENDING.value,
        action=(Action.CHARGE if order.cents < 0 else Action.PAY).value,
        amount_cents=abs(order.cents),
        note=order.note,
        audience=order.audience.value,
        medium=Medium.API.value,
        spelling=Spelling.FRACTIONAL,
        created_us=now_us,
        completed_us=None,
        actor_id=caller,
        # Document: "The kind of information used to address the payment", also where it belongs to a user.
        target_type=kind.value,
        target_user_id=target,
        target_email=text if kind is TargetType.EMAIL and not is_user else None,
        target_phone=text if kind is TargetType.PHONE and not is_user else None,
    )


def _end(connection: sqlite3.Connection, payment: Payment, status: Status, when_us: int) -> bool:
    """End a pending payment; return False where it is not pending."""
    query = "UPDATE payments SET status = ?, completed_us = ? WHERE payment_id = ? AND status = 'pending'"
    if connection.execute(query, (status.value, when_us, payment.payment_id)).rowcount != 1:
        return False
    query = "UPDATE party SET status = ? WHERE user_id IN (?, ?) AND date_us = ? AND payment_id = ?"
    parties = (payment.actor_id, payment.target_user_id)
    connection.execute(query, (status.value, *parties, payment.created_us, payment.payment_id))
    return True
