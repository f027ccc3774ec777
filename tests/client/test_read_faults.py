"""Read faults of the fault matrix: a load returns the exact payments or raises one typed error.

No text holds the token, and nothing is sent to a foreign host.
"""

from __future__ import annotations

import json
import logging
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import TYPE_CHECKING, NamedTuple

import pytest

from p2p_analytics import errors
from p2p_analytics.client import Client
from p2p_analytics.history import load_history
from support.canary import CANARY
from support.connections import stay_silent
from support.exceptions import format_everything
from support.scripted import reset

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

FOREIGN = "http://foreign.invalid:9/v1"  # each test replaces it by its own listener
START = datetime(2019, 5, 1, tzinfo=UTC)
ME = {"data": {"balance": None, "user": {"id": "7", "display_name": "Me"}}}
ROWS = [
    {"id": str(number), "status": "settled", "action": "pay", "amount": 5, "note": "n", "audience": "private",
     "date_created": f"{START + timedelta(days=7 * number):%Y-%m-%dT%H:%M:%S}", "date_completed": None,
     "actor": {"id": "7"}, "target": {"type": "user", "user": {"id": "8"}}}
    for number in reversed(range(330))
]  # fmt: skip
FIRST, LATER = 1, 5  # number of the request that gets the fault


class Cell(NamedTuple):
    """One fault: the answer, the request that gets it, how often, and the outcome."""

    name: str
    answer: object  # or a function of the good page
    at: int
    always: bool
    outcome: type[Exception] | None  # None: the exact payments


def with_link(link: object) -> Callable[[dict], object]:
    """Return a function that changes the next link of a page."""
    return lambda page: page | {"pagination": {"next": link}}


def with_item(**fields: object) -> Callable[[dict], object]:
    """Return a function that changes fields of the first payment of a page."""
    return lambda page: page | {"data": [page["data"][0] | fields, *page["data"][1:]]}


