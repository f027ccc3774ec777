"""Clients that others wrote for the service work against the sandbox, unchanged but for their base addresses."""

import json
import re
import subprocess
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer

Command = Callable[..., subprocess.CompletedProcess[str]]
Calls = Callable[..., list[Any]]

ME, FRIEND = "noor-haddad", "tom-ohara"
SCOPES = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")


def ask(server: SandboxServer, path: str, user: str = ME, **parameters: object) -> Any:
    """Return the data of an answer to a user."""
    given = {"access_token": server.token(user, *SCOPES), **parameters}
    response = requests.get(server.base_url + path, params=given, timeout=10)
    assert response.status_code == 200, response.text
    return json.loads(response.content, parse_float=Decimal)["data"]


def newest(server: SandboxServer) -> Any:
    """Return one's newest payment."""
    return ask(server, "/payments", limit=1)[0]


def user_id(server: SandboxServer, username: str) -> str:
    """Return the id of a person."""
    (found,) = [one.user_id for one in server.people if one.username == username]
    return found


@pytest.fixture
def command(
    peers_server: SandboxServer, run_peer: Command, start_service: Callable[..., Any], tmp_path: Path
) -> Command:
    """Return a runner of the command of venmo 0.12.0: command("pay", "@tom-ohara", "1.25", "lunch").

    The search for users is none of the document: its address is a service of the test.
    """
    (tmp_path / ".venmo").mkdir()
    people = [{**one._asdict(), "id": one.user_id, "profile_picture_url": None} for one in peers_server.people]
    search = start_service(lambda _path, asked: {"data": [one for one in people if asked["query"] in one["username"]]})

    def start(*arguments: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
        kept = f"[DEFAULT]\naccess_token = {token or peers_server.token(ME, *SCOPES)}\n"
        (tmp_path / ".venmo" / "credentials").write_text(kept)
        return run_peer("command.py", f"{peers_server.base_url}/payments", f"{search.base_url}/users", *arguments)

    return start


@pytest.fixture
def calls(peers_server: SandboxServer, run_peer: Command, start_service: Callable[..., Any]) -> Calls:
    """Return a caller of venmo-api 0.3.1: calls(("payment.cancel_payment", {"payment_id": "1"}), ...).

    The two addresses it wants that are none of the document are answered outside the sandbox: /account by
    what /me has, and the payment methods by a service of the test.
    """
    methods = {"data": [{"id": "7", "peer_payment_role": "default", "name": "Balance", "type": "balance"}]}
    private = start_service(lambda _path, _asked: methods)

    def start(*wanted: tuple[str, dict[str, Any]]) -> list[Any]:
        elsewhere = {"/account": f"{peers_server.base_url}/me", "/payment-methods": private.base_url}
        given = {
            "host": peers_server.base_url, "token": peers_server.token(ME, *SCOPES), "elsewhere": elsewhere,
            "calls": wanted,
        }  # fmt: skip
        ended = run_peer("calls.py", given=json.dumps(given))
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    return start


def summarize(payment: Any) -> tuple[Any, ...]:
    """Return status, action, amount, note and username of the target of a payment."""
    user = payment["target"]["user"] or {"username": None}
    return *(payment[name] for name in ("status", "action", "amount", "note")), user["username"]


def test_the_command_pays_by_username(peers_server: SandboxServer, command: Command) -> None:
    """A payment to a user id, a JSON body with a JSON number: settled at once, the balance less by the amount."""
    peers_server.deposit(ME, 10_000)
    before = Decimal(ask(peers_server, "/me")["balance"])
    ended = command("pay", f"@{FRIEND}", "1.25", "lunch 🍜 & <tea>")
    said = 'Successfully paid Tom O\'Hara $1.25 for "lunch 🍜 & <tea>"\n'
    assert (ended.returncode, ended.stderr, ended.stdout) == (0, "", said)
    made = newest(peers_server)
    assert summarize(made) == ("settled", "pay", Decimal("1.25"), "lunch 🍜 & <tea>", FRIEND)
    assert (made["audience"], made["target"]["type"]) == ("private", "user")
    assert Decimal(ask(peers_server, "/me")["balance"]) == before - Decimal("1.25")


def test_the_command_charges_by_phone(peers_server: SandboxServer, command: Command) -> None:
    """A charge to the phone of an account resolves to its user and waits; its amount is shown without a minus."""
    peers_server.trust(FRIEND, ME, trusted=False)
    phone = ask(peers_server, "/me", FRIEND)["user"]["phone"]
    ended = command("charge", phone, "2.50", "your half")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.search(r'Successfully charged .*\$2\.50 for "your half"', ended.stdout)
    assert summarize(newest(peers_server)) == ("pending", "charge", Decimal("2.50"), "your half", FRIEND)


def test_the_command_prints_why_it_was_refused(peers_server: SandboxServer, command: Command) -> None:
    """The envelope's message reaches whoever typed the command, and the status is a number it can name."""
    before = newest(peers_server)["id"]
    stale = peers_server.token(ME, *SCOPES)
    peers_server.expire(stale)
    for target, token, status in ((ME, None, 400), (FRIEND, stale, 401)):
        ended = command("pay", f"@{target}", "1", "refused", token=token)
        assert (ended.returncode, ended.stdout[:25]) == (1, f"received {status} from Venmo: ")
        assert stale not in ended.stdout + ended.stderr
    assert newest(peers_server)["id"] == before


def test_the_library_reads_profiles(peers_server: SandboxServer, calls: Calls) -> None:
    """It reads the caller and others from the users' fields, and a missing user from 400 with the number 283."""
    mine, other, nobody = calls(
        ("my_profile", {}),
        ("user.get_user", {"user_id": user_id(peers_server, FRIEND)}),
        ("user.get_user", {"user_id": "1"}),
    )
    me = ask(peers_server, "/me")["user"]
    assert (mine["id"], mine["username"], mine["phone"]) == (me["id"], ME, me["phone"])
    assert mine["phone"] is not None
    assert (other["username"], other["display_name"], other["phone"]) == (FRIEND, "Tom O'Hara", None)
    assert isinstance(other["date_joined"], int)
    assert nobody == {"raised": "ResourceNotFoundError"}


def test_the_library_reads_friends(peers_server: SandboxServer, calls: Calls) -> None:
    """A limit of 3337 and an offset, both undocumented, are accepted; the friends are the friends of the list."""
    (found,) = calls(("user.get_user_friends_list", {"user_id": user_id(peers_server, ME)}))
    friends = ask(peers_server, f"/users/{user_id(peers_server, ME)}/friends", limit=50)
    assert len(friends) > 0
    assert [(one["id"], one["username"]) for one in found] == [(one["id"], one["username"]) for one in friends]


def test_the_library_requests_lists_and_cancels(peers_server: SandboxServer, calls: Calls) -> None:
    """A request waits, is among its charges with a size above zero, is cancelled once, and a second time is refused."""
    peers_server.trust(FRIEND, ME, trusted=False)
    asked, before = calls(
        ("payment.request_money", {"amount": 2.5, "note": "rent", "target_user_id": user_id(peers_server, FRIEND)}),
        ("payment.get_charge_payments", {}),
    )
    assert asked is True
    made = before[0]
    assert (made["status"], made["action"], made["amount"], made["note"]) == ("pending", "charge", 2.5, "rent")
    assert (made["actor"]["username"], made["target"]["username"]) == (ME, FRIEND)
    assert made["date_completed"] is None
    listed = ask(peers_server, "/payments", action="charge", actor=user_id(peers_server, ME), limit=50)
    assert [one["id"] for one in before] == [one["id"] for one in listed]
    cancelled, again, unknown, after = calls(
        ("payment.cancel_payment", {"payment_id": made["id"]}),
        ("payment.cancel_payment", {"payment_id": made["id"]}),
        ("payment.cancel_payment", {"payment_id": "1"}),
        ("payment.get_charge_payments", {"limit": 1}),
    )
    assert cancelled is True
    assert again == {"raised": "HttpCodeError"}
    assert unknown == {"raised": "ResourceNotFoundError"}
    assert [(one["id"], one["status"]) for one in after] == [(made["id"], "cancelled")]


def test_the_library_sends_money(peers_server: SandboxServer, calls: Calls) -> None:
    """A payment with the funding source that it insists on, which the document does not know, settles."""
    peers_server.deposit(ME, 1_000)
    sent, listed = calls(
        ("payment.send_money", {"amount": 3.1, "note": "tea", "target_user_id": user_id(peers_server, FRIEND)}),
        ("payment.get_pay_payments", {"limit": 1}),
    )
    assert sent is True
    assert [(one["status"], one["amount"], one["note"]) for one in listed] == [("settled", 3.1, "tea")]
    assert newest(peers_server)["amount"] == Decimal("3.10")


@pytest.fixture
def site(peers_server: SandboxServer, application: Callable[..., str]) -> str:
    """Register an application, start it with passport-venmo, and return its address."""
    app = peers_server.register_application(FRIEND, name="Passport", redirect_url="http://127.0.0.1/callback")
    return application(
        clientID=app.client_id,
        clientSecret=app.client_secret,
        authorizationURL=f"{peers_server.base_url}/oauth/authorize",
        tokenURL=f"{peers_server.base_url}/oauth/access_token",
        profileURL=f"{peers_server.base_url}/me",
        scope=["access_profile", "access_email", "access_phone", "access_balance"],
        state=True,
    )


def visit(address: str) -> requests.Response:
    """Open an address of the application, following nothing."""
    return requests.get(address, timeout=10, allow_redirects=False)


def test_passport_signs_somebody_in(peers_server: SandboxServer, site: str) -> None:
    """The whole code flow: scopes by comma, the state it sent, a token from the code, and the profile with it."""
    sent = visit(f"{site}/login")
    assert sent.status_code == 302
    query = parse_qs(urlsplit(sent.headers["Location"]).query)
    landed = peers_server.sign_in(sent.headers["Location"], ME)
    assert landed.startswith(f"{site}/callback?")
    assert parse_qs(urlsplit(landed).query)["state"] == query["state"]
    back = visit(landed)
    assert back.status_code == 200, back.text
    user, me = back.json(), ask(peers_server, "/me")
    profile = {name: user["profile"][name] for name in ("id", "username", "displayName", "email", "phone", "balance")}
    own = {"displayName": me["user"]["display_name"], "balance": me["balance"]}
    assert profile == {name: me["user"][name] for name in ("id", "username", "email", "phone")} | own
    token = {"access_token": user["accessToken"]}
    answer = requests.get(f"{peers_server.base_url}/me", params=token, timeout=10)
    assert answer.json()["data"]["user"]["username"] == ME
    assert user["refreshToken"]


def test_passport_is_told_no(peers_server: SandboxServer, site: str) -> None:
    """A declined consent, and a code used twice, do not complete a sign-in."""
    declined = peers_server.sign_in(visit(f"{site}/login").headers["Location"], ME, allow=False)
    assert visit(declined).status_code == 401
    landed = peers_server.sign_in(visit(f"{site}/login").headers["Location"], ME)
    assert visit(landed).status_code == 200
    code = parse_qs(urlsplit(landed).query)["code"][0]
    state = parse_qs(urlsplit(visit(f"{site}/login").headers["Location"]).query)["state"][0]
    again = visit(f"{site}/callback?code={code}&state={state}")
    assert (again.status_code, set(again.json())) == (502, {"error"})
