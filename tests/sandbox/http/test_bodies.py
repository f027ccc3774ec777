"""Request bodies of a write: every place and spelling that real clients use, and refusals."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def town() -> Iterator[SandboxServer]:
    """Run a small town with money for the viewer; refused writes leave no trace in its ledger."""
    with SandboxServer(people=6, years=1) as running:
        running.deposit(running.viewer, 100_000)
        yield running
        assert running.audit() == []


@pytest.fixture(scope="module")
def fields(town: SandboxServer) -> dict[str, str]:
    """Return what every write of these tests holds: a payment of 0.50 to a neighbour."""
    sam = next(one for one in town.people if one.username == "sam-rivera")
    return {"user_id": sam.user_id, "amount": "0.50", "note": "lunch"}


def send(town: SandboxServer, method: str = "POST", path: str = "/payments", **more: Any) -> tuple[int, Any]:
    """Send something and return its status and either the payment or the code of the error."""
    response = requests.request(method, town.base_url + path, timeout=10, **more)
    body = json.loads(response.content, parse_float=Decimal)
    if response.status_code == 200:
        return 200, body["data"].get("payment", body["data"])
    assert set(body) == {"error"}
    assert body["error"]["message"].endswith(".")
    return response.status_code, body["error"]["code"]


def token(town: SandboxServer) -> str:
    """Return a token of the viewer's that permits to write."""
    return town.token(town.viewer, "make_payments", "access_profile")


