"""The two dialects: where they differ, and that a client reads the same history from both."""

from __future__ import annotations

import contextlib
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
                assert post(server, **fields).status_code == 200
        yield servers


def get(server: SandboxServer, path: str, **more: str) -> requests.Response:
    """Ask as the viewer."""
    given = {"access_token": server.token(server.viewer, *SCOPES), **more}
    return requests.get(server.base_url + path, params=given, timeout=10)


def post(server: SandboxServer, **fields: str) -> requests.Response:
    """Pay or charge as the viewer."""
    given = {"access_token": server.token(server.viewer, *SCOPES), "note": "x", **fields}
    return requests.post(f"{server.base_url}/payments", data=given, timeout=10)


def error_of(response: requests.Response) -> tuple[int, Any]:
    """Return the status and the error code of a refusal."""
    return response.status_code, response.json()["error"]["code"]


def token_of(server: SandboxServer, url: str) -> str:
    """Return the token or code of a consent."""
    (value,) = [*parse_qs(urlsplit(server.sign_in(url, server.viewer)).query).values()][0]  # noqa: RUF015 - one parameter
    return value


@contextlib.contextmanager
def register(server: SandboxServer, name: str) -> Iterator[Any]:
    """Register an application for a while."""
    app = server.register_application(server.viewer, name=name, redirect_url="http://127.0.0.1/app")
    yield app
    server._tokens.oauth_store.remove_application(app.client_id)


def exchange(server: SandboxServer, app: Any, **fields: str) -> Any:
    """Return the answer of the token exchange."""
    form = {"client_id": app.client_id, "client_secret": app.client_secret, **fields}
    answer = requests.post(f"{server.base_url}/oauth/access_token", data=form, timeout=10)
    assert answer.status_code == 200, answer.text
    return answer.json()


def values(body: Any, name: str) -> list[Any]:
    """Return every value of a field, however deep."""
    if isinstance(body, dict):
        return [*([body[name]] if name in body else []), *(one for part in body.values() for one in values(part, name))]
    return [one for part in body for one in values(part, name)] if isinstance(body, list) else []


def test_balances(both: dict[str, SandboxServer]) -> None:
    """A balance is a number by the document, and text with two decimals as observed; null without its scope in both."""
    for name, form in (("documented", r"-?\d+\.\d\d"), ("observed", r'"\d+\.\d\d"')):
        server = both[name]
        for text in (get(server, "/me").text, post(server, email="a@b.net", amount="0.30").text):
            assert re.search(rf'"balance":{form},', text)
        me = get(server, "/me", access_token=server.token(server.viewer, "access_profile"))
        assert me.json()["data"]["balance"] is None


def test_errors(both: dict[str, SandboxServer]) -> None:
    """A code is text by the document and a number as observed, where not found has status 400."""
    for path, more, status, code, status_observed in (
        ("/payments", {"access_token": "none"}, 401, "261", 401),
        ("/payments/1", {}, 404, "283", 400),
        ("/nothing", {}, 404, "283", 400),
        ("/payments", {"status": "odd"}, 400, "400", 400),
    ):
        assert error_of(get(both["documented"], path, **more)) == (status, code)
        assert error_of(get(both["observed"], path, **more)) == (status_observed, int(code))


def test_writes(both: dict[str, SandboxServer]) -> None:
    """Writes are answered in the server's dialect as well, errors and payments."""
    for name, code, amount in (("documented", "1355", -0.2), ("observed", 1355, 0.2)):
        assert error_of(post(both[name], email="a@b.net", amount="1", note="")) == (400, code)
        payment = post(both[name], email="a@b.net", amount="-0.20").json()["data"]["payment"]
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
        with register(server, "Lunch & Co") as app:
            token = token_of(server, server.authorize_url(*SCOPES, client_id=app.client_id))
            form = {"access_token": token, "email": "late@example.net", "amount": "0.30"}
            made = post(server, **form).json()["data"]["payment"]
            assert made["medium"] == medium
            with server.store.writing() as connection:
                query = "UPDATE oauth_applications SET name = 'Dinner' WHERE client_id = ?"
                connection.execute(query, (app.client_id,))
            assert get(server, f"/payments/{made['id']}").json()["data"]["medium"] == medium
        assert get(server, f"/payments/{made['id']}").json()["data"]["medium"] == medium
        (newest,) = get(server, "/payments", limit="1").json()["data"]
        assert (newest["id"], "medium" in newest) == (made["id"], False)
        form = {"access_token": server.token(server.viewer, *SCOPES), "action": "cancel"}
        ended = requests.put(f"{server.base_url}/payments/{made['id']}", data=form, timeout=10).json()["data"]
        assert (ended["medium"], ended["refund"]["medium"]) == (medium, medium)


def test_an_empty_bio(both: dict[str, SandboxServer]) -> None:
    """An empty bio is a single space as observed, wherever a user is shown, and empty by the document."""
    bios = {}
    for name, server in both.items():
        paths = ["/payments?limit=50", *(f"/users/{one.user_id}/friends" for one in server.people)]
        bios[name] = [bio for path in paths for bio in values(get(server, path).json(), "about")]
    assert "" in bios["documented"]
    assert bios["observed"] == [bio or " " for bio in bios["documented"]]


UNKNOWN = ["access_profile access_payment_history", "access_feed,access_profile", " access_feed , access_profile x "]


