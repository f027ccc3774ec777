"""Read faults of the fault matrix: a load returns the exact payments or raises one typed error.

No text holds the token, and nothing is sent to a foreign host. `paging/test_page_forms.py` has the ends of lists.
"""

import contextlib
import itertools
import json
import logging
import socket
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from p2p_analytics import errors
from p2p_analytics.history import load_history
from support.canary import CANARY
from support.connections import client_to, stay_silent
from support.exceptions import format_everything
from support.scripted import reset

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


def with_link(link: object) -> Callable[[dict], object]:
    """Return a function that changes the next link of a page."""
    return lambda page: page | {"pagination": {"next": link}}


def with_item(**fields: object) -> Callable[[dict], object]:
    """Return a function that changes fields of the first payment of a page."""
    return lambda page: page | {"data": [page["data"][0] | fields, *page["data"][1:]]}


def cut_after(head: bytes) -> Callable[[object], object]:
    """Return a function that returns an answer which breaks off after these bytes."""

    def cut(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):  # the client need not read it all
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + head)

    return lambda _page: cut


PASSING = {
    "429": ((429, {}, b""), errors.RateLimitedError),
    "429, in 7 seconds": ((429, {"Retry-After": "7"}, b""), errors.RateLimitedError),
    "503": ((503, {}, {"error": {"message": f"failed for {CANARY}", "code": "1"}}), errors.ServerError),
    "503, in 7 seconds": ((503, {"Retry-After": "7"}, b""), errors.ServerError),
    "a page of a proxy": ((200, {}, f"<html>?access_token={CANARY}".encode()), errors.ProtocolError),
    "nothing": ((200, {}, b""), errors.ProtocolError),
    "half a body": ((200, {}, b'{"data": [{"id": "1"'), errors.ProtocolError),
    "bad gzip": ((200, {"Content-Encoding": "gzip"}, b"not gzip"), errors.TransportError),
    "RST": (lambda _page: reset, errors.TransportError),
    "FIN": (lambda _page: lambda _connection: None, errors.TransportError),
    "cut in the body": (cut_after(b'Content-Length: 999\r\n\r\n{"data": ['), errors.TransportError),
    "cut in a chunk": (cut_after(b'Transfer-Encoding: chunked\r\n\r\nff\r\n{"data": ['), errors.TransportError),
    "silence": (lambda _page: stay_silent, errors.TransportError),
    "NaN": (b'{"data": [NaN]}', errors.ProtocolError),
}
FINAL = {
    "401": ((401, {}, {"error": {"message": f"bad {CANARY}", "code": "261"}}), errors.AuthenticationError),
    "403": ((403, {}, {"error": {"message": "", "code": "260"}}), errors.ScopeError),
    "302 elsewhere": ((302, {"Location": f"{FOREIGN}/payments?access_token={CANARY}"}, b""), errors.ProtocolError),
    "429, tomorrow": ((429, {"Retry-After": "86400"}, b""), errors.RateLimitedError),
    "too large": (cut_after(b"Content-Length: 99999999\r\n\r\n" + b" " * 9 * 2**20), errors.ProtocolError),
    "no list": ({"data": {"at": f"?access_token={CANARY}"}}, errors.ProtocolError),
    "a next link elsewhere": (with_link(f"{FOREIGN}/payments?before=x"), errors.PaginationError),
    "a next link with a user": (with_link("http://127.0.0.1@foreign.invalid:9/v1/payments"), errors.PaginationError),
    "a next link that is a number": (with_link(5), errors.PaginationError),
    "an item that is not an object": (lambda page: page | {"data": [5, *page["data"]]}, errors.RecordError),
    "an amount of half a cent": (with_item(amount=0.005), errors.RecordError),
    "an infinite amount": (with_item(amount="1e400"), errors.RecordError),
    "an impossible date": (with_item(date_completed="2024-02-30T00:00:00"), errors.RecordError),
}
BAD_UTF8 = b'{"data": [{"id": "\xff"}]}'
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
    "bad UTF-8, once": BAD_UTF8,
    "a byte order mark": lambda page: b"\xef\xbb\xbf" + json.dumps(page).encode(),
    "half an emoji": lambda page: json.dumps(page).encode().replace(b'"n"', rb'"\ud83c"', 1),
}  # fmt: skip