def cut_in_the_body(connection: socket.socket) -> None:
    """End the connection in the middle of the body."""
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n{"data": [')


def cut_in_a_chunk(connection: socket.socket) -> None:
    """End the connection in the middle of a chunk."""
    connection.sendall(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{"data": [')


def refuse_until_a_date(_page: object) -> object:
    """Return an answer that names the instant in 20 seconds."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    return 429, {"Retry-After": soon}, b""


PASSING = {
    "429": ((429, {}, b""), errors.RateLimitedError),
    "429, in 7 seconds": ((429, {"Retry-After": "7"}, b""), errors.RateLimitedError),
    "429, at a date": (refuse_until_a_date, errors.RateLimitedError),
    "500": ((500, {}, b""), errors.ServerError),
    "503": ((503, {}, b""), errors.ServerError),
    "503, in 7 seconds": ((503, {"Retry-After": "7"}, b""), errors.ServerError),
    "a page of a proxy": ((200, {}, b"<html>please log in</html>"), errors.ProtocolError),
    "nothing": ((200, {}, b""), errors.ProtocolError),
    "half a body": ((200, {}, b'{"data": [{"id": "1"'), errors.ProtocolError),
    "bad gzip": ((200, {"Content-Encoding": "gzip"}, b"not gzip"), errors.TransportError),
    "RST": (lambda _page: reset, errors.TransportError),
    "FIN": (lambda _page: lambda _connection: None, errors.TransportError),
    "cut in the body": (lambda _page: cut_in_the_body, errors.TransportError),
    "cut in a chunk": (lambda _page: cut_in_a_chunk, errors.TransportError),
    "silence": (lambda _page: stay_silent, errors.TransportError),
    "NaN": (b'{"data": [NaN]}', errors.ProtocolError),
}
FINAL = {
    "400": ((400, {}, {"error": {"message": "no", "code": "1"}}), errors.InvalidRequestError),
    "401": ((401, {}, {"error": {"message": f"bad {CANARY}", "code": "261"}}), errors.AuthenticationError),
    "403": ((403, {}, {"error": {"message": "", "code": "260"}}), errors.ScopeError),
    "302 elsewhere": ((302, {"Location": f"{FOREIGN}/payments?access_token={CANARY}"}, b""), errors.ProtocolError),
    "307 elsewhere": ((307, {"Location": f"{FOREIGN}/payments"}, b""), errors.ProtocolError),
    "429, tomorrow": ((429, {"Retry-After": "86400"}, b""), errors.RateLimitedError),
    "too large": ((200, {}, b" " * (8 * 2**20 + 1)), errors.ProtocolError),
    "no list": ({"data": {}}, errors.ProtocolError),
    "a next link elsewhere": (with_link(f"{FOREIGN}/payments?before=x"), errors.PaginationError),
    "a next link with a user": (with_link("http://127.0.0.1@foreign.invalid:9/v1/payments"), errors.PaginationError),
    "a next link that is a number": (with_link(5), errors.PaginationError),
    "an item that is not an object": (lambda page: page | {"data": [5, *page["data"]]}, errors.RecordError),
    "an amount of half a cent": (with_item(amount=0.005), errors.RecordError),
    "an infinite amount": (with_item(amount="1e400"), errors.RecordError),
    "an impossible date": (with_item(date_completed="2024-02-30T00:00:00"), errors.RecordError),
}
HARMLESS = {
    "an unknown status": with_item(status="escrowed"),
    "an unknown action": with_item(action="gift"),
    "an unknown target": with_item(target={"type": "merchant"}),
    "an unknown audience": with_item(audience="world"),
    "an unknown key": with_item(likes=3),
    "a missing key": lambda page: page | {"data": [{key: page["data"][0][key] for key in ("id", "date_created")},
                                                   *page["data"][1:]]},
    "a null amount": with_item(amount=None),
    "a token in the next link": with_link(f"/v1/payments?before=2020-01-01T00:00:00&access_token={CANARY}"),
    "an item twice": lambda page: page | {"data": [page["data"][0], *page["data"]]},
    # Once, these are asked for again; for ever, they stop a load.
    "bad UTF-8, once": lambda _page: b'{"data": [{"id": "\xff"}]}',
    "a byte order mark": lambda page: b"\xef\xbb\xbf" + json.dumps(page).encode(),
    "half an emoji": lambda page: json.dumps(page).encode().replace(b'"n"', rb'"\ud83c"', 1),
}  # fmt: skip
BROKEN = {
    "bad UTF-8, for ever": (b'{"data": [{"id": "\xff"}]}', errors.RecordError, errors.PaginationError),
    "an item without an id": (with_item(id=None), errors.RecordError, errors.PaginationError),
}
LAST = {
    "next null": {"pagination": {"next": None}},
    "next empty": {"pagination": {"next": ""}},
    "next missing": {"pagination": {}},
    "pagination null": {"pagination": None},
}
CELLS = [
    *(Cell(f"{name}, once", answer, (FIRST, LATER)[place % 2], False, None)  # noqa: FBT003 - a table
      for place, (name, (answer, _)) in enumerate(PASSING.items())),
    *(Cell(f"{name}, for ever", *PASSING[name][:1], LATER, True, PASSING[name][1])  # noqa: FBT003
      for name in ("429, in 7 seconds", "503", "a page of a proxy", "half a body", "RST", "silence")),
    *(Cell(name, answer, (FIRST, LATER)[place % 2], False, error)  # noqa: FBT003
      for place, (name, (answer, error)) in enumerate(FINAL.items())),
    *(Cell(name, answer, LATER, False, None) for name, answer in HARMLESS.items()),  # noqa: FBT003
    *(Cell(name, answer, at, True, error) for name, (answer, *both) in BROKEN.items()  # noqa: FBT003
      for at, error in zip((FIRST, LATER), both, strict=True)),
    *(Cell(name, lambda page, end=end: page if page["pagination"]["next"] else page | end, FIRST, True, None)  # noqa: FBT003
      for name, end in LAST.items()),
]  # fmt: skip


def good_page(parameters: dict[str, str]) -> dict:
    """Return the page of ROWS by the documented rules."""
    rows = [row for row in ROWS if row["date_created"] < parameters.get("before", "9")]
    limit = int(parameters["limit"])
    link = f"/v1/payments?limit={limit}&before={rows[limit - 1]['date_created']}" if len(rows) > limit else None
    return {"data": rows[:limit], "pagination": {"next": link}}


class Service:
    """Service with the fault of one cell."""

    def __init__(self, cell: Cell, foreign: str) -> None:
        self.cell, self.foreign = cell, foreign
        self.pages = 0
        self._lock = threading.Lock()

    def __call__(self, path: str, parameters: dict[str, str]) -> object:
        """Answer one request."""
        if path != "/v1/payments":
            return ME if path == "/v1/me" else {"data": [{"id": "8"}], "pagination": None}
        with self._lock:
            self.pages += 1
            at = self.pages
        page = good_page(parameters)
        if at < self.cell.at or (at > self.cell.at and not self.cell.always):
            return page
        answer = self.cell.answer(page) if callable(self.cell.answer) else self.cell.answer
        if callable(answer):
            return answer
        status, headers, body = answer if isinstance(answer, tuple) else (200, {}, answer)
        headers = {name: value.replace(FOREIGN, self.foreign) for name, value in headers.items()}
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        return status, headers, payload.replace(FOREIGN.encode(), self.foreign.encode())


@pytest.mark.fault("read")
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: f"{cell.name} ({'first' if cell.at == FIRST else 'later'})")
def test_a_load_is_exact_or_one_typed_error(start_service, tmp_path, caplog, cell: Cell) -> None:
    """Through the cache, on three connections, with recorded waits."""
    caplog.set_level(logging.DEBUG)
    foreign = start_service(lambda _path, _parameters: {"data": []})
    service = start_service(Service(cell, foreign.base_url))
    timeout = (0.5, 0.3) if cell.name.startswith("silence") else (20.0, 20.0)
    client = Client(CANARY, base_url=service.base_url, cache_dir=tmp_path, timeout=timeout, concurrency=3)
    waits: list[float] = []
    client._transport._sleep = waits.append
    if cell.outcome is None:
        history = load_history(client)
        assert list(history.payments["payment_id"]) == [row["id"] for row in ROWS]
    else:
        with pytest.raises(cell.outcome) as caught:
            load_history(client)
        assert type(caught.value) is cell.outcome
        assert CANARY not in format_everything(caught.value)
        assert caught.value.__cause__ is None
    client.close()
    assert all(0 <= wait <= 61 for wait in waits)
    assert foreign.asked == []
    assert CANARY not in caplog.text
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]
