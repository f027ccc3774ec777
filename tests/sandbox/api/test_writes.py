"""Each row of "States and transitions" and of "Sandbox outcomes", over HTTP, with the balances after it."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from sandbox.oauth import EVERY

from p2p_analytics.sandbox import SandboxServer, SettingError
from support.servers import sandbox_fixture

TEST_ID, TEST_EMAIL, TEST_PHONE = "145434160922624933", "venmo@venmo.com", "15555555555"
PAYMENT = {
    "status", "date_completed", "target", "audience", "actor", "note", "amount", "action", "date_created", "id",
    "fee", "refund", "medium",
}  # fmt: skip

# Three households of three people.
town = sandbox_fixture(people=9, years=1)


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)


NEW = {
    # who is addressed, amount, balances before, status, and what the target's balance changes by
    "pay a user": ("sam-rivera", "12.30", "20.00", "5.00", "settled", "12.30"),
    "pay to the last cent": ("sam-rivera", "3.00", "3.00", "5.00", "settled", "3.00"),
    "a cent is missing": ("sam-rivera", "3.01", "3.00", "5.00", "failed", "0"),
    "pay an address": ({"email": "new@example.net"}, "4.00", "9.00", None, "pending", "4.00"),
    "pay a number": ({"phone": "4155550123"}, "4.00", "9.00", None, "pending", "4.00"),
    "pay an address without funds": ({"email": "new@example.net"}, "1.01", "1.00", None, "failed", "0"),
    "charge a trusted friend": ("tom-ohara", "-4.00", "1.00", "9.00", "settled", "-4.00"),
    "charge a trusted friend without money": ("tom-ohara", "-4.00", "1.00", "3.99", "pending", "0"),
    "charge a friend who does not trust": ("sam-rivera", "-4.00", "1.00", "9.00", "pending", "0"),
    "charge a stranger": ("bean-and-leaf", "-4.00", "1.00", "9.00", "pending", "0"),
    "charge a number": ({"phone": "415.555.0188"}, "-0.20", "1.00", None, "pending", "0"),
}


@pytest.mark.parametrize("case", NEW)
def test_a_new_payment_or_charge(people, case: str) -> None:
    """Status 200 and a payment of the documented status, completed unless it is pending, and the money has moved."""
    whom, amount, mine, theirs, status, moved = NEW[case]
    maya, other = people("maya-lindqvist", mine), people(whom, theirs) if isinstance(whom, str) else None
    data = maya.create(amount=amount, **({"user_id": other.id} if other else whom))
    payment = data["payment"]
    assert (set(data), set(payment)) == ({"balance", "payment"}, PAYMENT)
    assert (payment["status"], payment["amount"]) == (status, Decimal(amount))
    assert payment["date_completed"] == (None if status == "pending" else payment["date_created"])
    assert data["balance"] == maya.get_balance() == Decimal(mine) - Decimal(moved)
    if other:
        assert other.get_balance() == Decimal(theirs) + Decimal(moved)
        assert (payment["actor"]["id"], payment["target"]["user"]["id"]) == (maya.id, other.id)


def test_an_address_without_an_account(people) -> None:
    """The target has the address in one form and no user; a read does not show the email while it is pending."""
    maya = people("maya-lindqvist", "9.00")
    for kind, address, kept, shown in (
        ("email", "Someone.New@Example.NET", "someone.new@example.net", None),
        ("phone", "+1 (415) 555-0123", "14155550123", "14155550123"),
    ):
        payment = maya.create(amount="4.00", **{kind: address})["payment"]
        rest = {"email": None, "phone": None, "user": None, "type": kind}
        assert payment["target"] == rest | {kind: kept}
        assert maya.get_body(f"/payments/{payment['id']}")["data"]["target"] == rest | {kind: shown}


def test_an_address_of_an_account_is_its_user(people) -> None:
    """An email or phone connected to an account: the target is that user, email and phone null, the type as asked."""
    maya, sam = people("maya-lindqvist", "9.00"), people("sam-rivera")
    for field in ("email", "phone"):
        address = sam.get_body("/me")["data"]["user"][field]
        payment = maya.create(amount="4.00", **{field: address.upper()})["payment"]
        target = payment["target"]
        assert (payment["status"], target.pop("user")["id"]) == ("settled", sam.id)
        assert target == {"type": field, "email": None, "phone": None}


def test_the_audience_is_private_unless_it_is_said(people) -> None:
    """Each audience is taken; none at all is private, so nothing is shown to others by default."""
    maya, sam = people("maya-lindqvist", "9.00"), people("sam-rivera")
    for given, expected in (({}, "private"), *(({"audience": one}, one) for one in ("public", "friends", "private"))):
        assert maya.create(user_id=sam.id, **given)["payment"]["audience"] == expected


def test_trust_goes_one_way_and_only_between_friends(people, town) -> None:
    """A trusted friend does not have to trust back, and strangers cannot be trusted."""
    maya, tom = people("maya-lindqvist", "9.00"), people("tom-ohara", "9.00")
    town.trust("maya-lindqvist", "tom-ohara", trusted=False)
    assert tom.create(user_id=maya.id, amount="-1.00")["payment"]["status"] == "pending"
    assert maya.create(user_id=tom.id, amount="-1.00")["payment"]["status"] == "settled"
    town.trust("maya-lindqvist", "tom-ohara")
    with pytest.raises(SettingError, match="friends"):
        town.trust("maya-lindqvist", "bean-and-leaf")


@pytest.mark.parametrize(
    ("by", "action", "status", "moved"),
    [
        ("asked", "approve", "settled", "4.00"),
        ("asked", "deny", "cancelled", "0"),
        ("asking", "cancel", "cancelled", "0"),
    ],
)
def test_a_request_is_answered(people, by: str, action: str, status: str, moved: str) -> None:
    """Approve and deny by who was asked, cancel by who asked: 200, the payment in its new state, completed."""
    asking, asked = people("maya-lindqvist", "1.00"), people("sam-rivera", "9.00")
    made = asking.create(user_id=asked.id, amount="-4.00")["payment"]
    response = {"asked": asked, "asking": asking}[by].put(made["id"], action)
    assert response.status_code == 200
    payment = response.json()["data"]
    assert set(payment) == PAYMENT
    assert (payment["id"], payment["status"]) == (made["id"], status)
    assert _instant(payment["date_completed"]) > _instant(made["date_created"])
    assert asking.get_balance() == Decimal("1.00") + Decimal(moved)
    assert asked.get_balance() == Decimal("9.00") - Decimal(moved)
    for one in (asking, asked):
        assert one.get_body(f"/payments/{made['id']}")["data"]["status"] == status
        assert made["id"] in {item["id"] for item in one.get_body("/payments", status=status, action="charge")["data"]}
        assert made["id"] not in {item["id"] for item in one.get_body("/payments", status="pending", limit=50)["data"]}


def test_strangers_to_a_request(people, refusal) -> None:
    """Somebody else's request is not there when it is private, and not theirs to change when it is public."""
    asking, asked, other = people("maya-lindqvist"), people("sam-rivera"), people("layla-mansour")
    private, public = (
        asking.create(user_id=asked.id, amount="-4.00", audience=audience)["payment"]["id"]
        for audience in ("private", "public")
    )
    for action in ("approve", "deny", "cancel"):
        found = [refusal(other.put(made, action)) for made in (private, "999", public)]
        assert found == [(404, "283"), (404, "283"), (403, "403")]


