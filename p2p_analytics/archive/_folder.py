"""The archive's folder: private files, the manifest that lists the valid ones, and a lock for writers."""

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
from p2p_analytics.archive._earlier_form import PROFILES, earlier_schema, to_present_form
from p2p_analytics.archive._manifest import Entry, Manifest
from p2p_analytics.errors import ArchiveError, describe_os_error
from p2p_analytics.files import NotRegularFileError, atomic_file, hold_lock, is_regular, open_regular
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import MICROSECONDS, frame_of, type_of_name
from p2p_analytics.frames.merge import FETCHED_AT
from p2p_analytics.frames.people import merge_people, people_frame, people_of_payments
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from datetime import date
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    from p2p_analytics.records import Me

SCHEMAS: Final[Mapping[str, Mapping[str, str]]] = {
    "payments": {**schema.PAYMENTS, **MICROSECONDS, FETCHED_AT: schema.INSTANT},
    "people": schema.PEOPLE,
    "friends": schema.FRIENDS,
    "problems": schema.PROBLEMS,
}
LOCK_WAIT_SECONDS: Final = 10.0
_LOCK: Final = "lock"
_PREFIX: Final = ".p2p-archive-"  # of temporary files; exports into the folder use another prefix
_LEFTOVER: Final = re.compile(rf"{re.escape(_PREFIX)}[a-z0-9_]{{8}}\.part", re.ASCII)  # of a killed process
_ACCOUNT: Final = b"p2p_analytics.account"
_PEOPLE_COLUMNS: Final = [
    f"{side}_{name}" for side in ("actor", "target_user") for name in ("id", "username", "display_name")
]
# What a sync loads when a file of this kind is broken.
_LOADS_AGAIN: Final = {
    "payments": "its payments again",
    "friends": "the friends and all payments again",
    "people": "all payments again, and the people with them, but not their earlier names",
    "problems": "all payments again, and their problems with them",
}
_OWN_TEXTS: Final = {"payment_id", "note", "refund_payment_id"}  # the other texts repeat
_MOSTLY_CONSTANT: Final = {"medium", "refund_payment_id", "source", "account_id", "kind", "currency"}
_INSTANTS: Final = {"date_created", "date_completed", "created_us", "completed_us"}  # neighbours differ little


class BrokenFileError(ArchiveError):
    """A file of the archive cannot be read; `sync` repairs the archive."""

    def __init__(self, path: Path, reason: str) -> None:
        loads = _LOADS_AGAIN.get(path.name.partition("-")[0], "all payments again")
        super().__init__(f"{path} is broken ({reason}): sync the archive, which sets it aside and loads {loads}.")


def arrow_schema(kind: str) -> pa.Schema:
    """Return the schema of all files of a kind: text, integers and UTC microseconds, which every engine reads."""
    import pyarrow as pa

    return pa.schema([(name, type_of_name(name) or pa.timestamp("us", "UTC")) for name in SCHEMAS[kind]])


