"""Paths and uploads to the bytes of files: folders, patterns and zip archives, within bounded memory.

A file that the caller names must be a statement. A file found in a folder, in a zip archive or by a pattern may be
another one; the reader lists it as skipped.
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import io
import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.display import clean_line, join_first
from p2p_analytics.errors import ConfigurationError, StatementError, describe_os_error, describe_type
from p2p_analytics.files import open_regular, to_path
from p2p_analytics.limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

_MOST_PACKED: Final = 100  # times smaller that text is in an archive; statements are packed to a tenth
_SUFFIXES: Final = frozenset({".csv", ".tsv", ".txt", ".json"})
_BOOK: Final = ".xlsx"
_ZIP: Final = ".zip"
_ZIP_MAGIC: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_OFFICE: Final = "[Content_Types].xml"  # a member of every file of an office program
_WORKBOOK: Final = "xl/workbook.xml"
_END_OF_DIRECTORY: Final = b"PK\x05\x06"
_END_BYTES: Final = 22
_LONGEST_COMMENT: Final = 2**16
_ENCRYPTED: Final = 0x1
_PLAIN_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_BYTES: Final = (bytes, bytearray, memoryview)
_PAIR: Final = 2  # a name and a content
_BY_ENDING: Final = "is not a statement by the ending of its name"


class Source(NamedTuple):
    """The bytes of one file, or the reason why it is ``skipped`` or cannot be read.

    ``name`` is the path as the caller gave it, for errors. ``label`` is the shortest name that no other file of the
    call has, for frames. A file that the caller named (``is_named``) must be a statement.
    """

    name: str
    label: str
    content: bytes
    is_named: bool
    skipped: str | None = None
    error: str | None = None


class _Entry(NamedTuple):
    """A file, or a folder with folders in it, which are not read; the file may be open or uploaded."""

    path: Path
    is_named: bool
    label: str = ""
    folders: tuple[str, ...] = ()
    file: Any = None


class Exclusions:
    """Glob patterns of the files that the caller leaves out, matched with the name and the path of each file."""

    def __init__(self, patterns: str | Iterable[str]) -> None:
        self._patterns = [patterns] if isinstance(patterns, str) else list(patterns or ())
        if not all(isinstance(each, str) and each for each in self._patterns):
            raise ConfigurationError("exclude is a pattern such as '*-old.csv', or several of them.")
        self._used: set[str] = set()

    def has(self, path: PurePath) -> bool:
        """Return whether a file is left out."""
        found = [each for each in self._patterns if path.match(each) or fnmatch.fnmatch(str(path), each)]
        self._used.update(found)
        return bool(found)

    def require_used(self) -> None:
        """Raise a ConfigurationError if a pattern has matched no file."""
        if unused := [each for each in self._patterns if each not in self._used]:
            raise ConfigurationError(f"No file matches exclude={unused[0]!r}: check the pattern.")


def find_files(paths: object, exclusions: Exclusions) -> list[_Entry]:
    """Return the files of paths, each once: named files first in the caller's order, then files of a folder by name.

    A folder means its own files, then an entry for the folders in it, which are not read. A path with ``*``, ``?`` or
    ``[`` that does not exist is a pattern, where ``**`` means any folders. ``~`` is the user's folder.

    Raises
    ------
    StatementError
        A path or pattern leads to no file, or to too many.
    ConfigurationError
        An item is neither a path nor a binary file, or there is none.
    """
    entries: dict[str, _Entry] = {}
    for number, item in enumerate(_list_items(paths), 1):
        for entry in _open_item(item, number):
            if not entry.folders and exclusions.has(entry.path):
                continue
            # Two uploads can have one name, or the name of a file.
            key = os.path.realpath(entry.path) if entry.file is None else f"\0{number}"
            entries[key] = entry._replace(is_named=entry.is_named or (key in entries and entries[key].is_named))
            if len(entries) > LIMITS.statement_files:
                raise StatementError(
                    f"{show_name(item)} leads to more than {LIMITS.statement_files:,} files: name fewer of them."
                )
    labels = iter(shorten_paths([entry.path for entry in entries.values() if entry.file is None]))
    return [entry._replace(label=next(labels) if entry.file is None else str(entry.path)) for entry in entries.values()]


def find_paths(paths: Iterable[str | os.PathLike[str]]) -> dict[str, str]:
    """Return the path of each file by its name in `Statements`, without paths that no message can hold.

    Names of members of a zip begin with its name.
    """
    return {
        entry.label: str(entry.path)
        for entry in find_files(paths, Exclusions(()))
        if show_name(entry.path) == str(entry.path)
    }


def shorten_paths(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the name of each file, preceded by as many of its folders as distinguish it from the others."""
    parts = [Path(os.path.abspath(path)).parts[1:] for path in paths]  # noqa: PTH100 - links stay as they are
    lengths = [1] * len(parts)
    while True:
        labels = ["/".join(each[-length:]) for each, length in zip(parts, lengths, strict=True)]
        counts = Counter(labels)
        short = [at for at, label in enumerate(labels) if counts[label] > 1 and lengths[at] < len(parts[at])]
        if not short:
            return [show_name(label) for label in labels]
        for at in short:
            lengths[at] += 1


def read_sources(entry: _Entry, exclusions: Exclusions) -> Iterator[Source]:
    """Yield the file of an entry, the members of a zip archive, or the reason why nothing of it is read."""
    name = show_name(entry.path)
    suffix = entry.path.suffix.lower()
    unread = Source(name, entry.label, b"", is_named=entry.is_named)
    if entry.folders:  # the reason quotes no absolute path
        listed = join_first([show_name(each) for each in entry.folders])
        path = Path(entry.label) if entry.path.is_absolute() else entry.path
        pattern = show_name(Path(glob.escape(str(path))) / "**" / "*.csv")
        reason = f"{entry.label} has folders in it ({listed}), which are only read by a pattern, such as {pattern!r}"
        yield unread._replace(name=entry.label, skipped=reason)
        return
    if not entry.is_named and suffix not in _SUFFIXES | {_BOOK, _ZIP}:
        yield unread._replace(skipped=f"{name} {_BY_ENDING}")
        return
    try:
        with _open(entry) as file:
            start = file.read(4)
            file.seek(0)
            if start in _ZIP_MAGIC:
                yield from _read_archive(file, name, entry, exclusions)
            else:
                yield unread._replace(content=read_bounded(file, name))
    except StatementError as error:
        reason = str(error)
    except OSError as error:
        reason = f"{name} cannot be read: {describe_os_error(error)}."
    else:
        return
    yield unread._replace(error=reason) if entry.is_named else unread._replace(skipped=reason.removesuffix("."))


def read_bounded(file: IO[bytes], name: str) -> bytes:
    """Return the bytes of a file; raise a StatementError if they are more than a statement has."""
    content = file.read(LIMITS.statement_bytes + 1)
    if len(content) > LIMITS.statement_bytes:
        raise StatementError(
            f"{name} has more than {LIMITS.statement_bytes // 2**20} MB, which no statement has: split it into files "
            "of a year."
        )
    return content


def read_path(path: str | os.PathLike[str], error: type[StatementError | ConfigurationError] = StatementError) -> bytes:
    """Return the bytes of a file that the caller named; raise the error if it cannot be read."""
    name = show_name(to_path(path))
    try:
        with open_regular(to_path(path).expanduser()) as file:
            return read_bounded(file, name)
    except OSError as fault:
        raise error(f"{name} cannot be read: {describe_os_error(fault)}.") from None


def show_name(path: str | os.PathLike[str]) -> str:
    """Return a path in characters that a message and a UTF-8 file can hold."""
    return clean_line(os.fsencode(path).decode("utf-8", "replace")) or "?"


def _list_items(paths: object) -> list[Any]:
    """Return the files of a call; text files and frames are never iterated, because errors would quote their lines."""
    if isinstance(paths, Mapping) and all(isinstance(each, Mapping) for each in paths.values()):
        listed: list[Any] = [{**each, "name": name} for name, each in paths.items()]  # ipywidgets before version 8
    elif isinstance(paths, str | os.PathLike | Mapping) or _find_content(paths) or not isinstance(paths, Iterable):
        listed = [paths]
    else:
        listed = [paths] if hasattr(paths, "read") or hasattr(paths, "columns") else list(paths)
    if not listed:
        raise ConfigurationError("paths is empty: name a statement file, or a folder of them.")
    return listed


def _find_content(item: Any) -> tuple[object, Any] | None:  # noqa: ANN401 - what a caller passes
    """Return the name and the content of a file that is open or uploaded; None for other objects."""
    name, file = getattr(item, "name", None), item
    if isinstance(item, Mapping):
        name, file = item.get("name"), item.get("content")
    elif isinstance(item, tuple) and len(item) == _PAIR and isinstance(item[0], str):
        name, file = item
    is_binary = hasattr(file, "read") and not hasattr(file, "encoding")  # which files of text have
    return (name, file) if is_binary or isinstance(file, _BYTES) else None


def _open_item(item: Any, number: int) -> Iterable[_Entry]:  # noqa: ANN401 - what a caller passes
    """Return the files that a path leads to, or the one that is open or uploaded."""
    if isinstance(item, str | os.PathLike):
        return _expand(item)
    found = _find_content(item)
    if found is None:
        raise ConfigurationError(
            "A statement file is a path, bytes, a binary file, a pair of a name and bytes, or the value of a "
            f"FileUpload, not {describe_type(item)}."
        )
    name = show_name(PurePath(found[0]).name) if isinstance(found[0], str) and found[0].strip() else f"file {number}"
    return [_Entry(Path(name), is_named=True, file=found[1])]


def _expand(given: str | os.PathLike[str]) -> Iterator[_Entry]:
    path = to_path(given)
    if str(path).startswith("~"):
        try:
            path = path.expanduser()
        except RuntimeError:
            raise StatementError(f"{show_name(given)} names the folder of an unknown user.") from None
    try:
        if path.is_dir():
            names = sorted(os.listdir(path))  # noqa: PTH208 - names
            is_folder = {name: os.path.isdir(path / name) for name in names}  # noqa: PTH112 - which never fails
            yield from (_Entry(path / name, is_named=False) for name in names if not is_folder[name])
            if folders := tuple(filter(is_folder.get, names)):
                yield _Entry(path, is_named=False, folders=folders)
            return
        is_pattern = not os.path.lexists(path) and glob.has_magic(str(path))
    except OSError as error:
        raise StatementError(f"{show_name(given)} cannot be read: {describe_os_error(error)}.") from None
    if not is_pattern:
        yield _Entry(path, is_named=True)
        return
    matches = (name for name in glob.iglob(str(path), recursive=True) if not Path(name).is_dir())  # noqa: PTH207 - a pattern with folders
    found = sorted(islice(matches, LIMITS.statement_files + 1))
    if not found:
        raise StatementError(f"No file matches {show_name(given)}: check the folder and the pattern.")
    yield from (_Entry(Path(name), is_named=False) for name in found)


def _open(entry: _Entry) -> IO[bytes]:
    if entry.file is None:
        # A link in a folder may lead to any file of the machine; one that the caller names is meant.
        return open_regular(entry.path, follow_links=entry.is_named)
    if isinstance(entry.file, _BYTES):
        return io.BytesIO(entry.file)
    try:
        with contextlib.suppress(AttributeError, OSError):  # a file that can only be read once
            entry.file.seek(0)  # in a notebook, a cell may run again
        return io.BytesIO(entry.file.read(LIMITS.statement_bytes + 1))
    except (TypeError, ValueError):  # it is closed, or has text
        raise ConfigurationError(f"{entry.label} cannot be read: open it with mode 'rb'.") from None


def _read_archive(file: IO[bytes], name: str, entry: _Entry, exclusions: Exclusions) -> Iterator[Source]:
    """Yield a workbook, or the members of a zip archive; others than statements, by their names, are skipped."""
    _require_small_directory(file, name)
    try:
        archive = zipfile.ZipFile(file)
        members = [member for member in archive.infolist() if not member.is_dir()]
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, ValueError, EOFError, OverflowError):
        raise StatementError(f"{name} is a damaged zip archive: download it again.") from None
    with archive:
        names = {member.filename for member in members}
        if _OFFICE in names and _WORKBOOK not in names:
            raise StatementError(f"{name} is a file of an office program: download the CSV file.")
        _require_safe(members, name, file.seek(0, os.SEEK_END), is_workbook=_WORKBOOK in names)
        if _WORKBOOK in names:
            file.seek(0)
            yield Source(name, entry.label, read_bounded(file, name), is_named=entry.is_named)
            return
        for member in sorted(members, key=lambda member: member.filename):
            inner, label = (f"{folder}/{show_name(member.filename)}" for folder in (name, entry.label))
            if exclusions.has(PurePath(inner)):
                continue
            unread = Source(inner, label, b"", is_named=entry.is_named and len(members) == 1)
            suffix = Path(member.filename).suffix.lower()
            if suffix not in _SUFFIXES:
                reason = "is a workbook in a zip archive: unpack it" if suffix == _BOOK else _BY_ENDING
                yield unread._replace(is_named=False, skipped=f"{inner} {reason}")
                continue
            yield _read_member(archive, member, unread)


