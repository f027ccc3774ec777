"""The database file of a sandbox: reused for the same town, and refused if it holds anything else."""

from __future__ import annotations

import contextlib
import sqlite3
import stat
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.sandbox import SandboxServer, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Asking = Callable[..., Any]


def test_a_database_file_is_used_again(ask: Asking, tmp_path: Path) -> None:
    """A file keeps its town, crafted payments and tokens; it is its owner's alone; other settings are refused."""
    path = tmp_path / "town.sqlite"
    with SandboxServer(5, people=3, years=1, db=path) as first:
        token = first.token(first.viewer)
        (made,) = first.add_payments(first.viewer, [{"date_created": first.now, "note": "kept"}])
        modes = {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
    assert modes == {0o600}
    with SandboxServer(5, people=3, years=1, db=path) as second:
        me = ask(on=second, token=token)
        assert me.get_body(f"/payments/{made}")["data"]["note"] == "kept"
        me.session.close()
    with pytest.raises(SettingError, match="another town"), SandboxServer(6, people=3, years=1, db=path):
        pass


TOWN = """
import sys
from p2p_analytics.sandbox import SandboxServer
with SandboxServer(5, people=20, years=2, db=sys.argv[1]) as server:
    print(len(server.people), flush=True)
    sys.stdin.read()
"""


def test_several_processes_share_a_new_file(tmp_path: Path) -> None:
    """Three processes that start on the same new file at once all serve the town that one of them made."""
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(  # noqa: S603 - our own code
                    [sys.executable, "-c", TOWN, str(tmp_path / "db")],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(3)
        ]
        lines = [process.stdout.readline() for process in processes]
        outcomes = [process.communicate(timeout=20) for process in processes]
    assert (lines, outcomes) == (["20\n"] * 3, [("", "")] * 3)


def test_a_file_of_another_version(tmp_path: Path) -> None:
    """A file with tables of another version of the sandbox is refused at the start, instead of failing at a request."""
    path = tmp_path / "db"
    with SandboxServer(people=3, years=1, db=path):
        pass
    with contextlib.closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        connection.execute(f"PRAGMA user_version = {version - 1}")
    with pytest.raises(SettingError, match="another version"), SandboxServer(people=3, years=1, db=path):
        pass


@pytest.mark.parametrize(
    "alteration",
    [
        "ALTER TABLE users ADD COLUMN nickname TEXT",
        "ALTER TABLE payments RENAME COLUMN note TO remark",
        "DROP TABLE banks",
        "DROP INDEX party_kind",
        "DROP TRIGGER entries_are_not_removed",
        "ALTER TABLE oauth_tokens ADD COLUMN ip TEXT",
        "DROP TABLE settings",
    ],
)
def test_a_file_whose_tables_were_altered(tmp_path: Path, alteration: str) -> None:
    """It is refused with one sentence at the start, instead of failing at some request; further tables do no harm."""
    path = tmp_path / "db"
    with SandboxServer(people=3, years=1, db=path):
        pass
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE my_notes (text)")
    with SandboxServer(people=3, years=1, db=path):
        pass
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(alteration)
    with pytest.raises(SettingError, match=r"choose another file\.$"), SandboxServer(people=3, years=1, db=path):
        pass


def foreign_database() -> bytes:
    """Return a database of something else."""
    connection = sqlite3.connect(":memory:")
    with contextlib.closing(connection):
        connection.execute("CREATE TABLE settings (x)")
        return connection.serialize()


@pytest.mark.parametrize("content", [b"no database, but long enough for one" * 40, b"x", foreign_database()])
def test_a_file_that_is_no_sandbox(tmp_path: Path, content: bytes) -> None:
    """A file that is something else is refused, and stays as it was."""
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(SettingError, match="not a sandbox database"), SandboxServer(db=path):
        pass
    assert path.read_bytes() == content
