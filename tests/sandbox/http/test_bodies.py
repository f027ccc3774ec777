"""Request bodies of a write: every place and spelling that real clients use, and refusals."""

import json
from decimal import Decimal
from typing import Any

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer
from support.servers import sandbox_fixture

town = sandbox_fixture(people=6, years=1)


@pytest.fixture(scope="module")
def fields(town) -> dict[str, str]:
    """Return what every write of these tests holds: a payment of 0.50 to a neighbour."""
    town.deposit(town.viewer, 100_000)
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


def _token(town: SandboxServer) -> str:
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
def test_places_of_parameters_and_token(town, fields, place: str, key: str) -> None:
    """POST and PUT take parameters from query, form, multipart or JSON; the token from query, body or header."""
    mine, theirs = _token(town), town.token("sam-rivera", "make_payments")

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


def test_spellings_of_an_amount(town, fields) -> None:
    """One amount in every spelling is the same ten cents; a JSON number is read digit by digit, not as a float."""
    for amount in ("0.1", "0.10", "0.100000", ".1", "+0.1", " 0.1 ", 0.1, "1e-1"):
        for place in ("form", "json"):
            asked = PLACES[place]({**fields, "amount": amount, "access_token": _token(town)})
            assert send(town, **asked)[1]["amount"] == Decimal("0.10")
    headers = {"Content-Type": "application/json; charset=utf-8"}
    for number in ("0.29", "1.15", "0.07", "-2", "-0.2", "1.0050e1"):
        body = json.dumps({**fields, "access_token": _token(town)}).replace('"0.50"', number)
        status, made = send(town, data=body, headers=headers)
        assert (status, made["amount"]) == (200, Decimal(number))


REFUSED: dict[str, tuple[dict[str, object], ...]] = {
    "241": ({"amount": ""},),
    "400": tuple({"audience": audience} for audience in ("everyone", "Public", "public,friends")),
    "1323": tuple(
        {"amount": amount}
        for amount in (
            "0", "-0.00", "0.001", "1,50", "$1", "NaN", "Infinity", "1e99", "one", "٣", "1__0", "0x1", "1" * 5_000,
        )
    ),
    "1343": tuple(
        {"user_id": ""} | target
        for target in (
            {}, {"email": " ", "phone": ""}, {"user_id": "1"}, {"user_id": "0"}, {"user_id": "x"},
            {"user_id": "9" * 30}, {"email": "nobody"}, {"email": "a@b"}, {"email": "a b@c.de"}, {"email": "a@b@c.de"},
            {"email": f"{'x' * 250}@c.de"}, {"phone": "0155550123"}, {"phone": "415555012"},
            {"phone": "+44 20 7946 0958"}, {"phone": "٤١٥٥٥٥٠١٢٣"}, {"phone": "+0041555501234"},
            {"email": "a@b.de,c@d.de"}, {"email": "a\x80b@c.de"}, {"email": "a@b\x85.de"}, {"email": "a\ufeff@b.de"},
        )
    ),
    "1355": tuple({"note": note} for note in (None, "", "   ", "\n", "x" * 2_001)),
    "1357": ({"amount": "1000000.01"}, {"amount": "-1000000.01"}),
}  # fmt: skip


@pytest.mark.parametrize("code", REFUSED)
def test_values_that_are_refused(town, fields, code: str) -> None:
    """No amount, an unknown audience, an invalid amount, recipient or note, and a too large amount have their codes."""
    for change in REFUSED[code]:
        assert send(town, data={**fields, **change, "access_token": _token(town)}) == (400, code), change
    assert send(town, data={**fields, "amount": "-1000000.00", "access_token": _token(town)})[0] == 200


def test_the_user_id_wins(town, fields) -> None:
    """Of user id, email and phone, the user id is used, even if it is unknown; then the email."""
    others = {"email": "someone@example.net", "phone": "4155550123", "access_token": _token(town)}
    assert send(town, data={**fields, **others})[1]["target"]["user"]["id"] == fields["user_id"]
    assert send(town, data={**fields, **others, "user_id": "1"}) == (400, "1343")
    assert send(town, data={**fields, **others, "user_id": ""})[1]["target"]["type"] == "email"


def test_oneself_is_nobody_to_pay(town) -> None:
    """Paying or charging oneself is refused with 1356, by id, email or phone."""
    given = {"access_token": town.token(town.viewer)}
    me = requests.get(f"{town.base_url}/me", params=given, timeout=10).json()["data"]["user"]
    for target in ({"user_id": me["id"]}, {"email": me["email"]}, {"phone": me["phone"]}):
        for amount in ("1", "-1"):
            given = {"amount": amount, "note": "x", **target, "access_token": _token(town)}
            assert send(town, data=given) == (400, "1356")


@pytest.mark.parametrize("place", ["query", "form", "json"])
def test_notes_come_back_as_they_were(town, fields, place: str) -> None:
    """A note is kept to the letter, spaces at its ends too, wherever it was sent."""
    secret = _token(town)
    for note in (
        "NA", "null", "0", "  two spaces  ", "a\r\nb\tc", "e\u0301", "🏳️‍🌈", "=1+1", "x" * 2_000, "<b>", "a+b%20c",
        "\x00",
    ):  # fmt: skip
        made = send(town, **PLACES[place]({**fields, "note": note, "access_token": secret}))[1]
        assert made["note"] == note
        assert send(town, "GET", f"/payments/{made['id']}", params={"access_token": secret})[1]["note"] == note