class ArchiveFolder:
    """The files of one archive."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            if path.exists() and not path.is_dir():
                raise ArchiveError(f"{path} is a file: an archive is a folder, so name another path.")
            foreign = path.exists() and not self._is_archive()
        except OSError as error:
            raise self._unusable_error(error) from None
        if foreign:
            raise ArchiveError(
                f"{path} holds other things and no archive: name an archive's folder or, for a new archive, a new or "
                "empty folder."
            )

    def read_manifest(self) -> Manifest | None:
        """Return the current manifest, or None if nothing has been written yet."""
        path = self.path / _manifest.NAME
        try:
            found = _manifest.decode(self._read_bytes(path))
        except FileNotFoundError:
            return None
        except _manifest.ManifestError as error:
            raise BrokenFileError(path, str(error)) from None
        if found is None:
            raise ArchiveError(f"{self.path} was written by a newer p2p_analytics: update this one.")
        return found

    def read(self, entry: Entry, *, columns: list[str] | None = None, use_threads: bool = True) -> pa.Table:
        """Return a file's rows in the present form, after its digest is checked."""
        import pyarrow as pa

        names = columns or list(SCHEMAS[entry.kind])
        file = self._open_file(entry)
        if _is_earlier_form(file.schema_arrow, entry.kind):
            return to_present_form(file.read(), _owner(file)).select(names)
        constant = _read_constants(file, names)
        rows = file.read(columns=[name for name in names if name not in constant], use_threads=use_threads)
        for name, value in constant.items():
            rows = rows.append_column(name, pa.repeat(value, entry.rows))
        return rows.select(names)

    def read_frame(self, entry: Entry) -> pd.DataFrame:
        """Return a file's rows as a frame."""
        return frame_of(self.read(entry))

    def read_people(self, manifest: Manifest) -> pd.DataFrame:
        """Return the people; those of an archive in the earlier form are collected from its other tables."""
        import pyarrow as pa

        if manifest.people is not None:
            return self.read_frame(manifest.people)
        tables = []
        for entry in reversed(manifest.payments):
            file = self._open_file(entry)
            earlier = _is_earlier_form(file.schema_arrow, entry.kind)
            tables.append(file.read(columns=_PEOPLE_COLUMNS + (PROFILES if earlier else [])))
        seen = people_of_payments(frame_of(pa.concat_tables(tables, promote_options="default")))
        return merge_people([people_frame([manifest.me.user]), self.read_frame(manifest.friends), seen])

    def is_new(self) -> bool:
        """Return whether the folder holds no manifest and no table yet."""
        return not (self.path / _manifest.NAME).exists() and not any(self._list_own_files())

    def require_account(self, manifest: Manifest, me: Me) -> None:
        """Raise an ArchiveError if the archive belongs to another account."""
        if manifest.me.user.id != me.user.id:
            raise self._account_error()

    def is_sound(self, entry: Entry) -> bool:
        """Return whether a file exists, is byte for byte as written, and has the current columns."""
        try:
            self._open_file(entry)
        except BrokenFileError:
            return False
        return True

    def list_paths(self, manifest: Manifest) -> list[str]:
        """Return the paths of the payment files, newest first; each file is checked as for reading."""
        for entry in manifest.payments:
            if _is_earlier_form(self._open_file(entry).schema_arrow, entry.kind):
                raise ArchiveError(
                    f"{self.path} was written by an earlier p2p_analytics: sync it, or merge a history into it, once."
                )
        return [str(self.path / entry.name) for entry in reversed(manifest.payments)]

    def write(self, kind: str, table: pa.Table, account: str, *, start: date | None = None) -> Entry:
        """Write rows to a new file, which becomes part of the archive when a manifest lists it."""
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
        name = _manifest.build_file_name(kind, start, digest)
        with atomic_file(self.path / name, prefix=_PREFIX) as file:
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
        """Replace the manifest, and remove older files. The files of the previous manifest stay for its readers."""
        body = _manifest.encode(manifest)
        try:
            _manifest.decode(body)  # an unreadable manifest must not replace a readable one
        except _manifest.ManifestError as error:
            raise ArchiveError(f"The history cannot be kept in {self.path} ({error}): correct it.") from None
        with atomic_file(self.path / _manifest.NAME, prefix=_PREFIX) as file:
            file.write(body)
        kept = {entry.name for each in (manifest, previous) if each for entry in each.entries}
        for path in self._list_own_files():
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def set_aside(self, name: str) -> None:
        """Rename a broken file, so that it stays for inspection and is no longer part of the archive.

        Raises
        ------
        ArchiveError
            The path is not a regular file; it stays unchanged.
        """
        broken = self.path / name
        if not os.path.lexists(broken):
            return
        if not is_regular(broken):
            raise self._foreign_file_error(broken, "a file is wanted there")
        aside = f"{broken}.corrupt-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"
        with contextlib.suppress(FileNotFoundError):
            broken.rename(aside)

    def set_manifest_aside(self) -> str:
        """Rename a broken manifest, and return its name."""
        self.set_aside(_manifest.NAME)
        return _manifest.NAME

    def recover_payments(self, account: str) -> Iterator[pa.Table]:
        """Yield the payments of all readable files, with the profiles of the earlier form; for a lost manifest."""
        columns = arrow_schema("payments")
        for rows in self._recover("payments", account, earlier_schema(columns)):
            names = [*columns.names, *(name for name in PROFILES if name in rows.column_names)]
            yield rows.select(names)

    def recover_people(self, account: str) -> Iterator[pd.DataFrame]:
        """Yield the people of all readable files, the newest file first; for an archive without a manifest."""
        for rows in self._recover("people", account):
            yield frame_of(rows)

    def _recover(self, kind: str, account: str, earlier: pa.Schema | None = None) -> Iterator[pa.Table]:
        """Yield the rows of all files of a kind in the present form; unreadable files are set aside."""
        import pyarrow.parquet

        paths = [path for path in sorted(self._list_own_files()) if path.name.startswith(f"{kind}-")]
        for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True):
            body = self._read_bytes(path)
            if not _manifest.matches_name(path.name, body):
                self.set_aside(path.name)
                continue
            try:
                file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(body))
                written_for = _owner(file)
                rows = file.read()
                if earlier is not None and _is_earlier_form(rows.schema, kind):
                    rows = to_present_form(rows.select(earlier.names).cast(earlier), written_for)
                else:
                    rows = rows.cast(arrow_schema(kind))
            except (pyarrow.ArrowException, KeyError, ValueError, OSError):
                self.set_aside(path.name)
                continue
            if written_for != account:
                raise self._account_error()
            yield rows

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the writers' lock during the block; the end of the process releases it too.

        Raises
        ------
        ArchiveError
            Another process held it for ``LOCK_WAIT_SECONDS``, or the folder cannot be written.
        """
        with contextlib.ExitStack() as stack:
            try:
                settings.make_private(self.path)
                self.path.chmod(0o700)
                stack.enter_context(hold_lock(self.path / _LOCK, seconds=LOCK_WAIT_SECONDS))
            except BlockingIOError:
                raise ArchiveError(f"Another process is writing to {self.path}: try again when it has ended.") from None
            except OSError as error:
                raise self._unusable_error(error) from None
            yield

    def _is_archive(self) -> bool:
        """Return whether the folder is an archive, the remains of an interrupted first sync, or empty."""
        with contextlib.suppress(BrokenFileError):
            if self.read_manifest() is not None:
                return True
        names = {path.name for path in self.path.iterdir()}
        lock = self.path / _LOCK
        if is_regular(lock) and not lock.stat().st_size:
            names.discard(_LOCK)
        own = {path.name for path in self._list_own_files()}
        return not names - own or any(_manifest.is_file_name(name) for name in own)

    def _list_own_files(self) -> Iterator[Path]:
        """Yield regular files with a name that the archive gives; links and pipes of such a name are foreign."""
        for path in self.path.iterdir() if self.path.exists() else ():
            if (_manifest.is_file_name(path.name) or _LEFTOVER.fullmatch(path.name)) and is_regular(path):
                yield path

    def _open_file(self, entry: Entry) -> pq.ParquetFile:
        import pyarrow.parquet

        path = self.path / entry.name
        source = pyarrow.BufferReader(self._read_content(entry))
        columns = arrow_schema(entry.kind)
        try:
            file = pyarrow.parquet.ParquetFile(source)
            found = file.schema_arrow
        except (pyarrow.ArrowException, ValueError, OSError):
            raise BrokenFileError(path, "it is no Parquet file") from None
        if _is_earlier_form(found, entry.kind):
            columns = earlier_schema(columns)
        if not set(found.names) >= set(columns.names):
            raise BrokenFileError(path, "an earlier version wrote it, with fewer columns")
        if sorted(map(str, found)) != sorted(map(str, columns)):  # each a name, a type, and whether it holds nulls
            raise BrokenFileError(path, "another version wrote it, with other columns or types")
        if file.metadata.num_rows != entry.rows:
            raise BrokenFileError(path, f"it holds {file.metadata.num_rows} rows in place of {entry.rows}")
        return file

    def _read_content(self, entry: Entry) -> bytes:
        """Return a file's bytes, after a check of size and digest."""
        path = self.path / entry.name
        try:
            body = self._read_bytes(path)
        except FileNotFoundError:
            raise BrokenFileError(path, "it is missing") from None
        if len(body) != entry.size or sha256(body).hexdigest() != entry.sha256:
            raise BrokenFileError(path, "its content is not as it was written")
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

    def _foreign_file_error(self, path: Path, reason: str) -> ArchiveError:
        return ArchiveError(f"{path} is no file of the archive ({reason}): move it away, then sync the archive.")

    def _account_error(self) -> ArchiveError:
        return ArchiveError(f"{self.path} holds the history of another account: name another folder.")

    def _unusable_error(self, error: OSError) -> ArchiveError:
        return ArchiveError(
            f"The archive {self.path} cannot be used ({describe_os_error(error)}): correct that, or name another one."
        )


