"""Other programs' files in folders, and snapshots of folders, which show that nothing in them has changed."""

import contextlib
import socket
import sqlite3
import stat
import time
from pathlib import Path

HEX = "0123456789abcdef0123456789abcdef"  # A file name in the form that this package uses.
LONG_AGO = time.time() - 400 * 86_400  # Older than anything that this package keeps.


def make_database(path: Path, mark: int) -> None:
    """Write a database of another program, with a mark or 0."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(f"PRAGMA application_id = {mark}")
        database.execute("CREATE TABLE answers (key TEXT PRIMARY KEY, expires REAL)")
        database.execute("INSERT INTO answers VALUES ('mine', 0)")


def make_socket(path: Path) -> None:
    """Bind a socket, from its folder, because the address of a socket has a short limit."""
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(path.parent):
        listening.bind(path.name)


def state_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return kind, mode, times and contents of everything in a folder."""
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
