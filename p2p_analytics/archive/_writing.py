"""What a merge or sync writes: new rows among those that are there, and files alone in which something changes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.archive import _merge
from p2p_analytics.archive._manifest import Entry, Manifest, starts_of
from p2p_analytics.archive._store import FETCHED_AT, Store, arrow_schema
from p2p_analytics.display import format_count
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import table_of
from p2p_analytics.frames.build import problems_frame
from p2p_analytics.records import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import pandas as pd
    import pyarrow as pa

    from p2p_analytics.history import Baseline, History


log = logging.getLogger(__name__)

_UNLISTED: Final = "is in the archive, but the service does not list it any more; it stays as it was"


class Changes(NamedTuple):
    """What a merge or sync did.

    Attributes
    ----------
    added : int
        Payments the archive did not hold.
    changed : int
        Payments that have another status now.
    set_aside : tuple of str
        Files that were broken and have been loaded anew.
    """

    added: int
    changed: int
    set_aside: tuple[str, ...] = ()


def rows_of(history: History) -> pa.Table:
    """Return a history's payments as the archive keeps them: with the moment they were fetched."""
    import pyarrow as pa

    schema.require(history.payments.columns, schema.PAYMENTS, what="merge")
    if not history.me.user.id:
        raise ArchiveError("The history names no account: an archive holds one account's, so set me.user.id.")
    for name, instant in (("fetched_at", history.fetched_at), ("me.user.date_joined", history.me.user.date_joined)):
        if instant is not None and instant.tzinfo is None:
            raise ArchiveError(f"The history's {name} {instant} has no zone: give it one, such as UTC.")
    rows = table_of(history.payments[list(schema.PAYMENTS)])
    if rows["payment_id"].null_count:
        raise ArchiveError("A payment without an id cannot be told from others: leave it out of the history.")
    moment = pa.scalar(history.fetched_at, pa.timestamp("us", "UTC"))
    return rows.append_column(FETCHED_AT, pa.repeat(moment, rows.num_rows)).cast(arrow_schema("payments"))


def written(  # noqa: PLR0913 - what was there, what came, and how it was asked for
    store: Store,
    history: History,
    rows: pa.Table,
    previous: Manifest | None,
    *,
    synced_to: datetime | None,
    without: Iterable[str] = (),
    baseline: Baseline | None = None,
) -> Changes:
    """Write what changed and make it count; without ``baseline`` it is a merge, else a sync or a refresh."""
    import pyarrow as pa

    refresh = baseline is not None and baseline.refresh
    account = str(history.me.user.id)
    me, friends, problems = history.me, history.friends, history.problems
    fetched_at = friends_at = history.fetched_at
    kept: list[Entry] = []
    old: dict[str, Entry] = {}
    found: list[pa.Table] = []
    if previous is None:
        found = [*store.unnamed(account)]
    else:
        store.same_account(previous, history.me)
        kept = [entry for entry in previous.payments if entry.name not in without]
        old = {kind: entry for kind, entry in previous.small.items() if entry.name not in without}
        if not refresh:
            synced_to = max(filter(None, (synced_to, previous.synced_to)), default=None)
        if baseline is None:
            fetched_at = min(fetched_at, previous.fetched_at)
        if history.fetched_at < previous.friends_at if baseline is None else baseline.friends is not None:
            friends, friends_at = store.frame(previous.friends), previous.friends_at
            me = previous.me if baseline is None else me
        if "problems" in old:
            problems = _together(store.frame(previous.problems), history)
    if refresh:
        ids = [table["payment_id"] for table in found] + [_ids(store, entry) for entry in kept]
        problems = _with_unlisted(problems, ids, rows, history, store)
        found = [_merge.before(table, history.fetched_at) for table in found]
    payments, changes = _placed(
        store, pa.concat_tables([*found, rows]), kept, account, newest_at=history.fetched_at if refresh else None
    )
    manifest = Manifest(
        me=me,
        fetched_at=fetched_at,
        friends_at=friends_at,
        synced_to=synced_to,
        payments=tuple(payments),
        friends=_entry(store, "friends", friends, old.get("friends"), account),
        problems=_entry(store, "problems", problems, old.get("problems"), account),
    )
    store.commit(manifest, previous)
    return changes


