"""Response cache: one private file per account, and a failure is only a cache miss."""

from __future__ import annotations

import itertools
import os
import sqlite3
import stat
import time
import zlib
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import requests

from p2p_analytics import records
from p2p_analytics.client import Client
from p2p_analytics.client.http.cache import LONG_SECONDS, AccountCache
from p2p_analytics.errors import AuthenticationError, ProtocolError, ServerError

if TYPE_CHECKING:
    from pathlib import Path

LOCKING = ("INSERT", "DELETE", "UPDATE", "BEGIN")  # statements that wait for a lock
PEOPLE = {"TOKEN-A": "100", "TOKEN-A-NEW": "100", "TOKEN-B": "200"}


def answer(path: str, parameters: dict[str, str]) -> object:
    """Serve two people, each with one payment."""
    person = PEOPLE.get(parameters.get("access_token", ""))
    if person is None:
        return 401, {}, {"error": {"message": "no", "code": "261"}}
    if path == "/v1/me":
        return {"data": {"balance": None, "user": {"id": person}}}
    item = {"id": f"{person}1", "note": f"of {person}", "date_created": "2024-05-01T12:00:00Z"}
    return 200, {"Set-Cookie": "session=1"}, {"data": [item], "pagination": {"next": None}}


def list_ids(service, token: str, folder: Path) -> list[str]:
    """Return the ids of a token's payments, loaded through a cache folder."""
    with Client(token, base_url=service.base_url, cache_dir=folder) as client:
        return [payment.id for payment in client.payments()]


def test_two_users_share_a_folder_and_nothing_else(start_service, tmp_path) -> None:
    """With the defaults of requests-cache, the second user would get the first user's responses.

    A user's second load, even with a new token, requests only /me; a token that the service refuses gets nothing. The
    same id at another service is another user.
    """
    service = start_service(answer)
    assert list_ids(service, "TOKEN-A", tmp_path) == ["1001"]
    assert list_ids(service, "TOKEN-B", tmp_path) == ["2001"]
    service.asked.clear()
    assert list_ids(service, "TOKEN-A-NEW", tmp_path) == ["1001"]
    assert [path for path, _ in service.asked] == ["/v1/me"]
    assert len(list(tmp_path.glob("*.sqlite"))) == 2
    with pytest.raises(AuthenticationError):
        list_ids(service, "TOKEN-X", tmp_path)
    other = start_service(lambda path, sent: {"data": []} if path == "/v1/payments" else answer(path, sent))
    assert list_ids(other, "TOKEN-A", tmp_path) == []


