"""Response cache: one private file per account, and its entries."""

import itertools
import os
import sqlite3
import stat
import zlib
from contextlib import closing
from pathlib import Path

import pytest
import requests

from p2p_analytics.client import Client
from p2p_analytics.client.http.cache import AccountCache
from p2p_analytics.client.http.transport import CachePolicy
from p2p_analytics.errors import AuthenticationError, ProtocolError, ServerError
from support.canary import CANARY
from support.connections import client_to, transport_to

PEOPLE = {"TOKEN-A": "100", "TOKEN-A-NEW": "100", "TOKEN-B": "200", CANARY: "300"}


def answer(path: str, parameters: dict[str, str]) -> object:
    """Serve three people, each with one payment."""
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


def change_entries(folder: Path, change: str, *values: object) -> None:
    """Change all entries of the only cache file in a folder."""
    (file,) = folder.glob("*.sqlite")
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute(f"UPDATE answers SET {change}", values)  # noqa: S608 - our own words


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
    service, folder = start_service(answer), tmp_path / "made"
    before = os.umask(0)
    try:
        list_ids(service, "TOKEN-A", folder)
    finally:
        os.umask(before)
    files = list(folder.iterdir())
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    files[0].chmod(0o666)
    list_ids(service, "TOKEN-A", folder)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not any(secret in file.read_bytes() for file in files for secret in (b"TOKEN-A", b"session=1"))


def test_an_expired_entry_is_refetched(start_service, tmp_path) -> None:
    """An expired entry is not used, even if the service fails, and opening the file deletes it."""
    failing = []
    service = start_service(lambda path, sent: (500, {}, b"") if failing and path != "/v1/me" else answer(path, sent))
    with client_to(service.base_url, cache_dir=tmp_path) as client:
        assert len(client.payments()) == len(client.payments()) == 1
        assert sum(path == "/v1/payments" for path, _ in service.asked) == 2  # a page and the end of the list
        change_entries(tmp_path, "expires = expires - 301")
        failing.append(True)
        with pytest.raises(ServerError):
            client.payments()
    with client_to(service.base_url, cache_dir=tmp_path) as client:
        client.me()
        assert len(client._transport.cache.storage) == 0


def test_the_account_is_in_the_key_and_not_only_in_the_name(tmp_path) -> None:
    """Two accounts never share a key, even if they shared a file; nor do short-lived and long-lived entries."""
    request = requests.Request("GET", "https://pay.example/v1/payments").prepare()
    caches = [AccountCache(tmp_path, "https://pay.example/v1", account) for account in "12"]
    sessions = [cache.make_session(long_lived=long_lived) for cache in caches for long_lived in (True, False)]
    assert len({session.cache.create_key(request) for session in sessions}) == 4


def test_only_a_body_that_its_decoder_accepts_is_cached(start_service, tmp_path) -> None:
    """A proxy's page with status 200 is not stored; a stored body that the decoder refuses is fetched again."""
    bodies = itertools.chain([b"<html>"] * 6, itertools.repeat({"data": []}))
    service = start_service(lambda path, parameters: answer(path, parameters) if path == "/v1/me" else next(bodies))
    with client_to(service.base_url, cache_dir=tmp_path) as client:
        with pytest.raises(ProtocolError):
            client.payments()
        assert len(client._transport.cache.storage) == 0
        assert client.payments() == []
    change_entries(tmp_path, "body = ?", zlib.compress(b'{"data": 5}'))
    service.asked.clear()
    assert list_ids(service, CANARY, tmp_path) == list_ids(service, CANARY, tmp_path) == []
    assert [path for path, _ in service.asked].count("/v1/payments") == 3  # two confirm that the list is empty


@pytest.mark.parametrize(("policy", "seconds"), [(CachePolicy.SHORT, 5 * 60), (CachePolicy.LONG, 30 * 86_400)])
def test_a_body_is_decoded_once_and_stored_for_its_time(start_service, tmp_path, policy, seconds: int) -> None:
    """From the service into the cache, and from the cache; five minutes, or thirty days for closed windows."""
    bodies: list[bytes] = []
    transport, _ = transport_to(start_service(lambda *_: {"data": {"id": "2"}}).base_url)
    transport.open_cache(tmp_path, "7")
    for is_cached in (False, True):
        response = transport.get("/payments/2", {}, lambda body: bodies.append(body) or body[:5], policy=policy)
        assert (response.from_cache, response.value, len(bodies)) == (is_cached, b'{"dat', 1 + is_cached)
    transport.close()
    with closing(sqlite3.connect(next(tmp_path.glob("*.sqlite")))) as database:
        assert database.execute("SELECT round(expires - given) FROM answers").fetchall() == [(seconds,)]