def _placed(
    store: Store, rows: pa.Table, kept: Sequence[Entry], account: str, *, newest_at: datetime | None
) -> tuple[list[Entry], Changes]:
    """Put rows among those that are kept; files in which nothing changes stay as they are.

    With ``newest_at``, kept rows count as older than that moment, whatever they say.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    starts = starts_of(kept) or [None]
    touched = {*_merge.places(rows, starts).tolist()} or {0}
    ids = rows["payment_id"].combine_chunks()
    for place, entry in enumerate(kept):
        # Its date may have put a payment elsewhere before.
        if place not in touched and pc.any(pc.is_in(_ids(store, entry), value_set=ids)).as_py():
            touched.add(place)
    stored = {place: store.read(entry) for place, entry in enumerate(kept) if place in touched}
    old = pa.concat_tables([arrow_schema("payments").empty_table(), *stored.values()])
    if newest_at is not None:
        old = _merge.before(old, newest_at)
    new = _merge.newest(pa.concat_tables([old, rows]))
    where = _merge.places(new, starts)
    payments: list[Entry] = []
    for place, start in enumerate(starts):
        part = new.filter(where == place) if place in touched else None
        if part is None or (place in stored and _same(part, stored[place])):
            payments += kept[place : place + 1]
        elif part.num_rows or len(starts) == 1:
            payments += [
                store.write("payments", piece, account, start=first) for first, piece in _merge.cut(part, start)
            ]
    added, changed = _merge.changed(old, new)
    return payments, Changes(added, changed)


def _entry(store: Store, kind: str, frame: pd.DataFrame, old: Entry | None, account: str) -> Entry:
    """Write a small table, unless it is as the old file has it."""
    columns = arrow_schema(kind)
    table = table_of(frame[columns.names]).cast(columns)
    if old is not None and store.read(old).equals(table):
        return old
    return store.write(kind, table, account)


def _same(new: pa.Table, old: pa.Table) -> bool:
    """Tell whether two tables differ in nothing but when their rows were fetched."""
    same: bool = new.drop_columns(FETCHED_AT).equals(old.drop_columns(FETCHED_AT))
    return same


def _ids(store: Store, entry: Entry) -> pa.ChunkedArray:
    return store.read(entry, columns=["payment_id"])["payment_id"]


def _with_unlisted(
    problems: pd.DataFrame, ids: Sequence[pa.ChunkedArray], rows: pa.Table, history: History, store: Store
) -> pd.DataFrame:
    """Add a problem for each payment that the service does not list any more: it is kept, but not in silence."""
    import pandas as pd

    known = {payment_id for column in ids for payment_id in column.to_pylist()}
    unlisted = known - {*rows["payment_id"].to_pylist()}
    if unlisted:
        count = format_count(len(unlisted), "payment", "payments")
        log.warning(
            "The archive %s keeps %s that the service does not list any more: see problems.", store.folder, count
        )
    # One that was asked for by its id has a problem from that.
    new = problems_frame(
        Problem(payment_id, "id", payment_id, _UNLISTED)
        for payment_id in sorted(unlisted - {*history.problems["payment_id"]})
    )
    return pd.concat([problems, new], ignore_index=True).drop_duplicates(ignore_index=True)


def _together(known: pd.DataFrame, history: History) -> pd.DataFrame:
    """Return the problems: a payment that came again has only those that it came with."""
    import pandas as pd

    stay = known[~known["payment_id"].isin(history.payments["payment_id"])]
    return pd.concat([stay, history.problems], ignore_index=True).drop_duplicates(ignore_index=True)
