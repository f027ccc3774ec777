"""One private cache for each account: never mixed, never readable by others, never in the way."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time
from typing import TYPE_CHECKING

import pytest

from p2p_analytics.client import Client
from p2p_analytics.errors import AuthenticationError

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
    past = time.time() - 301
    os.utime(old, (past, past))
    ids(service, "TOKEN-B", tmp_path)
    assert not old.exists()
    assert len(list(tmp_path.glob("*.sqlite"))) == 1


def test_without_a_cache_every_load_asks(scripted) -> None:
    """cache_dir=False keeps nothing."""
    service = scripted(answer)
    for _ in range(2):
        with Client("TOKEN-A", base_url=service.base_url, cache_dir=False) as client:
            client.payments()
    assert [path for path, _ in service.asked] == ["/v1/payments", "/v1/payments"]


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


@pytest.mark.parametrize("entry", ["", "nonsense", "[]", "{}", '{"status_code": 200}', "[" * 5000, "null"])
def test_a_tampered_entry_is_asked_for_anew(scripted, tmp_path, entry: str) -> None:
    """Whatever stands in an entry, it is at worst a miss."""
    service = scripted(answer)
    with sqlite3.connect(_cache_file(service, tmp_path)) as database:
        database.execute("UPDATE responses SET value = ?", (entry,))
    database.close()
    assert ids(service, "TOKEN-A", tmp_path) == ["1001"]


def test_a_pickle_in_the_cache_is_never_run(scripted, tmp_path) -> None:
    """The default serializer runs code from a tampered file; this one reads JSON only."""
    service = scripted(answer)
    marker = tmp_path / "ran"
    attack = b"cos\nsystem\n(S'touch %b'\ntR." % bytes(marker)
    with sqlite3.connect(_cache_file(service, tmp_path / "cache")) as database:
        database.execute("UPDATE responses SET value = ?", (attack,))
    database.close()
    assert ids(service, "TOKEN-A", tmp_path / "cache") == ["1001"]
    assert not marker.exists()


def test_a_locked_file_does_not_hold_up_the_load(scripted, tmp_path) -> None:
    """Another process that holds the write lock costs at most a second or two."""
    service = scripted(answer)
    file = _cache_file(service, tmp_path)
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("DELETE FROM responses")
    holder.execute("BEGIN IMMEDIATE")
    try:
        assert ids(service, "TOKEN-A", tmp_path) == ["1001"]
    finally:
        holder.close()


def test_a_broken_answer_is_not_kept(scripted, tmp_path) -> None:
    """A proxy's page with status 200 must not be served again from the cache."""
    bodies = iter([b"<html>", json.dumps({"data": []}).encode()])
    service = scripted(lambda path, parameters: answer(path, parameters) if path == "/v1/me" else next(bodies))
    with Client("TOKEN-A", base_url=service.base_url, cache_dir=tmp_path) as client:
        client._transport._sleep = lambda _seconds: None
        assert client.payments() == []
