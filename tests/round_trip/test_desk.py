"""Desk against the sandbox, in both dialects: each write happens once, and the ledger is correct."""

import pytest

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.client.desk import PaymentDesk

MAYA, SAM = "maya-lindqvist", "sam-rivera"  # no friends with trust: a charge between them waits for an answer


class Person:
    """Person with 20.00, a client with a cache, and a desk."""

    def __init__(self, server, name: str) -> None:
        self.server = server
        token = server.token(name, "access_profile", "access_balance", "make_payments")
        self.client = p2p.Client(token, base_url=server.base_url)
        self.desk = PaymentDesk(self.client)
        self.id = self.client.me().user.id
        server.deposit(name, 2_000 - self.balance)

    @property
    def balance(self) -> int:
        """The present balance, which is never cached."""
        return self.client.me().balance_cents


@pytest.fixture(scope="module", params=["documented", "observed"])
def town(request):
    """Run a town in each dialect."""
    with p2p.sandbox.SandboxServer(people=6, years=1, dialect=request.param) as server:
        yield server


@pytest.fixture
def two(town):
    """Give two people 20.00 each and a desk; check the ledger after each test."""
    town.requests.clear()
    maya, sam = Person(town, MAYA), Person(town, SAM)
    yield maya, sam
    for one in (maya, sam):
        one.client.close()
    assert town.audit() == []


def test_pay(two) -> None:
    """A payment of 12.30 to a user is settled at once, both balances are exact, and the cache is up to date.

    A cent more than the balance: a failed payment, which does not raise, and no money moved.
    """
    maya, sam = two
    known = {payment.id for payment in maya.client.payments()}
    receipt = maya.desk.pay(user_id=sam.id, amount="12.30", note="bikes 🚲", audience="friends")
    payment = receipt.payment
    assert (payment.status, payment.action, payment.amount_cents) == ("settled", "pay", 1_230)
    assert (payment.note, payment.audience, payment.target.user.id) == ("bikes 🚲", "friends", sam.id)
    assert (receipt.balance_cents, receipt.reconciled) == (770, False)
    assert {one.id for one in maya.client.payments()} - known == {payment.id}
    assert (maya.balance, sam.balance) == (770, 3_230)
    receipt = maya.desk.pay(user_id=sam.id, amount="7.71", note="too much")
    assert (receipt.payment.status, receipt.balance_cents) == ("failed", 770)
    assert (maya.balance, sam.balance) == (770, 3_230)


@pytest.mark.parametrize("address", [{"email": "new@example.net"}, {"phone": "+1 (415) 555-0123"}])
def test_a_payment_to_an_address_without_an_account_can_be_cancelled(two, address: dict[str, str]) -> None:
    """The payment is pending and reduces the balance; cancel returns the money."""
    maya, _ = two
    receipt = maya.desk.pay(amount="4", note="for later", **address)
    assert (receipt.payment.status, receipt.balance_cents, maya.balance) == ("pending", 1_600, 1_600)
    assert maya.desk.cancel(receipt.payment.id).status == "cancelled"
    assert maya.balance == 2_000


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
    assert (receipt.balance_cents, sam.balance) == (2_000, 2_000)
    desk = {"sam": sam, "maya": maya}[by].desk
    answered = getattr(desk, verb)(asked.id)
    assert (answered.id, answered.status) == (asked.id, status)
    assert (maya.balance, sam.balance) == (2_000 + moved, 2_000 - moved)
    with pytest.raises(errors.ConfigurationError, match=f"is {status} and no longer pending"):
        getattr(desk, verb)(asked.id)
    assert [method for method, _ in maya.server.requests if method != "GET"] == ["POST", "PUT"]


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
    assert (maya.balance, sam.balance) == (2_000, 2_000)
