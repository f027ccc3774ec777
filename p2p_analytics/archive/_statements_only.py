"""Archives that only statements have filled: their first manifest, and their repair, which no sync can do."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from p2p_analytics.archive import _manifest
from p2p_analytics.archive._manifest import STATEMENT_KINDS, BrokenFileError, Manifest
from p2p_analytics.archive._recovery import read_journal, recover_statements
from p2p_analytics.archive._rewrite import write_table
from p2p_analytics.archive.tables import arrow_schema
from p2p_analytics.frames.arrow import MICROSECONDS, frame_of
from p2p_analytics.frames.build import friends_frame, problems_frame
from p2p_analytics.frames.people import people_frame

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import pandas as pd

    from p2p_analytics.archive._folder import ArchiveFolder
    from p2p_analytics.records import Me

log = logging.getLogger(__name__)


class Damage(NamedTuple):
    """The manifest, None if it is broken or lost, and the names of all broken files."""

    manifest: Manifest | None
    files: tuple[str, ...]


def create_manifest(folder: ArchiveFolder, me: Me, fetched_at: datetime, statements: Mapping[str, Any]) -> Manifest:
    """Return the manifest of an archive that holds files of statements, and write its other files."""
    account = str(me.user.id)
    empty = {"friends": friends_frame([]), "problems": problems_frame([]), "people": people_frame([me.user])}
    small: dict[str, Any] = {kind: write_table(folder, kind, frame, None, account) for kind, frame in empty.items()}
    return Manifest(
        me=me,
        fetched_at=fetched_at,
        synced_to=None,
        friends_at=fetched_at,
        payments=(folder.write("payments", arrow_schema("payments").empty_table(), account),),
        people_at=fetched_at,
        account_name=account,
        **small,
        **statements,
    )


def rename_files(folder: ArchiveFolder, manifest: Manifest, account: str) -> Manifest:
    """Return the manifest of an archive with another account, and write its files again.

    Except for those of statements and people, which the caller replaces.
    """
    import pyarrow as pa

    payments = []
    for entry in manifest.payments:
        rows = folder.read(entry)
        names = pa.repeat(account, rows.num_rows).cast(rows.schema.field("account_id").type)
        rows = rows.set_column(rows.schema.get_field_index("account_id"), "account_id", names)
        payments.append(folder.write("payments", rows, account, start=entry.start))
    fields = {
        kind: write_table(folder, kind, folder.read_frame(entry), None, account)
        for kind, entry in manifest.small.items()
        if kind not in (*STATEMENT_KINDS, "people")
    }
    return msgspec.structs.replace(manifest, payments=tuple(payments), account_name=account, **fields)


def find_damage(folder: ArchiveFolder) -> Damage | None:
    """Return what only an import can repair: a broken or lost file of an archive without the service's payments.

    Broken files of statements alone are none, because every import replaces them.
    """
    try:
        manifest = folder.read_manifest()
    except BrokenFileError:
        return Damage(None, (_manifest.NAME,)) if folder.holds_statements_only() else None
    if manifest is None:
        is_lost = bool(read_journal(folder)) and folder.holds_statements_only()
        return Damage(None, ()) if is_lost else None
    if not isinstance(manifest.account_name, str):
        return None
    broken = tuple(entry.name for entry in manifest.entries if not folder.is_sound(entry))
    is_only_statements = {name.partition("-")[0] for name in broken} <= {*STATEMENT_KINDS}
    return None if is_only_statements else Damage(manifest, broken)


def recover_tables(folder: ArchiveFolder, me: Me) -> dict[str, pd.DataFrame]:
    """Return the tables of statements that can still be read, by kind."""
    empty = {kind: frame_of(arrow_schema(kind).empty_table()) for kind in STATEMENT_KINDS}
    tables = recover_statements(folder, me) or empty
    return {kind: table.drop(columns=[*MICROSECONDS], errors="ignore") for kind, table in tables.items()}


def repair_archive(folder: ArchiveFolder, damage: Damage, me: Me, fetched_at: datetime) -> None:
    """Set broken files aside, and keep the statements that are left; call it within the lock.

    Raises
    ------
    ArchiveError
        The statements are another account's.
    """
    tables = recover_tables(folder, me)
    for name in damage.files:
        log.warning("The file %s of the archive %s was broken and is set aside.", name, folder.path)
        folder.set_aside(name)
    latest = tables["statements"]["date_created"].max()
    moment = fetched_at if latest != latest else max(fetched_at, latest.to_pydatetime())  # noqa: PLR0124 - NaT
    entries = {kind: write_table(folder, kind, table, None, str(me.user.id)) for kind, table in tables.items()}
    repaired = create_manifest(folder, me, moment, entries)
    if damage.manifest is not None:
        sound = {kind: entry for kind, entry in damage.manifest.small.items() if entry.name not in damage.files}
        repaired = msgspec.structs.replace(repaired, fetched_at=damage.manifest.fetched_at, **sound)
    folder.replace_file(_manifest.NAME, folder.encode_manifest(repaired))
