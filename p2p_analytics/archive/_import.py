"""Import of statements into an archive, and its undo."""

from __future__ import annotations

import contextlib
import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from p2p_analytics import settings
from p2p_analytics.archive import _manifest
from p2p_analytics.archive._folder import ArchiveFolder
from p2p_analytics.archive._manifest import STATEMENT_KINDS, Manifest
from p2p_analytics.archive._recovery import read_journal, settle_imports, write_journal
from p2p_analytics.archive._rewrite import (
    get_stored,
    list_other_rows,
    list_tables,
    name_account,
    read_listed,
    read_statements,
    write_table,
)
from p2p_analytics.archive._statements_only import (
    create_manifest,
    find_damage,
    recover_tables,
    rename_files,
    repair_archive,
)
from p2p_analytics.archive.imports import journal
from p2p_analytics.archive.imports.balances import drop_derived, list_problems, merge_balances, select_gaps, set_balance
from p2p_analytics.archive.imports.histories import drop_undecided
from p2p_analytics.archive.imports.journal import Batch
from p2p_analytics.archive.imports.owners import (
    HOLDERS,
    complete_owner,
    describe_owner,
    drop_own,
    list_holders,
    list_other_holders,
    make_owner,
    require_account,
    separate_accounts,
    set_name,
)
from p2p_analytics.archive.imports.rows import (
    ImportPlan,
    merge_rows,
    name_rows,
    rename_stored,
    require_ids,
    select_shown,
)
from p2p_analytics.archive.imports.services import find_new_services
from p2p_analytics.archive.tables import BATCH, SCHEMAS
from p2p_analytics.display import format_count
from p2p_analytics.errors import ArchiveError, P2PAnalyticsError
from p2p_analytics.frames.arrow import frame_of
from p2p_analytics.frames.people import people_frame
from p2p_analytics.frames.schema import INSTANT, TEXT
from p2p_analytics.privacy import Mask
from p2p_analytics.records import Me, User

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from p2p_analytics.archive._manifest import Entry
    from p2p_analytics.statements import Statements


_COUNTS: Final = ("new", "known", "changed", "refused")
_IMPORTS: Final = {
    "number": "int64", "imported_at": INSTANT, "files": TEXT, **dict.fromkeys(_COUNTS, "int64"), "undoable": "bool",
}  # fmt: skip


class _Known(NamedTuple):
    """What an archive holds before an import: its manifest, of statements files and tables by kind, and imports."""

    manifest: Manifest | None
    files: dict[str, Entry]
    broken: tuple[Entry, ...]
    tables: dict[str, pd.DataFrame]
    batches: tuple[Batch, ...]


log = logging.getLogger(__name__)