PARTS = b'--x\r\nContent-Disposition: form-data; name="note"\r\n\r\n%s\r\n--x--\r\n'
CHARSETS = [
    *(f"; charset={name}" for name in ("undefined", "punycode", "idna", "utf-7", "unicode_escape", "hex", "latin-1")),
    "; charset*=utf-8''undefined", '; CHARSET="utf-16"', "; charset=utf-8; charset=undefined",
]  # fmt: skip
PLACES = {
    "query": lambda given: {"params": given},
    "form": lambda given: {"data": given},
    "multipart": lambda given: {"files": {name: (None, value) for name, value in given.items()}},
    "json": lambda given: {"json": given},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("key", ["query", "body", "header"])
def test_places_of_parameters_and_token(town: SandboxServer, fields: dict[str, str], place: str, key: str) -> None:
    """POST and PUT take parameters from query, form, multipart or JSON; the token from query, body or header."""
    mine, theirs = token(town), town.token("sam-rivera", "make_payments")

    def request(given: dict[str, str], secret: str) -> dict[str, Any]:
        if key == "body":
            return PLACES[place]({**given, "access_token": secret})
        asked = PLACES[place](given)
        if key == "header":
            return {**asked, "headers": {"Authorization": f"Bearer {secret}"}}
        return {**asked, "params": {**asked.get("params", {}), "access_token": secret}}

    given = {**fields, "amount": "-0.50", "note": "čaj & 🍵 = 50 %+1"}
    status, made = send(town, **request(given, mine))
    assert status == 200
    assert (made["status"], made["amount"], made["note"]) == ("pending", Decimal("-0.50"), given["note"])
    status, done = send(town, "PUT", f"/payments/{made['id']}", **request({"action": "approve"}, theirs))
    assert (status, done["status"]) == (200, "settled")


@pytest.mark.parametrize("place", ["form", "json"])
def test_spellings_of_an_amount(town: SandboxServer, fields: dict[str, str], place: str) -> None:
    """One amount in every spelling is the same ten cents, also as a JSON number."""
    for amount in ("0.1", "0.10", "0.100000", ".1", "+0.1", " 0.1 ", 0.1, "1e-1"):
        asked = PLACES[place]({**fields, "amount": amount, "access_token": token(town)})
        assert send(town, **asked)[1]["amount"] == Decimal("0.10")


def test_numbers_keep_their_digits(town: SandboxServer, fields: dict[str, str]) -> None:
    """A JSON number is read digit by digit: no binary float makes a cent of it disappear."""
    headers = {"Content-Type": "application/json; charset=utf-8"}
    for number in ("0.29", "1.15", "0.07", "-2", "-0.2", "1.0050e1"):
        body = json.dumps({**fields, "access_token": token(town)}).replace('"0.50"', number)
        status, made = send(town, data=body, headers=headers)
        assert (status, made["amount"]) == (200, Decimal(number))


def test_amounts_that_are_none(town: SandboxServer, fields: dict[str, str]) -> None:
    """Zero, fractions of a cent and words are refused with 1323, more than 1,000,000.00 with 1357, nothing with 241."""
    for code, amounts in {
        "1323": (
            "0", "-0.00", "0.001", "1,50", "$1", "NaN", "Infinity", "1e99", "one", "٣", "1__0", "0x1", "1" * 5_000,
        ),
        "1357": ("1000000.01", "-1000000.01"),
        "241": ("",),
    }.items():  # fmt: skip
        for amount in amounts:
            assert send(town, data={**fields, "amount": amount, "access_token": token(town)}) == (400, code), amount
    assert send(town, data={**fields, "amount": "-1000000.00", "access_token": token(town)})[0] == 200


def test_targets_that_are_none(town: SandboxServer) -> None:
    """Without a known user id, an email address or a US phone number there is no recipient: code 1343."""
    for target in (
        {}, {"user_id": "", "email": " ", "phone": ""}, {"user_id": "1"}, {"user_id": "0"}, {"user_id": "x"},
        {"user_id": "9" * 30}, {"email": "nobody"}, {"email": "a@b"}, {"email": "a b@c.de"}, {"email": "a@b@c.de"},
        {"email": f"{'x' * 250}@c.de"}, {"phone": "0155550123"}, {"phone": "415555012"}, {"phone": "+44 20 7946 0958"},
        {"phone": "٤١٥٥٥٥٠١٢٣"}, {"phone": "+0041555501234"}, {"email": "a@b.de,c@d.de"},
        {"email": "a\x80b@c.de"}, {"email": "a@b\x85.de"}, {"email": "a\ufeff@b.de"},
    ):  # fmt: skip
        given = {"amount": "1", "note": "x", **target, "access_token": token(town)}
        assert send(town, data=given) == (400, "1343"), target


def test_the_user_id_wins(town: SandboxServer, fields: dict[str, str]) -> None:
    """Of user id, email and phone, the user id is used, even if it is unknown; then the email."""
    others = {"email": "someone@example.net", "phone": "4155550123", "access_token": token(town)}
    assert send(town, data={**fields, **others})[1]["target"]["user"]["id"] == fields["user_id"]
    assert send(town, data={**fields, **others, "user_id": "1"}) == (400, "1343")
    assert send(town, data={**fields, **others, "user_id": ""})[1]["target"]["type"] == "email"


def test_oneself_is_nobody_to_pay(town: SandboxServer) -> None:
    """Paying or charging oneself is refused with 1356, by id, email or phone."""
    me = requests.get(
        f"{town.base_url}/me", params={"access_token": town.token(town.viewer)}, timeout=10
    ).json()["data"]["user"]  # fmt: skip
    for target in ({"user_id": me["id"]}, {"email": me["email"]}, {"phone": me["phone"]}):
        for amount in ("1", "-1"):
            given = {"amount": amount, "note": "x", **target, "access_token": token(town)}
            assert send(town, data=given) == (400, "1356")


def test_notes_that_are_none(town: SandboxServer, fields: dict[str, str]) -> None:
    """A note is required and has at most 2,000 characters: code 1355."""
    for note in (None, "", "   ", "\n", "x" * 2_001):
        assert send(town, data={**fields, "note": note, "access_token": token(town)}) == (400, "1355")


@pytest.mark.parametrize("place", ["query", "form", "json"])
def test_notes_come_back_as_they_were(town: SandboxServer, fields: dict[str, str], place: str) -> None:
    """A note is kept to the letter, spaces at its ends too, wherever it was sent."""
    secret = token(town)
    for note in (
        "NA", "null", "0", "  two spaces  ", "a\r\nb\tc", "e\u0301", "🏳️‍🌈", "=1+1", "x" * 2_000, "<b>", "a+b%20c",
        "\x00",
    ):  # fmt: skip
        made = send(town, **PLACES[place]({**fields, "note": note, "access_token": secret}))[1]
        assert made["note"] == note
        assert send(town, "GET", f"/payments/{made['id']}", params={"access_token": secret})[1]["note"] == note


def test_blank_and_unknown_parameters(town: SandboxServer, fields: dict[str, str]) -> None:
    """Blank parameters count as not given, and unknown ones of any kind are ignored."""
    more = {"email": "", "phone": " ", "audience": "", "offset": "3", "access_token": token(town)}
    assert send(town, data={**fields, **more})[0] == 200
    assert send(town, json={**fields, **more, "email": None, "metadata": {"a": [1, {}]}, "x": True})[0] == 200


def test_an_unknown_audience(town: SandboxServer, fields: dict[str, str]) -> None:
    """An audience outside the document's three is refused, not guessed."""
    for audience in ("everyone", "Public", "public,friends"):
        given = {**fields, "audience": audience, "access_token": token(town)}
        assert send(town, data=given) == (400, "400")


@pytest.mark.parametrize("place", PLACES)
def test_the_same_token_in_several_places(town: SandboxServer, fields: dict[str, str], place: str) -> None:
    """One token in query, body and header is one token; two different ones are refused and nothing is done."""
    secret, other = token(town), token(town)
    given = {**fields, "amount": "-0.50", "note": "x"}

    def request(in_body: str, in_query: str, in_header: str) -> tuple[int, Any]:
        asked = PLACES[place]({**given, "access_token": in_body})
        asked["params"] = [*asked.get("params", {}).items(), ("access_token", in_query)]
        return send(town, headers={"Authorization": f"Bearer {in_header}"}, **asked)

    before = town.state()["counts"]["payments"]
    assert request(secret, secret, secret)[0] == 200
    for different in ((other, secret, secret), (secret, other, secret), (secret, secret, other), (secret, "x", secret)):
        assert request(*different) == (400, "400")
    assert town.state()["counts"]["payments"] == before + 1


def test_a_parameter_given_twice_in_a_write(town: SandboxServer, fields: dict[str, str]) -> None:
    """A parameter given twice, in one place or two, is refused, because it is ambiguous."""
    given = {**fields, "access_token": token(town)}
    twice = json.dumps(given).replace('"amount": ', '"amount": 1, "amount": ')
    for more in (
        {"data": given, "params": {"amount": "0.50"}},
        {"data": [*given.items(), ("note", "other")]},
        {"data": twice, "headers": {"Content-Type": "application/json"}},
    ):
        assert send(town, **more) == (400, "400")


def test_a_body_without_a_kind(town: SandboxServer, fields: dict[str, str]) -> None:
    """A body without a media type is JSON if it starts like an object, and a form otherwise."""
    given = {**fields, "access_token": token(town)}
    form = "&".join(f"{name}={value}" for name, value in given.items())
    for body in (json.dumps(given), form):
        assert send(town, data=body.encode())[0] == 200


UNREADABLE = {
    "application/json": (
        b"{", b"[]", b"[" * 60_000, b'{"note": "\\ud83d", "amount": 1}',
        b'{"email": "\\ud83d@b.de", "amount": 1, "note": "x"}', b'{"note": NaN}', b'{"note": ["x"]}',
        b'{"amount": true}', b'{"note": "\xff"}',
    ),
    "application/x-www-form-urlencoded": (b"note=%ff", b"note=\xff", b"a=1&" * 101),
    "multipart/form-data": (b"note=x",),
    "multipart/form-data; boundary=x": (b"--x\r\n\r\n", PARTS % b"caf\xe9"),
    "multipart/form-data; boundary=x; charset=utf-8": (PARTS % b"caf\xe9",),
    **{f"multipart/form-data; boundary=x{more}": (PARTS % b"hi",) for more in CHARSETS},
    "text/plain": (b"note=x",),
    "application/xml": (b"<note/>",),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNREADABLE)
def test_bodies_that_cannot_be_read(town: SandboxServer, kind: str) -> None:
    """A broken body, another kind, no UTF-8, or a value that is no text: the envelope, never a failure."""
    headers = {"Content-Type": kind, "Authorization": f"Bearer {token(town)}"}
    for method, path in (("POST", "/payments"), ("PUT", "/payments/1")):
        for body in UNREADABLE[kind]:
            assert send(town, method, path, data=body, headers=headers) == (400, "400"), body


def test_multipart_in_utf_8(town: SandboxServer, fields: dict[str, str]) -> None:
    """A multipart body may say that it is UTF-8, and is read so where it says nothing."""
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in {**fields, "note": "čaj"}.items()
    )
    for kind in ("", "; charset=utf-8", '; Charset="UTF-8"'):
        headers = {"Content-Type": f"multipart/form-data; boundary=x{kind}", "Authorization": f"Bearer {token(town)}"}
        status, made = send(town, data=f"{parts}--x--\r\n".encode(), headers=headers)
        assert (status, made["note"]) == (200, "čaj")


