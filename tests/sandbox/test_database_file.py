"""The database file of a sandbox: reused for the same town, and refused if it holds anything else."""

import contextlib
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from p2p_analytics.sandbox import SandboxServer, SettingError


def test_a_database_file_is_used_again(ask, tmp_path) -> None:
    """A file keeps its town, clock, ledger, payments and tokens; it is private; another town is refused."""
    path = tmp_path / "town.sqlite"
    with SandboxServer(5, people=3, years=1, db=path) as first:
        token = first.token(first.viewer)
        (made,) = first.add_payments(first.viewer, [{"date_created": first.now, "note": "kept"}])
        first.advance(days=2)
        first.deposit(first.viewer, 12)
        before = first.now, first.store.people()
        modes = {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
    assert (modes, first.now) == ({0o600}, before[0])
    with SandboxServer(5, people=3, years=1, db=path) as second:
        assert ask(on=second, token=token).get_body(f"/payments/{made}")["data"]["note"] == "kept"
        assert ((second.now, second.store.people()), second.audit()) == (before, [])
    with pytest.raises(SettingError, match="another town"):
        SandboxServer(6, people=3, years=1, db=path).start()


TOWN = """
import sys
from p2p_analytics.sandbox import SandboxServer
with SandboxServer(5, people=5, years=1, db=sys.argv[1]) as server:
    print(len(server.people), flush=True)
    sys.stdin.read()
"""


def test_several_processes_share_a_new_file(tmp_path) -> None:
    """Two processes that start on the same new file at once all serve the town that one of them made."""
    command, pipe = [sys.executable, "-c", TOWN, str(tmp_path / "db")], subprocess.PIPE
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True))  # noqa: S603 - our own code
            for _ in range(2)
        ]
        lines = [process.stdout.readline() for process in processes]
        outcomes = [process.communicate(timeout=20) for process in processes]
    assert (lines, outcomes) == (["5\n"] * 2, [("", "")] * 2)


def _alter(path: Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def test_a_file_whose_tables_were_altered(tmp_path) -> None:
    """It is refused with one sentence at the start, instead of failing at some request; further tables do no harm."""
    path = tmp_path / "whole"
    for _ in range(2):
        with SandboxServer(people=3, years=1, db=path):
            pass
        _alter(path, "CREATE TABLE IF NOT EXISTS my_notes (text)")
    for number, statement in enumerate(
        [
            "PRAGMA user_version = 7", "ALTER TABLE users ADD COLUMN nickname TEXT",
            "ALTER TABLE payments RENAME COLUMN note TO remark", "DROP TABLE banks", "DROP INDEX party_kind",
            "DROP TRIGGER entries_are_not_removed", "ALTER TABLE oauth_tokens ADD COLUMN ip TEXT",
            "DROP TABLE settings",
        ]
    ):  # fmt: skip
        altered = tmp_path / f"{number}"
        altered.write_bytes(path.read_bytes())
        _alter(altered, statement)
        expected = "another version" if "version" in statement else r"choose another file\.$"
        with pytest.raises(SettingError, match=expected):
            SandboxServer(people=3, years=1, db=altered).start()


@pytest.mark.parametrize("content", [b"no database, but long enough for one" * 40, b"x", None])
def test_a_file_that_is_no_sandbox(tmp_path, content: bytes | None) -> None:
    """A file that is something else, a database of another program too, is refused, and stays as it was."""
    path = tmp_path / "notes.txt"
    if content is None:
        _alter(path, "CREATE TABLE settings (x)")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(SettingError, match="not a sandbox database"):
        SandboxServer(db=path).start()
    assert path.read_bytes() == before