def test_the_files_are_private_and_hold_no_token_or_cookie(start_service, tmp_path) -> None:
    """Mode 0600 with any umask and for an existing file, for the journals too; no token or cookie is stored."""
    service = start_service(answer)
    before = os.umask(0)
    try:
        _cache_file(service, tmp_path / "made")
    finally:
        os.umask(before)
    files = list((tmp_path / "made").iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    files[0].chmod(0o666)
    list_ids(service, "TOKEN-A", tmp_path / "made")
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o700
    assert not any(secret in file.read_bytes() for file in files for secret in (b"TOKEN-A", b"session=1"))


def test_a_file_with_only_expired_entries_is_deleted(start_service, tmp_path) -> None:
    """Opening a cache deletes files that are older than the longest expiry; others stay."""
    service = start_service(answer)
    list_ids(service, "TOKEN-A", tmp_path)
    (old,) = tmp_path.glob("*.sqlite")
    list_ids(service, "TOKEN-B", tmp_path)
    past = time.time() - LONG_SECONDS - 1
    os.utime(old, (past, past))
    list_ids(service, "TOKEN-B", tmp_path)
    assert not old.exists()
    assert len(list(tmp_path.glob("*.sqlite"))) == 1


def _cache_file(service, folder: Path) -> Path:
    list_ids(service, "TOKEN-A", folder)
    return next(folder.glob("*.sqlite"))


def test_a_pickle_in_the_cache_is_not_executed(start_service, tmp_path) -> None:
    """The default serializer of requests-cache runs code from a tampered file; this one only reads JSON."""
    service = start_service(answer)
    marker = tmp_path / "ran"
    attack = b"cos\nsystem\n(S'touch %b'\ntR." % bytes(marker)
    with sqlite3.connect(_cache_file(service, tmp_path / "cache")) as database:
        database.execute("UPDATE answers SET body = ?", (attack,))
    database.close()
    assert list_ids(service, "TOKEN-A", tmp_path / "cache") == ["1001"]
    assert not marker.exists()


def test_an_expired_entry_is_refetched(start_service, tmp_path) -> None:
    """An expired entry is not used, even if the service fails, and opening the file deletes it."""
    failing = []
    service = start_service(lambda path, sent: (500, {}, b"") if failing and path != "/v1/me" else answer(path, sent))
    with Client("TOKEN-A", base_url=service.base_url, cache_dir=tmp_path) as client:
        client._transport._sleep = lambda _seconds: None
        assert len(client.payments()) == len(client.payments()) == 1
        assert sum(path == "/v1/payments" for path, _ in service.asked) == 2  # a page and the end of the list
        with closing(sqlite3.connect(next(tmp_path.glob("*.sqlite")), isolation_level=None)) as database:
            database.execute("UPDATE answers SET expires = expires - 301")
        failing.append(True)
        with pytest.raises(ServerError):
            client.payments()
    with Client("TOKEN-A", base_url=service.base_url, cache_dir=tmp_path) as client:
        client.me()
        assert len(client._transport.cache.storage) == 0


def test_a_load_waits_for_a_lock_once(start_service, tmp_path, caplog, monkeypatch) -> None:
    """The first failure disables the cache for the rest of the load, with one warning."""
    service = start_service(answer)
    holder = sqlite3.connect(_cache_file(service, tmp_path), isolation_level=None)
    holder.execute("DELETE FROM answers")
    holder.execute("BEGIN IMMEDIATE")
    statements: list[str] = []
    connect = sqlite3.connect

    def connect_traced(*arguments: object, **options: object) -> sqlite3.Connection:
        assert options["timeout"] == 1.0
        connection = connect(*arguments, **options)  # type: ignore[call-overload]
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_traced)
    with Client("TOKEN-A", base_url=service.base_url, cache_dir=tmp_path) as client:
        for day in range(1, 6):
            assert len(client.payments(before=f"2025-01-0{day}")) == 1
    holder.close()
    assert [each.partition(" ")[0] for each in statements if each.startswith(LOCKING)] == ["DELETE"]
    assert sum("going on without it" in record.message for record in caplog.records) == 1


def test_the_account_is_in_the_key_and_not_only_in_the_name(tmp_path) -> None:
    """Two accounts never share a key, even if they shared a file; nor do short-lived and long-lived entries."""
    request = requests.Request("GET", "https://pay.example/v1/payments").prepare()
    caches = [AccountCache(tmp_path, "https://pay.example/v1", account) for account in "12"]
    keys = {
        cache.make_session(long_lived=long_lived).cache.create_key(request)
        for cache in caches
        for long_lived in (True, False)
    }
    assert len(keys) == 4


def test_only_a_body_that_its_decoder_accepts_is_cached(start_service, tmp_path) -> None:
    """A proxy's page with status 200 is not stored; a stored body that the decoder refuses is fetched again."""
    bodies = itertools.chain([b"<html>"] * 6, itertools.repeat({"data": []}))
    service = start_service(lambda path, parameters: answer(path, parameters) if path == "/v1/me" else next(bodies))
    with Client("TOKEN-A", base_url=service.base_url, cache_dir=tmp_path) as client:
        client._transport._sleep = lambda _seconds: None
        with pytest.raises(ProtocolError):
            client.payments()
        assert len(client._transport.cache.storage) == 0
        assert client.payments() == []
    with closing(sqlite3.connect(next(tmp_path.glob("*.sqlite")), isolation_level=None)) as database:
        database.execute("UPDATE answers SET body = ?", (zlib.compress(b'{"data": 5}'),))
    service.asked.clear()
    assert list_ids(service, "TOKEN-A", tmp_path) == list_ids(service, "TOKEN-A", tmp_path) == []
    assert [path for path, _ in service.asked].count("/v1/payments") == 3  # two confirm that the list is empty


def test_a_body_is_decoded_once(start_service, tmp_path, monkeypatch) -> None:
    """From the service into the cache, and from the cache."""
    decode, bodies = records.decode_payment, []
    monkeypatch.setattr(records, "decode_payment", lambda body: bodies.append(body) or decode(body))
    service = start_service(lambda path, sent: answer(path, sent) if path == "/v1/me" else {"data": {"id": "2"}})
    with Client("TOKEN-A", base_url=service.base_url, cache_dir=tmp_path) as client:
        client.me()
        for number in (1, 2):
            client.payment("2")
            assert len(bodies) == number
