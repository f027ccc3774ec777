"""Decide which files of the archive a merge or sync changes, and rewrite only those."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from p2p_analytics.archive import _merge
from p2p_analytics.archive._manifest import STATEMENT_KINDS, Entry, Manifest, list_starts
from p2p_analytics.archive._recovery import recover_payments, recover_people, recover_statements
from p2p_analytics.archive._user import require_user
from p2p_analytics.archive.imports.balances import MOVES, find_other_rows
from p2p_analytics.archive.imports.histories import (
    drop_undecided,
    fill_origins,
    infer_origins,
    split_problems,
    split_rows,
)
from p2p_analytics.archive.imports.rows import (
    LISTED,
    StoredRows,
    has_contradictions,
    merge_rows,
    name_rows,
    refuse_rows,
    rename_stored,
    require_ids,
    select_further,
)
from p2p_analytics.archive.tables import BATCH, MERGED, SCHEMAS, arrow_schema
from p2p_analytics.display import format_count
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import MICROSECONDS, frame_of, table_of, with_microseconds
from p2p_analytics.frames.build import problems_frame
from p2p_analytics.frames.merge import FETCHED_AT, keep_newest
from p2p_analytics.frames.people import list_sides, merge_people
from p2p_analytics.handles import normalize_account
from p2p_analytics.history import merge_problems
from p2p_analytics.records import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    import pandas as pd
    import pyarrow as pa

    from p2p_analytics.archive._folder import ArchiveFolder
    from p2p_analytics.history import Baseline, History
    from p2p_analytics.records import Me
    from p2p_analytics.statements import OtherRows


log = logging.getLogger(__name__)

_UNLISTED: Final = "is in the archive, but the service does not list it any more; it stays as it was"


class Changes(NamedTuple):
    """Result of a merge or sync.

    Attributes
    ----------
    added : int
        Number of payments that the archive did not hold.
    changed : int
        Number of payments with another status now.
    set_aside : tuple of str
        Broken files that were renamed and loaded again.
    loaded : int
        Number of payments that the merged history or the service's answers held.
    """

    added: int
    changed: int
    set_aside: tuple[str, ...] = ()
    loaded: int = 0


def build_rows(history: History) -> pa.Table:
    """Return a history's payments as rows of the archive, with the time of the fetch."""
    import pandas as pd
    import pyarrow as pa

    schema.require(history.payments.columns, schema.PAYMENTS, what="merge")
    schema.require(history.friends.columns, schema.FRIENDS, what="merge")
    schema.require(history.problems.columns, schema.PROBLEMS, what="merge")
    if not history.me.user.id:
        raise ArchiveError("The history names no account: an archive holds one account's, so set me.user.id.")
    for name, instant in (("fetched_at", history.fetched_at), ("me.user.date_joined", history.me.user.date_joined)):
        if instant is not None and instant.tzinfo is None:
            raise ArchiveError(f"The history's {name} {instant} has no zone: give it one, such as UTC.")
    payments, _ = split_rows(history.payments)
    # Read beside other archives, each row has to name its account, and in one way.
    account = pd.Series(str(history.me.user.id), index=payments.index, dtype=schema.TEXT)
    rows = table_of(payments[list(schema.PAYMENTS)].assign(account_id=account))
    names = {history.me.user.id, name_account(history.me)}
    foreign = {*history.payments["account_id"].dropna().unique()} - names
    if foreign:
        raise ArchiveError(
            f"The history of {history.me.user.id} holds payments of other accounts ({', '.join(sorted(foreign))}): an "
            "archive holds one account's, so leave them out."
        )
    if rows["payment_id"].null_count:
        raise ArchiveError("A payment without an id cannot be identified: leave it out of the history.")
    moment = pa.scalar(history.fetched_at, pa.timestamp("us", "UTC"))
    rows = with_microseconds(rows).append_column(FETCHED_AT, pa.repeat(moment, rows.num_rows))
    return rows.cast(arrow_schema("payments"))


