"""Paths to the bytes of files: folders, patterns and zip archives, within bounded memory.

A file that the caller names must be a statement. A file found in a folder, in a zip archive or by a pattern may be
another one; the reader lists it as skipped.
"""

from __future__ import annotations

import glob
import os
import zipfile
import zlib
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.display import clean_line, join_first
from p2p_analytics.errors import ConfigurationError, StatementError, describe_os_error, describe_type
from p2p_analytics.files import NotRegularFileError, open_regular, to_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import IO

LARGEST_FILE: Final = 256 * 2**20
_LARGEST_ARCHIVE: Final = 2**30  # all members of a zip archive together, unpacked
_SMALL_ARCHIVE: Final = 16 * 2**20  # unpacked; a larger one has to be plausible
_MOST_PACKED: Final = 100  # times smaller that text is in an archive; statements are packed to a tenth
_LARGEST_DIRECTORY: Final = 16 * 2**20  # the list of members of a zip archive
_MOST_FILES: Final = 100_000
_BATCH_BYTES: Final = 4 * 2**20
_SUFFIXES: Final = frozenset({".csv", ".tsv", ".txt", ".json"})
_ZIP: Final = ".zip"
_ZIP_MAGIC: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_WORKBOOK: Final = "[Content_Types].xml"  # a member of every file of an office program
_END_OF_DIRECTORY: Final = b"PK\x05\x06"
_END_BYTES: Final = 22
_LONGEST_COMMENT: Final = 2**16
_ENCRYPTED: Final = 0x1
_PLAIN_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


class Source(NamedTuple):
    """The bytes of one file, or the reason why it is skipped.

    Attributes
    ----------
    name : str
        The path as the caller gave it, joined with the name in the folder or archive, in printable characters: for
        errors, which the caller reads only.
    label : str
        The shortest name that no other file of the call has, for frames, which the caller may pass on.
    content : bytes
        Empty for a skipped file.
    is_named : bool
        Whether the caller named this file, so that it must be a statement.
    skipped : str or None
        The reason why the file is not read.
    """

    name: str
    label: str
    content: bytes
    is_named: bool
    skipped: str | None = None


class _Entry(NamedTuple):
    """A file, or a folder with folders in it, which are not read."""

    path: Path
    is_named: bool
    label: str = ""
    folders: tuple[str, ...] = ()


