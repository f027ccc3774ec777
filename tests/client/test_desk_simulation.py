"""Simulation of thousands of writes with random lost responses: none is repeated, none reported wrongly.

Service and clock are in memory.
"""

from __future__ import annotations

import logging
import random
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.client.http.transport import ServiceResponse
from p2p_analytics.errors import OutcomeUnknownError
from p2p_analytics.money import to_cents
from p2p_analytics.records import Me, Payment, PaymentPage, Payments, Target, User

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ACCOUNTS, ORDERS = 25, 100
START = datetime(2024, 5, 1, tzinfo=UTC)
ACTOR = User(id="7")
ODDS = {"lost request": 0.05, "lost answer": 0.10, "late commit": 0.03}
LATEST_COMMIT = 40.0


class Account:
    """Payments of one user at a service that loses requests and responses; replaces the client of a desk."""

    base_url = "https://pay.example/v1"

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._transport = SimpleNamespace(write=self.write, write_lock=threading.Lock())
        self.now = 0.0
        self.newest_first: list[Payment] = []
        self.late: list[tuple[float, Payment]] = []
        self.order = 0
        self.carried_out: Counter[int] = Counter()
        self.order_of: dict[str, int] = {}
        self.writes = 0

    def sleep(self, seconds: float) -> None:
        """Advance the clock, and carry out late payments."""
        self.now += seconds
        due = [payment for when, payment in self.late if when <= self.now]
        self.late = [(when, payment) for when, payment in self.late if when > self.now]
        self.newest_first[:0] = due

    def write(
        self, _method: str, _path: str, fields: Mapping[str, str], decode: Callable[[bytes], Any] = bytes
    ) -> ServiceResponse[Any]:
        """Carry a payment out at most once: at once, late or never, with or without a response."""
        self.sleep(1.0)
        self.writes += 1
        draw = self._chance.random()
        fate = "answered"
        for name, odds in ODDS.items():
            if 0 <= draw < odds:
                fate = name
            draw -= odds
        if fate != "lost request":
            payment = self._make_payment(fields)
            if fate == "late commit":
                self.late.append((self.now + self._chance.uniform(0, LATEST_COMMIT), payment))
            else:
                self.newest_first.insert(0, payment)
                if fate == "answered":
                    return ServiceResponse(decode(_body(payment)), START)
        raise OutcomeUnknownError("Lost.")

    def _make_payment(self, fields: Mapping[str, str]) -> Payment:
        self.carried_out[self.order] += 1
        payment = Payment(
            id=str(10**18 + self.writes), status="settled", action="pay", amount_cents=to_cents(fields["amount"]),
            note=fields["note"], date_created=START + timedelta(seconds=self.now), actor=ACTOR,
            target=Target(type="user", user=User(id=fields["user_id"])),
        )  # fmt: skip
        self.order_of[payment.id] = self.order
        return payment

    def me(self) -> Me:
        """Return the owner of the account."""
        return Me(user=ACTOR)

    def payment_pages(self, *, fresh: bool) -> Iterator[PaymentPage]:
        """Yield the list, fifty payments per page."""
        assert fresh
        for start in range(0, len(self.newest_first) or 1, 50):
            items = Payments.of(self.newest_first[start : start + 50])
            yield PaymentPage(items, "?more" if start + 50 < len(self.newest_first) else None)


def _body(payment: Payment) -> bytes:
    amount = payment.amount_cents or 0
    return (
        f'{{"data":{{"balance":null,"payment":{{"id":"{payment.id}","action":"pay",'
        f'"amount":{amount // 100}.{amount % 100:02}}}}}}}'
    ).encode()


def pay(desk: PaymentDesk, account: Account, order: dict[str, str]) -> str:
    """Make a payment with the desk, and return the outcome that it reports."""
    try:
        receipt = desk.pay(**order)
    except OutcomeUnknownError as error:
        return "unknown" if not error.candidates else "undecided"
    return "done" if account.order_of[receipt.payment.id] == account.order else "another's receipt"


def test_the_desk_repeats_nothing_and_reports_the_truth(caplog: pytest.LogCaptureFixture) -> None:
    """Each payment is sent once and each receipt is its own; "unknown" only remains for lost requests."""
    caplog.set_level(logging.ERROR, logger="p2p_analytics.client.desk")  # each lost response logs a warning
    chance = random.Random(20240501)  # noqa: S311 - a simulation that repeats itself
    count: Counter[tuple[str, int]] = Counter()
    for _ in range(ACCOUNTS):
        account = Account(chance)
        desk = PaymentDesk(account, sleep=account.sleep)  # type: ignore[arg-type]
        order: dict[str, str] = {}
        for number in range(ORDERS):
            account.order = number
            if not order or chance.random() >= 0.05:  # one in twenty equals the previous one
                amount = f"{chance.randrange(1, 99)}.10"
                order = {"user_id": str(chance.randrange(8, 12)), "amount": amount, "note": "lunch"}
            reported = pay(desk, account, order)
            account.sleep(LATEST_COMMIT)
            count[reported, account.carried_out[number]] += 1
        assert account.writes == ORDERS
    assert set(count) == {("done", 1), ("unknown", 0)}
    assert 0.04 < count["unknown", 0] / (ACCOUNTS * ORDERS) < 0.06  # one in twenty requests was lost
