"""Files of the user's stay as they are, whatever the commands do beside them, and no named pipe makes anything wait."""

from __future__ import annotations

import io
import os
import socket
import sqlite3
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli, settings
from p2p_analytics.auth import FileStore
from p2p_analytics.client.http.cache import LONG_SECONDS, AccountCache
from p2p_analytics.errors import ArchiveError, ConfigurationError, P2PAnalyticsError, TokenError
from p2p_analytics.privacy._pseudonyms import load_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OLD = time.time() - 2 * LONG_SECONDS
HEX = "0123456789abcdef0123456789abcdef"
# Names that are nearly ours, or are ours but for what the file is.
NEARLY = (
    "taxes.sqlite", f"{HEX}.sqlite", f"{HEX[1:]}.sqlite", f"{HEX.upper()}.sqlite", f"{HEX}.sqlite-journal",
    f"x{HEX}.sqlite", "holiday.parquet", "payments.parquet", "payments-2024.parquet", "payments-first.parquet",
    "payments-first-xyz.parquet", f"payments-first-{HEX[:11]}.parquet", f"payments-first-{HEX[:13]}.parquet",
    f"payments-{HEX}.parquet.bak", f"Payments-first-{HEX}.parquet", f"friends-{HEX[:12]}.parquet~",
    "problems-mine.parquet", f"payments-2024-5-1-{HEX}.parquet", ".p2p-notes.part", ".p2p-ABCDEFGH.part",
    ".p2p-abc_0123.part", ".p2p-archive-ABCDEFGH.part",
    "download.part", "manifest.json.bak", "manifest.json.corrupt-2024", "lock.txt", "privacy.key.old", "sign-in.json~",
    "sign-in.txt", ".sign-in", "report.html.bak", "payments.csv.old", "status_mix.svg", "data.csv", "config.json",
    "notes.txt", ".hidden", "-rf", "a\nb.sqlite", "caf\N{LATIN SMALL LETTER E WITH ACUTE}.parquet",
    "\N{SLICE OF PIZZA}.sqlite", "x" * 247 + ".parquet", "  .sqlite", "*.parquet", "%s.sqlite",
)  # fmt: skip
# Names that are ours, where something is that is no file.
OURS = (
    f"payments-first-{HEX[:12]}.parquet", f"payments-2024-05-01-{HEX}.parquet", f"{HEX[::-1]}.sqlite",
    ".p2p-archive-abc_0123.part",
)  # fmt: skip


def furnish(folder: Path) -> None:
    """Fill a folder with the user's own files, links, pipes, sockets and folders, all long untouched."""
    folder.mkdir(exist_ok=True, parents=True)
    for number, name in enumerate(NEARLY):
        path = folder / name
        if ".sqlite" in name:
            database = sqlite3.connect(path)
            # One of another program, and one that says nothing of its origin.
            database.execute(f"PRAGMA application_id = {number % 2 * 1234}")
            database.execute("CREATE TABLE answers (key TEXT PRIMARY KEY, expires REAL)")
            database.execute("INSERT INTO answers VALUES ('mine', 0)")
            database.commit()
            database.close()
        elif ".parquet" in name:
            pd.DataFrame({"mine": [number]}).to_parquet(path)
        else:
            path.write_text(f"mine {number}")
        path.chmod((0o644, 0o600, 0o400, 0o777)[number % 4])
    (folder / os.fsdecode(b"not-utf8-\xff.sqlite")).write_bytes(b"mine")
    (folder / "link.sqlite").symlink_to(folder / "taxes.sqlite")
    (folder / "link to nothing.parquet").symlink_to(folder / "nothing")
    (folder / OURS[0]).symlink_to(folder / "holiday.parquet")
    (folder / OURS[1]).mkdir()
    (folder / OURS[1] / "inner.parquet").write_text("mine")
    os.mkfifo(folder / OURS[2])
    (folder / OURS[3]).symlink_to(folder / "data.csv")
    os.mkfifo(folder / "pipe.sqlite", 0o644)
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(folder)  # an address of a socket is short
        try:
            listening.bind("socket.parquet")
        finally:
            os.chdir(here)
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / f"{HEX}.sqlite").write_text("mine")
    for path in folder.rglob("*"):
        os.utime(path, (OLD, OLD), follow_symlinks=False)


