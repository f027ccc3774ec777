"""Desk against the sandbox, in both dialects: each write happens once, and the ledger is correct."""

from __future__ import annotations

import json
import socket
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import requests

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.client.desk import PaymentDesk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAYA, SAM = "maya-lindqvist", "sam-rivera"  # no friends with trust: a charge between them waits for an answer
EVERY = ("access_profile", "access_balance", "make_payments")


class Relay:
    """Relay to a sandbox; ``lose`` drops the "request" or the "answer" of the next write."""

    def __init__(self, server: p2p.sandbox.SandboxServer) -> None:
        self.server = server
        self.origin = self.shown_as = server.base_url.removesuffix("/v1")
        self.lose: str | None = None
        self.writes: list[str] = []

    def __call__(self, path: str, fields: dict[str, str]) -> Any:
        """Return the response of the sandbox, or close the connection."""
        method, _, where = path.rpartition(" ")
        lost, place = None, "params"
        if method:
            self.writes.append(path)
            lost, self.lose, place = self.lose, None, "data"
        if lost == "request":
            return _hang_up
        answer = requests.request(method or "GET", self.origin + where, timeout=10, **{place: fields})
        if lost == "answer":
            assert answer.status_code == 200, "what was to be lost did not happen"
            return _hang_up
        # The links of a list name the sandbox's own address, and a client follows none that leads elsewhere.
        body = answer.content.replace(self.origin.encode(), self.shown_as.encode())
        return answer.status_code, {"Content-Type": answer.headers["Content-Type"]}, body


class Person:
    """Person with a desk behind a relay."""

    def __init__(self, server: p2p.sandbox.SandboxServer, relay: Relay, base_url: str, name: str) -> None:
        self.relay, self.waits = relay, []
        self._token = server.token(name, *EVERY)
        self.id = self._get("/me")["user"]["id"]
        server.deposit(name, 2_000 - self.get_balance())
        self.client = p2p.Client(self._token, base_url=base_url)
        self.desk = PaymentDesk(self.client, sleep=self.waits.append)

    def get_balance(self) -> int:
        """Return the balance of the sandbox, without client and cache."""
        return int(Decimal(str(self._get("/me")["balance"])) * 100)

    def list_newest(self) -> list[str]:
        """Return the ids of the newest page of the sandbox."""
        return [item["id"] for item in self._get("/payments", limit="50")]

    def _get(self, path: str, **more: str) -> Any:
        asked = {"access_token": self._token, **more}
        answer = requests.get(self.relay.server.base_url + path, params=asked, timeout=10)
        return json.loads(answer.content, parse_float=Decimal)["data"]