def find_files(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[_Entry]:
    """Return the files of paths, each once: named files first in the caller's order, those of a folder by name.

    A folder means its own files, then an entry for the folders in it, which are not read. A path with ``*``, ``?`` or
    ``[`` that does not exist is a pattern, where ``**`` means any folders. ``~`` is the user's folder.

    Raises
    ------
    StatementError
        A path or pattern leads to no file, or to too many.
    ConfigurationError
        A path is neither text nor a Path, or there is none.
    """
    entries: dict[str, _Entry] = {}
    for path in _list_paths(paths):
        for entry in _expand(path):
            key = os.path.realpath(entry.path)
            entries[key] = entry._replace(is_named=entry.is_named or (key in entries and entries[key].is_named))
            if len(entries) > _MOST_FILES:
                raise StatementError(f"{show_name(path)} leads to more than {_MOST_FILES:,} files: name fewer of them.")
    labels = shorten_paths([entry.path for entry in entries.values()])
    return [entry._replace(label=label) for entry, label in zip(entries.values(), labels, strict=True)]


def find_paths(paths: Iterable[str | os.PathLike[str]]) -> dict[str, str]:
    """Return the path of each file by its name in `Statements`, where the names of members of a zip begin with it.

    A path with characters that no message can hold is left out.
    """
    return {entry.label: str(entry.path) for entry in find_files(paths) if show_name(entry.path) == str(entry.path)}


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


def read_batches(entries: Sequence[_Entry], on_progress: Callable[[int, int], object]) -> Iterator[list[Source]]:
    """Yield the files of entries, several small ones at a time, and those before an error before it is raised.

    ``on_progress`` gets the number of entries with files that the caller has taken all.

    Raises
    ------
    StatementError
        As `read_sources` does.
    """
    batch: list[Source] = []
    size = reported = 0
    try:
        for number, entry in enumerate(entries, 1):
            for source in read_sources(entry):
                batch.append(source)
                size += len(source.content)
                if size > _BATCH_BYTES:
                    yield batch
                    batch, size = [], 0
                    for done in range(reported + 1, number):
                        on_progress(done, len(entries))
                    reported = number - 1
    except StatementError:
        yield batch
        raise
    yield batch
    for done in range(reported + 1, len(entries) + 1):
        on_progress(done, len(entries))


def read_sources(entry: _Entry) -> Iterator[Source]:
    """Yield the file of an entry, the members of a zip archive, or the reason why folders are skipped.

    Raises
    ------
    StatementError
        A named file cannot be read, is too large, or is a zip archive that is not safe to unpack.
    """
    name = show_name(entry.path)
    suffix = entry.path.suffix.lower()
    if entry.folders:
        yield Source(entry.label, entry.label, b"", is_named=False, skipped=_describe_folders(entry))
        return
    if not entry.is_named and suffix not in _SUFFIXES | {_ZIP}:
        yield Source(
            name, entry.label, b"", is_named=False, skipped=f"{name} is no statement by the ending of its name"
        )
        return
    is_begun = False
    try:
        with _open(entry) as file:
            start = file.read(4)
            file.seek(0)
            if start in _ZIP_MAGIC:
                for source in _read_archive(file, name, entry):
                    is_begun = True
                    yield source
            else:
                yield Source(name, entry.label, read_bounded(file, name), is_named=entry.is_named)
    except StatementError as error:
        if entry.is_named or is_begun:  # an archive is not read in part
            raise
        yield Source(name, entry.label, b"", is_named=False, skipped=str(error))
    except OSError as error:
        reason = error.reason if isinstance(error, NotRegularFileError) else describe_os_error(error)
        if entry.is_named:
            raise StatementError(f"{name} cannot be read: {reason}.") from None
        yield Source(name, entry.label, b"", is_named=False, skipped=f"{name} cannot be read: {reason}")


def read_bounded(file: IO[bytes], name: str) -> bytes:
    """Return the bytes of a file; raise a StatementError if they are more than a statement has."""
    content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise StatementError(
            f"{name} has more than {LARGEST_FILE // 2**20} MB, which no statement has: split it into files of a year."
        )
    return content


def show_name(path: str | os.PathLike[str]) -> str:
    """Return a path in characters that a message and a UTF-8 file can hold."""
    return clean_line(os.fsencode(path).decode("utf-8", "replace")) or "?"


def _list_paths(paths: object) -> list[str | os.PathLike[str]]:
    if isinstance(paths, str | os.PathLike):
        return [paths]
    try:
        listed: list[str | os.PathLike[str]] = list(paths)  # type: ignore[call-overload]
    except TypeError:
        raise ConfigurationError(
            f"paths is a file, folder or pattern, or several of them, not {describe_type(paths)}."
        ) from None
    if not listed:
        raise ConfigurationError("paths is empty: name a statement file, or a folder of them.")
    return listed


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
    found = sorted(islice(matches, _MOST_FILES + 1))
    if not found:
        raise StatementError(f"No file matches {show_name(given)}: check the folder and the pattern.")
    yield from (_Entry(Path(name), is_named=False) for name in found)


def _describe_folders(entry: _Entry) -> str:
    """Return why the folders in a folder are skipped, and how to read their files; it quotes no absolute path."""
    listed = join_first([show_name(name) for name in entry.folders])
    path = Path(entry.label) if entry.path.is_absolute() else entry.path
    pattern = show_name(Path(glob.escape(str(path))) / "**" / "*.csv")
    return f"{entry.label} has folders in it ({listed}), which are only read by a pattern, such as {pattern!r}"


def _open(entry: _Entry) -> IO[bytes]:
    # A link in a folder may lead to any file of the machine; one that the caller names is meant.
    return open_regular(entry.path, follow_links=entry.is_named)


def _read_archive(file: IO[bytes], name: str, entry: _Entry) -> Iterator[Source]:
    """Yield the members of a zip archive; others than statements, by their names, are skipped."""
    _require_small_directory(file, name)
    try:
        archive = zipfile.ZipFile(file)
        members = [member for member in archive.infolist() if not member.is_dir()]
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, ValueError, EOFError, OverflowError):
        raise StatementError(f"{name} is a damaged zip archive: download it again.") from None
    with archive:
        if any(member.filename == _WORKBOOK for member in members):
            raise StatementError(f"{name} is a workbook of a spreadsheet, which rounds ids: download the CSV file.")
        _require_safe(members, name, file.seek(0, os.SEEK_END))
        for member in sorted(members, key=lambda member: member.filename):
            inner, label = (f"{folder}/{show_name(member.filename)}" for folder in (name, entry.label))
            if Path(member.filename).suffix.lower() not in _SUFFIXES:
                reason = f"{inner} is no statement by the ending of its name"
                yield Source(inner, label, b"", is_named=False, skipped=reason)
                continue
            is_named = entry.is_named and len(members) == 1
            yield Source(inner, label, _read_member(archive, member, inner), is_named=is_named)


def _require_small_directory(file: IO[bytes], name: str) -> None:
    """Raise a StatementError if the list of members is large, before zipfile keeps it in memory.

    The end of the list is searched for as zipfile does.
    """
    size = file.seek(0, os.SEEK_END)
    if size > LARGEST_FILE:
        raise StatementError(f"{name} has more than {LARGEST_FILE // 2**20} MB: unpack it and name its statements.")
    file.seek(max(0, size - _END_BYTES - _LONGEST_COMMENT))
    tail = file.read()
    file.seek(0)
    last = tail[-_END_BYTES:]
    start = len(tail) - _END_BYTES if last[:4] == _END_OF_DIRECTORY and last[-2:] == b"\0\0" else None
    start = tail.rfind(_END_OF_DIRECTORY) if start is None else start
    record = tail[start : start + _END_BYTES] if start >= 0 else b""
    if len(record) < _END_BYTES:
        raise StatementError(f"{name} is a damaged zip archive: download it again.")
    if int.from_bytes(record[12:16], "little") > _LARGEST_DIRECTORY:
        raise StatementError(f"{name} lists more files than statements need: unpack it and name its statements.")


def _require_safe(members: list[zipfile.ZipInfo], name: str, size: int) -> None:
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
        if suffix not in _SUFFIXES:
            continue
        if member.flag_bits & _ENCRYPTED:
            raise StatementError(f"{name} is encrypted: unpack it and name its statements.")
        if member.compress_type not in _PLAIN_METHODS:
            raise StatementError(f"{name} is packed in an unusual way: unpack it and name its statements.")
        total += member.file_size
        is_bomb = total > max(_SMALL_ARCHIVE, _MOST_PACKED * size)
        if member.file_size > LARGEST_FILE or total > _LARGEST_ARCHIVE or is_bomb:
            raise StatementError(f"{name} unpacks to more than statements have: do not trust this file.")


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bytes:
    try:
        with archive.open(member) as file:
            return read_bounded(file, name)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError, OSError):
        raise StatementError(f"{name} is damaged inside its zip archive: download it again.") from None
