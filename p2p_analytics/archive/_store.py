"""The folder itself: private files, a manifest that names those that count, and a lock for who writes."""

from __future__ import annotations

import contextlib
import secrets
from datetime import UTC, date, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import msgspec

from p2p_analytics import settings
from p2p_analytics.errors import ArchiveError
from p2p_analytics.files import atomic_file, exclusive
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import frame_of, type_of_name
from p2p_analytics.records import Me
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

FETCHED_AT: Final = "fetched_at"
SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    "payments": {**schema.PAYMENTS, FETCHED_AT: schema.INSTANT},
    "friends": schema.FRIENDS,
    "problems": schema.PROBLEMS,
}
LOCK_WAIT_SECONDS: Final = 10.0
_FORMAT: Final = 1
_MANIFEST: Final = "manifest.json"
_LOCK: Final = "lock"
_ACCOUNT: Final = b"p2p_analytics.account"
_OWN_TEXTS: Final = {name for name, dtype in schema.PAYMENTS.items() if dtype == schema.TEXT}
_INSTANTS: Final = {"date_created", "date_completed", "created_us", "completed_us"}  # near to their neighbours'


class BrokenFileError(ArchiveError):
    """A file of the archive cannot be read; `sync` puts that right."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is broken ({reason}): sync the archive, which sets it aside and loads it anew.")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One file. Of payments, it holds those from ``start`` up to the next file's; the first has no start."""

    name: str
    rows: int
    size: int
    sha256: str
    start: date | None = None
    pending: tuple[str, ...] = ()


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What counts: whose history, as of when, synced up to which payment's instant, and in which files."""

    me: Me
    fetched_at: datetime
    synced_to: datetime | None
    friends_at: datetime
    payments: tuple[Entry, ...]  # oldest first
    friends: Entry
    problems: Entry
    format: int = _FORMAT

    @property
    def small(self) -> dict[str, Entry]:
        """The files there is one of."""
        return {"friends": self.friends, "problems": self.problems}

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All of its files."""
        return (*self.payments, *self.small.values())


def arrow_schema(kind: str) -> pa.Schema:
    """Return the one schema of all files of a kind: text, whole numbers and UTC microseconds, as every engine reads."""
    import pyarrow as pa

    return pa.schema([(name, type_of_name(name) or pa.timestamp("us", "UTC")) for name in SCHEMAS[kind]])


class Store:
    """The files of one archive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise ArchiveError(f"{folder} is a file: an archive is a folder, so name another place.")
        try:
            strange = folder.exists() and not (folder / _LOCK).exists() and any(folder.iterdir())
        except OSError as error:
            raise self._unusable(error) from None
        if strange and not (folder / _MANIFEST).exists():
            raise ArchiveError(f"{folder} holds other things and no archive: name a new folder, or an empty one.")

    def manifest(self) -> Manifest | None:
        """Return what counts now, None where nothing has been written yet."""
        path = self.folder / _MANIFEST
        try:
            body = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unusable(error) from None
        try:
            if msgspec.json.decode(body, type=_Format).format > _FORMAT:
                raise ArchiveError(f"{self.folder} was written by a newer p2p_analytics: update this one.")
            return msgspec.json.decode(body, type=Manifest)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise BrokenFileError(path, "it is no manifest") from None

    def read(self, entry: Entry, *, columns: list[str] | None = None, compact: bool = False) -> pa.Table:
        """Return a file's rows, after a look at each byte; compact gives words as dictionaries, on one core."""
        kind = _kind(entry)
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

    def sound(self, entry: Entry) -> bool:
        """Tell whether a file is there, is to the byte what was written, and has the columns of today."""
        try:
            self._opened(entry)
        except BrokenFileError:
            return False
        return True

    def paths(self, manifest: Manifest) -> list[str]:
        """Return the paths of the payments' files, newest first, after a look whether each is there."""
        paths = [self.folder / entry.name for entry in reversed(manifest.payments)]
        for path in paths:
            if not path.is_file():
                raise BrokenFileError(path, "it is missing")
        return [str(path) for path in paths]

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
        period = f"{start or 'first'}-" if kind == "payments" else ""
        name = f"{kind}-{period}{secrets.token_hex(6)}.parquet"
        with atomic_file(self.folder / name) as file:
            file.write(body)
        return Entry(
            name=name,
            rows=table.num_rows,
            size=body.size,
            sha256=sha256(body).hexdigest(),
            start=start,
            pending=pending_ids(table) if kind == "payments" else (),
        )

    def commit(self, manifest: Manifest, previous: Manifest | None) -> None:
        """Make a manifest count. The files of the one before stay, for who is reading them; older ones go."""
        with atomic_file(self.folder / _MANIFEST) as file:
            file.write(msgspec.json.encode(manifest))
        kept = {entry.name for each in (manifest, previous) if each for entry in each.entries}
        for path in (*self.folder.glob("*.parquet"), *self.folder.glob(".p2p-*.part")):
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def set_aside(self, name: str) -> None:
        """Rename a broken file, so that it stays to be looked at and counts no more."""
        broken = self.folder / name
        with contextlib.suppress(FileNotFoundError):
            broken.rename(f"{broken}.corrupt-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}")

    def set_manifest_aside(self) -> str:
        """Rename a broken manifest likewise, and return its name."""
        self.set_aside(_MANIFEST)
        return _MANIFEST

    def unnamed(self, account: str) -> Iterator[pa.Table]:
        """Yield the payments of all files that can be read, where there is no manifest to name those that count."""
        import pyarrow.parquet

        for path in sorted(self.folder.glob("payments-*.parquet")):
            try:
                table = pyarrow.parquet.read_table(pyarrow.BufferReader(path.read_bytes()))
                whose = (table.schema.metadata or {}).get(_ACCOUNT, b"").decode()
                rows = table.cast(arrow_schema("payments"))
            except (pyarrow.ArrowException, ValueError):
                self.set_aside(path.name)
                continue
            if whose != account:
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
                stack.enter_context(exclusive(self.folder / _LOCK, seconds=LOCK_WAIT_SECONDS))
            except BlockingIOError:
                raise ArchiveError(
                    f"Another process is writing to {self.folder}: try again when it has ended."
                ) from None
            except OSError as error:
                raise self._unusable(error) from None
            yield

    def _opened(self, entry: Entry, repeated: list[str] | None = None) -> pq.ParquetFile:
        import pyarrow.parquet

        path = self.folder / entry.name
        try:
            body = path.read_bytes()
        except FileNotFoundError:
            raise BrokenFileError(path, "it is missing") from None
        except OSError as error:
            raise self._unusable(error) from None
        if sha256(body).hexdigest() != entry.sha256:
            raise BrokenFileError(path, "it is not what was written")
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(body), read_dictionary=repeated)
        if not set(file.schema_arrow.names) >= SCHEMAS[_kind(entry)].keys():
            raise BrokenFileError(path, "an earlier version wrote it, with fewer columns")
        return file

    def _another_account(self) -> ArchiveError:
        return ArchiveError(f"{self.folder} holds the history of another account: name another folder.")

    def _unusable(self, error: OSError) -> ArchiveError:
        reason = (error.strerror or str(error)).lower()
        return ArchiveError(f"The archive {self.folder} cannot be used ({reason}): correct that, or name another one.")


class _Format(msgspec.Struct):
    """The part of a manifest that tells whether the rest can be read."""

    format: int


def _kind(entry: Entry) -> str:
    return entry.name.partition("-")[0]


def pending_ids(payments: pa.Table) -> tuple[str, ...]:
    """Return the ids of the payments that can still change."""
    import pyarrow.compute as pc

    return tuple(payments.filter(pc.equal(payments["status"], Status.PENDING.value))["payment_id"].to_pylist())


def starts_of(entries: Iterable[Entry]) -> list[date | None]:
    """Return where each file begins, whatever was before the first one being the first one's."""
    starts = [entry.start for entry in entries]
    return [None, *starts[1:]]
