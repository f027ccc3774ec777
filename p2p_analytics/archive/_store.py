"""The archive's folder: private files, the manifest that names those that count, and a lock for writers."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from p2p_analytics import settings
from p2p_analytics.archive import _manifest
from p2p_analytics.archive._manifest import Entry, Manifest
from p2p_analytics.errors import ArchiveError, describe_os_error
from p2p_analytics.files import NotRegularFileError, atomic_file, hold_lock, is_regular, open_regular
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import frame_of, type_of_name
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import date
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from p2p_analytics.records import Me

FETCHED_AT: Final = "fetched_at"
SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    "payments": {**schema.PAYMENTS, FETCHED_AT: schema.INSTANT},
    "friends": schema.FRIENDS,
    "problems": schema.PROBLEMS,
}
LOCK_WAIT_SECONDS: Final = 10.0
_LOCK: Final = "lock"
_PREFIX: Final = ".p2p-archive-"  # of files being written; exports into the folder have another one
_LEFTOVER: Final = re.compile(rf"{re.escape(_PREFIX)}[a-z0-9_]{{8}}\.part", re.ASCII)  # what a kill leaves
_ACCOUNT: Final = b"p2p_analytics.account"
_OWN_TEXTS: Final = {name for name, dtype in schema.PAYMENTS.items() if dtype == schema.TEXT}
_INSTANTS: Final = {"date_created", "date_completed", "created_us", "completed_us"}  # near to their neighbours'


class BrokenFileError(ArchiveError):
    """A file of the archive cannot be read; `sync` puts that right."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} is broken ({reason}): sync the archive, which sets it aside and loads its payments again."
        )


def arrow_schema(kind: str) -> pa.Schema:
    """Return the one schema of all files of a kind: text, whole numbers and UTC microseconds, as every engine reads."""
    import pyarrow as pa

    return pa.schema([(name, type_of_name(name) or pa.timestamp("us", "UTC")) for name in SCHEMAS[kind]])


