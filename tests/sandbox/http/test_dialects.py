"""The two dialects: where they differ, and that a client reads the same history from both."""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
import requests
from sandbox.oauth import EVERY, consent, exchange, issue_tokens

import p2p_analytics as p2p
from p2p_analytics.sandbox import Application, SandboxServer

TEST_USER = "145434160922624933"


@pytest.fixture(scope="module")
def both() -> Iterator[dict[str, SandboxServer]]:
    """Run the same town in both dialects; each test does the same in both."""
    with (
        SandboxServer(people=6, years=1) as documented,
        SandboxServer(people=6, years=1, dialect="observed") as observed,
    ):
        yield {"documented": documented, "observed": observed}


@pytest.fixture
def callers(both, ask) -> dict[str, Any]:
    """Return the viewer of each town as a caller with every scope."""
    return {name: ask(None, *EVERY, on=server) for name, server in both.items()}


def _error_of(response: requests.Response) -> tuple[int, Any]:
    return response.status_code, response.json()["error"]["code"]


@contextlib.contextmanager
def register(server: SandboxServer, name: str) -> Iterator[Application]:
    """Register an application for a while."""
    app = server.register_application(server.viewer, name=name, redirect_url="http://127.0.0.1/app")
    yield app
    server._tokens.oauth_store.remove_application(app.client_id)


def values(body: Any, name: str) -> list[Any]:
    """Return every value of a field, however deep."""
    if isinstance(body, dict):
        return [*([body[name]] if name in body else []), *(one for part in body.values() for one in values(part, name))]
    return [one for part in body for one in values(part, name)] if isinstance(body, list) else []


def test_balances(both, callers) -> None:
    """A balance is a number by the document, and text with two decimals as observed; null without its scope in both."""
    for name, form in (("documented", r"-?\d+\.\d\d"), ("observed", r'"\d+\.\d\d"')):
        me = callers[name]
        for response in (me.get("/me"), me.post(email="a@b.net", amount="0.30")):
            assert re.search(rf'"balance":{form},', response.text)
        token = both[name].token(both[name].viewer, "access_profile")
        assert me.get("/me", access_token=token).json()["data"]["balance"] is None


def test_signs_and_datetimes(callers) -> None:
    """A charge's amount is negative by the document and positive as observed, where no datetime has a Z either."""
    for name, amount in (("documented", -0.2), ("observed", 0.2)):
        payment = callers[name].post(email="a@b.net", amount="-0.20").json()["data"]["payment"]
        assert (payment["amount"], payment["action"], payment["status"]) == (amount, "charge", "pending")
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", payment["date_created"])
    documented, observed = (caller.get("/payments", limit="50").json() for caller in callers.values())
    assert {item["amount"] < 0 for item in documented["data"] if item["action"] == "charge"} == {True}
    assert {item["amount"] > 0 for item in observed["data"]} == {True}
    stated, shown = values(documented, "date_created"), values(observed, "date_created")
    assert any(one.endswith("Z") for one in stated)
    assert [one.removesuffix("Z") for one in stated] == shown


def test_medium(callers) -> None:
    """What an application created shows `api` by the document, and the application's name as observed."""
    for name, medium in (("documented", "api"), ("observed", "Payment diary")):
        made = callers[name].post(email="a@b.net", amount="0.30").json()["data"]["payment"]
        assert callers[name].get(f"/payments/{made['id']}").json()["data"]["medium"] == made["medium"] == medium


def test_medium_of_ones_own_application(both, callers) -> None:
    """A payment's medium is its application's name when it was made, whatever became of that; lists have none."""
    for name, medium in (("documented", "api"), ("observed", "Lunch & Co")):
        server, me = both[name], callers[name]
        with register(server, "Lunch & Co") as app:
            token = consent(server, server.viewer, app, *EVERY)
            made = me.post(access_token=token, email="late@example.net", amount="0.30").json()["data"]["payment"]
            assert made["medium"] == medium
            query = "UPDATE oauth_applications SET name = 'Dinner' WHERE client_id = ?"
            server.store.write(query, (app.client_id,))
            assert me.get(f"/payments/{made['id']}").json()["data"]["medium"] == medium
        assert me.get(f"/payments/{made['id']}").json()["data"]["medium"] == medium
        (newest,) = me.get("/payments", limit="1").json()["data"]
        assert (newest["id"], "medium" in newest) == (made["id"], False)
        ended = me.put(made["id"], "cancel").json()["data"]
        assert (ended["medium"], ended["refund"]["medium"]) == (medium, medium)


def test_an_empty_bio(both, callers) -> None:
    """An empty bio is a single space as observed, wherever a user is shown, and empty by the document."""
    paths = ["/payments?limit=50", *(f"/users/{one.user_id}/friends" for one in both["documented"].people)]
    documented, observed = (
        [bio for path in paths for bio in values(caller.get(path).json(), "about")] for caller in callers.values()
    )
    assert "" in documented
    assert observed == [bio or " " for bio in documented]


UNKNOWN = ["access_profile access_payment_history", " access_feed , access_profile x ", "access_feed"]


