"""Files that appear whole or not at all, locks, and one clear sentence where a file cannot be used."""

from __future__ import annotations

import contextlib
import os
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
def atomic_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a private file that appears under its path when all of it is written, or not at all.

    Raises
    ------
    ConfigurationError
        The file cannot be written there; what was there before is untouched.
    """
    path = checked(path)
    temporary: str | None = None
    try:
        if path.is_dir():
            raise ConfigurationError(f"{path} is a folder: give the name of a file.")
        # mkstemp makes a new file (O_EXCL) that only its owner may read, beside the target: a rename is atomic
        # only within one file system.
        descriptor, temporary = tempfile.mkstemp(prefix=".p2p-", suffix=".part", dir=path.parent)
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
        The file cannot be made.
    """
    import fcntl

    give_up_at = time.monotonic() + seconds
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "rb") as file:
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
def readable(path: Path, *, private: bool) -> Iterator[None]:
    """Turn what goes wrong while a table is read into this package's errors; in privacy mode they quote no cell."""
    import pyarrow as pa

    try:
        yield
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
