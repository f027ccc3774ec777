"""Atomic writes, reads that never block, lock files, and one clear sentence for each failure."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import pyarrow as pa

from p2p_analytics.errors import ConfigurationError, SchemaError, describe_os_error, describe_type

_LONGEST_REASON: Final = 200
_POLL_SECONDS: Final = 0.05
# Each archive has a file of such a name.
_ARCHIVE_FILE: Final = re.compile(
    r"(payments-(first|\d{4}-\d\d-\d\d)|rows)-([0-9a-f]{32}|[0-9a-f]{12})\.parquet", re.ASCII
)


class NotRegularFileError(OSError):
    """The path is a folder, pipe, socket or device, or a link where links are not followed."""

    def __init__(self, status: os.stat_result) -> None:
        self.reason = f"it is {_describe_kind(status.st_mode)}, not a file"
        super().__init__(errno.EINVAL, self.reason)


@contextlib.contextmanager
def atomic_file(
    path: str | os.PathLike[str], *, prefix: str = ".p2p-", in_archive: bool = False
) -> Iterator[IO[bytes]]:
    """Open a private file for writing that replaces the path when the block ends, and only if all was written.

    Until then its name is the prefix, eight random characters and ".part". The archive alone writes into its folder.

    Raises
    ------
    ConfigurationError
        The file cannot be written, the path is neither a file nor a link to one, or it is in the folder of an archive;
        it stays unchanged.
    """
    with _replacement(path, prefix, in_archive=in_archive) as (descriptor, _), os.fdopen(descriptor, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str], *, prefix: str = ".p2p-") -> Iterator[Path]:
    """Make a private, empty file for a library that opens it by name; it replaces the path as in `atomic_file`."""
    with _replacement(path, prefix, in_archive=False) as (descriptor, temporary):
        try:
            yield temporary
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _replacement(path: str | os.PathLike[str], prefix: str, *, in_archive: bool) -> Iterator[tuple[int, Path]]:
    """Make a private file, open for writing, that replaces the path when the block ends without an exception."""
    path = to_path(path)
    temporary: str | None = None
    try:
        require_replaceable(path)
        if not in_archive:
            refuse_archive(path.parent)
        # mkstemp makes a new file (O_EXCL) that only its owner may read. It is in the target's folder, because a
        # rename is atomic only within one file system.
        descriptor, temporary = tempfile.mkstemp(prefix=prefix, suffix=".part", dir=path.parent)
        os.fchmod(descriptor, 0o600)  # the umask may have removed a bit
        yield descriptor, Path(temporary)
        os.replace(temporary, path)  # noqa: PTH105 - Path.replace would do the same with one object more
        temporary = None
        sync_folder(path.parent)
    except OSError as error:
        raise ConfigurationError(f"Cannot write {path}: {describe_os_error(error)}.") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def require_replaceable(path: Path) -> None:
    """Raise a ConfigurationError if replacing the path would destroy something other than a file.

    A link to a file may be replaced; the target of the link stays.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    # Links into /proc, such as /dev/stdout, belong to the system even where they lead to a file.
    if path.is_file() and not (stat.S_ISLNK(mode) and str(path.readlink()).startswith("/proc/")):
        return
    kind = "a link that leads to no file" if stat.S_ISLNK(mode) else _describe_kind(mode)
    raise ConfigurationError(f"{path} is {kind} and is not replaced: give the name of a file.")


def refuse_archive(folder: Path) -> None:
    """Raise a ConfigurationError if the folder is an archive: writing there could overwrite its files."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        parts = [entry for entry in entries if _ARCHIVE_FILE.fullmatch(entry.name)]
        if found := min((entry.name for entry in parts if entry.is_file(follow_symlinks=False)), default=None):
            raise ConfigurationError(
                f"{folder} is the folder of an archive, because it has the file {found}, and other files do not belong "
                "into it: name another folder."
            )


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk: until then a crash may undo a rename."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_regular(path: str | os.PathLike[str], *, follow_links: bool = True) -> IO[bytes]:
    """Open a regular file for reading, without blocking: opening a named pipe would wait for a writer.

    Raises
    ------
    NotRegularFileError
        The path is something other than a file, or a link and ``follow_links`` is False.
    OSError
        The file cannot be opened.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        # Sockets, and links with O_NOFOLLOW, cannot be opened at all.
        if error.errno == errno.ENXIO or (error.errno == errno.ELOOP and not follow_links):
            raise NotRegularFileError(Path(path).stat(follow_symlinks=follow_links)) from None
        raise
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise NotRegularFileError(status)
    return os.fdopen(descriptor, "rb")


@contextlib.contextmanager
def open_table(path: Path, *, private: bool) -> Iterator[IO[bytes]]:
    """Open a table file, and raise this package's errors for failures to read it; private ones quote no cell."""
    with refuse_unreadable(path, private=private), open_regular(path) as file:
        yield file


@contextlib.contextmanager
def refuse_unreadable(name: Path | str, *, private: bool) -> Iterator[None]:
    """Raise this package's errors for failures to read a table; private ones quote no cell."""
    try:
        yield
    except pa.ArrowInvalid as error:
        reason = "the reason is not shown in privacy mode"
        if not private:  # the first line of the library's message, without unprintable characters
            kept = "".join(char for char in str(error).partition("\n")[0] if char.isprintable() and char != "\ufffd")
            reason = (kept if len(kept) <= _LONGEST_REASON else f"{kept[:_LONGEST_REASON]}…").rstrip(".")
        raise SchemaError(f"{name} cannot be read as a table: {reason}.") from None
    except OSError as error:
        raise ConfigurationError(f"Cannot read {name}: {describe_os_error(error)}.") from None


def is_regular(path: Path) -> bool:
    """Return whether a path is a regular file; a link to one is not."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def to_path(path: str | os.PathLike[str]) -> Path:
    """Return a user's path as a Path; raise a ConfigurationError for a NUL in it, and for other objects than paths."""
    if not isinstance(path, str | os.PathLike):
        raise ConfigurationError(
            f"A path is text or a Path, not {describe_type(path)}: pass the name of a file or folder."
        )
    if "\0" in os.fspath(path):
        raise ConfigurationError(f"{os.fspath(path)!r} is no file name: it holds a NUL.")
    return Path(path)


@contextlib.contextmanager
def hold_lock(path: Path, *, seconds: float) -> Iterator[None]:
    """Hold an exclusive lock on a lock file during the block; the end of the process releases it too.

    Raises
    ------
    BlockingIOError
        Another process held the lock for ``seconds``.
    OSError
        The file cannot be created, or the path is something other than a file.
    """
    import fcntl

    deadline = time.monotonic() + seconds
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise NotRegularFileError(status)
    with os.fdopen(descriptor, "rb") as file:
        os.fchmod(file.fileno(), 0o600)
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_POLL_SECONDS)
        yield


def _describe_kind(mode: int) -> str:
    kinds = (
        (stat.S_ISLNK, "a link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((words for is_kind, words in kinds if is_kind(mode)), "a device")
