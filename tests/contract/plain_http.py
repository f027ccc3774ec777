"""Fields, and requests in the form, of the interface document, without the toolkit's vocabulary or client."""

import json
from decimal import Decimal
from typing import Any, NamedTuple

import requests

from p2p_analytics.sandbox import SandboxServer

EVERY = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")
MAYA, SAM = "maya-lindqvist", "sam-rivera"
FIELDS = {
    "User": (
        "id username first_name last_name display_name date_joined profile_picture_url about email phone is_friend "
        "friends_count"
    ),
    "Friend": "username about last_name display_name first_name profile_picture_url id",
    "EmbeddedUser": "username first_name last_name display_name about profile_picture_url id date_joined",
    "Payment": "id status note amount action date_created date_completed audience target actor fee refund medium",
    "ListedPayment": "status date_completed target audience actor note amount action date_created id",
    "Target": "type email phone user",
}


class Answer(NamedTuple):
    """Status, headers, and the body with exact numbers."""

    status: int
    headers: Any
    body: Any


def send(town: SandboxServer, method: str, path: str, token: str | None, **fields: str) -> Answer:
    """Send a request with the token in the query of a GET, and in the form of other methods."""
    given = fields if token is None else {"access_token": token, **fields}
    place = {"params" if method == "GET" else "data": given}
    response = requests.request(method, town.base_url + path, timeout=10, allow_redirects=False, **place)
    is_json = response.headers["Content-Type"].startswith("application/json")
    body = json.loads(response.content, parse_float=Decimal) if is_json else response.text
    return Answer(response.status_code, response.headers, body)


def get(town: SandboxServer, path: str, who: str = MAYA, **query: str) -> Any:
    """Return the body of a successful GET with every scope."""
    answer = send(town, "GET", path, town.token(who, *EVERY), **query)
    assert answer.status == 200, answer.body
    return answer.body


def create_payment(town: SandboxServer, **fields: str) -> Any:
    """Return the data of a payment or charge by maya."""
    answer = send(town, "POST", "/payments", town.token(MAYA, *EVERY), **{"note": "lunch", **fields})
    assert answer.status == 200, answer.body
    return answer.body["data"]