def write_changes(  # noqa: PLR0913 - the old state, the new rows, and the kind of load
    folder: ArchiveFolder,
    history: History,
    rows: pa.Table,
    previous: Manifest | None,
    *,
    synced_to: datetime | None,
    without: Collection[str] = (),
    baseline: Baseline | None = None,
) -> Changes:
    """Write the changed files and a new manifest. Without ``baseline`` it is a merge, else a sync or refresh."""
    import pyarrow as pa

    refresh = baseline is not None and baseline.refresh
    account = str(history.me.user.id)
    me, friends, people = history.me, history.friends, history.people
    problems, _ = split_problems(history.problems)
    fetched_at = friends_at = history.fetched_at
    kept, old, found = list[Entry](), dict[str, Entry](), list[pa.Table]()
    stated = recover_statements(folder, history.me) if previous is None else {}
    if previous is None:
        recovered = [*recover_payments(folder, history.me)]
        profiles = (list_sides(frame_of(table)) for table in recovered)
        people = merge_people([people, *recover_people(folder, history.me), *profiles])
        found = [table.select(arrow_schema("payments").names) for table in recovered]
    else:
        require_user(folder, previous, history.me)
    # Before the first load, an archive of statements holds nothing that the service said.
    if previous is not None and previous.me.user.id == account:
        kept = [entry for entry in previous.payments if entry.name not in without]
        old = {kind: entry for kind, entry in previous.small.items() if entry.name not in without}
        if not refresh:
            synced_to = max(filter(None, (synced_to, previous.synced_to)), default=None)
        is_known = baseline is not None and baseline.friends is not None
        if baseline is None:
            fetched_at, is_known = _merge.find_later(previous, fetched_at, has_listed=rows.num_rows > 0)
        if is_known:
            friends, friends_at = folder.read_frame(previous.friends), previous.friends_at
            me = previous.me if baseline is None else me
        if "problems" in old:
            problems = merge_problems(folder.read_frame(previous.problems), replace(history, problems=problems))
        people = _merge_people(folder, previous, history, without)
    if refresh:
        ids = [table["payment_id"] for table in found] + [_read_ids(folder, entry) for entry in kept]
        problems = _add_unlisted(problems, ids, rows, history, folder)
        found = [_merge.limit_fetched_at(table, history.fetched_at) for table in found]
    payments, changes = _write_payments(
        folder,
        pa.concat_tables([*found, rows]),
        kept,
        account,
        newest_at=history.fetched_at if refresh else None,
        convert=previous is not None and previous.people is None,
    )
    statements, changes = _merge_statements(folder, history, payments, previous, changes, recovered=stated)
    manifest = Manifest(
        me=me,
        fetched_at=fetched_at,
        friends_at=friends_at,
        synced_to=synced_to,
        payments=tuple(payments),
        friends=write_table(folder, "friends", friends, old.get("friends"), account),
        problems=write_table(folder, "problems", problems, old.get("problems"), account),
        people=write_table(folder, "people", people, old.get("people"), account),
        people_at=max([history.fetched_at, *([previous.people_at] if previous else [])]),
        since=_find_start(baseline, previous, history),
        **statements,
    )
    folder.commit(manifest, previous)
    return changes._replace(loaded=rows.num_rows)


def _merge_statements(  # noqa: PLR0913 - the history, and what the archive holds
    folder: ArchiveFolder,
    history: History,
    payments: Sequence[Entry],
    previous: Manifest | None,
    changes: Changes,
    *,
    recovered: dict[str, pd.DataFrame],
) -> tuple[dict[str, Any], Changes]:
    """Return the fields of the manifest that concern statements, and the changes with those of statements.

    Recovered tables are those of an archive without a manifest.
    """
    account = str(history.me.user.id)
    fields: dict[str, Any] = {}
    tables = recovered
    if previous is not None and "statements" in previous.small:
        fields = {kind: previous.small[kind] for kind in STATEMENT_KINDS if kind in previous.small}
        if previous.me.user.id == account:
            fields["account_name"] = previous.account_name
    own, given = split_rows(history.payments)
    if fields:
        tables = _refuse_rows(folder, fields, own[[*LISTED]])
    _, stated = split_problems(history.problems)
    if not given.empty or not stated.empty:
        tables = tables or read_statements(folder, fields)
        name = name_account(history.me)
        stored = rename_stored(get_stored(tables), name)
        require_ids(given)
        rows = infer_origins(name_rows(given, name), stated)
        further, listed = select_further(rows, stored.rows), read_listed(folder, payments)
        problems = [tables["statement_problems"], drop_undecided(stated).assign(**{BATCH: MERGED})]
        merged = merge_rows(stored, listed, further, MERGED, problems)
        tables |= list_tables(merged.stored, merged.problems)
        changes = changes._replace(added=changes.added + merged.plan.new, changed=changes.changed + merged.plan.changed)
    fields |= {kind: write_table(folder, kind, frame, fields.get(kind), account) for kind, frame in tables.items()}
    is_unnamed = normalize_account(name_account(history.me)) == normalize_account(account)
    is_new = previous is None or (isinstance(previous.account_name, str) and previous.me.user.id != account)
    if is_new and fields and is_unnamed and not any(entry.rows for entry in payments):
        fields["account_name"] = account
    return fields, changes


