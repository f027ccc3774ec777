"""The two dialects: where they differ, and that a client reads the same history from both."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest
import requests

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.sandbox import SandboxServer, SettingError

if TYPE_CHECKING:
    from collections.abc import Iterator

MORE = {"merchant", "friend_request", "trust_request", "redeemable_target"}
SCOPES = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")


@pytest.fixture(scope="module")
def both() -> Iterator[dict[str, SandboxServer]]:
    """Run the same town in both dialects, and let the same things happen in both."""
    with (
        SandboxServer(people=6, years=1) as documented,
        SandboxServer(people=6, years=1, dialect="observed") as observed,
    ):
        servers = {"documented": documented, "observed": observed}
        for server in servers.values():
            for fields in (
                {"email": "new@example.net", "amount": "0.30"},
                {"user_id": "145434160922624933", "amount": "0.20"},
                {"user_id": server.test_user.user_id, "amount": "-0.10"},
                {"phone": "4155550123", "amount": "-12.30"},
            ):
                assert post(server, note="x", **fields).status_code == 200
        yield servers


def get(server: SandboxServer, path: str, **more: str) -> requests.Response:
    """Ask as the viewer."""
    given = {"access_token": server.token(server.viewer, *SCOPES), **more}
    return requests.get(server.base_url + path, params=given, timeout=10)


def post(server: SandboxServer, **fields: str) -> requests.Response:
    """Pay or charge as the viewer."""
    given = {"access_token": server.token(server.viewer, *SCOPES), **fields}
    return requests.post(f"{server.base_url}/payments", data=given, timeout=10)


def values(body: Any, name: str) -> list[Any]:
    """Return every value of a field, however deep."""
    if isinstance(body, dict):
        return [*([body[name]] if name in body else []), *(one for part in body.values() for one in values(part, name))]
    return [one for part in body for one in values(part, name)] if isinstance(body, list) else []


def test_balances(both: dict[str, SandboxServer]) -> None:
    """A balance is a number by the document, and text with two decimals as observed; null without its scope in both."""
    for name, form in (("documented", r"-?\d+\.\d\d"), ("observed", r'"\d+\.\d\d"')):
        server = both[name]
        for text in (get(server, "/me").text, post(server, email="a@b.net", amount="0.30", note="x").text):
            assert re.search(rf'"balance":{form},', text)
        token = server.token(server.viewer, "access_profile")
        me = requests.get(f"{server.base_url}/me", params={"access_token": token}, timeout=10)
        assert me.json()["data"]["balance"] is None


@pytest.mark.parametrize(
    ("path", "documented", "observed"),
    [
        ("/payments?access_token=none", (401, "261"), (401, 261)),
        ("/payments/1", (404, "283"), (400, 283)),
        ("/nothing", (404, "283"), (400, 283)),
        ("/payments?status=odd", (400, "400"), (400, 400)),
    ],
)
def test_errors(
    both: dict[str, SandboxServer], path: str, documented: tuple[int, str], observed: tuple[int, int]
) -> None:
    """A code is text by the document and a number as observed, where what is not found has status 400."""
    for name, expected in (("documented", documented), ("observed", observed)):
        server = both[name]
        response = requests.get(
            f"{server.base_url}{path}",
            headers={} if "token" in path else {"Authorization": f"Bearer {server.token(server.viewer)}"},
            timeout=10,
        )
        assert (response.status_code, response.json()["error"]["code"]) == expected
        assert response.json()["error"].keys() == {"message", "code"}


def test_refused_writes(both: dict[str, SandboxServer]) -> None:
    """Writes are answered in the server's dialect as well, errors and payments."""
    assert post(both["documented"], email="a@b.net", amount="1").json()["error"]["code"] == "1355"
    assert post(both["observed"], email="a@b.net", amount="1").json()["error"]["code"] == 1355
    for name, amount in (("documented", -0.2), ("observed", 0.2)):
        payment = post(both[name], email="a@b.net", amount="-0.20", note="x").json()["data"]["payment"]
        assert (payment["amount"], payment["action"], payment["status"]) == (amount, "charge", "pending")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", payment["date_created"])


def test_signs_and_datetimes(both: dict[str, SandboxServer]) -> None:
    """A charge's amount is negative by the document and positive as observed, where no datetime has a Z either."""
    documented, observed = (get(both[name], "/payments", limit="50").json() for name in ("documented", "observed"))
    assert {item["amount"] < 0 for item in documented["data"] if item["action"] == "charge"} == {True}
    assert {item["amount"] > 0 for item in observed["data"]} == {True}
    dates = {name: values(body, "date_created") for name, body in (("d", documented), ("o", observed))}
    assert any(one.endswith("Z") for one in dates["d"])
    assert not any(one.endswith("Z") for one in dates["o"])
    assert [one.removesuffix("Z") for one in dates["d"]] == dates["o"]


def test_medium(both: dict[str, SandboxServer]) -> None:
    """What an application created shows `api` by the document, and the application's name as observed."""
    for name, medium in (("documented", "api"), ("observed", "Payment diary")):
        newest = get(both[name], "/payments", limit="1").json()["data"][0]["id"]
        assert get(both[name], f"/payments/{newest}").json()["data"]["medium"] == medium