def state_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return all that can be seen of the things in a folder: kind and mode, when they changed, and what they hold."""
    found = {}
    for path in folder.rglob("*"):
        about = path.lstat()
        content: object = None
        if stat.S_ISREG(about.st_mode):
            content = path.read_bytes()
        elif stat.S_ISLNK(about.st_mode):
            content = path.readlink()
        changed = None if stat.S_ISDIR(about.st_mode) else about.st_mtime_ns
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_ino, changed, content)
    return found


def kept_of(before: dict[str, tuple[object, ...]], folder: Path) -> dict[str, tuple[object, ...]]:
    """Return what is there now of what was there before."""
    now = state_of(folder)
    return {name: now.get(name, ("gone",)) for name in before}


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """Return a folder with the folders of cache, archive, state and output, and the user's files in and beside them."""
    for name in ("cache", "archive", "state", "out"):
        monkeypatch.setenv(f"P2P_{name.upper()}_DIR", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def town(monkeypatch) -> Iterator[p2p.sandbox.SandboxServer]:
    """Serve a town, and let the commands find it."""
    with p2p.sandbox.SandboxServer(seed=7, people=5, years=1) as server:
        monkeypatch.setenv("P2P_BASE_URL", server.base_url)
        monkeypatch.setenv("P2P_CLIENT_ID", server.client_id)
        yield server


def run(*words: str) -> int:
    """Run a command, and return its exit code; wrong use counts as failed."""
    try:
        return cli.main(words)
    except SystemExit as ended:
        return int(ended.code or 0)


@pytest.mark.filterwarnings("default::ResourceWarning")  # a command that failed
def test_the_user_s_own_files_stay_as_they_are(home, town, monkeypatch, capsys) -> None:
    """Content, mode, time and targets of links, in and beside every folder, after all commands, failed ones too."""
    archive = home / "archive"
    token = town.token(town.viewer)
    monkeypatch.setattr("sys.stdin", io.StringIO(token))
    assert run("sync", str(archive)) == 1, "nobody is signed in, and the archive's folder must be empty at first"
    assert run("login", "--token-stdin") == 0
    assert run("sync", str(archive)) == 0
    ours = state_of(home)
    for folder in (home, home / "cache", archive, home / "state", home / "out", home / "website"):
        furnish(folder)
    (home / "website" / "manifest.json").write_text('{"name": "A web application", "payments": []}')
    (home / "website" / "lock").write_text("mine")
    before = {name: seen for name, seen in state_of(home).items() if name not in ours}
    assert len(before) > 6 * len(NEARLY)

    out = str(home / "out")
    works = [
        ["demo", "--out", out, "--people", "5", "--years", "1"],
        ["demo", "--out", out, "--people", "5", "--years", "1", "--privacy"],
        ["whoami"],
        ["sync", str(archive)],
        ["verify", str(archive)],
        ["sync", "--refresh", str(archive)],
        ["sync", str(archive)],
        ["export", str(archive), f"{out}/months.csv", "--table", "monthly_flow"],
        ["export", str(archive), f"{out}/payments.parquet.new.parquet"],
        ["report", str(archive), "--out", f"{out}/mine.html", "--privacy"],
    ]
    for words in works:
        assert run(*words) == 0, words
    fails = [
        ["demo", "--out", str(home / "data.csv")],
        ["demo", "--out", str(home / "pipe.sqlite")],
        ["sandbox", "--db", str(home / "taxes.sqlite")],
        ["sandbox", "--db", str(home / "pipe.sqlite")],
        ["sync", str(home)],
        ["sync", str(home / "website")],
        ["sync", "--refresh", str(home / "website")],
        ["verify", str(home / "website")],
        ["export", str(home / "website"), f"{out}/x.csv"],
        ["sync", str(home / "data.csv")],
        ["sync", str(home / "pipe.sqlite")],
        ["verify", str(home / "none")],
        ["export", str(archive), str(home / "link to nothing.parquet")],
        ["export", str(archive), str(home / "socket.parquet")],
        ["export", str(archive), str(home / OURS[1])],
        ["report", str(archive), "--out", str(home / "pipe.sqlite")],
        ["report", str(archive), "--out", str(home / "deep")],
        ["report", str(home / "website")],
    ]
    for words in fails:
        assert run(*words) in {1, 2}, words
    # What is broken is set aside and loaded again, and the user's files are still nobody else's.
    next(archive.glob("friends-*.parquet")).write_bytes(b"")
    assert run("sync", str(archive)) == 0
    (archive / "manifest.json").write_bytes(b"{")
    assert run("sync", str(archive)) == 0
    assert run("verify", str(archive)) == 0
    (home / "state" / "sign-in.json").write_text("{")
    assert run("whoami") == 1
    assert run("logout") == 0
    capsys.readouterr()
    assert kept_of(before, home) == before


def test_a_folder_that_is_named_like_the_sandbox_s_own_stays(tmp_path, monkeypatch) -> None:
    """Only what a killed sandbox left is removed from the system's folder of temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("p2p-sandbox-mine", "p2p-sandbox-abcdefg", "p2p-sandbox-abcdefgh", "p2p-sandbox-pipe_pip"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("mine")
    (tmp_path / "p2p-sandbox-mine" / "in-use").touch()
    (tmp_path / "p2p-sandbox-abcdefgh" / "in-use").write_text("mine")
    os.mkfifo(tmp_path / "p2p-sandbox-pipe_pip" / "in-use")
    (tmp_path / "p2p-sandbox-01234567").mkdir()
    (tmp_path / "p2p-sandbox-01234567" / "in-use").touch()
    before = state_of(tmp_path)
    with p2p.sandbox.SandboxServer(seed=7, people=3, years=1):
        pass
    left = {name: seen for name, seen in before.items() if not name.startswith("p2p-sandbox-01234567")}
    assert state_of(tmp_path) == left


# ---- the cache's folder


def cache_of(folder: Path, account: str = "7") -> AccountCache:
    """Return an account's cache that has kept something."""
    cache = AccountCache(folder, "https://pay.invalid/v1", account)
    cache.storage["key"] = _Response()
    return cache


class _Response:
    created_at = expires = None
    content = b'{"data": []}'


def test_only_files_with_our_name_and_our_mark_are_removed(tmp_path) -> None:
    """A month later: ours is removed with its journals; the same file under another name, or unmarked, stays."""
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
        os.utime(path, (OLD, OLD), follow_symlinks=False)
    AccountCache(tmp_path, "https://pay.invalid/v1", "8").storage.close()
    assert sorted(tmp_path.iterdir()) == [path for path in before if path not in {cache.storage.path, journal}]
    assert {path: path.read_bytes() for path in kept} == kept


def test_another_program_s_database_under_our_name_is_not_used(tmp_path, caplog) -> None:
    """Neither overwritten nor renamed: the load goes on without a cache and says so."""
    path = AccountCache(tmp_path, "https://pay.invalid/v1", "7").storage.path
    for mark in (0, 5):
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as database:
            database.execute(f"PRAGMA application_id = {mark}")
            database.execute("CREATE TABLE answers (key TEXT PRIMARY KEY, expires REAL)")
            database.execute("INSERT INTO answers VALUES ('mine', 0)")
        database.close()
        path.chmod(0o644)
        before = state_of(tmp_path)
        cache = cache_of(tmp_path)
        assert len(cache.storage) == 0
        assert cache.storage.disabled
        assert state_of(tmp_path) == before
    assert "another program's database" in caplog.text


def test_a_cache_of_the_version_before_is_emptied_and_marked(tmp_path) -> None:
    """Its windows came whole by rules that have been found too weak."""
    path = AccountCache(tmp_path, "https://pay.invalid/v1", "7").storage.path
    with sqlite3.connect(path) as database:
        database.executescript("""
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, given REAL NOT NULL, expires REAL NOT NULL, body BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS windows (
    end_us INTEGER PRIMARY KEY, start_us INTEGER NOT NULL
);
INSERT INTO windows VALUES (1700000000000000, 1600000000000000);
INSERT INTO answers VALUES ('brief x', 1, 9e9, x'00');
""")
    database.close()
    cache = AccountCache(tmp_path, "https://pay.invalid/v1", "7")
    assert cache.storage.read_windows() == []
    assert len(cache.storage) == 0
    assert not cache.storage.disabled
    cache.storage.close()
    assert int.from_bytes(path.read_bytes()[68:72], "big") != 0


def test_damaged_files_are_set_aside_under_names_of_their_own(tmp_path) -> None:
    """The second one does not replace the first, nor a file of the user's."""
    path = AccountCache(tmp_path, "https://pay.invalid/v1", "7").storage.path
    mine = path.with_suffix(".corrupt")
    mine.write_text("mine")
    for content in (b"first" * 999, b"second" * 999):
        path.write_bytes(content)
        cache_of(tmp_path).storage.close()
    aside = {file.read_bytes()[:5] for file in tmp_path.glob("*.corrupt") if file != mine}
    assert aside == {b"first", b"secon"}
    assert mine.read_text() == "mine"


# ---- pipes, devices, links


def kinds(folder: Path) -> dict[str, Path]:
    """Make one of each thing that is no file."""
    made = {name: folder / name for name in ("pipe", "folder", "socket", "link to nothing", "link to a pipe", "loop")}
    os.mkfifo(made["pipe"])
    made["folder"].mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(folder)
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
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


WRITERS: dict[str, Callable[[Path], object]] = {
    "to_csv": lambda path: p2p.to_csv(pd.DataFrame({"note": ["x"]}), path),
    "to_parquet": lambda path: p2p.to_parquet(pd.DataFrame({"note": ["x"]}), path),
}
READERS: dict[str, Callable[[Path], object]] = {
    "read_csv": p2p.read_csv,
    "read_parquet": p2p.read_parquet,
    "open_archive": lambda path: p2p.open_archive(path).history(),
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_no_file_is_not_replaced(tmp_path, name) -> None:
    """One sentence that says what it is; it is as it was, and nothing is left beside it."""
    things = kinds(tmp_path)
    before = state_of(tmp_path)
    for path in things.values():
        with pytest.raises(ConfigurationError, match=r"is not replaced: give the name of a file\.$"):
            WRITERS[name](path)
        assert state_of(tmp_path) == before


@pytest.mark.parametrize("name", WRITERS)
def test_a_link_into_proc_is_not_replaced(tmp_path, name) -> None:
    """As /dev/stdout is one, also where the output goes into a file."""
    with (tmp_path / "output").open("wb") as output:
        link = tmp_path / "stdout"
        link.symlink_to(f"/proc/self/fd/{output.fileno()}")
        with pytest.raises(ConfigurationError, match="is not replaced"):
            WRITERS[name](link)
    assert link.is_symlink()


@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_is_not_read(tmp_path, name) -> None:
    """A typed error at once: opening a pipe in the usual way would wait for ever."""
    for path in kinds(tmp_path).values():
        with pytest.raises((ConfigurationError, ArchiveError)) as caught:
            READERS[name](path)
        assert "\n" not in str(caught.value)


def test_a_link_to_a_file_is_read(tmp_path) -> None:
    """Only what is written under a link's name replaces it."""
    p2p.to_csv(pd.DataFrame({"note": ["x"]}), tmp_path / "f.csv")
    (tmp_path / "link.csv").symlink_to(tmp_path / "f.csv")
    assert p2p.read_csv(tmp_path / "link.csv")["note"].tolist() == ["x"]


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "link to a pipe", "link to nothing", "loop"])
def test_what_is_no_file_under_a_name_of_our_own(tmp_path, monkeypatch, kind) -> None:
    """Key, sign-in, lock, cache and certificates: a typed error or none, no wait, and the thing stays as it was."""
    thing = kinds(tmp_path)[kind]

    def at(path: Path) -> Path:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        thing.replace(path) if not thing.is_symlink() else path.symlink_to(thing.readlink())
        return path

    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "state"))
    key = at(tmp_path / "state" / "privacy.key")
    before = key.lstat()
    with pytest.raises(ConfigurationError):
        load_key()
    assert (key.lstat().st_mode, key.lstat().st_ino) == (before.st_mode, before.st_ino)
    sign_in = key.rename(tmp_path / "state" / "sign-in.json")
    with pytest.raises(TokenError):
        FileStore().load()
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(sign_in))
    if kind != "folder":
        with pytest.raises(ConfigurationError):
            settings.ca_bundle()
    lock = sign_in.rename(tmp_path / "state" / "sign-in.lock")
    with pytest.raises(P2PAnalyticsError):
        cli_lock()
    cache = AccountCache(tmp_path / "state", "https://pay.invalid/v1", "7")
    under = lock.rename(cache.storage.path)
    assert cache.storage.read_windows() == []
    assert cache.storage.disabled
    assert (under.lstat().st_mode, under.lstat().st_ino) == (before.st_mode, before.st_ino)


