"""The client against hand-written answers of the document's tables, without the toolkit's vocabulary or the sandbox."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

from p2p_analytics.auth import authorize_url
from p2p_analytics.client import Client
from p2p_analytics.history import load_history

ANNA = {
    "username": "anna-berg", "first_name": "Anna", "last_name": "Berg", "display_name": "Anna Berg", "about": "",
    "profile_picture_url": "https://pictures.example.invalid/anna", "id": "900719925474099311",
    "date_joined": "2013-05-01T10:00:00",
}  # fmt: skip
BO = ANNA | {"username": "bo", "first_name": "Bo", "last_name": "Cruz", "display_name": "Bo Cruz", "id": "0012"}
REST = {"email": None, "phone": None, "is_friend": True, "friends_count": 1}
TO_BO = {"type": "user", "email": None, "phone": None, "user": BO}
TO_ANNA, TO_ADDRESS = TO_BO | {"user": ANNA}, TO_BO | {"type": "email", "user": None}


def payment(number: int, **fields: object) -> dict[str, object]:
    """Return a listed payment with the ten fields of the document's list samples."""
    return {
        "status": "settled", "date_completed": "2014-01-31T18:30:00", "target": TO_BO, "audience": "private",
        "actor": ANNA, "note": "lunch", "amount": 0.1, "action": "pay", "date_created": "2014-01-31T18:30:00",
        "id": str(number),
    } | fields  # fmt: skip


ANSWERS = {
    "/v1/me": {"data": {"balance": 102.3, "user": ANNA | REST | {"is_friend": False}}},
    "/v1/users/0012": {"data": BO | REST},
    "/v1/users/900719925474099311/friends": {
        "pagination": {"next": None},
        "data": [{name: value for name, value in BO.items() if name != "date_joined"}],
    },
    "/v1/payments": {
        "pagination": {"next": None},
        "data": [
            payment(4, date_created="2014-01-31T18:30:03.123456"),
            payment(3, date_created="2014-01-31T18:30:02Z", amount=-12.3, action="charge"),
            payment(2, date_created="2014-01-31T18:30:01", actor=BO, target=TO_ANNA, amount=-7, action="charge"),
            payment(1, target=TO_ADDRESS, status="pending", date_completed=None, amount=0.3),
        ],
    },
    "/v1/payments/4": {"data": payment(4) | {"fee": None, "refund": None, "medium": "api"}},
}


@pytest.fixture
def service(start_service) -> Any:
    """Run a service with the document's answers."""
    return start_service(lambda path, _parameters: ANSWERS[path])


@pytest.fixture
def client(service) -> Iterator[Client]:
    """Return a client of that service without a cache."""
    with Client("invented-token", base_url=service.base_url, cache_dir=False) as client:
        yield client


def test_paths_and_the_token(service, client) -> None:
    """Each read is a GET of its documented path, and the token is the query parameter access_token."""
    client.me()
    client.user("0012")
    assert client.payment("4").medium == "api"
    client.payments()
    client.friends("900719925474099311")
    assert {path for path, _ in service.asked} == set(ANSWERS)
    assert {query["access_token"] for _, query in service.asked} == {"invented-token"}


def test_filters_have_the_documents_names(service, client) -> None:
    """Actor and status take several values, separated by commas; action, after, before and limit take one."""
    client.payments(
        action="charge", actor=["1", "0012"], status=["settled", "pending"], after="2014-01-01", before="2015-01-01"
    )
    query = service.asked[0][1]
    bounds = [pd.to_datetime(query.pop(name), utc=True) for name in ("after", "before")]
    assert bounds == [pd.Timestamp("2014-01-01", tz="UTC"), pd.Timestamp("2015-01-01", tz="UTC")]
    assert int(query.pop("limit")) <= 50
    words = {"action": "charge", "actor": "1,0012", "status": "settled,pending"}
    assert query == {"access_token": "invented-token", **words}


def test_authorize_url() -> None:
    """The URL has the client id, the scopes separated by an encoded space, and the redirect override."""
    base, scopes = "https://payments.example.invalid/v1", ["access_profile", "make_payments"]
    assert authorize_url(base, "1350", scopes, redirect_uri="https://a.invalid/b?c=d") == (
        "https://payments.example.invalid/v1/oauth/authorize?client_id=1350&scope=access_profile%20make_payments"
        "&redirect_uri=https%3A%2F%2Fa.invalid%2Fb%3Fc%3Dd"
    )


def test_a_history_of_the_documents_forms(client) -> None:
    """Three forms of datetimes, both signs and a null email target: ids, cents and directions worked out by hand."""
    history = load_history(client)
    assert history.me.user.id == "900719925474099311"
    assert history.me.balance_cents == 10230
    columns = ["payment_id", "amount_cents", "direction", "flow_cents", "counterparty_id", "status", "target_type"]
    rows = history.payments[columns].astype(object)
    assert rows.where(rows.notna(), None).to_numpy().tolist() == [
        ["4", 10, "out", -10, "0012", "settled", "user"],
        ["3", -1230, "in", 1230, "0012", "settled", "user"],
        ["2", -700, "out", -700, "0012", "settled", "user"],
        ["1", 30, "out", -30, "unregistered email", "pending", "email"],
    ]
    assert history.payments["date_created"].map(str).tolist() == [
        "2014-01-31 18:30:03.123456+00:00",
        "2014-01-31 18:30:02+00:00",
        "2014-01-31 18:30:01+00:00",
        "2014-01-31 18:30:00+00:00",
    ]
    assert history.payments["date_completed"].isna().tolist() == [False, False, False, True]
    assert history.friends[["user_id", "username", "display_name"]].to_numpy().tolist() == [["0012", "bo", "Bo Cruz"]]