def _read_constants(file: pq.ParquetFile, names: Collection[str]) -> dict[str, pa.Scalar]:
    """Return the value of each column that has the same value, or none, in all rows; its pages need not be decoded."""
    import pyarrow as pa

    if file.num_row_groups != 1:
        return {}
    group, places = file.metadata.row_group(0), {name: place for place, name in enumerate(file.schema.names)}
    constants = {}
    for name in _MOSTLY_CONSTANT & set(names):
        found = group.column(places[name]).statistics
        if found is None or found.null_count is None:
            continue
        if found.null_count == group.num_rows:
            constants[name] = pa.scalar(None, pa.string())
        elif not found.null_count and found.has_min_max and found.min == found.max:
            constants[name] = pa.scalar(found.min, pa.string())
    return constants


def _is_earlier_form(found: pa.Schema, kind: str) -> bool:
    return kind == "payments" and not set(PROFILES).isdisjoint(found.names)


def _owner(file: pq.ParquetFile) -> str:
    """Return the user id that a file was written for; files without one are no archive's."""
    found: bytes = (file.metadata.metadata or {}).get(_ACCOUNT, b"")
    return found.decode()


def pending_ids(payments: pa.Table) -> tuple[str, ...]:
    """Return the ids of pending payments, which can still change."""
    import pyarrow.compute as pc

    return tuple(payments.filter(pc.equal(payments["status"], Status.PENDING.value))["payment_id"].to_pylist())