def test_blank_and_unknown_parameters(town, fields) -> None:
    """Blank parameters count as not given, and unknown ones of any kind are ignored."""
    more = {"email": "", "phone": " ", "audience": "", "offset": "3", "access_token": _token(town)}
    assert send(town, data={**fields, **more})[0] == 200
    assert send(town, json={**fields, **more, "email": None, "metadata": {"a": [1, {}]}, "x": True})[0] == 200


def test_the_same_token_in_several_places(town, fields) -> None:
    """One token in query, body and header is one token; two different ones are refused and nothing is done."""
    one, other = _token(town), _token(town)
    before = town.state()["counts"]["payments"]
    for body, query, header, status in (
        (one, one, one, 200), (other, one, one, 400), (one, other, one, 400), (one, one, other, 400),
        (one, "x", one, 400),
    ):  # fmt: skip
        for place in ("form", "json", "multipart"):
            asked = PLACES[place]({**fields, "amount": "-0.50", "access_token": body})
            headers = {"Authorization": f"Bearer {header}"}
            assert send(town, params={"access_token": query}, headers=headers, **asked)[0] == status
    assert town.state()["counts"]["payments"] == before + 3


def test_a_parameter_given_twice_in_a_write(town, fields) -> None:
    """A parameter given twice, in one place or two, or as a file, is refused."""
    given = {**fields, "access_token": _token(town)}
    twice = json.dumps(given).replace('"amount": ', '"amount": 1, "amount": ')
    for more in (
        {"data": given, "params": {"amount": "0.50"}},
        {"data": [*given.items(), ("note", "other")]},
        {"data": twice, "headers": {"Content-Type": "application/json"}},
        {"data": given, "files": {"note": ("x.txt", b"x")}},
    ):
        assert send(town, **more) == (400, "400")


def test_a_body_without_a_kind(town, fields) -> None:
    """A body without a media type is JSON if it starts like an object, and a form otherwise."""
    given = {**fields, "access_token": _token(town)}
    form = "&".join(f"{name}={value}" for name, value in given.items())
    for body in (json.dumps(given), form):
        assert send(town, data=body.encode())[0] == 200


UNREADABLE_FORMS = {
    "application/x-www-form-urlencoded": (b"note=%ff", b"note=\xff", b"note=%ED%A0%80", b"a=1&" * 101),
    "multipart/form-data": (b"note=x",),
    "multipart/form-data; boundary=x": (
        b"--x\r\n\r\n", b"--y\r\n\r\n", b"--x\r\nContent-Disposition form-data\r\n\r\nv", PARTS % b"caf\xe9",
        PARTS.strip() % b"v" + b"junk\xff",
    ),
    "multipart/form-data; boundary=x; charset=utf-8": (PARTS % b"caf\xe9",),
    **{f"multipart/form-data; boundary=x{more}": (PARTS % b"hi",) for more in CHARSETS},
}  # fmt: skip
UNREADABLE = {
    "application/json": (
        b"{", b"[]", b"[" * 60_000, b'{"note": "\\ud83d", "amount": 1}',
        b'{"email": "\\ud83d@b.de", "amount": 1, "note": "x"}', b'{"note": NaN}', b'{"note": ["x"]}',
        b'{"amount": true}', b'{"note": "\xff"}',
    ),
    "text/plain": (b"note=x",),
    "application/xml": (b"<note/>",),
    **UNREADABLE_FORMS,
}  # fmt: skip
FORMS = (
    "/oauth/access_token", "/oauth/sign-in", "/oauth/consent", "/account/sign-in", "/account/sign-out",
    "/account/developer", "/account/developer/1001", "/account/applications",
)  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "unreadable"),
    [("POST", "/payments", UNREADABLE), ("PUT", "/payments/1", UNREADABLE)]
    + [("POST", path, UNREADABLE_FORMS) for path in FORMS],
)
def test_bodies_that_cannot_be_read(town, caplog, method: str, path: str, unreadable: dict[str, Any]) -> None:
    """A broken body, another kind, no UTF-8, or a value that is not text: 400, and nothing is logged."""
    for kind, bodies in unreadable.items():
        headers = {"Content-Type": kind, "Authorization": f"Bearer {_token(town)}"}
        for body in bodies:
            assert send(town, method, path, data=body, headers=headers) == (400, "400"), (kind, body)
    assert [record.getMessage() for record in caplog.records if record.name.startswith("python_multipart")] == []


def test_multipart_in_utf_8(town, fields) -> None:
    """A multipart body may say that it is UTF-8, and is read so where it says nothing."""
    parts = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in {**fields, "note": "čaj"}.items()
    )
    for kind in ("", "; charset=utf-8", '; Charset="UTF-8"'):
        headers = {"Content-Type": f"multipart/form-data; boundary=x{kind}", "Authorization": f"Bearer {_token(town)}"}
        status, made = send(town, data=f"{parts}--x--\r\n".encode(), headers=headers)
        assert (status, made["note"]) == (200, "čaj")


def test_a_large_write(town, fields) -> None:
    """A body over 64 KB is refused with 413 in each of its kinds, whether its length is declared or it has chunks."""
    for place in ("form", "multipart", "json"):
        given = {**fields, "note": "x" * 70_000, "access_token": _token(town)}
        assert send(town, **PLACES[place](given)) == (413, "413")
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    chunks = iter([b"note=", *[b"x" * 10_000] * 7])
    assert send(town, path="/oauth/consent", data=chunks, headers=headers) == (413, "413")
