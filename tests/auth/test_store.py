"""Stored sign-ins: private to the user, replaced atomically, and robust against damage."""

import json
import os
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pytest

from p2p_analytics.auth import (
    AccessToken,
    FileStore,
    KeyringStore,
    KeyringUnavailableError,
    Owner,
    Secret,
    SignIn,
    lock_sign_in,
)
from p2p_analytics.errors import ConfigurationError, TokenError

ENDS = datetime(2025, 5, 1, 12, 30, tzinfo=UTC)
FULL = SignIn(
    "https://pay.example/v1",
    AccessToken("CANARY-access", scopes=["access_profile", "access_friends"], expires_at=ENDS),
    "1001",
    Secret("CANARY-refresh"),
    owner=Owner("7", "alex", "Alex Example"),
)
BARE = SignIn("https://pay.example/v1", AccessToken("CANARY-access"))


def contents_of(sign_in: SignIn) -> tuple[object, ...]:
    """Return all fields of a sign-in."""
    token, refresh = sign_in.token, sign_in.refresh_token
    return (
        sign_in.base_url, token.reveal(), token.scopes, token.expires_at, sign_in.client_id,
        refresh and refresh.reveal(), sign_in.ident, sign_in.owner,
    )  # fmt: skip


def state_file() -> Path:
    """Return the path of the stored sign-in."""
    return Path(os.environ["P2P_STATE_DIR"]) / "sign-in.json"


def mode(path: Path) -> int:
    """Return the permission bits of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("sign_in", [FULL, BARE])
def test_a_saved_sign_in_is_loaded(sign_in: SignIn) -> None:
    """Token, expiry, scopes, service, application, refresh token and identifier; after deletion, nothing."""
    store = FileStore()
    assert store.load() is None
    store.save(BARE)
    store.save(sign_in)
    assert contents_of(FileStore().load()) == contents_of(sign_in)
    assert store.delete()
    assert store.load() is None
    assert not store.delete()
    assert list(state_file().parent.iterdir()) == []


def test_the_keyring_stores_the_same_fields(memory_keyring: dict[tuple[str, str], str]) -> None:
    """The keyring has one entry, and no file is written."""
    store = KeyringStore()
    assert store.load() is None
    store.save(FULL)
    assert contents_of(store.load()) == contents_of(FULL)
    assert len(memory_keyring) == 1
    assert (store.delete(), store.delete(), state_file().exists()) == (True, False, False)


def test_without_a_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a keyring, or without its library, the error is one sentence and refers to no secret."""
    with pytest.raises(KeyringUnavailableError, match="NoKeyringError") as caught:
        KeyringStore().save(FULL)
    assert caught.value.__context__ is None
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(KeyringUnavailableError, match=r'make install .* pip install "\.\[keyring\]"'):
        KeyringStore().load()


def test_modes_under_an_open_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With any umask, the file has mode 0600 from its first byte, new folders 0700 and the lock 0600."""
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "one" / "two"))
    seen, fsync = [], os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda number: (seen.append(stat.S_IMODE(os.fstat(number).st_mode)), fsync(number))
    )
    before = os.umask(0)
    try:
        with lock_sign_in():
            FileStore().save(FULL)
    finally:
        os.umask(before)
    assert seen == [0o600]
    assert sorted((path.name, oct(mode(path))) for path in tmp_path.rglob("*")) == [
        ("one", "0o700"), ("sign-in.json", "0o600"), ("sign-in.lock", "0o600"), ("two", "0o700"),
    ]  # fmt: skip


def test_a_file_that_others_could_read_is_made_private(caplog: pytest.LogCaptureFixture) -> None:
    """The mode becomes 0600, and the message says what to do."""
    FileStore().save(FULL)
    state_file().chmod(0o644)
    assert contents_of(FileStore().load()) == contents_of(FULL)
    assert mode(state_file()) == 0o600
    assert "It is private now; if its token may have been read, sign in again." in caplog.text
    assert "CANARY" not in caplog.text


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A symbolic link in place of the file is not read, and saving replaces the link, not its target."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    state_file().parent.mkdir(mode=0o700)
    state_file().symlink_to(elsewhere)
    with pytest.raises(TokenError, match="delete it and sign in again"):
        FileStore().load()
    FileStore().save(FULL)
    assert not state_file().is_symlink()
    assert elsewhere.read_text() == "mine"


def test_another_users_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted file would decide which user's payments are read, so a file of another owner is refused."""
    FileStore().save(FULL)
    mode, inode, device, links, owner, *rest = state_file().stat()
    foreign = os.stat_result([mode, inode, device, links, owner + 1, *rest])
    monkeypatch.setattr(os, "fstat", lambda _descriptor: foreign)
    with pytest.raises(TokenError, match="not a regular file of yours"):
        FileStore().load()