class Cell(NamedTuple):
    """One fault: the answer, the request that gets it, whether all later ones get it, and the outcome."""

    answer: object  # or a function of the good page
    at: int
    outcome: type[Exception] | None = None  # None: the exact payments
    always: bool = False


PLACES = itertools.cycle((FIRST, LATER))
CELLS = {
    **{f"{name}, once": Cell(answer, next(PLACES)) for name, (answer, _) in PASSING.items()},
    **{
        f"{name}, for ever": Cell(PASSING[name][0], LATER, PASSING[name][1], always=True)
        for name in ("429, in 7 seconds", "503", "a page of a proxy", "half a body", "RST", "silence")
    },
    **{name: Cell(answer, next(PLACES), error) for name, (answer, error) in FINAL.items()},
    **{name: Cell(answer, LATER) for name, answer in HARMLESS.items()},
    "bad UTF-8 in the first page": Cell(BAD_UTF8, FIRST, errors.RecordError, always=True),
    "bad UTF-8 in later pages": Cell(BAD_UTF8, LATER, errors.PaginationError, always=True),
    "an item without an id in the first page": Cell(with_item(id=None), FIRST, errors.RecordError, always=True),
    "an item without an id in later pages": Cell(with_item(id=None), LATER, errors.PaginationError, always=True),
}


def serve(cell: Cell, foreign: str) -> Callable[[str, dict[str, str]], object]:
    """Return the answers of a service by the documented rules, with the fault of a cell."""
    numbers = itertools.count(1)  # of requests for pages; taking the next one is atomic

    def answer(path: str, parameters: dict[str, str]) -> object:
        if path != "/v1/payments":
            return ME if path == "/v1/me" else {"data": [{"id": "8"}], "pagination": None}
        limit = int(parameters["limit"])
        rows = [row for row in ROWS if row["date_created"] < parameters.get("before", "9")]
        link = f"/v1/payments?limit={limit}&before={rows[limit - 1]['date_created']}" if len(rows) > limit else None
        page, at = {"data": rows[:limit], "pagination": {"next": link}}, next(numbers)
        if at < cell.at or (at > cell.at and not cell.always):
            return page
        found = cell.answer(page) if callable(cell.answer) else cell.answer
        if callable(found):
            return found
        status, headers, body = found if isinstance(found, tuple) else (200, {}, found)
        headers = {name: value.replace(FOREIGN, foreign) for name, value in headers.items()}
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        return status, headers, payload.replace(FOREIGN.encode(), foreign.encode())

    return answer


@pytest.mark.fault("read")
@pytest.mark.parametrize("name", CELLS)
def test_a_load_is_exact_or_one_typed_error(start_service, tmp_path, caplog, capfd, name: str) -> None:
    """Through the cache, on three connections, with recorded waits."""
    caplog.set_level(logging.DEBUG)
    cell, waits = CELLS[name], []
    foreign = start_service(lambda *_: {"data": []})
    base_url = start_service(serve(cell, foreign.base_url)).base_url
    timeout = (0.5, 0.3) if name.startswith("silence") else (20.0, 20.0)
    with client_to(base_url, waits.append, cache_dir=tmp_path, timeout=timeout, concurrency=3) as client:
        if cell.outcome is None:
            assert list(load_history(client).payments["payment_id"]) == [row["id"] for row in ROWS]
        else:
            with pytest.raises(cell.outcome) as caught:
                load_history(client)
            assert type(caught.value) is cell.outcome
            assert CANARY not in format_everything(caught.value)
            assert caught.value.__cause__ is None
    assert all(0 <= wait <= 61 for wait in waits)
    assert foreign.asked == []
    output = "".join([caplog.text, *capfd.readouterr()])
    assert ("urllib3" in output, CANARY in output) == (True, False)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]
