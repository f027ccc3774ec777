"""Recovery of the tables of an archive without its manifest, and of the state before a killed import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2p_analytics.archive import _manifest
from p2p_analytics.archive._earlier_form import PROFILES, earlier_schema, is_earlier_form, to_present_form
from p2p_analytics.archive._manifest import STATEMENT_KINDS
from p2p_analytics.archive.imports import journal
from p2p_analytics.archive.imports.owners import HOLDERS, list_names
from p2p_analytics.archive.tables import arrow_schema
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.arrow import frame_of
from p2p_analytics.handles import is_name_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    import pyarrow as pa

    from p2p_analytics.archive._folder import ArchiveFolder
    from p2p_analytics.archive.imports.journal import Batch
    from p2p_analytics.records import Me


def read_journal(folder: ArchiveFolder) -> tuple[Batch, ...]:
    """Return the imports as the journal lists them, the first one first."""
    body = folder.read_bytes(journal.NAME)
    try:
        return () if body is None else journal.decode(body)
    except journal.JournalError as error:
        raise ArchiveError(
            f"{folder.path / journal.NAME} is broken ({error}): remove it; the imports before can then not be undone."
        ) from None


def write_journal(folder: ArchiveFolder, batches: tuple[Batch, ...]) -> None:
    """Replace the journal; without imports there is none."""
    if batches:
        folder.replace_file(journal.NAME, journal.encode(batches))
    else:
        folder.remove_file(journal.NAME)


def settle_imports(folder: ArchiveFolder) -> tuple[Batch, ...]:
    """Finish an import or undo that is under way in the journal, and return the imports in effect.

    Call it within the lock, before the manifest is replaced for another reason: the manifest says whether the import is
    in effect. The files of one that is not are removed.
    """
    batches = read_journal(folder)
    body = folder.read_bytes(_manifest.NAME)
    current = journal.find_current(batches, None if body is None else journal.digest(body))
    if current == batches:
        return batches
    if len(current) < len(batches):
        texts = [batch.before for batch in batches if batch.before is not None]
        kept = {entry.name for text in texts for entry in folder.decode_manifest(text.encode()).entries}
        for name in set(batches[-1].written) - kept:
            folder.remove_file(name)
    write_journal(folder, current)
    return current


def recover_payments(folder: ArchiveFolder, me: Me) -> Iterator[pa.Table]:
    """Yield the payments of all readable files, with the profiles of the earlier form."""
    columns = arrow_schema("payments")
    for rows in _recover(folder, "payments", me):
        names = [*columns.names, *(name for name in PROFILES if name in rows.column_names)]
        yield rows.select(names)


def recover_people(folder: ArchiveFolder, me: Me) -> Iterator[pd.DataFrame]:
    """Yield the people of all readable files, the newest file first."""
    for rows in _recover(folder, "people", me):
        yield frame_of(rows)


def recover_statements(folder: ArchiveFolder, me: Me) -> dict[str, pd.DataFrame]:
    """Return the tables of statements by kind, from the newest files; nothing without statements."""
    found = {kind: next(_recover(folder, kind, me), None) for kind in STATEMENT_KINDS}
    tables = {
        kind: frame_of(arrow_schema(kind).empty_table() if rows is None else rows) for kind, rows in found.items()
    }
    return tables if found["statements"] is not None else {}


def _recover(folder: ArchiveFolder, kind: str, me: Me) -> Iterator[pa.Table]:
    """Yield the rows of all files of a kind in the present form; unreadable files are set aside."""
    import pyarrow.parquet

    paths = [path for path in sorted(folder.list_own_files()) if path.name.startswith(f"{kind}-")]
    for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        body = folder.read_bytes(path.name)
        if body is None or not _manifest.matches_name(path.name, body):
            folder.set_aside(path.name)
            continue
        try:
            file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(body))
            written_for = folder.read_owner(file)
            rows = file.read()
            if is_earlier_form(rows.schema, kind):
                earlier = earlier_schema(arrow_schema(kind))
                rows = to_present_form(rows.select(earlier.names).cast(earlier), written_for)
            else:
                rows = rows.cast(arrow_schema(kind))
        except (pyarrow.ArrowException, KeyError, ValueError, OSError):
            folder.set_aside(path.name)
            continue
        is_own = written_for == me.user.id or is_name_of(written_for, me.user.username)
        # In another spelling, and if it is not the holder's name in the rows, a name can be the handle of another user.
        if not is_own and (written_for != me.user.display_name or not _is_holder(kind, rows, written_for)):
            raise folder.account_error()
        # Before the first sync, statements named the account, and the other files held nothing that the service said.
        if written_for == me.user.id or kind in STATEMENT_KINDS:
            yield rows


def _is_holder(kind: str, rows: pa.Table, name: str) -> bool:
    """Return whether the account holder has a name in recovered rows; files of other tables do not say it."""
    return kind != "statements" or name in list_names(frame_of(rows.select([*HOLDERS])))
