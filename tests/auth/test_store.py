"""What is kept of a sign-in: the user's alone, replaced whole, and of no harm when it is broken."""

from __future__ import annotations

import json
import os
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from p2p_analytics.auth import (
    AccessToken,
    FileStore,
    KeyringStore,
    KeyringUnavailableError,
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
)
BARE = SignIn("https://pay.example/v1", AccessToken("CANARY-access"))


def told(sign_in: SignIn | None) -> tuple[object, ...]:
    """Return all that a sign-in holds."""
    assert sign_in is not None
    token, refresh = sign_in.token, sign_in.refresh_token
    return (
        sign_in.base_url, token.reveal(), token.scopes, token.expires_at, sign_in.client_id,
        refresh and refresh.reveal(), sign_in.ident,
    )  # fmt: skip


def state_file() -> Path:
    """Return where the sign-in is kept."""
    return Path(os.environ["P2P_STATE_DIR"]) / "sign-in.json"


def mode(path: Path) -> int:
    """Return the permission bits of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], str]:
    """Give a keyring of this test alone, and what stands in it."""
    import keyring
    from keyring.backend import KeyringBackend

    kept: dict[tuple[str, str], str] = {}

    class Memory(KeyringBackend):
        priority = 1  # type: ignore[assignment]

        def get_password(self, service, username):
            return kept.get((service, username))

        def set_password(self, service, username, password):
            kept[service, username] = password

        def delete_password(self, service, username):
            del kept[service, username]

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    yield kept
    keyring.set_keyring(before)


@pytest.mark.parametrize("sign_in", [FULL, BARE])
def test_what_is_saved_comes_back(sign_in: SignIn) -> None:
    """Token, expiry, scopes, service, application, refresh token and the sign-in's own mark; then nothing."""
    store = FileStore()
    assert store.load() is None
    store.save(BARE)
    store.save(sign_in)
    assert told(FileStore().load()) == told(sign_in)
    assert store.delete()
    assert store.load() is None
    assert not store.delete()
    assert list(state_file().parent.iterdir()) == []


def test_the_keyring_keeps_the_same(keyring: dict[tuple[str, str], str]) -> None:
    """One entry of the keyring, and no file."""
    store = KeyringStore()
    assert store.load() is None
    store.save(FULL)
    assert told(store.load()) == told(FULL)
    assert len(keyring) == 1
    assert store.delete()
    assert not store.delete()
    assert not state_file().exists()


def test_without_a_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a keyring, or without its library, is one sentence, and nothing secret hangs on it."""
    with pytest.raises(KeyringUnavailableError, match="NoKeyringError") as caught:
        KeyringStore().save(FULL)
    assert caught.value.__context__ is None
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)
    with pytest.raises(KeyringUnavailableError, match=r'make install .* pip install "\.\[keyring\]"'):
        KeyringStore().load()


def test_modes_under_an_open_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is 0600 from its first byte, each folder that is made 0700, the lock 0600, whatever the umask."""
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "one" / "two"))
    seen = []
    fsync = os.fsync
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
    assert mode(state_file()) == 0o600
    assert mode(tmp_path / "one") == mode(tmp_path / "one" / "two") == 0o700
    assert [mode(path) for path in state_file().parent.iterdir()] == [0o600, 0o600]


def test_a_file_that_others_could_read_is_made_private(caplog: pytest.LogCaptureFixture) -> None:
    """Its mode becomes 0600, and a sentence says what to do."""
    FileStore().save(FULL)
    state_file().chmod(0o644)
    assert told(FileStore().load()) == told(FULL)
    assert mode(state_file()) == 0o600
    assert "It is private now; if its token may have been read, sign in again." in caplog.text
    assert "CANARY" not in caplog.text


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A link in the file's place is not read, and saving replaces the link, not what it leads to."""
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
    """Whoever planted a file decides whose payments are read, so only one's own counts."""
    FileStore().save(FULL)
    monkeypatch.setattr(os, "geteuid", lambda: state_file().stat().st_uid + 1)
    monkeypatch.setattr(FileStore, "_require_private_folder", lambda _self: None)
    with pytest.raises(TokenError, match="not a regular file of yours"):
        FileStore().load()


