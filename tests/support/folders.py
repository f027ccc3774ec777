"""Snapshots of folders, which show that nothing in them has changed."""

from __future__ import annotations

import stat
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

HEX = "0123456789abcdef0123456789abcdef"  # A file name in the form that this package uses.
LONG_AGO = time.time() - 400 * 86_400  # Older than anything that this package keeps.


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