def _require_small_directory(file: IO[bytes], name: str) -> None:
    """Raise a StatementError if the list of members, found as zipfile does, is large; zipfile keeps it in memory."""
    size = file.seek(0, os.SEEK_END)
    if size > LIMITS.statement_bytes:
        raise StatementError(
            f"{name} has more than {LIMITS.statement_bytes // 2**20} MB: unpack it and name its statements."
        )
    file.seek(max(0, size - _END_BYTES - _LONGEST_COMMENT))
    tail = file.read()
    file.seek(0)
    is_last = tail[-_END_BYTES:][:4] == _END_OF_DIRECTORY and tail[-2:] == b"\0\0"
    start = len(tail) - _END_BYTES if is_last else tail.rfind(_END_OF_DIRECTORY)
    record = tail[start : start + _END_BYTES] if start >= 0 else b""
    if len(record) < _END_BYTES:
        raise StatementError(f"{name} is a damaged zip archive: download it again.")
    if int.from_bytes(record[12:16], "little") > LIMITS.zip_directory_bytes:
        raise StatementError(f"{name} lists more files than statements need: unpack it and name its statements.")


def _require_safe(members: list[zipfile.ZipInfo], name: str, size: int, *, is_workbook: bool) -> None:
    """Raise a StatementError for archives that are made to do harm, and for what this reader cannot unpack."""
    total = 0
    for member in members:
        inner = show_name(member.filename)
        parts = member.filename.replace("\\", "/").split("/")
        if ".." in parts or parts[0] == "" or parts[0].endswith(":"):
            raise StatementError(f"{name} holds {inner!r}, which leads out of its folder: do not trust this file.")
        suffix = Path(member.filename).suffix.lower()
        if suffix == _ZIP:
            raise StatementError(f"{name} holds another zip archive, {inner!r}: unpack it and name its statements.")
        if suffix not in _SUFFIXES and not is_workbook:
            continue
        if member.flag_bits & _ENCRYPTED:
            raise StatementError(f"{name} is encrypted: unpack it and name its statements.")
        if member.compress_type not in _PLAIN_METHODS:
            raise StatementError(f"{name} is packed in an unusual way: unpack it and name its statements.")
        total += member.file_size
        is_bomb = total > max(LIMITS.small_zip_bytes, _MOST_PACKED * size)
        most = LIMITS.statement_bytes if is_workbook else LIMITS.zip_bytes
        if member.file_size > LIMITS.statement_bytes or total > most or is_bomb:
            raise StatementError(f"{name} unpacks to more than statements have: do not trust this file.")


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, unread: Source) -> Source:
    try:
        with archive.open(member) as file:
            content = read_bounded(file, unread.name)
    except StatementError as error:
        return unread._replace(error=str(error))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError, OSError):
        return unread._replace(error=f"{unread.name} is damaged inside its zip archive: download it again.")
    if content.startswith(_ZIP_MAGIC):  # which could be made to unpack without an end
        reason = f"{unread.name} is a zip archive or workbook in a zip archive: unpack it"
        return unread._replace(error=f"{reason}.") if unread.is_named else unread._replace(skipped=reason)
    return unread._replace(content=content)
