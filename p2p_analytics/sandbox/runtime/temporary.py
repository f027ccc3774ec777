"""The temporary folder of a sandbox without a file of its own: gone at its end, after a kill at the next start.

A folder holds a file that its process keeps locked. The system ends the lock with the process, however that
ends, so a folder whose file can be locked is nobody's any longer.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX: Final = "p2p-sandbox-"
_NAME: Final = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}", re.ASCII)  # as `tempfile` makes them
_LOCK: Final = "in-use"


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Hold a private folder until the end of the block; remove those that killed sandboxes of this user left."""
    _remove_abandoned()
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name, _lock(Path(name)) as folder:
        yield folder


if sys.platform == "win32":  # it has no such locks: there a killed sandbox's folder stays

    def _remove_abandoned() -> None: ...

    def _lock(folder: Path) -> contextlib.AbstractContextManager[Path]:
        return contextlib.nullcontext(folder)

else:
    import fcntl

    _AT_ONCE: Final = fcntl.LOCK_EX | fcntl.LOCK_NB

    def _remove_abandoned() -> None:
        for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            # What cannot be opened or locked is in use, somebody else's, or something else.
            with contextlib.suppress(OSError):
                if not _NAME.fullmatch(folder.name) or folder.is_symlink() or folder.stat().st_uid != os.getuid():
                    continue
                descriptor = os.open(folder / _LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                with os.fdopen(descriptor, "rb") as lock:
                    about = os.fstat(descriptor)
                    if stat.S_ISREG(about.st_mode) and not about.st_size:  # else it is not our lock
                        fcntl.flock(lock, _AT_ONCE)
                        shutil.rmtree(folder, ignore_errors=True)

    @contextlib.contextmanager
    def _lock(folder: Path) -> Iterator[Path]:
        draft = folder / f"{_LOCK}.new"
        with draft.open("wb") as lock:
            fcntl.flock(lock, _AT_ONCE)
            draft.rename(folder / _LOCK)  # locked before it has the name that others look for
            yield folder
