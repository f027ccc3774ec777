"""Sources of CSV tables: a path, an open file or standard input."""

from __future__ import annotations

import contextlib
import io
import mmap
import os
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from p2p_analytics.errors import ConfigurationError, SchemaError, describe_type
from p2p_analytics.export._diagnosis import encoding_error
from p2p_analytics.files import open_table, refuse_unreadable, to_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Source(NamedTuple):
    """The content of a table, and its name in errors.

    Attributes
    ----------
    file : binary file
        At its start.
    content : bytes or mmap
        The same bytes; a mapped file is closed with the last reference to it.
    name : Path or str
    """

    file: IO[bytes]
    content: mmap.mmap | bytes
    name: Path | str


@contextlib.contextmanager
def open_source(source: str | os.PathLike[str] | IO[str] | IO[bytes], *, private: bool) -> Iterator[Source]:
    """Open a table, and raise this package's errors for failures to read it; private ones quote no cell.

    Raises
    ------
    SchemaError
        It is empty, or no table.
    ConfigurationError
        It cannot be read, or has been read in part as text, so its first bytes are lost.
    """
    if hasattr(source, "read"):
        name = _name_file(source)
        with refuse_unreadable(name, private=private):
            content = _read_bytes(source, name)
            _require_content(len(content), name)
            yield Source(io.BytesIO(content), content, name)
        return
    path = to_path(source)
    with open_table(path, private=private) as file:
        _require_content(os.fstat(file.fileno()).st_size, path)
        yield Source(file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), path)


def _require_content(size: int, name: Path | str) -> None:
    if not size:
        raise SchemaError(f"{name} is empty: it lacks the line that names the columns.")


def _name_file(file: Any) -> str:  # noqa: ANN401 - any object with a method read
    """Return the name of an open file in errors, such as <stdin>."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) and name else "<open file>"


def _read_bytes(file: Any, name: str) -> bytes:  # noqa: ANN401 - any object with a method read
    """Return the rest of an open file as bytes.

    The bytes below a text file are read, because it may translate line ends, also those in quoted cells.
    """
    if isinstance(file, io.TextIOWrapper):
        try:
            file.reconfigure(encoding=file.encoding, errors=file.errors)  # refused once something has been read
        except io.UnsupportedOperation:
            raise ConfigurationError(
                f"{name} has been read in part as text: pass it before anything is read, or open it in binary mode."
            ) from None
        except ValueError as error:
            raise _unreadable_error(name, error) from None
        file = file.buffer
    try:
        content = file.read()
    except ValueError as error:  # such as a closed file
        raise _unreadable_error(name, error) from None
    if isinstance(content, str):
        try:
            return content.encode()
        except UnicodeEncodeError:
            raise encoding_error(name) from None
    if not isinstance(content, bytes | bytearray | memoryview):
        raise ConfigurationError(f"Cannot read {name}: its read() gives {describe_type(content)}, not text or bytes.")
    return bytes(content)


def _unreadable_error(name: str, error: ValueError) -> ConfigurationError:
    return ConfigurationError(f"Cannot read {name}: {str(error).rstrip('.')}.")