class _StagedFolder(ArchiveFolder):
    """The folder of an archive; new files stay in memory, because the journal names them before they are written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.contents: dict[str, bytes] = {}

    def replace_file(self, name: str, body: bytes) -> None:
        """Keep a file in memory."""
        self.contents[name] = body

    def set_aside(self, name: str) -> None:
        """Leave a broken file where it is."""


def plan_import(folder: ArchiveFolder, statements: Statements, *, repair: bool) -> ImportPlan:
    """Return what an import would do, and change nothing."""
    batches = _list_current(folder)[0]  # raises the error that the import would raise
    damage = find_damage(folder)
    previous = damage.manifest if damage else folder.read_manifest()
    account = _require_account(folder, statements, previous)
    me = previous.me if previous else make_owner(account, Me(user=User()))
    if damage:
        known = _Known(None, {}, (), recover_tables(_StagedFolder(folder.path), me), batches)
    else:
        known = _read_known(folder, previous, batches, repair=repair)
    me = _complete(me, account, statements, known)
    return _merge(folder, statements, me, known, number=1)[0]


def require_importable(folder: ArchiveFolder, statements: Statements) -> None:
    """Raise the error of statements that the archive cannot take."""
    damage = find_damage(folder)
    _require_account(folder, statements, damage.manifest if damage else folder.read_manifest())


def _require_account(folder: ArchiveFolder, statements: Statements, manifest: Manifest | None) -> str:
    """Return the account that the archive has after an import; raise the error of statements that it cannot take."""

    def read_names() -> set[str]:
        entries = [manifest.small[kind] for kind in STATEMENT_KINDS if kind in manifest.small] if manifest else []
        if not entries or not all(map(folder.is_sound, entries)):
            return set()
        files = {entry.kind: entry for entry in entries}
        rows = frame_of(folder.read(files["statements"], columns=[*HOLDERS]))
        return list_holders(rows, folder.read_frame(files["statement_problems"]))

    def read_services() -> set[str]:
        return {name for batch in _list_current(folder)[0] for name in batch.services or ()}

    return require_account(folder.path, statements, manifest, read_names=read_names, read_services=read_services)


def _complete(me: Me, account: str, statements: Statements, known: _Known) -> Me:
    """Return the owner of an archive with what the statements show more, unless the service has described it."""
    if known.manifest is None or not isinstance(known.manifest.account_name, str):
        return me
    for part in separate_accounts(statements):
        me = complete_owner(me, account, part, known.tables["statements"])
    return me


def write_import(folder: ArchiveFolder, statements: Statements, *, repair: bool) -> ImportPlan:
    """Add statements to an archive as a batch that can be undone; call it within the lock.

    Broken files of statements are an error or, to repair, set aside; then the earlier imports are in effect no more.

    The journal is written first, then the new files, then the manifest: a crash leaves the old state or the new one,
    and `settle_imports` finds which.
    """
    from p2p_analytics.statements import list_services

    batches = settle_imports(folder)
    damage = find_damage(folder)
    if damage is not None:
        account = _require_account(folder, statements, damage.manifest)
        repair_archive(folder, damage, *describe_owner(statements, account, damage.manifest))
    body = folder.read_bytes(_manifest.NAME)
    previous = None if body is None else folder.decode_manifest(body)
    account = _require_account(folder, statements, previous)
    me, fetched_at = describe_owner(statements, account, previous)
    number = batches[-1].number + 1 if batches else 1
    known = _read_known(folder, previous, batches, repair=repair)
    me = _complete(me, account, statements, known)
    plan, tables = _merge(folder, statements, me, known, number)
    if any(entry.kind == "statements" for entry in known.broken):
        batches = ()
    _set_aside(folder, known.broken)
    if previous is None or isinstance(previous.account_name, str):
        me = set_name(me, tables["statements"], tables["statement_problems"])
        me = set_balance(me, tables["statements"], tables["statement_balances"])
    present = {path.name for path in folder.list_own_files()}
    staged = _StagedFolder(folder.path)
    manifest = _build_manifest(staged, me, known, tables, fetched_at)
    after = folder.encode_manifest(manifest)
    batch = Batch(
        number=number,
        imported_at=datetime.now(UTC),
        files=tuple(dict.fromkeys(map(str, statements.files["file"]))),
        **{name: getattr(plan, name) for name in _COUNTS},
        before=None if body is None else body.decode(),
        after_digest=journal.digest(after),
        written=tuple(sorted({entry.name for entry in manifest.entries} - present)),
        services=list_services(statements),
        under_way="import",
    )
    with _settle_after(folder):
        write_journal(folder, (*batches, batch))
        for name, content in staged.contents.items():
            folder.replace_file(name, content)
        folder.replace_file(_manifest.NAME, after)
    return plan


@contextlib.contextmanager
def _settle_after(folder: ArchiveFolder) -> Iterator[None]:
    """Settle the import or undo of the block, also if it fails, as on a full disk; else the next writer settles it."""
    try:
        yield
    finally:
        with contextlib.suppress(P2PAnalyticsError, OSError):
            settle_imports(folder)


def require_import(folder: ArchiveFolder) -> None:
    """Raise an ArchiveError if there is no import to undo."""
    if not _list_current(folder)[0]:
        raise ArchiveError(f"{folder.path} holds no import to undo.")


def undo_import(folder: ArchiveFolder) -> Batch:
    """Take the last import back, and return it; call it within the lock. Every file is as before, byte for byte."""
    batches = settle_imports(folder)
    require_import(folder)
    body = folder.read_bytes(_manifest.NAME)
    if not journal.can_undo(batches, None if body is None else journal.digest(body)):
        raise ArchiveError(
            f"The last import into {folder.path} cannot be undone, because a sync, a merge or a repair came after it: "
            "import the files that you want into a new archive."
        )
    *earlier, last = batches
    broken = _find_broken_before(folder, last)
    if broken is not None:
        raise ArchiveError(
            f"{folder.path / broken} is broken, and the last import cannot be undone without it: import the files that "
            "you want into a new archive."
        )
    with _settle_after(folder):
        write_journal(folder, (*earlier, msgspec.structs.replace(last, under_way="undo")))
        if last.before is None:
            folder.remove_file(_manifest.NAME)
        else:
            folder.replace_file(_manifest.NAME, last.before.encode())
    return last


def list_imports(folder: ArchiveFolder) -> tuple[tuple[Batch, ...], bool]:
    """Return the imports, and whether the last one can be undone."""
    batches, state = _list_current(folder)
    return batches, journal.can_undo(batches, state) and _find_broken_before(folder, batches[-1]) is None


def _list_current(folder: ArchiveFolder) -> tuple[tuple[Batch, ...], str | None]:
    """Return the imports, and the digest of the manifest."""
    body = folder.read_bytes(_manifest.NAME)
    state = None if body is None else journal.digest(body)
    return journal.find_current(read_journal(folder), state), state


def _find_broken_before(folder: ArchiveFolder, batch: Batch) -> str | None:
    """Return the name of the first broken file of the state before an import; None if all are sound."""
    entries = () if batch.before is None else folder.decode_manifest(batch.before.encode()).entries
    return next((entry.name for entry in entries if not folder.is_sound(entry)), None)


def frame_batches(batches: Sequence[Batch], *, undoable: bool) -> pd.DataFrame:
    """Return imports as `Archive.imports` describes them; the last one may be undoable."""
    import pandas as pd

    mask = Mask() if settings.privacy() else None
    rows = [
        {
            "number": batch.number,
            "imported_at": batch.imported_at,
            "files": "; ".join(batch.files if mask is None else _mask_files(batch.files, mask)),
            **{name: getattr(batch, name) for name in _COUNTS},
            "undoable": undoable and batch is batches[-1],
        }
        for batch in batches
    ]
    return pd.DataFrame(rows, columns=list(_IMPORTS)).astype(_IMPORTS)


def _mask_files(files: Sequence[str], mask: Mask) -> list[str]:
    """Return invented names of files, the same as in masked statements."""
    import pandas as pd

    return mask.frame(pd.DataFrame({"file": list(files)}, dtype=TEXT))["file"].tolist()


def _merge(
    folder: ArchiveFolder, statements: Statements, me: Me, known: _Known, number: int
) -> tuple[ImportPlan, dict[str, pd.DataFrame]]:
    """Return the counts of an import, and the tables of statements in the archive after it, by kind."""
    import pandas as pd

    from p2p_analytics.statements import list_other_accounts, select_row_problems

    listed = read_listed(folder, known.manifest.payments if known.manifest else ())
    account = name_account(me)
    parts = separate_accounts(statements)
    for part in parts:
        require_ids(part.payments)
    given = name_rows(statements.list_versions(), account)
    balances = merge_balances(known.tables["statement_balances"], statements.list_balances(), account, number)
    columns = dict(SCHEMAS["statement_problems"])
    found = drop_undecided(select_row_problems(statements.problems)).reindex(columns=list(columns))
    if known.manifest is not None:
        users = (me.user, known.manifest.me.user)
        others = [list_other_holders(part, *users, known.tables["statements"]) for part in parts]
        found = drop_own(pd.concat([found, *others], ignore_index=True), me.user)
    earlier = drop_own(known.tables["statement_problems"], me.user)
    stored = rename_stored(get_stored(known.tables), account)
    merged = merge_rows(stored, listed, given, number, [earlier, found.assign(**{BATCH: number})])
    problems, files = drop_derived(merged.problems, balances), set(statements.files["file"])
    shown_before = _list_problems(folder, known, known.tables)
    tables = list_tables(merged.stored, problems) | {"statement_balances": balances}
    plan = merged.plan._replace(
        problems=select_shown(
            _list_problems(folder, known, tables), shown_before.drop(select_gaps(shown_before, files).index), files
        ),
        new_services=_find_new_services(statements, known),
        other_accounts=list_other_accounts(found, statements.payments),
    )
    return plan, tables


def _list_problems(folder: ArchiveFolder, known: _Known, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the problems of statements as an archive with these tables lists them."""
    balances = tables["statement_balances"]
    entries = known.manifest.payments if known.manifest else ()
    return list_problems(
        tables["statement_problems"], balances, lambda: list_other_rows(folder, entries, tables["statements"], balances)
    )


