"""One private cache for each account: never mixed, never readable by others, never in the way."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time
import zlib
from typing import TYPE_CHECKING

import pytest
import requests

from p2p_analytics.client import Client
from p2p_analytics.client.http.cache import LONG_SECONDS, AccountCache
from p2p_analytics.errors import AuthenticationError, ServerError

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = {"TOKEN-A": "100", "TOKEN-A-NEW": "100", "TOKEN-B": "200"}


def answer(path: str, parameters: dict[str, str]) -> object:
    """Serve two people, each with one payment named after them."""
    person = PEOPLE.get(parameters.get("access_token", ""))
    if person is None:
        return 401, {}, {"error": {"message": "no", "code": "261"}}
    if path == "/v1/me":
        return {"data": {"balance": None, "user": {"id": person}}}
    item = {"id": f"{person}1", "note": f"of {person}", "date_created": "2024-05-01T12:00:00Z"}
    return 200, {"Set-Cookie": "session=1"}, {"data": [item], "pagination": {"next": None}}


def ids(service, token: str, folder: Path) -> list[str]:
    """Return the ids of the payments one token sees through a cache folder."""
    with Client(token, base_url=service.base_url, cache_dir=folder) as client:
        return [payment.id for payment in client.payments()]


def test_two_users_share_a_folder_and_nothing_else(scripted, tmp_path) -> None:
    """With requests-cache's defaults the second user would be given the first one's answers."""
    service = scripted(answer)
    assert ids(service, "TOKEN-A", tmp_path) == ["1001"]
    assert ids(service, "TOKEN-B", tmp_path) == ["2001"]
    assert ids(service, "TOKEN-A", tmp_path) == ["1001"]
    assert len(list(tmp_path.glob("*.sqlite"))) == 2


def test_what_has_not_expired_is_not_asked_again(scripted, tmp_path) -> None:
    """The second load of one account, with a new token too, asks only whose token it is."""
    service = scripted(answer)
    ids(service, "TOKEN-A", tmp_path)
    service.asked.clear()
    assert ids(service, "TOKEN-A-NEW", tmp_path) == ["1001"]
    assert [path for path, _ in service.asked] == ["/v1/me"]


def test_a_token_nobody_has_gets_nothing_from_the_cache(scripted, tmp_path) -> None:
    """A nonsense token is refused by the service before any cache is opened."""
    service = scripted(answer)
    ids(service, "TOKEN-A", tmp_path)
    with pytest.raises(AuthenticationError):
        ids(service, "TOKEN-X", tmp_path)


def test_the_files_are_private_and_hold_no_token_or_cookie(scripted, tmp_path) -> None:
    """0600 whatever the umask, for the journals too; neither token nor cookie is stored."""
    before = os.umask(0)
    try:
        ids(scripted(answer), "TOKEN-A", tmp_path / "made")
    finally:
        os.umask(before)
    files = list((tmp_path / "made").iterdir())
    assert files
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o700
    assert not any(secret in file.read_bytes() for file in files for secret in (b"TOKEN-A", b"session=1"))


def test_a_cache_of_expired_answers_alone_is_removed(scripted, tmp_path) -> None:
    """A file untouched for longer than answers are kept goes when the next cache is opened; others stay."""
    service = scripted(answer)
    ids(service, "TOKEN-A", tmp_path)
    (old,) = tmp_path.glob("*.sqlite")
    ids(service, "TOKEN-B", tmp_path)
    past = time.time() - LONG_SECONDS - 1
    os.utime(old, (past, past))
    ids(service, "TOKEN-B", tmp_path)
    assert not old.exists()
    assert len(list(tmp_path.glob("*.sqlite"))) == 1


def test_without_a_cache_every_load_asks(scripted) -> None:
    """cache_dir=False keeps nothing: each asks for the page, and once more for what is before it."""
    service = scripted(answer)
    for _ in range(2):
        with Client("TOKEN-A", base_url=service.base_url, cache_dir=False) as client:
            client.payments()
    assert [path for path, _ in service.asked] == ["/v1/payments"] * 4


def _cache_file(service, folder: Path) -> Path:
    ids(service, "TOKEN-A", folder)
    return next(folder.glob("*.sqlite"))


@pytest.mark.parametrize("damage", [b"garbage" * 999, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_damaged_file_is_set_aside_and_the_answer_comes_all_the_same(scripted, tmp_path, damage: bytes) -> None:
    """Damage costs a request, not the load, and the damaged file is kept beside."""
    service = scripted(answer)
    file = _cache_file(service, tmp_path)
    file.write_bytes(damage)
    assert ids(service, "TOKEN-A", tmp_path) == ["1001"]
    assert list(tmp_path.glob("*.corrupt"))
    service.asked.clear()
    ids(service, "TOKEN-A", tmp_path)
    assert [path for path, _ in service.asked] == ["/v1/me"]


@pytest.mark.parametrize(
    "entry", ["", b"nonsense", b"[]", 5, b"\x78\x9c", zlib.compress(b"[" * 5000), zlib.compress(b"null")]
)
def test_a_tampered_entry_is_asked_for_anew(scripted, tmp_path, entry: object) -> None:
    """Whatever stands in an entry, it is at worst a miss."""
    service = scripted(answer)
    with sqlite3.connect(_cache_file(service, tmp_path)) as database:
        database.execute("UPDATE answers SET body = ?", (entry,))
    database.close()
    assert ids(service, "TOKEN-A", tmp_path) == ["1001"]


def test_a_pickle_in_the_cache_is_never_run(scripted, tmp_path) -> None:
    """The default serializer runs code from a tampered file; this one reads JSON only."""
    service = scripted(answer)
    marker = tmp_path / "ran"
    attack = b"cos\nsystem\n(S'touch %b'\ntR." % bytes(marker)
    with sqlite3.connect(_cache_file(service, tmp_path / "cache")) as database:
        database.execute("UPDATE answers SET body = ?", (attack,))
    database.close()
    assert ids(service, "TOKEN-A", tmp_path / "cache") == ["1001"]
    assert not marker.exists()


def test_a_locked_file_does_not_hold_up_the_load(scripted, tmp_path) -> None:
    """Another process that holds the write lock costs at most a second or two."""
    service = scripted(answer)
    file = _cache_file(service, tmp_path)
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("DELETE FROM answers")
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert ids(service, "TOKEN-A", tmp_path) == ["1001"]
    finally:
        holder.close()


def test_an_expired_answer_is_asked_for_anew(scripted, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time an answer is not served again, not even where the service fails then."""
    monkeypatch.setattr("p2p_analytics.client.http.cache.SHORT_SECONDS", 1)
    failing = []
    service = scripted(lambda path, sent: (500, {}, b"") if failing and path != "/v1/me" else answer(path, sent))
    with Client("TOKEN-A", base_url=service.base_url, cache_dir=tmp_path) as client:
        client._transport._sleep = lambda _seconds: None
        assert len(client.payments()) == len(client.payments()) == 1
        assert sum(path == "/v1/payments" for path, _ in service.asked) == 2  # a page and the end of the list
        time.sleep(1.1)
        failing.append(True)
        with pytest.raises(ServerError):
            client.payments()


