"""The archive's folder: private files, the manifest that lists the valid ones, and a lock for writers."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from p2p_analytics import settings
from p2p_analytics.archive import _manifest
from p2p_analytics.archive._manifest import EDITS, ROWS, BrokenFileError, Entry, Manifest, Service
from p2p_analytics.archive.tables import (
    arrow_schema,
    encode_parquet,
    open_parquet,
    read_constants,
)
from p2p_analytics.errors import ArchiveError, describe_os_error
from p2p_analytics.files import NotRegularFileError, atomic_file, hold_lock, is_regular, open_regular
from p2p_analytics.frames.arrow import frame_of, repeat_text
from p2p_analytics.frames.schema import PAYMENTS
from p2p_analytics.limits import LIMITS
from p2p_analytics.vocabulary import Status

log = logging.getLogger(__name__)

ACCOUNT: Final = b"p2p_analytics.account"  # states in each file the user id that it was written for
PEOPLE_FILE: Final = "people.csv"  # which the user edits
_FORMAT: Final = re.compile(r"format-\w[\w-]*\.toml")  # of the user's own statement files
_LOCK: Final = "lock"
_PREFIX: Final = ".p2p-archive-"  # of temporary files; exports into the folder use another prefix
_LEFTOVER: Final = re.compile(rf"{re.escape(_PREFIX)}[a-z0-9_]{{8}}\.part", re.ASCII)  # of a killed process
_CHANGED: Final = "its content is not as it was written"
_KEPT_VIEWS: Final = 10  # cached tables, of two states
_VIEW: Final = "view_"  # begins the names of cached tables, which no manifest lists


def build_format_name(name: str) -> str:
    """Return the name of the file of a user's format; one of other characters has a digest, to be distinct."""
    plain = re.sub(r"\W+", "-", name).strip("-")
    digest = "" if plain == name else f"-{sha256(name.encode()).hexdigest()[:8]}"
    return f"format-{plain or 'own'}{digest}.toml"


