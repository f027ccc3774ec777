"""Files of other programs in the cache folder: only databases with this package's name and mark are used or removed."""

import os
from pathlib import Path
from types import SimpleNamespace

from p2p_analytics.client.http.cache import AccountCache
from support.folders import HEX, LONG_AGO, make_database, state_of


def cache_of(folder: Path, account: str = "7") -> AccountCache:
    """Return an account's cache with one entry."""
    cache = AccountCache(folder, "https://pay.invalid/v1", account)
    cache.storage["key"] = SimpleNamespace(created_at=None, expires=None, content=b'{"data": []}')
    return cache


def test_only_files_with_our_name_and_our_mark_are_removed(tmp_path) -> None:
    """An expired database of this package is removed with its journals; under another name or unmarked it stays."""
    cache = cache_of(tmp_path)
    cache.storage.close()
    whole = cache.storage.path.read_bytes()
    kept = {
        tmp_path / "renamed.sqlite": whole,
        tmp_path / f"{HEX[1:]}.sqlite": whole,
        tmp_path / f"{HEX}.sqlite": whole[:68] + bytes(4) + whole[72:],
        tmp_path / f"{HEX[::-1]}.sqlite": b"SQLite format 3\0",
    }
    for path, content in kept.items():
        path.write_bytes(content)
    (tmp_path / ("f" * 32 + ".sqlite")).symlink_to(tmp_path / "renamed.sqlite")
    journal = cache.storage.path.with_name(f"{cache.storage.path.name}-wal")
    journal.write_bytes(b"")
    before = sorted(tmp_path.iterdir())
    for path in before:
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)
    AccountCache(tmp_path, "https://pay.invalid/v1", "8").storage.close()
    assert sorted(tmp_path.iterdir()) == [path for path in before if path not in {cache.storage.path, journal}]
    assert {path: path.read_bytes() for path in kept} == kept


def test_another_program_s_database_under_our_name_is_not_used(tmp_path, caplog) -> None:
    """It is neither overwritten nor renamed; the load goes on without a cache, with a warning."""
    path = AccountCache(tmp_path, "https://pay.invalid/v1", "7").storage.path
    for mark in (0, 5):
        path.unlink(missing_ok=True)
        make_database(path, mark)
        path.chmod(0o644)
        before = state_of(tmp_path)
        storage = cache_of(tmp_path).storage
        assert (len(storage), storage.disabled) == (0, True)
        assert state_of(tmp_path) == before
    assert "another program's database" in caplog.text


def test_damaged_files_are_set_aside_under_names_of_their_own(tmp_path) -> None:
    """The second one replaces neither the first nor a file of the user."""
    path = AccountCache(tmp_path, "https://pay.invalid/v1", "7").storage.path
    mine = path.with_suffix(".corrupt")
    mine.write_text("mine")
    for content in (b"first" * 999, b"second" * 999):
        path.write_bytes(content)
        cache_of(tmp_path).storage.close()
    aside = {file.read_bytes()[:5] for file in tmp_path.glob("*.corrupt") if file != mine}
    assert aside == {b"first", b"secon"}
    assert mine.read_text() == "mine"
