"""Requests and parsing of the client, compared with the interface document.

A scripted service returns hand-written answers from the document's tables, and records
the requests, all of them GET. The tests use neither the vocabulary nor the sandbox.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest

from p2p_analytics.auth import authorize_url
from p2p_analytics.client import Client
from p2p_analytics.history import load_history

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ANNA = {
    "username": "anna-berg", "first_name": "Anna", "last_name": "Berg", "display_name": "Anna Berg", "about": "",
    "profile_picture_url": "https://pictures.example.invalid/anna", "id": "900719925474099311",
    "date_joined": "2013-05-01T10:00:00",
}  # fmt: skip
BO = ANNA | {"username": "bo", "first_name": "Bo", "last_name": "Cruz", "display_name": "Bo Cruz", "id": "0012"}
REST = {"email": None, "phone": None, "is_friend": True, "friends_count": 1}
TO_BO = {"type": "user", "email": None, "phone": None, "user": BO}


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
            payment(
                2,
                date_created="2014-01-31T18:30:01",
                actor=BO,
                target=TO_BO | {"user": ANNA},
                amount=-7,
                action="charge",
            ),
            payment(
                1, target=TO_BO | {"type": "email", "user": None}, status="pending", date_completed=None, amount=0.3
            ),
        ],
    },
    "/v1/payments/4": {"data": payment(4) | {"fee": None, "refund": None, "medium": "api"}},
}


class Service(Protocol):
    """Interface of the scripted service that these tests use."""

    base_url: str
    asked: list[tuple[str, dict[str, str]]]


@pytest.fixture
def service(start_service: Callable[[Callable[[str, dict[str, str]], object]], Service]) -> Service:
    """Run a service with the document's answers."""
    return start_service(lambda path, _parameters: ANSWERS[path])


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    """Return a client of that service without a cache."""
    with Client("invented-token", base_url=service.base_url, cache_dir=False) as client:
        yield client


def test_paths_and_the_token(service: Service, client: Client) -> None:
    """Each read is a GET of its documented path, and the token is the query parameter access_token."""
    client.me()
    client.user("0012")
    assert client.payment("4").medium == "api"
    client.payments()
    client.friends("900719925474099311")
    assert {path for path, _ in service.asked} == set(ANSWERS)
    assert {query["access_token"] for _, query in service.asked} == {"invented-token"}


def test_filters_have_the_documents_names(service: Service, client: Client) -> None:
    """Actor and status take several values, separated by commas; action, after, before and limit take one."""
    client.payments(
        action="charge", actor=["1", "0012"], status=["settled", "pending"], after="2014-01-01", before="2015-01-01"
    )
    query = service.asked[0][1]
    assert query.keys() == {"access_token", "action", "actor", "status", "after", "before", "limit"}
    assert query["action"] == "charge"
    assert query["actor"] == "1,0012"
    assert query["status"] == "settled,pending"
    assert int(query["limit"]) <= 50
    for bound, year in (("after", 2014), ("before", 2015)):
        moment = pd.Timestamp(query[bound])
        assert (moment.tz_localize("UTC") if moment.tz is None else moment) == pd.Timestamp(
            year=year, month=1, day=1, tz="UTC"
        )


def test_authorize_url() -> None:
    """The URL has the client id, the scopes separated by an encoded space, and the redirect override."""
    url = authorize_url(
        "https://payments.example.invalid/v1",
        "1350",
        ["access_profile", "make_payments"],
        redirect_uri="https://a.invalid/b?c=d",
    )
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "payments.example.invalid", "/v1/oauth/authorize")
    assert parse_qs(parts.query) == {
        "client_id": ["1350"],
        "scope": ["access_profile make_payments"],
        "redirect_uri": ["https://a.invalid/b?c=d"],
    }
    assert "access_profile%20make_payments" in url


def test_a_history_of_the_documents_forms(client: Client) -> None:
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
    assert history.payments["date_created"].tolist() == [
        pd.Timestamp(datetime(2014, 1, 31, 18, 30, 3, 123456, tzinfo=UTC)),
        pd.Timestamp(datetime(2014, 1, 31, 18, 30, 2, tzinfo=UTC)),
        pd.Timestamp(datetime(2014, 1, 31, 18, 30, 1, tzinfo=UTC)),
        pd.Timestamp(datetime(2014, 1, 31, 18, 30, tzinfo=UTC)),
    ]
    assert history.payments["date_completed"].isna().tolist() == [False, False, False, True]
    assert history.friends[["user_id", "username", "display_name"]].to_numpy().tolist() == [["0012", "bo", "Bo Cruz"]]