class ArchiveFolder:
    """The files of one archive."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if not path.exists():
                return
            if not path.is_dir():
                raise ArchiveError(f"{path} is a file: an archive is a folder, so name another path.")
            with contextlib.suppress(BrokenFileError):
                if self.read_manifest() is not None:
                    return
            own = {each.name for each in self.list_own_files()}
            others = {each.name for each in path.iterdir()} - own
            lock = path / _LOCK
            if is_regular(lock) and not lock.stat().st_size:  # an undone first import leaves all of these
                others -= {_LOCK, PEOPLE_FILE, *(each.name for each in self.list_formats())}
        except OSError as error:
            raise self._unusable_error(error) from None
        if others and not any(map(_manifest.is_file_name, own)):
            raise ArchiveError(
                f"{path} holds other things and no archive: name an archive's folder or, for a new archive, a new or "
                "empty folder."
            )

    def read_manifest(self) -> Manifest | None:
        """Return the current manifest, or None if nothing has been written yet."""
        body = self.read_bytes(_manifest.NAME)
        if body is None:
            return None
        try:
            found = _manifest.decode(body)
        except _manifest.ManifestError as error:
            raise self._broken_error(self.path / _manifest.NAME, str(error)) from None
        if found is None:
            raise ArchiveError(
                f"{self.path} was written by another version of p2p_analytics: import your files again, or sync, into "
                "a new folder."
            )
        return found

    def read_bytes(self, name: str) -> bytes | None:
        """Return the bytes of a file in the folder, None if there is none."""
        try:
            return self._read_bytes(self.path / name)
        except FileNotFoundError:
            return None

    def read(self, entry: Entry, *, columns: Iterable[str] | None = None) -> pa.Table:
        """Return a file's rows, after its digest is checked."""
        names = list(columns or arrow_schema(entry.kind).names)
        return self.open_file(entry).read(columns=names).select(names)

    def read_frame(self, entry: Entry) -> pd.DataFrame:
        """Return a file's rows as a frame."""
        return frame_of(self.read(entry))

    def read_payments(self, service: Service, columns: Iterable[str] = tuple(PAYMENTS)) -> pd.DataFrame:
        """Return columns of the payments that the service listed, newest first."""
        names, longest = list(columns), max(entry.rows for entry in service.payments)
        repeat = functools.cache(functools.partial(repeat_text, length=longest))  # files share the memory of constants

        def read(entry: Entry) -> pa.Table:
            file = self.open_file(entry)
            constants = read_constants(file, names)
            rows = file.read(columns=[name for name in names if name not in constants], use_threads=False)
            for name, text in constants.items():
                rows = rows.append_column(name, repeat(text)[: entry.rows])
            large = {pa.string(): pa.large_string()}  # as pandas has them
            types = [(name, large.get(kind, kind)) for name in names for kind in [rows.schema.field(name).type]]
            return rows.select(names).cast(pa.schema(types))

        with ThreadPoolExecutor(os.cpu_count()) as pool:  # faster than column by column
            return frame_of(pa.concat_tables(pool.map(read, service.payments[::-1])))

    def list_kinds(self) -> set[str]:
        """Return the kinds of the files in the folder; a killed process can have left a part of one, which is none."""
        names = [path.name for path in self.list_own_files()]
        return {name.partition("-")[0] for name in names if _manifest.is_file_name(name)}

    def holds_statements_only(self) -> bool:
        """Return whether the folder holds rows of statements, and no payments of the service."""
        return self.list_kinds() & {ROWS, "payments"} == {ROWS}

    def require_no_payments(self) -> None:
        """Raise a BrokenFileError if there are payments of the service, which only a manifest lists."""
        if "payments" in self.list_kinds():
            raise self._broken_error(self.path / _manifest.NAME, "it is missing")

    def is_sound(self, entry: Entry) -> bool:
        """Return whether a file exists, is byte for byte as written, and has the current columns."""
        try:
            self.open_file(entry)
        except BrokenFileError:
            return False
        return True

    def require_present(self, entry: Entry) -> None:
        """Raise an ArchiveError unless a file exists and has the size it was written with; its content is not read."""
        path = self.path / entry.name
        try:
            status = path.lstat()
        except FileNotFoundError:
            raise self._broken_error(path, "it is missing") from None
        except OSError as error:
            raise self._unusable_error(error) from None
        if not stat.S_ISREG(status.st_mode):
            raise self._foreign_file_error(path, NotRegularFileError(status).reason)
        if status.st_size != entry.size:
            raise self._broken_error(path, _CHANGED)

    def write(  # noqa: PLR0913 - the table, and what the file says beside it
        self,
        kind: str,
        table: pa.Table,
        account: str,
        *,
        start: date | None = None,
        metadata: Mapping[bytes, bytes] | None = None,
        key: str = "",
    ) -> Entry:
        """Write rows to a new file, which a manifest has to list, or to a cached table with a key in its name."""
        body = encode_parquet(kind, table, {ACCOUNT: account.encode(), **(metadata or {})})
        digest = sha256(body).hexdigest()
        name = _manifest.build_file_name(f"{kind}-{key}" if key else kind, start, digest)
        self.replace_file(name, body)
        pending: list[str] = []
        if kind == "payments":
            pending = table.filter(pc.equal(table["status"], Status.PENDING.value))["payment_id"].to_pylist()
        return Entry(name=name, rows=table.num_rows, size=body.size, sha256=digest, start=start, pending=tuple(pending))

    def encode_manifest(self, manifest: Manifest) -> bytes:
        """Return a manifest as JSON that can be read."""
        body = _manifest.encode(manifest)
        try:
            _manifest.decode(body)  # an unreadable manifest must not replace a readable one
        except _manifest.ManifestError as error:
            raise ArchiveError(f"The history cannot be kept in {self.path} ({error}): correct it.") from None
        return body

    def replace_file(self, name: str, body: bytes) -> None:
        """Write a file of the folder as a whole."""
        with atomic_file(self.path / name, prefix=_PREFIX, in_archive=True) as file:
            file.write(body)

    def commit(self, manifest: Manifest, previous: Manifest | None) -> None:
        """Replace the manifest, and remove older files; the files of the previous manifest stay for its readers."""
        self.replace_file(_manifest.NAME, self.encode_manifest(manifest))
        kept = {entry.name for each in (manifest, previous) if each for entry in each.entries}
        if previous is not None:  # a query may still read them
            views = [path for path in self.list_own_files() if path.name.startswith(_VIEW)]
            views.sort(key=lambda path: path.stat().st_mtime_ns)
            kept |= {path.name for path in views[-_KEPT_VIEWS:]}
        for path in self.list_own_files():
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def set_aside(self, name: str) -> None:
        """Rename a broken file, so that it stays for inspection; raise an ArchiveError if it is not a regular file."""
        broken = self.path / name
        if not os.path.lexists(broken):
            return
        if not is_regular(broken):
            raise self._foreign_file_error(broken, "a file is wanted there")
        aside = f"{broken}.corrupt-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"
        with contextlib.suppress(FileNotFoundError):
            broken.rename(aside)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the writers' lock during the block; raise an ArchiveError if it is not free in time, or not writable."""
        with contextlib.ExitStack() as stack:
            try:
                settings.make_private(self.path)
                if not self.path.stat().st_mode & stat.S_IWUSR:  # root could write into it all the same
                    raise ArchiveError(
                        f"{self.path} is read-only, so nothing was written: allow writing to this folder, or name "
                        "another one."
                    )
                self.path.chmod(0o700)
                stack.enter_context(hold_lock(self.path / _LOCK, seconds=LIMITS.archive_lock_seconds))
            except BlockingIOError:
                raise ArchiveError(f"Another process is writing to {self.path}: try again when it has ended.") from None
            except OSError as error:
                raise self._unusable_error(error) from None
            yield

    def list_formats(self) -> Iterator[Path]:
        """Yield the files of the user's own formats."""
        for path in self.path.iterdir() if self.path.exists() else ():
            if _FORMAT.fullmatch(path.name) and is_regular(path):
                yield path

    def list_own_files(self) -> Iterator[Path]:
        """Yield regular files with a name that the archive gives; links and pipes of such a name are foreign."""
        for path in self.path.iterdir() if self.path.exists() else ():
            if (_manifest.is_file_name(path.name) or _LEFTOVER.fullmatch(path.name)) and is_regular(path):
                yield path

    def find_cached(self, kind: str, key: str) -> tuple[Path, pq.ParquetFile] | None:
        """Return the path and the content of the cached table of a kind; None without a sound one."""
        for path in self.list_own_files():
            if path.name.startswith(f"{kind}-{key}-"):
                body = self.read_bytes(path.name)  # None if a writer has removed it in the meantime
                if body is not None and _manifest.matches_name(path.name, body):
                    return path, open_parquet(body)
        return None

    def recover(self, *kinds: str, set_aside: bool = True) -> Iterator[tuple[Entry, pq.ParquetFile, int]]:
        """Yield the readable files of some kinds without a manifest, and their times, the latest first."""
        paths = [path for path in self.list_own_files() if path.name.partition("-")[0] in kinds]
        times = {path: path.stat().st_mtime_ns for path in paths}
        for path, changed in sorted(times.items(), key=lambda each: (-each[1], each[0].name)):
            body = self._read_bytes(path)
            try:
                if not _manifest.matches_name(path.name, body):
                    raise self._broken_error(path, _CHANGED)
                rows = self._open_parquet(path, body).metadata.num_rows
                digest, start = sha256(body).hexdigest(), _manifest.parse_start(path.name)
                entry = Entry(name=path.name, rows=rows, size=len(body), sha256=digest, start=start)
                yield entry, self.parse_content(entry, body), changed
            except BrokenFileError:
                if set_aside:
                    log.warning("The file %s of the archive %s was broken and is set aside.", path.name, self.path)
                    self.set_aside(path.name)

    def open_file(self, entry: Entry) -> pq.ParquetFile:
        """Return a file, after its digest is checked."""
        return self.parse_content(entry, self.read_content(entry))

    def parse_content(self, entry: Entry, body: bytes) -> pq.ParquetFile:
        """Return a file of its bytes, after a check of its columns and its number of rows."""
        path = self.path / entry.name
        file = self._open_parquet(path, body)
        # Each is a name, a type, and whether it holds nulls.
        if sorted(map(str, file.schema_arrow)) != sorted(map(str, arrow_schema(entry.kind))):
            raise self._broken_error(path, "another version wrote it, with other columns or types")
        if file.metadata.num_rows != entry.rows:
            raise self._broken_error(path, f"it holds {file.metadata.num_rows} rows in place of {entry.rows}")
        return file

    def _open_parquet(self, path: Path, body: bytes) -> pq.ParquetFile:
        with contextlib.suppress(pa.ArrowException, ValueError, OSError):
            if (file := open_parquet(body)).schema_arrow:
                return file
        raise self._broken_error(path, "it is not a Parquet file")

    def read_content(self, entry: Entry) -> bytes:
        """Return a file's bytes, after a check of size and digest."""
        path = self.path / entry.name
        try:
            body = self._read_bytes(path)
        except FileNotFoundError:
            raise self._broken_error(path, "it is missing") from None
        if len(body) != entry.size or sha256(body).hexdigest() != entry.sha256:
            raise self._broken_error(path, _CHANGED)
        return body

    def _read_bytes(self, path: Path) -> bytes:
        """Return the bytes of a file in the folder; links are not followed, because they lead out of the archive."""
        try:
            with open_regular(path, follow_links=False) as file:
                return file.read()
        except FileNotFoundError:
            raise
        except NotRegularFileError as error:
            raise self._foreign_file_error(path, error.reason) from None
        except OSError as error:
            raise self._unusable_error(error) from None

    def _broken_error(self, path: Path, reason: str) -> BrokenFileError:
        is_of_statements = path.name.partition("-")[0] in {ROWS, EDITS}
        return BrokenFileError(path, reason, by_import=is_of_statements or self.holds_statements_only())

    def _foreign_file_error(self, path: Path, reason: str) -> ArchiveError:
        then = "" if path.name == PEOPLE_FILE else ", then sync the archive"
        return ArchiveError(f"{path} is not a file of the archive ({reason}): move it away{then}.")

    def account_error(self) -> ArchiveError:
        """Return the error for data of another account."""
        return ArchiveError(f"{self.path} holds the history of another account: name another folder.")

    def _unusable_error(self, error: OSError) -> ArchiveError:
        return ArchiveError(
            f"The archive {self.path} cannot be used ({describe_os_error(error)}): correct that, or name another one."
        )