def _find_new_services(statements: Statements, known: _Known) -> tuple[str, ...]:
    is_synced = known.manifest is not None and not isinstance(known.manifest.account_name, str)
    return find_new_services(statements, known.batches, is_synced=is_synced, has_statements="statements" in known.files)


def _build_manifest(
    folder: ArchiveFolder, me: Me, known: _Known, tables: Mapping[str, pd.DataFrame], fetched_at: datetime
) -> Manifest:
    """Write the files of an import, and return the manifest that lists them."""
    account, previous = str(me.user.id), known.manifest
    is_renamed = previous is not None and previous.me.user.id != account
    files = {} if is_renamed else known.files  # a file says of which account it is
    fields: dict[str, Any] = {
        kind: write_table(folder, kind, frame, files.get(kind), account) for kind, frame in tables.items()
    }
    if previous is None:
        return create_manifest(folder, me, fetched_at, fields)
    if is_renamed:
        previous = rename_files(folder, previous, account)
    if me.user != previous.me.user:
        known_people = None if is_renamed else previous.people
        fields["people"] = write_table(folder, "people", people_frame([me.user]), known_people, account)
    return msgspec.structs.replace(previous, me=me, fetched_at=fetched_at, **fields)


def _read_known(
    folder: ArchiveFolder, manifest: Manifest | None, batches: tuple[Batch, ...], *, repair: bool
) -> _Known:
    """Return what the archive holds of statements; to repair, broken files are left out.

    Raises
    ------
    BrokenFileError
        A file is broken, and not to be repaired.
    """
    entries = {kind: entry for kind, entry in (manifest.small if manifest else {}).items() if kind in STATEMENT_KINDS}
    broken = tuple(entry for entry in entries.values() if not folder.is_sound(entry))
    if broken and not repair:
        folder.require_sound(broken[0])
    files = {kind: entry for kind, entry in entries.items() if entry not in broken}
    return _Known(manifest, files, broken, read_statements(folder, files), batches)


def _set_aside(folder: ArchiveFolder, broken: Sequence[Entry]) -> None:
    for entry in broken:
        log.warning(
            "The file %s of the archive %s was broken and is set aside, with %s: import all your statement files "
            "again.",
            entry.name, folder.path, format_count(entry.rows, "row", "rows"),
        )  # fmt: skip
        folder.set_aside(entry.name)
