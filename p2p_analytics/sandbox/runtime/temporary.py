"""Temporary folder of a sandbox without a database file; after a kill it is removed at the next start.

Each folder has a file that its process keeps locked. The operating system releases the lock when the process ends,
so a folder with an unlocked file is abandoned.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PREFIX: Final = "p2p-sandbox-"
_NAME: Final = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}", re.ASCII)  # as `tempfile` makes them
_LOCK: Final = "in-use"
_AT_ONCE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Create a private folder for the block; remove abandoned folders of killed sandboxes of this user."""
    _remove_abandoned()
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        draft = folder / f"{_LOCK}.new"
        with draft.open("wb") as lock:
            fcntl.flock(lock, _AT_ONCE)
            draft.rename(folder / _LOCK)  # locked before it gets the name that other processes check
            yield folder


def _remove_abandoned() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        # A folder that cannot be opened or locked is in use, of another user, or not a sandbox's.
        with contextlib.suppress(OSError):
            if not _NAME.fullmatch(folder.name) or folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            descriptor = os.open(folder / _LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as lock:
                about = os.fstat(descriptor)
                if stat.S_ISREG(about.st_mode) and not about.st_size:  # otherwise it is not a lock file of ours
                    fcntl.flock(lock, _AT_ONCE)
                    shutil.rmtree(folder, ignore_errors=True)
