"""Files that appear whole or not at all, reads that never block, locks, and one clear sentence per failure."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from p2p_analytics.errors import ConfigurationError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

_LONGEST_REASON: Final = 200
_LOOK_SECONDS: Final = 0.05


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str], *, prefix: str = ".p2p-") -> Iterator[IO[bytes]]:
    """Open a private file that appears under its path when all of it is written, or not at all.

    Until then its name is the prefix, eight random characters and ".part".

    Raises
    ------
    ConfigurationError
        The file cannot be written there, or something is there that is neither a file nor a link to one; it is
        untouched.
    """
    path = checked(path)
    temporary: str | None = None
    try:
        require_replaceable(path)
        # mkstemp makes a new file (O_EXCL) that only its owner may read, beside the target: a rename is atomic
        # only within one file system.
        descriptor, temporary = tempfile.mkstemp(prefix=prefix, suffix=".part", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)  # whatever the umask takes away
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)  # noqa: PTH105 - Path.replace would do the same with one object more
        temporary = None
        synced(path.parent)
    except OSError as error:
        raise ConfigurationError(f"Cannot write {path}: {_reason(error)}.") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def open_regular(path: str | os.PathLike[str], *, follow_links: bool = True) -> IO[bytes]:
    """Open a regular file for reading, without waiting: opening a named pipe would block until somebody writes.

    Raises
    ------
    NotRegularFileError
        Something else has that name; a link too, where links are not followed.
    OSError
        The file cannot be opened.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        # A socket cannot be opened at all, nor a link that is not followed.
        if error.errno == errno.ENXIO or (error.errno == errno.ELOOP and not follow_links):
            raise NotRegularFileError(Path(path).stat(follow_symlinks=follow_links)) from None
        raise
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        raise NotRegularFileError(about)
    return os.fdopen(descriptor, "rb")


class NotRegularFileError(OSError):
    """The path leads to a folder, pipe, socket or device, or is a link where none is followed."""

    def __init__(self, about: os.stat_result) -> None:
        self.reason = f"it is {_kind(about.st_mode)}, not a file"
        super().__init__(errno.EINVAL, self.reason)


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISLNK, "a link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((words for is_kind, words in kinds if is_kind(mode)), "a device")


def is_regular(path: Path) -> bool:
    """Return whether a path is a regular file; a link to one is not."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def require_replaceable(path: Path) -> None:
    """Raise a ConfigurationError where replacing the path would destroy something other than a file.

    A link to a file may be replaced; the file that it leads to stays.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    # /dev/stdout and its like are links into /proc that the system needs, also where they lead to a file.
    if path.is_file() and not (stat.S_ISLNK(mode) and str(path.readlink()).startswith("/proc/")):
        return
    kind = "a link that leads to no file" if stat.S_ISLNK(mode) else _kind(mode)
    raise ConfigurationError(f"{path} is {kind} and is not replaced: give the name of a file.")


def synced(folder: Path) -> None:
    """Wait until the names in a folder are on the disk: after a crash a rename counts only then."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def exclusive(path: Path, *, seconds: float) -> Iterator[None]:
    """Hold a lock file for the time of the block; a process that ends in any way lets it go.

    Raises
    ------
    BlockingIOError
        Somebody else has held it for so many seconds.
    OSError
        The file cannot be made, or something other than a file has its name.
    """
    import fcntl

    give_up_at = time.monotonic() + seconds
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode):
        os.close(descriptor)
        raise NotRegularFileError(about)
    with os.fdopen(descriptor, "rb") as file:
        os.fchmod(file.fileno(), 0o600)
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= give_up_at:
                    raise
                time.sleep(_LOOK_SECONDS)
        yield


def checked(path: str | os.PathLike[str]) -> Path:
    """Return a path that a file can have: the system refuses NUL with an error of another kind."""
    if "\0" in os.fspath(path):
        raise ConfigurationError(f"{os.fspath(path)!r} is no file name: it holds a NUL.")
    return Path(path)


@contextlib.contextmanager
def readable(path: Path, *, private: bool) -> Iterator[IO[bytes]]:
    """Open a file and turn what goes wrong while a table is read from it into this package's errors.

    In privacy mode they quote no cell.
    """
    import pyarrow as pa

    try:
        with open_regular(path) as file:
            yield file
    except pa.ArrowInvalid as error:
        reason = "what it says is not shown in privacy mode" if private else _plain(str(error))
        raise SchemaError(f"{path} cannot be read as a table: {reason}.") from None
    except OSError as error:
        raise ConfigurationError(f"Cannot read {path}: {_reason(error)}.") from None


def _plain(said: str) -> str:
    """Return the first line of what a library said, short and without the bytes of some file that is no text."""
    kept = "".join(char for char in said.splitlines()[0] if char.isprintable() and char != "\ufffd")
    return (kept if len(kept) <= _LONGEST_REASON else f"{kept[:_LONGEST_REASON]}…").rstrip(".")


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file or folder"
    return (error.strerror or str(error)).lower()