def test_forms_of_the_pages_that_cannot_be_read(town: SandboxServer) -> None:
    """The pages' own forms, and the exchange, refuse another charset and bytes that are no UTF-8 in the same way."""
    for step in ("oauth/sign-in", "oauth/consent", "account/sign-in", "account/developer", "oauth/access_token"):
        for more, text in (("; charset=undefined", b"hi"), ("; charset=punycode", b"hi"), ("", b"\xe9")):
            headers = {"Content-Type": f"multipart/form-data; boundary=x{more}"}
            assert send(town, path=f"/{step}", data=PARTS % text, headers=headers) == (400, "400")


def test_a_file_is_no_parameter(town: SandboxServer, fields: dict[str, str]) -> None:
    """An uploaded file in place of a field is refused."""
    assert send(town, files={"note": ("x.txt", b"x")}, data={**fields, "access_token": token(town)})[0] == 400


def test_a_large_write(town: SandboxServer, fields: dict[str, str]) -> None:
    """A body over 64 KB is refused with 413 in each of its kinds."""
    for place in ("form", "multipart", "json"):
        given = {**fields, "note": "x" * 70_000, "access_token": token(town)}
        assert send(town, **PLACES[place](given)) == (413, "413")


def test_no_token_no_write(town: SandboxServer, fields: dict[str, str]) -> None:
    """Without a token 401 and 267, with one that was never issued 261, before anything else is looked at."""
    for method, path in (("POST", "/payments"), ("PUT", "/payments/1")):
        assert send(town, method, path, data=fields) == (401, "267")
        assert send(town, method, path, data={**fields, "access_token": "made-up"}) == (401, "261")
        assert send(town, method, path, json={"access_token": 5}) == (401, "261")
