"""How often a response body is parsed, between the connection and the records."""

from __future__ import annotations

import sqlite3
import sys
import zlib
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from p2p_analytics.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable

PERSON = {"id": "7", "display_name": "Rosa Vale"}
PAYMENT = {
    "id": "2", "status": "settled", "action": "pay", "amount": 5, "date_created": "2024-05-02T12:00:00",
    "actor": PERSON, "target": {"type": "user", "user": {"id": "8"}},
}  # fmt: skip
BODIES = {
    "/v1/me": {"data": {"balance": None, "user": PERSON}},
    "/v1/payments": {"data": [PAYMENT], "pagination": None},
    "/v1/payments/2": {"data": PAYMENT},
    "/v1/users/8": {"data": {"id": "8"}},
    "/v1/users/7/friends": {"data": [{"id": "8"}], "pagination": None},
}
READS: dict[str, Callable[[Client], object]] = {
    "/v1/me": lambda client: client.me(),
    "/v1/payments": lambda client: next(client.payment_pages()).items.ids,
    "/v1/payments/2": lambda client: client.payment("2"),
    "/v1/users/8": lambda client: client.user("8"),
    "/v1/users/7/friends": lambda client: next(client.friend_pages("7")),
}


def service_of(start_service):
    """Return a service of one payment and one friend."""
    return start_service(lambda path, _parameters: BODIES[path])


def envelopes_parsed(call: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often an envelope is decoded or skipped over by msgspec during a call."""
    found: list[str] = []
    decode = msgspec.json.decode

    def counting(body: Any, **options: Any) -> Any:
        if bytes(body).lstrip(b"\xef\xbb\xbf").startswith(b'{"data"'):
            found.append("function")
        return decode(body, **options)

    def profile(_frame: object, event: str, called: Any) -> None:
        if event == "c_call" and isinstance(getattr(called, "__self__", None), msgspec.json.Decoder):
            found.append("decoder")

    with monkeypatch.context() as patch:
        patch.setattr(msgspec.json, "decode", counting)
        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            call()
        finally:
            sys.setprofile(before)
    return len(found)


@pytest.mark.parametrize("path", READS)
def test_a_body_is_parsed_once(start_service, tmp_path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """From the service without a cache, from the service into the cache, and from the cache."""
    service = service_of(start_service)
    with Client("token", base_url=service.base_url, cache_dir=False) as client:
        assert envelopes_parsed(lambda: READS[path](client), monkeypatch) == 1
    with Client("token", base_url=service.base_url, cache_dir=tmp_path) as client:
        client.me()
        asked = len(service.asked)
        assert [envelopes_parsed(lambda: READS[path](client), monkeypatch) for _ in range(2)] == [1, 1]
        is_cached = path not in {"/v1/me", "/v1/users/8"}
        assert len(service.asked) == asked + (1 if is_cached else 2)


def test_only_a_body_that_its_decoder_accepts_is_cached(start_service, tmp_path) -> None:
    """A stored body that the decoder refuses is fetched again and replaced."""
    service = service_of(start_service)
    with Client("token", base_url=service.base_url, cache_dir=tmp_path) as client:
        client.payment("2")
        file = client._transport.cache.storage.path
    with sqlite3.connect(file) as database:
        database.execute("UPDATE answers SET body = ?", (zlib.compress(b'{"data": []}'),))
    database.close()
    asked = len(service.asked)
    for _ in range(2):
        with Client("token", base_url=service.base_url, cache_dir=tmp_path) as client:
            assert client.payment("2").id == "2"
    assert [path for path, _ in service.asked[asked:]] == ["/v1/me", "/v1/payments/2", "/v1/me"]