@pytest.mark.parametrize("bits", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_into_is_refused(bits: int) -> None:
    """Other users could replace the file."""
    FileStore().save(FULL)
    state_file().parent.chmod(bits)
    for call in (FileStore().load, lambda: FileStore().save(FULL)):
        with pytest.raises(TokenError, match="Other users can write into"):
            call()


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\xff\xfe", b"[]", b"{}", b"CANARY", b"[" * 60_000,
        {"access_token": "CANARY two"}, {"access_token": None}, {"expires_at": "CANARY"}, {"expires_at": 5},
        {"expires_at": ""}, {"expires_at": 0}, {"expires_at": "2025-05-01T12:30:00"}, {"scopes": 5}, {"scopes": [5]},
        {"refresh_token": 5}, {"base_url": None}, {"ident": None},
    ],
)  # fmt: skip
def test_a_damaged_file_is_renamed(content: bytes | dict, caplog: pytest.LogCaptureFixture) -> None:
    """The error names the file without quoting it, and a new sign-in can be saved."""
    FileStore().save(FULL)
    stored = json.loads(state_file().read_bytes())
    state_file().write_bytes(content if isinstance(content, bytes) else json.dumps(stored | content).encode())
    assert FileStore().load() is None
    assert not state_file().exists()
    assert (str(state_file()) in caplog.text, "CANARY" in caplog.text) == (True, False)
    FileStore().save(FULL)
    assert contents_of(FileStore().load()) == contents_of(FULL)
    assert FileStore().delete()
    assert list(state_file().parent.iterdir()) == []


@pytest.mark.parametrize(("call", "mode_of_file"), [("pathlib.Path.replace", 0o600), ("os.fchmod", 0o644)])
def test_a_damaged_file_in_a_read_only_folder(monkeypatch: pytest.MonkeyPatch, call: str, mode_of_file: int) -> None:
    """If a damaged file cannot be renamed, or an open mode not restricted, the error is one sentence."""
    state_file().parent.mkdir(mode=0o700)
    state_file().write_bytes(b"CANARY")
    state_file().chmod(mode_of_file)
    monkeypatch.setattr(call, Mock(side_effect=OSError(30, "Read-only file system")))
    with pytest.raises(TokenError, match=r"Cannot read .*read-only file system.*delete it") as caught:
        FileStore().load()
    assert "CANARY" not in str(caught.value)


def test_a_failed_write_keeps_the_old_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a full disk, the error is one sentence, the old file is kept, and no partial file is left."""
    FileStore().save(FULL)
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(ConfigurationError, match=r"Cannot write .*no space left on device.*P2P_STATE_DIR"):
        FileStore().save(BARE)
    assert contents_of(FileStore().load()) == contents_of(FULL)
    assert [path.name for path in state_file().parent.iterdir()] == ["sign-in.json"]


def test_a_file_in_place_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded, and saving raises an error."""
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "file" / "state"))
    assert FileStore().load() is None
    assert not FileStore().delete()
    for call in (lambda: FileStore().save(FULL), lambda: lock_sign_in().__enter__()):
        with pytest.raises(ConfigurationError, match="set P2P_STATE_DIR to another folder"):
            call()


def test_the_lock_is_exclusive() -> None:
    """A second holder has to wait, and gets an error at its timeout."""

    def take_lock() -> None:
        with lock_sign_in(seconds=0.1):
            pass

    with ThreadPoolExecutor(1) as threads:
        with lock_sign_in(), pytest.raises(TokenError, match=r"changing the sign-in for 0\.1 seconds: stop"):
            threads.submit(take_lock).result(10)
        threads.submit(take_lock).result(10)