def _refuse_rows(folder: ArchiveFolder, entries: Mapping[str, Entry], listed: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables of statements after the service listed payments, if rows contradict these; else no tables."""
    files = {kind: entries[kind] for kind in STATEMENT_KINDS if kind in entries}
    if not all(map(folder.is_sound, files.values())):
        return {}  # the import that repairs them compares their rows with the service
    stored = [folder.read(entry, columns=[*LISTED]) for entry in files.values() if "status" in SCHEMAS[entry.kind]]
    if not any(has_contradictions(frame_of(rows), listed) for rows in stored):
        return {}
    tables = read_statements(folder, files)
    return tables | list_tables(*refuse_rows(get_stored(tables), tables["statement_problems"], listed))


def get_stored(tables: Mapping[str, pd.DataFrame]) -> StoredRows:
    """Return the rows of statements and their versions, of tables by kind."""
    return StoredRows(tables["statements"], tables["statement_versions"])


def list_tables(stored: StoredRows, problems: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables of payments in statements and their problems, by kind."""
    return {"statements": stored.rows, "statement_versions": stored.versions, "statement_problems": problems}


def name_account(me: Me) -> str:
    """Return the name of an account in rows of statements: the username, or the id where it is not known."""
    return normalize_account(me.user.username) if me.user.username else str(me.user.id)


def read_statements(folder: ArchiveFolder, entries: Mapping[str, Entry]) -> dict[str, pd.DataFrame]:
    """Return the tables of statements by kind; empty frames where there is no file."""
    tables = {}
    for kind in STATEMENT_KINDS:
        columns = [name for name in arrow_schema(kind).names if name not in MICROSECONDS]
        table = folder.read(entries[kind], columns=columns) if kind in entries else arrow_schema(kind).empty_table()
        tables[kind] = frame_of(table.select(columns))
    if "statement_versions" not in entries:
        tables["statements"] = fill_origins(tables["statements"], tables["statement_problems"])
    return tables


def read_listed(folder: ArchiveFolder, payments: Sequence[Entry]) -> pd.DataFrame:
    """Return the columns `LISTED` of the payments that the service has listed."""
    import pyarrow as pa

    none = arrow_schema("payments").empty_table().select([*LISTED])
    return frame_of(pa.concat_tables([none, *(folder.read(entry, columns=[*LISTED]) for entry in payments)]))


def list_other_rows(
    folder: ArchiveFolder, payments: Sequence[Entry], stated: pd.DataFrame, balances: pd.DataFrame
) -> OtherRows:
    """Return the rows of the service and of statements that `find_other_rows` finds."""
    import pyarrow as pa

    none = arrow_schema("payments").empty_table().select([*MOVES])
    listed = pa.concat_tables([none, *(folder.read(entry, columns=[*MOVES]) for entry in payments)])
    return find_other_rows(frame_of(listed), stated, balances)


def _find_start(baseline: Baseline | None, previous: Manifest | None, history: History) -> datetime | None:
    """Return the date from which all payments are loaded; None is no bound, or no sync."""
    if baseline is None:
        return previous.since if previous else history.since
    if previous is None or previous.synced_to is None:
        return baseline.start
    if baseline.start is None or previous.since is None:  # another process may have loaded the older ones
        return None
    return min(baseline.start, previous.since)


def _write_payments(  # noqa: PLR0913 - the new rows, the old files, and how to treat them
    folder: ArchiveFolder,
    rows: pa.Table,
    kept: Sequence[Entry],
    account: str,
    *,
    newest_at: datetime | None,
    convert: bool,
) -> tuple[list[Entry], Changes]:
    """Merge rows into the kept files; files without a change are not rewritten.

    With ``newest_at``, kept rows are treated as fetched before that moment. With ``convert``, all files are rewritten.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    starts = list_starts(kept) or [None]
    touched = set(range(len(starts))) if convert else {*_merge.assign_files(rows, starts).tolist()} or {0}
    ids = rows["payment_id"].combine_chunks()
    for place, entry in enumerate(kept):
        # A payment with another date now may be in another file.
        if place not in touched and pc.any(pc.is_in(_read_ids(folder, entry), value_set=ids)).as_py():
            touched.add(place)
    stored = {place: folder.read(entry) for place, entry in enumerate(kept) if place in touched}
    old = pa.concat_tables([arrow_schema("payments").empty_table(), *stored.values()])
    if newest_at is not None:
        old = _merge.limit_fetched_at(old, newest_at)
    new = keep_newest(pa.concat_tables([old, rows]))
    where = _merge.assign_files(new, starts)
    payments: list[Entry] = []
    for place, start in enumerate(starts):
        part = new.filter(where == place) if place in touched else None
        if part is None or (place in stored and not convert and _is_unchanged(part, stored[place])):
            payments += kept[place : place + 1]
        elif part.num_rows or len(starts) == 1:
            payments += [
                folder.write("payments", piece, account, start=first) for first, piece in _merge.split_rows(part, start)
            ]
    added, changed = _merge.count_changes(old, new)
    return payments, Changes(added, changed)


def write_table(folder: ArchiveFolder, kind: str, frame: pd.DataFrame, old: Entry | None, account: str) -> Entry:
    """Write a small table, unless the old file holds the same rows."""
    columns = arrow_schema(kind)
    table = table_of(frame[[name for name in columns.names if name not in MICROSECONDS]])
    if set(MICROSECONDS) <= set(columns.names):
        table = with_microseconds(table)
    table = table.select(columns.names).cast(columns)
    if old is not None and folder.read(old).equals(table):
        return old
    return folder.write(kind, table, account)


def _is_unchanged(new: pa.Table, old: pa.Table) -> bool:
    """Return whether two tables are equal except for ``fetched_at``."""
    same: bool = new.drop_columns(FETCHED_AT).equals(old.drop_columns(FETCHED_AT))
    return same


def _read_ids(folder: ArchiveFolder, entry: Entry) -> pa.ChunkedArray:
    return folder.read(entry, columns=["payment_id"])["payment_id"]


def _add_unlisted(
    problems: pd.DataFrame, ids: Sequence[pa.ChunkedArray], rows: pa.Table, history: History, folder: ArchiveFolder
) -> pd.DataFrame:
    """Add a problem for each kept payment that the service no longer lists."""
    import pandas as pd

    known = {payment_id for column in ids for payment_id in column.to_pylist()}
    unlisted = known - {*rows["payment_id"].to_pylist()}
    if unlisted:
        count = format_count(len(unlisted), "payment", "payments")
        log.warning(
            "The archive %s keeps %s that the service does not list any more: see problems.", folder.path, count
        )
    # A payment that was requested by its id has a problem from that request.
    new = problems_frame(
        Problem(payment_id, "id", payment_id, _UNLISTED)
        for payment_id in sorted(unlisted - {*history.problems["payment_id"]})
    )
    return pd.concat([problems, new], ignore_index=True).drop_duplicates(ignore_index=True)


def _merge_people(
    folder: ArchiveFolder, previous: Manifest, history: History, without: Collection[str]
) -> pd.DataFrame:
    """Return the people of the archive and a history; fields of a person come from the one fetched later."""
    if previous.people is not None and previous.people.name in without:
        return history.people
    sound = msgspec.structs.replace(
        previous, payments=tuple(entry for entry in previous.payments if entry.name not in without)
    )
    known = folder.read_people(sound)
    is_newer = history.fetched_at >= previous.people_at
    return merge_people([history.people, known] if is_newer else [known, history.people])