class Store:
    """The files of one archive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            if folder.exists() and not folder.is_dir():
                raise ArchiveError(f"{folder} is a file: an archive is a folder, so name another place.")
            strange = folder.exists() and not self._is_ours()
        except OSError as error:
            raise self._unusable(error) from None
        if strange:
            raise ArchiveError(f"{folder} holds other things and no archive: name a new folder, or an empty one.")

    def manifest(self) -> Manifest | None:
        """Return what counts now, None where nothing has been written yet."""
        path = self.folder / _manifest.NAME
        try:
            found = _manifest.decode(self._bytes_of(path))
        except FileNotFoundError:
            return None
        except _manifest.ManifestError as error:
            raise BrokenFileError(path, str(error)) from None
        if found is None:
            raise ArchiveError(f"{self.folder} was written by a newer p2p_analytics: update this one.")
        return found

    def read(self, entry: Entry, *, columns: list[str] | None = None, compact: bool = False) -> pa.Table:
        """Return a file's rows, after a look at each byte; compact gives words as dictionaries, on one core."""
        kind = entry.kind
        repeated = [name for name, dtype in SCHEMAS[kind].items() if dtype == schema.WORD]
        return self._opened(entry, repeated if compact else None).read(
            columns=columns or list(SCHEMAS[kind]), use_threads=not compact
        )

    def frame(self, entry: Entry) -> pd.DataFrame:
        """Return a file's rows as a frame."""
        return frame_of(self.read(entry))

    def same_account(self, manifest: Manifest, me: Me) -> None:
        """Raise an ArchiveError where somebody else's history is here."""
        if manifest.me.user.id != me.user.id:
            raise self._another_account()

    def is_sound(self, entry: Entry) -> bool:
        """Return whether a file is there, is to the byte what was written, and has the columns of today."""
        try:
            self._opened(entry)
        except BrokenFileError:
            return False
        return True

    def paths(self, manifest: Manifest) -> list[str]:
        """Return the paths of the payments' files, newest first, each checked as for reading."""
        for entry in manifest.payments:
            self._opened(entry)
        return [str(self.folder / entry.name) for entry in reversed(manifest.payments)]

    def write(self, kind: str, table: pa.Table, account: str, *, start: date | None = None) -> Entry:
        """Write rows under a new name, which counts when a manifest names it."""
        import pyarrow.parquet

        columns = arrow_schema(kind)
        instants = [name for name in columns.names if name in _INSTANTS]
        sink = pyarrow.BufferOutputStream()
        with pyarrow.parquet.ParquetWriter(
            sink,
            columns,
            compression="zstd",
            version="2.6",
            store_schema=False,
            use_dictionary=[name for name in columns.names if name not in _INSTANTS | _OWN_TEXTS],
            column_encoding=dict.fromkeys(instants, "DELTA_BINARY_PACKED"),
        ) as writer:
            writer.write_table(table.cast(columns))
            writer.add_key_value_metadata({_ACCOUNT: account})
        body = sink.getvalue()
        digest = sha256(body).hexdigest()
        name = _manifest.file_name(kind, start, digest)
        with atomic_file(self.folder / name, prefix=_PREFIX) as file:
            file.write(body)
        return Entry(
            name=name,
            rows=table.num_rows,
            size=body.size,
            sha256=digest,
            start=start,
            pending=pending_ids(table) if kind == "payments" else (),
        )

    def commit(self, manifest: Manifest, previous: Manifest | None) -> None:
        """Make a manifest count. The files of the previous one stay for its readers; older ones are removed."""
        body = _manifest.encode(manifest)
        try:
            _manifest.decode(body)  # what could not be read must not replace what can
        except _manifest.ManifestError as error:
            raise ArchiveError(f"The history cannot be kept in {self.folder} ({error}): correct it.") from None
        with atomic_file(self.folder / _manifest.NAME, prefix=_PREFIX) as file:
            file.write(body)
        kept = {entry.name for each in (manifest, previous) if each for entry in each.entries}
        for path in self._own_files():
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def set_aside(self, name: str) -> None:
        """Rename a broken file, so that it stays to be looked at and counts no more.

        Raises
        ------
        ArchiveError
            Something that is no file has this name; it is not ours and stays.
        """
        broken = self.folder / name
        if not os.path.lexists(broken):
            return
        if not is_regular(broken):
            raise self._not_ours(broken, "a file is wanted there")
        aside = f"{broken}.corrupt-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"
        with contextlib.suppress(FileNotFoundError):
            broken.rename(aside)

    def set_manifest_aside(self) -> str:
        """Rename a broken manifest likewise, and return its name."""
        self.set_aside(_manifest.NAME)
        return _manifest.NAME

    def unnamed(self, account: str) -> Iterator[pa.Table]:
        """Yield the payments of all files that can be read, where there is no manifest to name those that count."""
        import pyarrow.parquet

        for path in sorted(self._own_files()):
            if not path.name.startswith("payments-"):
                continue
            body = self._bytes_of(path)
            if not _manifest.fits_name(path.name, body):
                self.set_aside(path.name)
                continue
            try:
                table = pyarrow.parquet.read_table(pyarrow.BufferReader(body))
                written_for = (table.schema.metadata or {}).get(_ACCOUNT, b"").decode()
                rows = table.cast(arrow_schema("payments"))
            except (pyarrow.ArrowException, ValueError, OSError):
                self.set_aside(path.name)
                continue
            if written_for != account:
                raise self._another_account()
            yield rows

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of who writes; a process that ends in any way lets it go.

        Raises
        ------
        ArchiveError
            Another process held it for ``LOCK_WAIT_SECONDS``, or the folder cannot be written.
        """
        with contextlib.ExitStack() as stack:
            try:
                settings.make_private(self.folder)
                self.folder.chmod(0o700)
                stack.enter_context(hold_lock(self.folder / _LOCK, seconds=LOCK_WAIT_SECONDS))
            except BlockingIOError:
                raise ArchiveError(
                    f"Another process is writing to {self.folder}: try again when it has ended."
                ) from None
            except OSError as error:
                raise self._unusable(error) from None
            yield

    def _is_ours(self) -> bool:
        """Return whether the folder is an archive, what a killed first sync left of one, or empty."""
        with contextlib.suppress(BrokenFileError):
            if self.manifest() is not None:
                return True
        names = {path.name for path in self.folder.iterdir()}
        lock = self.folder / _LOCK
        if is_regular(lock) and not lock.stat().st_size:
            names.discard(_LOCK)
        own = {path.name for path in self._own_files()}
        return not names - own or any(_manifest.is_file_name(name) for name in own)

    def _own_files(self) -> Iterator[Path]:
        """Yield the files that an archive's writer gave their names; a link or pipe of such a name is not ours."""
        for path in self.folder.iterdir():
            if (_manifest.is_file_name(path.name) or _LEFTOVER.fullmatch(path.name)) and is_regular(path):
                yield path

    def _opened(self, entry: Entry, repeated: list[str] | None = None) -> pq.ParquetFile:
        import pyarrow.parquet

        path = self.folder / entry.name
        source = pyarrow.BufferReader(self._content(entry))
        columns = arrow_schema(entry.kind)
        try:
            file = pyarrow.parquet.ParquetFile(source)
            found = file.schema_arrow
        except (pyarrow.ArrowException, ValueError, OSError):
            raise BrokenFileError(path, "it is no Parquet file") from None
        if not set(found.names) >= set(columns.names):
            raise BrokenFileError(path, "an earlier version wrote it, with fewer columns")
        if sorted(map(str, found)) != sorted(map(str, columns)):  # each a name, a type, and whether it holds nulls
            raise BrokenFileError(path, "another version wrote it, with other columns or types")
        if file.metadata.num_rows != entry.rows:
            raise BrokenFileError(path, f"it holds {file.metadata.num_rows} rows in place of {entry.rows}")
        if repeated is None:
            return file
        # Only now: reading a column that is not there as a dictionary would raise a KeyError.
        return pyarrow.parquet.ParquetFile(source, read_dictionary=repeated)

    def _content(self, entry: Entry) -> bytes:
        """Return a file's bytes, which are what was written."""
        path = self.folder / entry.name
        try:
            body = self._bytes_of(path)
        except FileNotFoundError:
            raise BrokenFileError(path, "it is missing") from None
        if len(body) != entry.size or sha256(body).hexdigest() != entry.sha256:
            raise BrokenFileError(path, "it is not what was written")
        return body

    def _bytes_of(self, path: Path) -> bytes:
        """Return what a file of the folder holds; a link leads out of the archive, so none is followed."""
        try:
            with open_regular(path, follow_links=False) as file:
                return file.read()
        except FileNotFoundError:
            raise
        except NotRegularFileError as error:
            raise self._not_ours(path, error.reason) from None
        except OSError as error:
            raise self._unusable(error) from None

    def _not_ours(self, path: Path, reason: str) -> ArchiveError:
        return ArchiveError(f"{path} is no file of the archive ({reason}): move it away, then sync the archive.")

    def _another_account(self) -> ArchiveError:
        return ArchiveError(f"{self.folder} holds the history of another account: name another folder.")

    def _unusable(self, error: OSError) -> ArchiveError:
        return ArchiveError(
            f"The archive {self.folder} cannot be used ({describe_os_error(error)}): correct that, or name another one."
        )


def pending_ids(payments: pa.Table) -> tuple[str, ...]:
    """Return the ids of the payments that can still change."""
    import pyarrow.compute as pc

    return tuple(payments.filter(pc.equal(payments["status"], Status.PENDING.value))["payment_id"].to_pylist())