@pytest.mark.parametrize("response_type", ["token", "code"])
@pytest.mark.parametrize("words", [*UNKNOWN, "access_feed", "access_payment_history,access_feed"])
def test_scopes_of_no_document(both: dict[str, SandboxServer], words: str, response_type: str) -> None:
    """As observed, unknown scope words are ignored: the token has the others, or none; by the document they are 246."""
    for name, server in both.items():
        with register(server, "Feed") as app:
            url = server.authorize_url(words, client_id=app.client_id, response_type=response_type)
            if name == "documented":
                assert error_of(requests.get(url, timeout=10)) == (400, "246")
                continue
            token = token_of(server, url)
            if response_type == "code":
                token = exchange(server, app, code=token)["access_token"]
            me = get(server, "/me", access_token=token)
            assert me.status_code == 200 if "access_profile" in words else error_of(me) == (403, 260)
            friends = f"/users/{server.people[1].user_id}/friends"
            assert error_of(get(server, friends, access_token=token)) == (403, 260)


def test_an_application_without_a_known_scope_can_be_revoked(both: dict[str, SandboxServer], open_tab: Any) -> None:
    """As observed, an application that has none of the document's scopes is listed among the allowed ones, and goes."""
    server = both["observed"]
    with register(server, "Feed only") as app:
        url = server.authorize_url("access_feed", client_id=app.client_id)
        token, tab = token_of(server, url), open_tab(server)
        tab.open(url)
        tab.sign_in(server.viewer)
        consent, page = tab.open(url), tab.open("/account/applications")
        for shown in (consent, page):
            assert "and nothing else" in shown.text
            assert "access_feed" not in shown.text
        tab.press("/account/applications", page, client_id=app.client_id)
        assert error_of(get(server, "/me", access_token=token)) == (401, 262)


def test_a_scope_is_a_whole_word(both: dict[str, SandboxServer]) -> None:
    """A word that only looks like a scope grants nothing, and no scope at all is refused as observed too."""
    server = both["observed"]
    token = token_of(server, server.authorize_url("ACCESS_PROFILE access_profiles make_payments2 access_email"))
    assert error_of(get(server, "/me", access_token=token)) == (403, 260)
    assert error_of(requests.get(server.authorize_url(" , "), timeout=10)) == (400, 241)


@pytest.mark.parametrize("scopes", [("access_friends",), ("make_payments", "access_email"), ("access_profile",)])
def test_the_user_of_an_exchange(both: dict[str, SandboxServer], scopes: tuple[str, ...]) -> None:
    """As observed, `user` is always there, with what its scopes show; by the document it needs access_profile."""
    for name, server in both.items():
        with register(server, "Mine") as app:
            url = server.authorize_url(*scopes, client_id=app.client_id, response_type="code")
            found = exchange(server, app, code=token_of(server, url))
            for one in (found, exchange(server, app, refresh_token=found["refresh_token"])):
                assert one["balance"] is None
                if name == "documented" and "access_profile" not in scopes:
                    assert one["user"] is None
                else:
                    assert (one["user"]["username"], one["user"]["phone"]) == (server.viewer, None)
                    assert (one["user"]["email"] is None) == ("access_email" not in scopes)


def test_a_username_where_a_path_has_an_id(both: dict[str, SandboxServer]) -> None:
    """As observed, a path accepts a username for the id, in next links too; by the document it is not found."""
    for name, server in both.items():
        person = server.people[1]
        for below in ("", "/friends"):
            by_id = get(server, f"/users/{person.user_id}{below}", limit="1")
            by_name = get(server, f"/users/{person.username}{below}", limit="1")
            if name == "documented":
                assert (by_name.status_code, by_name.json()["error"]["code"]) == (404, "283")
            else:
                assert by_name.status_code == 200
                assert by_name.json()["data"] == by_id.json()["data"]
        if name == "observed":
            link = by_name.json()["pagination"]["next"]
            assert link.partition("?")[0] == f"{server.base_url}/users/{person.username}/friends"
            assert link.replace(person.username, person.user_id) == by_id.json()["pagination"]["next"]
            following = get(server, link.removeprefix(server.base_url)).json()["data"]
            assert following == get(server, f"/users/{person.user_id}/friends", limit="2").json()["data"][1:]


def test_no_username(both: dict[str, SandboxServer]) -> None:
    """Text that is not exactly a username is not found, and causes no failure."""
    server = both["observed"]
    name = server.people[1].username
    for odd in ("nobody", f"@{name}", name.upper(), f"{name}%20", "%00", "0", "-1", "%F0%9F%8D%9C"):
        assert error_of(get(server, f"/users/{odd}")) == (400, 283)


def test_a_username_is_no_id_elsewhere(both: dict[str, SandboxServer]) -> None:
    """Money and filters go by the id in both dialects: a name could be another person's tomorrow."""
    for server in both.values():
        name = server.people[1].username
        paid = post(server, user_id=name, amount="0.01")
        assert (paid.status_code, str(paid.json()["error"]["code"])) == (400, "1343")
        assert get(server, "/payments", actor=name).status_code == 400


def test_other_amounts_to_the_test_user(both: dict[str, SandboxServer]) -> None:
    """As observed, an amount that is for a new user is 502, any other 503; by the document all get the same error."""
    for name, server in both.items():
        before = server.state()["counts"]["payments"]
        for amount, code in (("0.30", 502), ("-0.20", 502), ("0.300", 502), ("0.40", 503), ("-0.30", 503), ("5", 503)):
            for to in ({"user_id": "145434160922624933"}, {"phone": "15555555555"}, {"email": "venmo@venmo.com"}):
                answer = post(server, amount=amount, **to)
                assert error_of(answer) == (400, code if name == "observed" else "503")
                assert ("new user" in answer.json()["error"]["message"]) is (error_of(answer)[1] == 502)
        assert server.state()["counts"]["payments"] == before


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