def test_expired_answers_do_not_stay_on_the_disk(scripted, tmp_path) -> None:
    """What is older than answers are kept goes when the file is opened again."""
    service = scripted(answer)
    with sqlite3.connect(_cache_file(service, tmp_path)) as database:
        database.execute("UPDATE answers SET expires = expires - 301")
    database.close()
    with Client("TOKEN-A", base_url=service.base_url, cache_dir=tmp_path) as client:
        client.friends("5")
        store = client._transport.cache.storage
        assert len(store) == 1


def test_a_lock_is_waited_for_once_and_told_once(scripted, tmp_path, caplog) -> None:
    """Not again for each page: the load goes on without the cache."""
    service = scripted(answer)
    holder = sqlite3.connect(_cache_file(service, tmp_path), isolation_level=None)
    holder.execute("DELETE FROM answers")
    holder.execute("BEGIN IMMEDIATE")
    started = time.monotonic()
    with Client("TOKEN-A", base_url=service.base_url, cache_dir=tmp_path) as client:
        for day in range(1, 6):
            assert len(client.payments(before=f"2025-01-0{day}")) == 1
    holder.close()
    assert time.monotonic() - started < 4
    assert sum("going on without it" in record.message for record in caplog.records) == 1


def test_a_link_in_the_place_of_the_file_is_not_followed(scripted, tmp_path) -> None:
    """A symbolic link planted under the cache's name would make it write elsewhere."""
    service = scripted(answer)
    file = _cache_file(service, tmp_path / "cache")
    for member in (tmp_path / "cache").iterdir():
        member.unlink()
    file.symlink_to(tmp_path / "elsewhere")
    assert ids(service, "TOKEN-A", tmp_path / "cache") == ["1001"]
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_that_was_open_to_others_is_closed_to_them(scripted, tmp_path) -> None:
    """One that was made 0666 before becomes 0600."""
    service = scripted(answer)
    file = _cache_file(service, tmp_path)
    file.chmod(0o666)
    ids(service, "TOKEN-A", tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_two_services_share_a_folder_and_nothing_else(scripted, tmp_path) -> None:
    """The same account id at another address is another account."""
    other = scripted(lambda path, sent: {"data": []} if path == "/v1/payments" else answer(path, sent))
    assert ids(scripted(answer), "TOKEN-A", tmp_path) == ["1001"]
    assert ids(other, "TOKEN-A", tmp_path) == []


def test_the_account_is_in_the_key_and_not_only_in_the_name(tmp_path) -> None:
    """Two accounts never share a key, even if their answers came into one file; nor do the two kinds of answers."""
    request = requests.Request("GET", "https://pay.example/v1/payments").prepare()
    caches = [AccountCache(tmp_path, "https://pay.example/v1", account) for account in "12"]
    keys = {
        cache.make_session(long_lived=long_lived).cache.create_key(request)
        for cache in caches
        for long_lived in (True, False)
    }
    assert len(keys) == 4


def test_a_broken_answer_is_not_kept(scripted, tmp_path) -> None:
    """A proxy's page with status 200 must not be served again from the cache."""
    bodies = iter([b"<html>", *[json.dumps({"data": []}).encode()] * 2])
    service = scripted(lambda path, parameters: answer(path, parameters) if path == "/v1/me" else next(bodies))
    with Client("TOKEN-A", base_url=service.base_url, cache_dir=tmp_path) as client:
        client._transport._sleep = lambda _seconds: None
        assert client.payments() == []
