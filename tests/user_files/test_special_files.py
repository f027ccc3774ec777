"""Pipes, sockets, folders, devices and links under the name of a file: refused without waiting, and left unchanged."""

import os
import shutil
import stat
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import settings
from p2p_analytics.auth import FileStore, lock_sign_in
from p2p_analytics.client.http.cache import AccountCache
from p2p_analytics.errors import ArchiveError, ConfigurationError, P2PAnalyticsError, TokenError
from p2p_analytics.privacy import Mask
from support.folders import make_socket, state_of


def make_special_files(folder: Path) -> dict[str, Path]:
    """Make one of each kind of thing that is not a regular file."""
    made = {name: folder / name for name in ("pipe", "folder", "socket", "link to nothing", "link to a pipe", "loop")}
    os.mkfifo(made["pipe"])
    made["folder"].mkdir()
    make_socket(made["socket"])
    made["link to nothing"].symlink_to(folder / "nothing")
    made["link to a pipe"].symlink_to(made["pipe"])
    made["loop"].symlink_to(made["loop"])
    if os.geteuid() == 0:
        made["device"] = folder / "device"
        try:
            os.mknod(made["device"], stat.S_IFCHR | 0o666, os.makedev(1, 3))  # as /dev/null
        except OSError:
            del made["device"]
    return made


FRAME = pd.DataFrame({"note": ["x"]})


@pytest.mark.parametrize("write", [p2p.to_csv, p2p.to_parquet])
def test_a_special_file_is_not_replaced(tmp_path, write) -> None:
    """The message names its kind; it stays unchanged, and nothing is left next to it."""
    things = [*make_special_files(tmp_path).values()]
    with (tmp_path / "output").open("wb") as output:
        (tmp_path / "stdout").symlink_to(f"/proc/self/fd/{output.fileno()}")  # as /dev/stdout
        before = state_of(tmp_path)
        for path in (*things, tmp_path / "stdout"):
            with pytest.raises(ConfigurationError, match=r"is not replaced: give the name of a file\.$"):
                write(FRAME, path)
            assert state_of(tmp_path) == before


@pytest.mark.parametrize("read", [p2p.read_csv, p2p.read_parquet, lambda path: p2p.open_archive(path).history()])
def test_a_special_file_is_not_read(tmp_path, read) -> None:
    """A typed error at once: opening a pipe in the usual way would block."""
    for path in make_special_files(tmp_path).values():
        with pytest.raises((ConfigurationError, ArchiveError)) as caught:
            read(path)
        assert "\n" not in str(caught.value)
    p2p.to_csv(FRAME, tmp_path / "f.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "f.csv")
    assert p2p.read_csv(tmp_path / "link.csv")["note"].tolist() == ["x"]  # reading follows a link to a file


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "link to a pipe", "link to nothing", "loop"])
def test_a_special_file_under_a_name_of_our_own(tmp_path, monkeypatch, kind) -> None:
    """Key, sign-in, lock, cache and certificates: at most a typed error, no blocking, and the file stays unchanged."""
    thing = make_special_files(tmp_path)[kind]

    def at(path: Path) -> Path:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        thing.replace(path) if not thing.is_symlink() else path.symlink_to(thing.readlink())
        return path

    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "state"))
    key = at(tmp_path / "state" / "privacy.key")
    before = key.lstat()
    with pytest.raises(ConfigurationError):
        Mask()
    assert (key.lstat().st_mode, key.lstat().st_ino) == (before.st_mode, before.st_ino)
    sign_in = key.rename(tmp_path / "state" / "sign-in.json")
    with pytest.raises(TokenError):
        FileStore().load()
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(sign_in))
    if kind != "folder":
        with pytest.raises(ConfigurationError):
            settings.ca_bundle()
    lock = sign_in.rename(tmp_path / "state" / "sign-in.lock")
    with pytest.raises(P2PAnalyticsError), lock_sign_in():
        pass
    cache = AccountCache(tmp_path / "state", "https://pay.invalid/v1", "7")
    under = lock.rename(cache.storage.path)
    assert cache.storage.read_windows() == []
    assert cache.storage.disabled
    assert (under.lstat().st_mode, under.lstat().st_ino) == (before.st_mode, before.st_ino)


@pytest.fixture(scope="module")
def synced_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of an archive of the smallest town."""
    path = tmp_path_factory.mktemp("synced") / "archive"
    with (
        p2p.sandbox.SandboxServer(seed=7, people=3, years=1) as server,
        p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client,
    ):
        p2p.open_archive(path).sync(client)
    return path


@pytest.fixture
def archive(synced_archive: Path, tmp_path: Path) -> Path:
    """Return the path of a copy of the archive."""
    return Path(shutil.copytree(synced_archive, tmp_path / "archive"))


@pytest.mark.parametrize("kind", ["pipe", "folder", "link to nothing", "a link to itself"])
@pytest.mark.parametrize("which", ["manifest", "payments", "friends", "lock"])
def test_a_special_file_in_an_archive(archive, tmp_path, which, kind) -> None:
    """It is neither read, followed, renamed nor replaced; the error names it and says to move it."""
    history = p2p.open_archive(archive).history()
    path = next(archive.glob(f"{which}*"))
    if kind == "a link to itself":
        path.rename(tmp_path / "moved")
        path.symlink_to(tmp_path / "moved")
    else:
        (tmp_path / "kinds").mkdir()
        thing = make_special_files(tmp_path / "kinds")[kind]
        path.unlink()
        thing.rename(path)
    before = path.lstat()
    outside = state_of(tmp_path / "moved") if kind == "a link to itself" else None
    calls = [lambda: p2p.open_archive(archive).merge(history)]
    if which != "lock":
        calls.append(lambda: p2p.open_archive(archive).history())
    if which == "payments":
        calls.append(lambda: p2p.open_archive(archive).scan("polars"))
    for call in calls:
        with pytest.raises(ArchiveError) as caught:
            call()
        assert path.name in str(caught.value) or which == "lock"
        assert path.lstat() == before
    assert outside is None or state_of(tmp_path / "moved") == outside