def test_an_approval_pays_the_fee(people, town) -> None:
    """The fee of a request is paid by who approves it, on top, and does not reach who asked."""
    asking, asked = people("maya-lindqvist", "1.00"), people("sam-rivera", "9.00")
    (made,) = town.add_payments("maya-lindqvist", [{"date_created": town.now, "target": "sam-rivera",
        "action": "charge", "status": "pending", "amount_cents": 400, "fee_cents": 25}])  # fmt: skip
    assert asked.put(made, "approve").json()["data"]["fee"] == {"amount": 0.25}
    assert (asking.get_balance(), asked.get_balance()) == (Decimal("5.00"), Decimal("4.75"))


def test_an_unknown_action(people, refusal) -> None:
    """PUT needs one of its three words: 241 without it, 400 for another."""
    maya = people("maya-lindqvist")
    for action, code in (("", "241"), ("pay", "400"), ("Approve", "400"), ("approve,deny", "400")):
        assert refusal(maya.put("1", action)) == (400, code)


def test_what_nobody_collects_expires(ask) -> None:
    """30 days after its creation a payment to no account has expired and its refund is back; requests wait for ever."""
    with SandboxServer(people=3, years=1) as own:
        maya = ask(None, *EVERY, on=own)
        own.deposit("maya-lindqvist", 1_000)  # enough, whatever the history leaves
        before, started = maya.get_balance(), own.now
        waiting = maya.get_body("/payments", status="pending", action="pay")["data"]
        theirs = sum(Decimal(str(item["amount"])) for item in waiting)
        assert len(waiting) == 2
        made = maya.create(email="new@example.net", amount="4.00")["payment"]
        request = maya.create(phone="4155550123", amount="-4.00")["payment"]
        assert own.advance(timedelta(days=30) - timedelta(seconds=10)) < started + timedelta(days=30)
        assert maya.get_body(f"/payments/{made['id']}")["data"]["status"] == "pending"
        # The town's own two waiting payments, older than this one, have expired by now.
        waiting = maya.get_body("/payments", status="pending", action="pay")["data"]
        assert [item["id"] for item in waiting] == [made["id"]]
        assert maya.get_balance() == before + theirs - 4
        own.advance(hours=1)
        payment = maya.get_body(f"/payments/{made['id']}")["data"]
        assert (payment["status"], payment["target"]["email"]) == ("expired", "new@example.net")
        assert _instant(payment["date_completed"]) - _instant(made["date_created"]) == timedelta(days=30)
        refund = payment["refund"]
        assert (refund["status"], refund["amount"], refund["refund"]) == ("settled", 4, None)
        assert refund["target"]["user"]["id"] == payment["actor"]["id"]
        assert maya.get_balance() == before + theirs
        assert maya.put(made["id"], "cancel").status_code == 409
        own.advance(days=400)
        assert maya.get_body(f"/payments/{request['id']}")["data"]["status"] == "pending"
        assert own.audit() == []