def _hang_up(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module", params=["documented", "observed"])
def town(request: pytest.FixtureRequest) -> Iterator[p2p.sandbox.SandboxServer]:
    """Run a town in each dialect; check its ledger at the end."""
    with p2p.sandbox.SandboxServer(people=6, years=1, dialect=request.param) as server:
        yield server
        assert server.audit() == []


@pytest.fixture
def two(town, start_service: Callable[..., Any]) -> Iterator[tuple[Person, Person]]:
    """Give two people 20.00 each and a desk; check the ledger after each test."""
    relay = Relay(town)
    address = start_service(relay).base_url
    relay.shown_as = address.removesuffix("/v1")
    maya, sam = (Person(town, relay, address, name) for name in (MAYA, SAM))
    yield maya, sam
    for one in (maya, sam):
        one.client.close()
    assert town.audit() == []


def test_pay(two) -> None:
    """A payment of 12.30 to a user is settled at once, both balances are exact, and the cache is up to date."""
    maya, sam = two
    before, known = maya.client.me().balance_cents, {payment.id for payment in maya.client.payments()}
    receipt = maya.desk.pay(user_id=sam.id, amount="12.30", note="bikes 🚲", audience="friends")
    payment = receipt.payment
    assert (payment.status, payment.action, payment.amount_cents) == ("settled", "pay", 1_230)
    assert (payment.note, payment.audience, payment.target.user.id) == ("bikes 🚲", "friends", sam.id)
    assert (receipt.balance_cents, receipt.reconciled) == (770, False)
    assert (before, maya.client.me().balance_cents) == (2_000, 770)
    assert {one.id for one in maya.client.payments()} - known == {payment.id}
    assert (maya.get_balance(), sam.get_balance()) == (770, 3_230)


def test_a_failed_payment_does_not_raise(two) -> None:
    """A cent more than the balance: a failed payment, and no money moved."""
    maya, sam = two
    receipt = maya.desk.pay(user_id=sam.id, amount="20.01", note="too much")
    assert (receipt.payment.status, receipt.balance_cents) == ("failed", 2_000)
    assert (maya.get_balance(), sam.get_balance()) == (2_000, 2_000)


@pytest.mark.parametrize("address", [{"email": "new@example.net"}, {"phone": "+1 (415) 555-0123"}])
def test_a_payment_to_an_address_without_an_account_can_be_cancelled(two, address: dict[str, str]) -> None:
    """The payment is pending and reduces the balance; cancel returns the money."""
    maya, _ = two
    receipt = maya.desk.pay(amount="4", note="for later", **address)
    assert (receipt.payment.status, receipt.balance_cents, maya.get_balance()) == ("pending", 1_600, 1_600)
    assert maya.desk.cancel(receipt.payment.id).status == "cancelled"
    assert maya.get_balance() == 2_000


@pytest.mark.parametrize(
    ("by", "verb", "status", "moved"),
    [("sam", "approve", "settled", 450), ("sam", "deny", "cancelled", 0), ("maya", "cancel", "cancelled", 0)],
)
def test_a_charge_is_resolved_once(two, by: str, verb: str, status: str, moved: int) -> None:
    """A pending charge moves no money; approve moves it, deny and cancel do not; a second resolution is refused."""
    maya, sam = two
    receipt = maya.desk.charge(user_id=sam.id, amount="4.50", note="half the pizza")
    asked = receipt.payment
    assert (asked.status, asked.action, abs(asked.amount_cents)) == ("pending", "charge", 450)
    assert (receipt.balance_cents, sam.get_balance()) == (2_000, 2_000)
    desk = {"sam": sam, "maya": maya}[by].desk
    answered = getattr(desk, verb)(asked.id)
    assert (answered.id, answered.status) == (asked.id, status)
    assert (maya.get_balance(), sam.get_balance()) == (2_000 + moved, 2_000 - moved)
    sent = len(maya.relay.writes)
    with pytest.raises(errors.ConfigurationError, match=f"is {status} and no longer pending"):
        getattr(desk, verb)(asked.id)
    assert len(maya.relay.writes) == sent


def test_an_impossible_approval_is_refused(two) -> None:
    """Approving an own charge, or one above the balance: the service refuses, and the charge stays pending."""
    maya, sam = two
    charge = maya.desk.charge(user_id=sam.id, amount="20.01", note="rent").payment
    with pytest.raises(errors.InvalidRequestError, match=r"with status 403 \(Only .*\)\.$") as wrong:
        maya.desk.approve(charge.id)
    assert wrong.value.code == "403"
    assert "scope" not in str(wrong.value)
    with pytest.raises(errors.ApiError) as empty:
        sam.desk.approve(charge.id)
    assert empty.value.code == "1319"
    assert maya.client.payment(charge.id, fresh=True).status == "pending"
    assert (maya.get_balance(), sam.get_balance()) == (2_000, 2_000)


@pytest.mark.parametrize(
    ("verb", "target", "left"),
    [("pay", "phone", 1_750), ("charge", "user", 2_000)],
)
def test_the_outcome_of_a_lost_response_is_found(two, verb: str, target: str, left: int) -> None:
    """Sent once, found by the first search, and not mistaken for an older equal payment."""
    maya, sam = two
    to = {"user": {"user_id": sam.id}, "phone": {"phone": "4155550177"}}[target]
    getattr(maya.desk, verb)(amount="1.25", note="tea", **to)
    before = maya.list_newest()
    maya.relay.lose = "answer"
    receipt = getattr(maya.desk, verb)(amount="1.25", note="tea", **to)
    assert (receipt.reconciled, receipt.balance_cents, maya.waits) == (True, None, [5.0])
    assert maya.list_newest() == [receipt.payment.id, *before][:50]
    assert len(maya.relay.writes) == 2
    assert maya.get_balance() == left