def cli_lock() -> None:
    """Take the lock of the kept sign-in."""
    from p2p_analytics.auth import lock_sign_in

    with lock_sign_in():
        pass


@pytest.fixture
def archive(tmp_path) -> Path:
    """Return the path of an archive of the smallest town."""
    with p2p.sandbox.SandboxServer(seed=7, people=3, years=1) as server:
        client = p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False)
        with client:
            p2p.open_archive(tmp_path / "archive").sync(client)
    return tmp_path / "archive"


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "link to a pipe", "link to nothing", "a link to itself"])
@pytest.mark.parametrize("which", ["manifest", "payments", "friends", "lock"])
def test_what_is_no_file_in_an_archive(archive, tmp_path, which, kind) -> None:
    """It is neither read, followed, renamed nor replaced: an error names it and says to move it away."""
    history = p2p.open_archive(archive).history()
    path = next(archive.glob(f"{which}*"))
    if kind == "a link to itself":
        path.rename(tmp_path / "moved")
        path.symlink_to(tmp_path / "moved")
    else:
        (tmp_path / "kinds").mkdir()
        thing = kinds(tmp_path / "kinds")[kind]
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


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o277])
def test_the_demo_s_folder_is_private(tmp_path, umask, monkeypatch) -> None:
    """One that it makes, and those above, are 0700 under any umask; one that is there keeps its mode. Files: 0600."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    for out in (tmp_path / "above" / "new", tmp_path / "open"):
        before = os.umask(umask)
        try:
            assert run("demo", "--out", str(out), "--people", "3", "--years", "1") == 0
        finally:
            os.umask(before)
        assert {stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()} == {0o600}
    assert stat.S_IMODE((tmp_path / "above" / "new").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "above").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o755


def test_the_demo_changes_no_file_where_one_cannot_be_written(tmp_path, capsys) -> None:
    """What stands in the place of its last file is found before the first one is replaced."""
    out = tmp_path / "out"
    (out / "friends.csv").mkdir(parents=True)
    (out / "report.html").write_text("of the run before")
    assert run("demo", "--out", str(out), "--people", "3", "--years", "1") == 1
    assert "is a folder and is not replaced" in capsys.readouterr().err
    assert sorted(path.name for path in out.iterdir()) == ["friends.csv", "report.html"]
    assert (out / "report.html").read_text() == "of the run before"
