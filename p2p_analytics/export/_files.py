"""Files that appear whole or not at all, and one clear sentence where a file cannot be used."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from p2p_analytics.errors import ConfigurationError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO, Final

_LONGEST_REASON: Final = 200


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
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)  # noqa: PTH105 - Path.replace would do the same with one object more
        temporary = None
    except OSError as error:
        raise ConfigurationError(f"Cannot write {path}: {_reason(error)}.") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


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