@pytest.mark.parametrize("bits", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_into_is_refused(bits: int) -> None:
    """Others could put a file of theirs in the place of the user's."""
    FileStore().save(FULL)
    state_file().parent.chmod(bits)
    for call in (FileStore().load, lambda: FileStore().save(FULL)):
        with pytest.raises(TokenError, match="Other users can write into"):
            call()


GOOD = json.loads(
    '{"base_url": "https://pay.example/v1", "access_token": "CANARY", "expires_at": null, "scopes": [],'
    ' "client_id": null, "refresh_token": null, "ident": "a"}'
)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\xff\xfe", b"[]", b"{}", b"CANARY", b"[" * 60_000,
        *(json.dumps(GOOD | change).encode() for change in (
            {"access_token": "CANARY two"}, {"access_token": None}, {"expires_at": "CANARY"}, {"expires_at": 5},
            {"expires_at": ""}, {"expires_at": 0}, {"expires_at": False}, {"expires_at": []},
            {"expires_at": "2025-05-01T12:30:00"}, {"scopes": 5}, {"scopes": [5]}, {"refresh_token": 5},
            {"base_url": None}, {"ident": None},
        )),
    ],
)  # fmt: skip
def test_a_broken_file_is_set_aside(content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """It counts as none, is named, is not quoted, and a new sign-in takes its place."""
    state_file().parent.mkdir(mode=0o700)
    state_file().write_bytes(content)
    state_file().chmod(0o600)
    assert FileStore().load() is None
    assert not state_file().exists()
    assert str(state_file()) in caplog.text
    assert "CANARY" not in caplog.text
    FileStore().save(FULL)
    assert told(FileStore().load()) == told(FULL)
    assert FileStore().delete()
    assert list(state_file().parent.iterdir()) == []


@pytest.mark.parametrize(("call", "mode_of_file"), [("replace", 0o600), ("fchmod", 0o644)])
def test_a_folder_that_lets_nothing_be_mended(monkeypatch: pytest.MonkeyPatch, call: str, mode_of_file: int) -> None:
    """Where a broken file cannot be set aside, or an open one not closed, that is one sentence."""

    def refuse(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    state_file().parent.mkdir(mode=0o700)
    state_file().write_bytes(b"CANARY")
    state_file().chmod(mode_of_file)
    monkeypatch.setattr(*((Path, call) if call == "replace" else (os, call)), refuse)
    with pytest.raises(TokenError, match=r"Cannot read .*read-only file system.*delete it") as caught:
        FileStore().load()
    assert "CANARY" not in str(caught.value)


def test_a_file_that_is_whole_is_read() -> None:
    """The content from which the broken ones were made is not broken itself."""
    state_file().parent.mkdir(mode=0o700)
    state_file().write_text(json.dumps(GOOD))
    assert FileStore().load().token.reveal() == "CANARY"  # type: ignore[union-attr]


def test_a_write_that_fails_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is one sentence; what was kept stays, and no half-written file."""
    FileStore().save(FULL)

    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigurationError, match=r"Cannot write .*no space left on device.*P2P_STATE_DIR"):
        FileStore().save(BARE)
    assert told(FileStore().load()) == told(FULL)
    assert [path.name for path in state_file().parent.iterdir()] == ["sign-in.json"]


def test_a_place_that_cannot_hold_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where the folder should be: nothing is kept there, and saving says so."""
    (tmp_path / "file").write_text("mine")
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "file" / "state"))
    assert FileStore().load() is None
    assert not FileStore().delete()
    for call in (lambda: FileStore().save(FULL), lambda: lock_sign_in().__enter__()):
        with pytest.raises(ConfigurationError, match="set P2P_STATE_DIR to another folder"):
            call()


def test_the_lock_is_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is held nobody else gets it, and who waits too long is told."""
    monkeypatch.setattr("p2p_analytics.auth._store._LOCK_SECONDS", 0.1)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock_sign_in():
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    try:
        with pytest.raises(TokenError, match="Another process"), lock_sign_in():
            pytest.fail("two held the lock")
    finally:
        done.set()
        thread.join()
    with lock_sign_in():
        pass


def test_the_usual_folder_is_the_platforms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without P2P_STATE_DIR it is the user's state folder, by the name of the package."""
    monkeypatch.delenv("P2P_STATE_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert FileStore().name == f"the state file {tmp_path / 'p2p_analytics' / 'sign-in.json'}"
