"""Each row of "Sandbox outcomes", over HTTP."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer
from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from collections.abc import Callable

    Asking = Callable[..., Any]

town = sandbox_fixture(people=9, years=1)

TEST_ID, TEST_EMAIL, TEST_PHONE = "145434160922624933", "venmo@venmo.com", "15555555555"


@pytest.mark.parametrize("target", [{"user_id": TEST_ID}, {"email": TEST_EMAIL}, {"phone": TEST_PHONE}])
@pytest.mark.parametrize(
    ("amount", "status", "change"),
    [("0.10", "settled", "-0.10"), ("0.20", "failed", "0"), ("-0.10", "settled", "0.10")],
)
def test_outcomes_of_the_test_user(
    people: Callable[..., Any], target: dict[str, str], amount: str, status: str, change: str
) -> None:
    """0.10 settles, 0.20 fails, -0.10 settles, by user id, email or phone; the balance follows."""
    maya = people("maya-lindqvist", "9.00")
    data = maya.create(amount=amount, **target)
    assert (data["payment"]["status"], data["payment"]["amount"]) == (status, Decimal(amount))
    assert data["payment"]["target"]["user"]["id"] == TEST_ID
    assert data["payment"]["date_completed"] is not None
    assert data["balance"] == maya.get_balance() == Decimal("9.00") + Decimal(change)


@pytest.mark.parametrize("address", [{"email": "nobody@example.net"}, {"phone": "4155550100"}])
@pytest.mark.parametrize(("amount", "change"), [("0.30", "-0.30"), ("-0.20", "0")])
def test_outcomes_of_an_unregistered_address(
    people: Callable[..., Any], address: dict[str, str], amount: str, change: str
) -> None:
    """0.30 and -0.20 to an email or phone that is not registered are pending."""
    maya = people("maya-lindqvist", "9.00")
    data = maya.create(amount=amount, **address)
    assert (data["payment"]["status"], data["payment"]["date_completed"]) == ("pending", None)
    assert data["balance"] == Decimal("9.00") + Decimal(change)


def test_the_test_user_without_a_bank() -> None:
    """What the test user cannot pay is no settled charge: it waits, and the books stay right."""
    with SandboxServer(people=3, years=1) as own:
        own.link_bank(own.test_user.user_id, linked=False)
        before = own.store.person_named(own.viewer)
        given = {
            "access_token": own.token(own.viewer, "make_payments", "access_profile"),
            "user_id": own.test_user.user_id, "amount": "-0.10", "note": "x",
        }  # fmt: skip
        made = requests.post(f"{own.base_url}/payments", data=given, timeout=10).json()["data"]["payment"]
        assert (made["status"], made["date_completed"]) == ("pending", None)
        assert own.store.person_named(own.viewer) == before
        assert own.audit() == []


def test_the_test_user_is_no_resident(town: SandboxServer, ask: Asking) -> None:
    """The test user is not among the people, but can be asked for and can sign in."""
    assert town.test_user.user_id == TEST_ID
    assert TEST_ID not in {one.user_id for one in town.people}
    me = ask(TEST_ID, "access_profile", "access_email", "access_phone", on=town).get_body("/me")["data"]["user"]
    assert (me["id"], me["email"], me["phone"]) == (TEST_ID, TEST_EMAIL, TEST_PHONE)