@pytest.mark.parametrize("kind", ["token", "code"])
@pytest.mark.parametrize("words", UNKNOWN)
def test_scopes_of_no_document(both, callers, words: str, kind: str) -> None:
    """As observed, unknown scope words are ignored: the token has the others, or none; by the document they are 246."""
    for name, server in both.items():
        with register(server, "Feed") as app:
            if name == "documented":
                url = server.authorize_url(words, client_id=app.client_id, response_type=kind)
                assert _error_of(requests.get(url, timeout=10)) == (400, "246")
                continue
            token = consent(server, server.viewer, app, words, kind=kind)
            if kind == "code":
                token = exchange(server, app, code=token).json()["access_token"]
            me = callers[name].get("/me", access_token=token)
            assert me.status_code == 200 if "access_profile" in words else _error_of(me) == (403, 260)
            friends = f"/users/{server.people[1].user_id}/friends"
            assert _error_of(callers[name].get(friends, access_token=token)) == (403, 260)


def test_an_application_without_a_known_scope_can_be_revoked(both, callers, open_tab) -> None:
    """As observed, an application that has none of the document's scopes is listed among the allowed ones, and goes."""
    server = both["observed"]
    with register(server, "Feed only") as app:
        token, tab = consent(server, server.viewer, app, "access_feed"), open_tab(server)
        tab.sign_in(server.viewer)
        url = server.authorize_url("access_feed", client_id=app.client_id)
        shown, page = tab.open(url), tab.open("/account/applications")
        for text in (shown.text, page.text):
            assert "and nothing else" in text
            assert "access_feed" not in text
        tab.press("/account/applications", page, client_id=app.client_id)
        assert _error_of(callers["observed"].get("/me", access_token=token)) == (401, 262)


def test_a_scope_is_a_whole_word(both, callers) -> None:
    """A word that only looks like a scope grants nothing, and no scope at all is refused as observed too."""
    server = both["observed"]
    with register(server, "Words") as app:
        token = consent(server, server.viewer, app, "ACCESS_PROFILE access_profiles make_payments2 access_email")
        assert _error_of(callers["observed"].get("/me", access_token=token)) == (403, 260)
    assert _error_of(requests.get(server.authorize_url(" , "), timeout=10)) == (400, 241)


@pytest.mark.parametrize("scopes", [("access_friends",), ("make_payments", "access_email"), ("access_profile",)])
def test_the_user_of_an_exchange(both, scopes: tuple[str, ...]) -> None:
    """As observed, `user` is always there, with what its scopes show; by the document it needs access_profile."""
    for name, server in both.items():
        with register(server, "Mine") as app:
            found = issue_tokens(server, server.viewer, app, *scopes)
            for one in (found, exchange(server, app, refresh_token=found["refresh_token"]).json()):
                assert one["balance"] is None
                if name == "documented" and "access_profile" not in scopes:
                    assert one["user"] is None
                else:
                    assert (one["user"]["username"], one["user"]["phone"]) == (server.viewer, None)
                    assert (one["user"]["email"] is None) == ("access_email" not in scopes)


def test_a_username_where_a_path_has_an_id(both, callers) -> None:
    """As observed, a path accepts a username for the id, in next links too; by the document it is not found."""
    person = both["observed"].people[1]
    for path in ("/users/{}", "/users/{}/friends"):
        assert _error_of(callers["documented"].get(path.format(person.username))) == (404, "283")
        by_name, by_id = (
            callers["observed"].get(path.format(one), limit="1").json() for one in (person.username, person.user_id)
        )
        assert by_name["data"] == by_id["data"]
    link = by_name["pagination"]["next"]
    assert link.partition("?")[0] == f"{both['observed'].base_url}/users/{person.username}/friends"
    assert link.replace(person.username, person.user_id) == by_id["pagination"]["next"]
    both_friends = callers["observed"].get(path.format(person.user_id), limit="2").json()["data"]
    assert callers["observed"].follow(by_name)["data"] == both_friends[1:]
    name = person.username
    for odd in ("nobody", f"@{name}", name.upper(), f"{name}%20", "%00", "0", "-1", "%F0%9F%8D%9C"):
        assert _error_of(callers["observed"].get(f"/users/{odd}")) == (400, 283)


def test_a_username_is_no_id_elsewhere(both, callers) -> None:
    """Money and filters go by the id in both dialects: a name could be another person's tomorrow."""
    name = both["observed"].people[1].username
    for caller in callers.values():
        status, code = _error_of(caller.post(user_id=name, amount="0.01"))
        assert (status, str(code)) == (400, "1343")
        assert caller.get("/payments", actor=name).status_code == 400


def test_other_amounts_to_the_test_user(both, callers) -> None:
    """As observed, an amount that is for a new user is 502, any other 503; by the document all get the same error."""
    for name, server in both.items():
        before = server.state()["counts"]["payments"]
        for amount, code in (("0.30", 502), ("-0.20", 502), ("0.300", 502), ("0.40", 503), ("-0.30", 503), ("5", 503)):
            for to in ({"user_id": TEST_USER}, {"phone": "15555555555"}, {"email": "venmo@venmo.com"}):
                answer = callers[name].post(amount=amount, **to)
                assert _error_of(answer) == (400, code if name == "observed" else "503")
                assert ("new user" in answer.json()["error"]["message"]) is (_error_of(answer)[1] == 502)
        assert server.state()["counts"]["payments"] == before


def test_a_history_is_the_same_from_both(both) -> None:
    """`load_history` makes equal frames of both dialects: the sum of the differences is nothing to an analysis."""
    histories = []
    for server in both.values():
        with p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client:
            histories.append(p2p.load_history(client))
    documented, observed = histories
    assert len(documented.payments) > 50
    assert {"pay", "charge"} <= set(documented.payments["action"])
    pd.testing.assert_frame_equal(documented.payments, observed.payments)
    pd.testing.assert_frame_equal(documented.friends, observed.friends)
    assert documented.me.balance_cents == observed.me.balance_cents
