"""Files of the user in and next to the folders of this package: no command changes them."""

from __future__ import annotations

import io
import os
import socket
import sqlite3
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from support.folders import HEX, LONG_AGO, state_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("draw_nothing")

# Names similar to those of this package's files, and such names on files of other kinds.
STATEMENT = Path(__file__).parents[1] / "statements" / "samples" / "gen_d_2024.csv"
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
# Names of this package's files on things that are not regular files.
OURS = (
    f"payments-first-{HEX[:12]}.parquet", f"payments-2024-05-01-{HEX}.parquet", f"{HEX[::-1]}.sqlite",
    ".p2p-archive-abc_0123.part",
)  # fmt: skip


def furnish(folder: Path) -> None:
    """Fill a folder with the user's own files, links, pipes, sockets and folders, all with old dates."""
    folder.mkdir(exist_ok=True, parents=True)
    for number, name in enumerate(NEARLY):
        path = folder / name
        if ".sqlite" in name:
            database = sqlite3.connect(path)
            # Every second database has the mark of another program, the others none.
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
        os.chdir(folder)  # The address of a socket has a short limit.
        try:
            listening.bind("socket.parquet")
        finally:
            os.chdir(here)
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / f"{HEX}.sqlite").write_text("mine")
    for path in folder.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)


def current_state(before: dict[str, tuple[object, ...]], folder: Path) -> dict[str, tuple[object, ...]]:
    """Return the current state of the things of an earlier snapshot."""
    now = state_of(folder)
    return {name: now.get(name, ("gone",)) for name in before}


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """Return a folder with the cache, archive, state and output folders of this test."""
    for name in ("cache", "archive", "state", "out"):
        monkeypatch.setenv(f"P2P_{name.upper()}_DIR", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def town(monkeypatch) -> Iterator[p2p.sandbox.SandboxServer]:
    """Run a sandbox, and name it in the environment of the commands."""
    with p2p.sandbox.SandboxServer(seed=7, people=5, years=1) as server:
        monkeypatch.setenv("P2P_BASE_URL", server.base_url)
        monkeypatch.setenv("P2P_CLIENT_ID", server.client_id)
        yield server


def run(*words: str) -> int:
    """Run a command, and return its exit code."""
    try:
        return cli.main(words)
    except SystemExit as ended:
        return int(ended.code or 0)


@pytest.mark.filterwarnings("default::ResourceWarning")  # a command that failed
def test_the_user_s_own_files_stay_as_they_are(home, town, monkeypatch, capsys) -> None:
    """Content, mode, time and link targets, in and next to each folder, after successful and failed commands."""
    archive = home / "archive"
    token = town.token(town.viewer)
    monkeypatch.setattr("sys.stdin", io.StringIO(token))
    assert run("sync", str(archive)) == 1, "without a sign-in the command fails before it makes the archive"
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
        ["whoami"],
        ["verify", str(archive)],
        ["sync", "--refresh", str(archive)],
        ["export", str(archive), f"{out}/months.csv", "--table", "monthly_flow"],
        ["export", str(archive), f"{out}/payments.parquet.new.parquet"],
        ["report", str(archive), "--out", f"{out}/mine.html", "--privacy"],
        ["import", f"{out}/own", str(STATEMENT)],
        ["people", f"{out}/own"],
        ["undo", f"{out}/own", "--yes"],
    ]
    for words in works:
        assert run(*words) == 0, words
    fails = [
        ["demo", "--out", str(home / "data.csv")],
        ["demo", "--out", str(home / "pipe.sqlite")],
        ["sandbox", "--db", str(home / "taxes.sqlite")],
        ["sync", str(home)],
        ["sync", str(home / "website")],
        ["verify", str(home / "website")],
        ["export", str(home / "website"), f"{out}/x.csv"],
        ["sync", str(home / "data.csv")],
        ["sync", str(home / "pipe.sqlite")],
        ["verify", str(home / "none")],
        ["export", str(archive), str(home / "link to nothing.parquet")],
        ["export", str(archive), str(home / "socket.parquet")],
        ["export", str(archive), str(home / OURS[1])],
        ["report", str(archive), "--out", str(home / "deep")],
        ["report", str(home / "website")],
        ["import", str(home / "website"), str(STATEMENT)],
        ["import", str(home / "data.csv"), str(STATEMENT)],
        ["import", str(archive), str(home / "pipe.sqlite")],
        ["undo", str(home / "website")],
        ["people", str(home / "website")],
    ]
    for words in fails:
        assert run(*words) in {1, 2}, words
    # Broken files are set aside and loaded again, still without a change to the user's files.
    next(archive.glob("friends-*.parquet")).write_bytes(b"")
    assert run("sync", str(archive)) == 0
    (archive / "manifest.json").write_bytes(b"{")
    assert run("sync", str(archive)) == 0
    assert run("verify", str(archive)) == 0
    (home / "state" / "sign-in.json").write_text("{")
    assert run("whoami") == 1
    assert run("logout") == 0
    capsys.readouterr()
    assert current_state(before, home) == before


def test_a_folder_that_is_named_like_the_sandbox_s_own_stays(tmp_path, monkeypatch) -> None:
    """Only the leftovers of a killed sandbox are removed from the system's temporary folder."""
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


@pytest.mark.parametrize("umask", [0o000, 0o277])
def test_the_demo_s_folder_is_private(tmp_path, umask) -> None:
    """New folders are 0700 under any umask, an existing one keeps its mode, and files are 0600."""
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
    """A folder in the place of the last file is found before the first file is replaced."""
    out = tmp_path / "out"
    (out / "friends.csv").mkdir(parents=True)
    (out / "report.html").write_text("of the run before")
    assert run("demo", "--out", str(out), "--people", "3", "--years", "1") == 1
    assert "is a folder and is not replaced" in capsys.readouterr().err
    assert sorted(path.name for path in out.iterdir()) == ["friends.csv", "report.html"]
    assert (out / "report.html").read_text() == "of the run before"