def test_new_payments_are_the_newest(people, town) -> None:
    """Each write takes a second of the town's clock and a bit: the last is first in the list, in no other's second."""
    maya, sam = people("maya-lindqvist", "9.00"), people("sam-rivera")
    made = [maya.create(user_id=sam.id)["payment"] for _ in range(3)]
    listed = maya.get_body("/payments", limit=3)["data"]
    assert [item["id"] for item in listed] == [one["id"] for one in reversed(made)]
    created = [_instant(one["date_created"]) for one in made]
    assert {later - earlier for earlier, later in pairwise(created)} == {timedelta(seconds=1.000001)}
    assert created[-1] == town.now
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", one["date_created"]) for one in made)


@pytest.mark.parametrize("target", [{"user_id": TEST_ID}, {"email": TEST_EMAIL}, {"phone": TEST_PHONE}])
def test_outcomes_of_the_test_user(people, target: dict[str, str]) -> None:
    """0.10 settles, 0.20 fails, -0.10 settles, by user id, email or phone; the balance follows."""
    for amount, status, left in (("0.10", "settled", "8.90"), ("0.20", "failed", "9.00"), ("-0.10", "settled", "9.10")):
        maya = people("maya-lindqvist", "9.00")
        data = maya.create(amount=amount, **target)
        assert (data["payment"]["status"], data["payment"]["amount"]) == (status, Decimal(amount))
        assert data["payment"]["target"]["user"]["id"] == TEST_ID
        assert data["payment"]["date_completed"] is not None
        assert data["balance"] == maya.get_balance() == Decimal(left)


@pytest.mark.parametrize("address", [{"email": "nobody@example.net"}, {"phone": "4155550100"}])
def test_outcomes_of_an_unregistered_address(people, address: dict[str, str]) -> None:
    """0.30 and -0.20 to an email or phone that is not registered are pending."""
    for amount, left in (("0.30", "8.70"), ("-0.20", "9.00")):
        data = people("maya-lindqvist", "9.00").create(amount=amount, **address)
        assert (data["payment"]["status"], data["payment"]["date_completed"]) == ("pending", None)
        assert data["balance"] == Decimal(left)


def test_the_test_user_without_a_bank(people, town) -> None:
    """A charge that the test user cannot pay is not settled: it waits, and the ledger is consistent."""
    town.link_bank(TEST_ID, linked=False)
    maya, _ = people("maya-lindqvist", "9.00"), people(TEST_ID, "0")
    data = maya.create(user_id=TEST_ID, amount="-0.10")
    town.link_bank(TEST_ID)
    assert (data["payment"]["status"], data["payment"]["date_completed"]) == ("pending", None)
    assert (data["balance"], town.audit()) == (Decimal("9.00"), [])


def test_the_test_user_is_no_resident(people, town) -> None:
    """The test user is not among the people, but can be asked for and can sign in."""
    assert (town.test_user.user_id, TEST_ID in {one.user_id for one in town.people}) == (TEST_ID, False)
    me = people(TEST_ID).get_body("/me")["data"]["user"]
    assert (me["id"], me["email"], me["phone"]) == (TEST_ID, TEST_EMAIL, TEST_PHONE)
