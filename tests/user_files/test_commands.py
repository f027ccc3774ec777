"""Files of the user in and next to the folders of this package: no command changes them."""

import io
import os
import shlex
import stat
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from support.folders import HEX, LONG_AGO, make_database, make_socket, state_of
from support.statements.files import SAMPLES

pytestmark = pytest.mark.usefixtures("draw_nothing")

# Names similar to those of this package's files, and such names on files of other kinds.
STATEMENT = shlex.quote(str(SAMPLES["gen_d_2024"]))  # in a command
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


# Commands in a folder with the folders cache, archive, state, out and website.
WORKS = (
    "demo --out out --people 3 --years 1", "whoami", "verify archive", "sync --refresh archive",
    "export archive out/months.csv --table monthly_flow", "export archive out/payments.parquet.new.parquet",
    "report archive --out out/mine.html --privacy", f"import out/own {STATEMENT}", "people out/own",
    "undo out/own --yes",
)  # fmt: skip
FAILS = (
    "demo --out data.csv", "demo --out pipe.sqlite", "sandbox --db taxes.sqlite", "sync .", "sync website",
    "verify website", "export website out/x.csv", "sync data.csv", "sync pipe.sqlite", "verify none",
    "export archive 'link to nothing.parquet'", "export archive socket.parquet", f"export archive {OURS[1]}",
    "report archive --out deep", "report website", f"import website {STATEMENT}", f"import data.csv {STATEMENT}",
    "import archive pipe.sqlite", "undo website", "people website",
)  # fmt: skip


def furnish(folder: Path) -> None:
    """Fill a folder with the user's own files, links, pipes, sockets and folders, all with old dates."""
    folder.mkdir(exist_ok=True, parents=True)
    for number, name in enumerate(NEARLY):
        path = folder / name
        if ".sqlite" in name:
            make_database(path, number % 2 * 1234)  # every second one has the mark of another program, the others none
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
    make_socket(folder / "socket.parquet")
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / f"{HEX}.sqlite").write_text("mine")
    for path in folder.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    """Return a folder with the cache, archive, state and output folders of this test."""
    for name in ("cache", "archive", "state", "out"):
        monkeypatch.setenv(f"P2P_{name.upper()}_DIR", str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> int:
    """Run a command, and return its exit code."""
    try:
        return cli.main(words)
    except SystemExit as ended:
        return int(ended.code or 0)


@pytest.mark.filterwarnings("default::ResourceWarning")  # a command that failed
def test_the_user_s_own_files_stay_as_they_are(home, server, monkeypatch) -> None:
    """Content, mode, time and link targets, in and next to each folder, after successful and failed commands."""
    archive = home / "archive"
    monkeypatch.setenv("P2P_BASE_URL", server.base_url)
    monkeypatch.setenv("P2P_CLIENT_ID", server.client_id)
    monkeypatch.setattr("sys.stdin", io.StringIO(server.token(server.viewer)))
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

    for line in WORKS:
        assert run(*shlex.split(line)) == 0, line
    for line in FAILS:
        assert run(*shlex.split(line)) in {1, 2}, line
    # Broken files are set aside and loaded again, still without a change to the user's files.
    next(archive.glob("friends-*.parquet")).write_bytes(b"")
    assert run("sync", str(archive)) == 0
    (archive / "manifest.json").write_bytes(b"{")
    assert run("sync", str(archive)) == 0
    assert run("verify", str(archive)) == 0
    (home / "state" / "sign-in.json").write_text("{")
    assert run("whoami") == 1
    assert run("logout") == 0
    after = state_of(home)
    assert {name: after.get(name) for name in before} == before


def test_a_folder_that_is_named_like_the_sandbox_s_own_stays(tmp_path, monkeypatch) -> None:
    """Only the leftovers of a killed sandbox are removed from the system's temporary folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("mine", "abcdefg", "abcdefgh", "pipe_pip", "01234567"):
        (tmp_path / f"p2p-sandbox-{name}").mkdir()
        if name != "01234567":  # the leftover
            (tmp_path / f"p2p-sandbox-{name}" / "thesis.txt").write_text("mine")
    for name, text in (("mine", ""), ("abcdefgh", "mine"), ("01234567", "")):
        (tmp_path / f"p2p-sandbox-{name}" / "in-use").write_text(text)
    os.mkfifo(tmp_path / "p2p-sandbox-pipe_pip" / "in-use")
    before = state_of(tmp_path)
    with p2p.sandbox.SandboxServer(seed=7, people=3, years=1):
        pass
    left = {name: seen for name, seen in before.items() if not name.startswith("p2p-sandbox-01234567")}
    assert state_of(tmp_path) == left


def test_the_demo_s_folder_is_private(tmp_path) -> None:
    """New folders are 0700 with an open or a closed umask, an existing one keeps its mode, and files are 0600."""
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    for umask, name in ((0o000, "above/new"), (0o077, "other/new"), (0o000, "open")):
        before = os.umask(umask)
        try:
            assert run("demo", "--out", str(tmp_path / name), "--people", "3", "--years", "1") == 0
        finally:
            os.umask(before)
    found = {name: stat.S_IMODE(mode) for name, (mode, *_) in state_of(tmp_path).items()}
    assert {mode for name, mode in found.items() if "." in name} == {0o600}
    folders = {"above": 0o700, "above/new": 0o700, "other": 0o700, "other/new": 0o700, "open": 0o755}
    assert {name: mode for name, mode in found.items() if "." not in name} == folders


def test_the_demo_changes_no_file_where_one_cannot_be_written(tmp_path, capsys) -> None:
    """A folder in the place of the last file is found before the first file is replaced."""
    out = tmp_path / "out"
    (out / "friends.csv").mkdir(parents=True)
    (out / "report.html").write_text("of the run before")
    assert run("demo", "--out", str(out), "--people", "3", "--years", "1") == 1
    assert "is a folder and is not replaced" in capsys.readouterr().err
    assert sorted(path.name for path in out.iterdir()) == ["friends.csv", "report.html"]
    assert (out / "report.html").read_text() == "of the run before"
