"""The lines of an account's history and of one file, before they are written in its form."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Final, NamedTuple

from p2p_analytics.sandbox.storage.rows import Payment, Person
from p2p_analytics.sandbox.town.timeline import from_microseconds
from p2p_analytics.vocabulary import Status

BALANCE: Final = "Venmo balance"  # as a funding source or destination
BANK: Final = "BANK OF SAND, N.A. Personal Checking *1234"
DEBIT_CARD: Final = "Visa Debit *1559"

COMPLETE, ISSUED, FAILED = "Complete", "Issued", "Failed"
STATUSES: Final = {
    Status.SETTLED: COMPLETE,
    Status.PENDING: "Pending",
    Status.CANCELLED: "Cancelled",
    Status.FAILED: FAILED,
    Status.EXPIRED: "Expired",
}


class LineType(StrEnum):
    """The type of a line, in the words of the files."""

    PAYMENT = "Payment"
    CHARGE = "Charge"
    STANDARD_TRANSFER = "Standard Transfer"
    INSTANT_TRANSFER = "Instant Transfer"
    MERCHANT = "Merchant Transaction"
    REFUND = "Refund"
    CARD_PAYMENT = "Credit Card Payment"
    CARD_REWARD = "Credit Card Reward"
    DIRECT_DEPOSIT = "Direct Deposit"
    HOLD = "Payment Hold"
    FEE = "Payment Fee"
    NEW = "Neighborhood Bonus"  # a type that no reader knows


TRANSFERS: Final = (LineType.STANDARD_TRANSFER, LineType.INSTANT_TRANSFER)


class Line(NamedTuple):
    """One line of an account's history.

    ``cents`` is the total as the account holder sees it, with tip, tax and fee inside. ``moved_cents`` is the change of
    the balance: ``cents``, or 0 if another source funded the line or it is not settled. ``payment`` is the payment of
    a line of the town's payments; of a refund, the payment that it returns.
    """

    when_us: int
    line_id: int
    type: LineType
    status: str
    cents: int
    moved_cents: int
    note: str = ""
    from_name: str = ""
    to_name: str = ""
    funding_source: str = ""
    destination: str = ""
    tip_cents: int = 0
    tax_cents: int = 0
    fee_cents: int = 0
    payment: Payment | None = None

    @property
    def charged_fee_cents(self) -> int:
        """The fee in this line that the account paid."""
        return -self.cents if self.type is LineType.FEE else self.fee_cents


class Account(NamedTuple):
    """An account holder, the balance before the first line, and all lines, oldest first."""

    user: Person
    opening_cents: int
    lines: list[Line]
    people: dict[int, Person]  # the users in its payments, by id


class Statement(NamedTuple):
    """One file: both days are included, the balances are those before the first day and after the last one."""

    user: Person
    people: dict[int, Person]
    start: date
    end: date
    lines: list[Line]
    opening_cents: int
    closing_cents: int
    period_fee_cents: int
    year_fee_cents: int


def format_instant(when_us: int) -> str:
    """Return an instant as ``2024-01-15T14:30:22``, in UTC and without a zone."""
    return f"{from_microseconds(when_us):%Y-%m-%dT%H:%M:%S}"