def test_medium_of_ones_own_application(both: dict[str, SandboxServer]) -> None:
    """A payment's medium is its application's name when it was made, whatever became of that; lists have none."""
    for name, medium in (("documented", "api"), ("observed", "Lunch & Co")):
        server = both[name]
        app = server.register_application(server.viewer, name="Lunch & Co", redirect_url="http://127.0.0.1/lunch")
        address = server.sign_in(server.authorize_url(*SCOPES, client_id=app.client_id), server.viewer)
        (token,) = parse_qs(urlsplit(address).query)["access_token"]
        form = {"access_token": token, "email": "late@example.net", "amount": "0.30", "note": "x"}
        made = requests.post(f"{server.base_url}/payments", data=form, timeout=10).json()["data"]["payment"]
        assert made["medium"] == medium
        with server.store.writing() as connection:
            query = "UPDATE oauth_applications SET name = 'Dinner' WHERE client_id = ?"
            connection.execute(query, (app.client_id,))
        assert get(server, f"/payments/{made['id']}").json()["data"]["medium"] == medium
        server._tokens.registry.remove(app.client_id)
        assert get(server, f"/payments/{made['id']}").json()["data"]["medium"] == medium
        (newest,) = get(server, "/payments", limit="1").json()["data"]
        assert (newest["id"], "medium" in newest) == (made["id"], False)
        ended = requests.put(
            f"{server.base_url}/payments/{made['id']}",
            data={"access_token": server.token(server.viewer, *SCOPES), "action": "cancel"},
            timeout=10,
        ).json()["data"]
        assert (ended["medium"], ended["refund"]["medium"]) == (medium, medium)


def test_more_fields(both: dict[str, SandboxServer]) -> None:
    """As observed, the user in /me and every target have two more fields each; no other user has them."""
    for name, more in (("documented", set()), ("observed", {"friend_request", "trust_request"})):
        me = get(both[name], "/me").json()["data"]["user"]
        assert me.keys() & {"friend_request", "trust_request"} == more
        assert not get(both[name], f"/users/{me['id']}").json()["data"].keys() & MORE
    for name, more in (("documented", set()), ("observed", {"merchant", "redeemable_target"})):
        targets = [item["target"] for item in get(both[name], "/payments", limit="50").json()["data"]]
        assert [one.keys() - {"type", "email", "phone", "user"} for one in targets] == [more] * 50


def test_an_empty_bio(both: dict[str, SandboxServer]) -> None:
    """An empty bio is a single space as observed, wherever a user is shown, and empty by the document."""
    bios = {}
    for name, server in both.items():
        paths = ["/payments?limit=50", *(f"/users/{one.user_id}/friends" for one in server.people)]
        bios[name] = [bio for path in paths for bio in values(get(server, path).json(), "about")]
    assert "" in bios["documented"]
    assert bios["observed"] == [bio or " " for bio in bios["documented"]]


def test_everything_else_is_the_same(both: dict[str, SandboxServer]) -> None:
    """All other fields, their order and the null at the end of a list are those of the document in both."""

    def shape(body: Any) -> Any:
        if isinstance(body, dict):
            return {name: shape(value) for name, value in body.items() if name not in MORE}
        return [shape(one) for one in body] if isinstance(body, list) else body is None

    for path in (
        "/me",
        "/payments?before=2020-01-01",
        "/payments",
        f"/users/{both['observed'].people[0].user_id}/friends",
    ):
        bodies = []
        for server in both.values():
            headers = {"Authorization": f"Bearer {server.token(server.viewer)}"}
            bodies.append(requests.get(server.base_url + path, headers=headers, timeout=10).text)
        assert shape(json.loads(bodies[0])) == shape(json.loads(bodies[1]))
        assert list(json.loads(bodies[0])) == list(json.loads(bodies[1]))


def test_a_history_is_the_same_from_both(both: dict[str, SandboxServer]) -> None:
    """`load_history` makes equal frames of both dialects: the sum of the differences is nothing to an analysis."""
    histories = []
    for server in both.values():
        token = server.token(server.viewer)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
            histories.append(p2p.load_history(client))
    documented, observed = histories
    assert len(documented.payments) > 50
    assert {"pay", "charge"} <= set(documented.payments["action"])
    pd.testing.assert_frame_equal(documented.payments, observed.payments)
    pd.testing.assert_frame_equal(documented.friends, observed.friends)
    assert documented.me.balance_cents == observed.me.balance_cents


def test_errors_of_both_are_the_same_to_a_client(both: dict[str, SandboxServer]) -> None:
    """A client raises the same error with the same code for both, though one says 404 and the other 400."""
    for server in both.values():
        with (
            p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client,
            pytest.raises(errors.NotFoundError) as caught,
        ):
            client.payment("1")
        assert caught.value.code == "283"


def test_an_unknown_dialect() -> None:
    """There are two dialects; another is refused before anything starts."""
    with pytest.raises(SettingError, match="documented and observed"), SandboxServer(dialect="klingon"):
        pass
