"""The service's payments in an archive: what a sync starts from, which files it changes, and how they are verified."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from p2p_analytics import records
from p2p_analytics.archive._folder import ACCOUNT, ArchiveFolder
from p2p_analytics.archive._manifest import Entry, Service, list_starts
from p2p_analytics.archive.tables import arrow_schema, metadata_of, tabulate
from p2p_analytics.display import format_count
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import frame_of, table_of, with_microseconds
from p2p_analytics.frames.build import payments_frame, problems_frame
from p2p_analytics.frames.merge import FETCHED_AT, keep_newest
from p2p_analytics.frames.people import merge_people
from p2p_analytics.handles import normalize_account
from p2p_analytics.history import Baseline, History, MissingPeriod, merge_problems
from p2p_analytics.limits import LIMITS
from p2p_analytics.privacy import Mask
from p2p_analytics.records import Me, Payments
from p2p_analytics.times import as_instant

if TYPE_CHECKING:
    from p2p_analytics.client import Client


log = logging.getLogger(__name__)

# Fields of the payment itself; names of its people change independently.
COMPARED: Final = ("payment_id", "status", "action", "amount_cents", "note", "date_created", "date_completed")
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


def build_baseline(  # noqa: PLR0913 - the old state, the user, and the kind of sync
    folder: ArchiveFolder,
    service: Service | None,
    broken: Sequence[Entry],
    me: Me,
    *,
    refresh: bool,
    start: datetime | None,
) -> Baseline:
    """Return what an incremental load need not request again: payments, and friends if they are recent."""
    if service is None:
        return Baseline(refresh=refresh, start=start)
    pending = frozenset(name for entry in service.payments for name in entry.pending)
    starts = [*list_starts(service.payments), None]
    bounds = [None if day is None or day == date.min else as_instant(day) for day in starts]
    missing = tuple(
        MissingPeriod(*period, entry.rows)
        for entry, period in zip(service.payments, pairwise(bounds), strict=True)
        if entry in broken
    )
    if refresh:
        return Baseline(pending=pending, missing=missing, refresh=True)
    everything = any(entry in broken for entry in service.small.values())
    if service.synced_to is not None:
        if service.since is None or (start is not None and start >= service.since):
            start = service.since  # the archive reaches back as far already
        else:
            everything = True
    stay = (
        not everything
        and service.synced_to is not None
        and timedelta(0) <= datetime.now(UTC) - service.friends_at < LIMITS.friends_valid
        and service.friends.rows == me.user.friends_count
    )
    return Baseline(
        since=service.synced_to,
        pending=pending,
        missing=missing,
        friends=folder.read_frame(service.friends) if stay else None,
        everything=everything,
        start=start,
    )


def build_rows(history: History) -> pa.Table:
    """Return a history's payments as rows of the archive, with the time of the fetch."""
    schema.require(history.payments.columns, schema.PAYMENTS, what="merge")
    schema.require(history.friends.columns, schema.FRIENDS, what="merge")
    schema.require(history.problems.columns, schema.PROBLEMS, what="merge")
    if not history.me.user.id:
        raise ArchiveError("The history names no account: an archive holds one account's, so set me.user.id.")
    for name, instant in (("fetched_at", history.fetched_at), ("me.user.date_joined", history.me.user.date_joined)):
        if instant is not None and instant.tzinfo is None:
            raise ArchiveError(f"The history's {name} {instant} has no zone: give it one, such as UTC.")
    payments = history.payments[history.payments["source"] != schema.SOURCE_STATEMENT]
    # Read beside other archives, each row has to name its account, and in one way.
    account = pd.Series(str(history.me.user.id), index=payments.index, dtype=schema.TEXT)
    rows = table_of(payments[list(schema.PAYMENTS)].assign(account_id=account))
    names = {normalize_account(name) for name in (history.me.user.id, history.me.user.username) if name}
    accounts = history.payments["account_id"].dropna().unique()
    foreign = {name for name in accounts if normalize_account(name) not in names}
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
    previous: Service | None,
    *,
    synced_to: datetime | None,
    without: Collection[str] = (),
    baseline: Baseline | None = None,
) -> tuple[Service, Changes]:
    """Write the changed files, and return what the archive holds of the service then.

    Without ``baseline`` it is a merge, else a sync or refresh. Without a previous state, readable files are recovered.
    """
    refresh = baseline is not None and baseline.refresh
    account = str(history.me.user.id)
    me, friends, people, problems = history.me, history.friends, history.people, history.problems
    fetched_at = friends_at = history.fetched_at
    kept, old, found = list[Entry](), dict[str, Entry](), list[pa.Table]()
    if previous is None:
        found = [*_recover(folder, "payments", history.me)]
        people = merge_people([people, *(frame_of(table) for table in _recover(folder, "people", history.me))])
    else:
        kept = [entry for entry in previous.payments if entry.name not in without]
        old = {kind: entry for kind, entry in previous.small.items() if entry.name not in without}
        if not refresh:
            synced_to = max(filter(None, (synced_to, previous.synced_to)), default=None)
        is_known = baseline is not None and baseline.friends is not None
        if baseline is None:
            fetched_at, is_known = min(fetched_at, previous.fetched_at), fetched_at < previous.friends_at
        if is_known:
            friends, friends_at = folder.read_frame(previous.friends), previous.friends_at
            me = previous.me if baseline is None else me
        if "problems" in old:
            problems = merge_problems(folder.read_frame(previous.problems), replace(history, problems=problems))
        if "people" in old:
            known, is_newer = folder.read_frame(previous.people), history.fetched_at >= previous.people_at
            people = merge_people([people, known] if is_newer else [known, people])
    if refresh:
        ids = [table["payment_id"] for table in found] + [_read_ids(folder, entry) for entry in kept]
        problems = _add_unlisted(problems, ids, rows, history, folder)
        found = [_limit_fetched_at(table, history.fetched_at) for table in found]
    newest_at = history.fetched_at if refresh else None
    payments, changes = _write_payments(folder, pa.concat_tables([*found, rows]), kept, account, newest_at=newest_at)
    service = Service(
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
    )
    return service, changes._replace(loaded=rows.num_rows)


def _recover(folder: ArchiveFolder, kind: str, me: Me) -> Iterator[pa.Table]:
    """Yield the rows of all readable files of a kind, the newest file first; unreadable files are set aside."""
    for _, file, _ in folder.recover(kind):
        if metadata_of(file).get(ACCOUNT, b"").decode() != me.user.id:
            raise folder.account_error()
        yield file.read().select(arrow_schema(kind).names)


def _find_start(baseline: Baseline | None, previous: Service | None, history: History) -> datetime | None:
    """Return the date from which all payments are loaded; None means unbounded, or before the first sync."""
    if baseline is None:
        return previous.since if previous else history.since
    if previous is None or previous.synced_to is None:
        return baseline.start
    if baseline.start is None or previous.since is None:  # another process may have loaded the older ones
        return None
    return min(baseline.start, previous.since)


def _write_payments(
    folder: ArchiveFolder, rows: pa.Table, kept: Sequence[Entry], account: str, *, newest_at: datetime | None
) -> tuple[list[Entry], Changes]:
    """Merge rows into kept files, fetched before ``newest_at`` if given; files without a change are not rewritten."""
    starts = list_starts(kept) or [None]
    touched = {*_assign_files(rows, starts).tolist()} or {0}
    given = rows["payment_id"].combine_chunks()
    for place, entry in enumerate(kept):
        # A payment with another date now may be in another file.
        if place not in touched and pc.any(pc.is_in(_read_ids(folder, entry), value_set=given)).as_py():
            touched.add(place)
    stored = {place: folder.read(entry) for place, entry in enumerate(kept) if place in touched}
    old = pa.concat_tables([arrow_schema("payments").empty_table(), *stored.values()])
    if newest_at is not None:
        old = _limit_fetched_at(old, newest_at)
    new = keep_newest(pa.concat_tables([old, rows]))
    where = _assign_files(new, starts)
    payments: list[Entry] = []
    for place, start in enumerate(starts):
        part = new.filter(where == place) if place in touched else None
        if part is None or (
            place in stored and part.drop_columns(FETCHED_AT).equals(stored[place].drop_columns(FETCHED_AT))
        ):
            payments += kept[place : place + 1]
        elif part.num_rows or len(starts) == 1:
            pieces = split_rows(part, start)
            payments += [folder.write("payments", piece, account, start=first) for first, piece in pieces]
    ids = (old["payment_id"], new["payment_id"])
    states = (
        pc.binary_join_element_wise(each["payment_id"], pc.fill_null(each["status"], ""), "\n") for each in (old, new)
    )
    added, unlike = (
        int(pc.sum(pc.invert(pc.is_in(after, value_set=before))).as_py() or 0) for before, after in (ids, states)
    )
    return payments, Changes(added, unlike - added)


def write_table(folder: ArchiveFolder, kind: str, frame: pd.DataFrame, old: Entry | None, account: str) -> Entry:
    """Write a small table, unless the old file holds the same rows."""
    table = tabulate(kind, frame)
    if old is not None and folder.read(old).equals(table):
        return old
    return folder.write(kind, table, account)


def _read_ids(folder: ArchiveFolder, entry: Entry) -> pa.ChunkedArray:
    return folder.read(entry, columns=["payment_id"])["payment_id"]


def _add_unlisted(
    problems: pd.DataFrame, ids: Sequence[pa.ChunkedArray], rows: pa.Table, history: History, folder: ArchiveFolder
) -> pd.DataFrame:
    """Add a problem for each kept payment that the service no longer lists."""
    known = {payment_id for column in ids for payment_id in column.to_pylist()}
    unlisted = known - {*rows["payment_id"].to_pylist()}
    if unlisted:
        count = format_count(len(unlisted), "payment", "payments")
        words = "The archive %s keeps %s that the service does not list any more: see problems."
        log.warning(words, folder.path, count)
    # A payment that was requested by its id has a problem from that request.
    left = sorted(unlisted - {*history.problems["payment_id"]})
    new = problems_frame(records.Problem(payment_id, "id", payment_id, _UNLISTED) for payment_id in left)
    return pd.concat([problems, new], ignore_index=True).drop_duplicates(ignore_index=True)


def _limit_fetched_at(rows: pa.Table, moment: datetime) -> pa.Table:
    """Return the rows with ``fetched_at`` before a moment; a wrong clock may have written later times."""
    latest = pa.scalar(moment - timedelta(microseconds=1), rows.schema.field(FETCHED_AT).type)
    place = rows.column_names.index(FETCHED_AT)
    fetched = rows[FETCHED_AT]
    return rows.set_column(place, FETCHED_AT, pc.if_else(pc.greater(fetched, latest), latest, fetched))


def _assign_files(rows: pa.Table, starts: Sequence[date | None]) -> np.ndarray[Any, Any]:
    """Return the index of the file for each row; rows without a date go into the first."""
    days = np.array(starts, dtype="datetime64[D]").view("int64")  # NaT, the start of the first, is smallest
    return np.searchsorted(days, _days(rows).view("int64"), side="right") - 1


def split_rows(rows: pa.Table, start: date | None) -> list[tuple[date | None, pa.Table]]:
    """Split the rows of one file into files of whole days and ``LIMITS.archive_rows`` rows, with the start of each."""
    days = _days(rows)[::-1]
    usual = LIMITS.archive_rows
    parts = 1 if rows.num_rows <= usual + usual // 8 else -(-rows.num_rows // usual)
    firsts = {days[len(days) * part // parts].item() for part in range(1, parts)}
    starts = [start, *sorted(firsts - {None, days[0].item()})] if firsts else [start]
    where = _assign_files(rows, starts)
    return [(start, rows.filter(where == place)) for place, start in enumerate(starts)]


def _days(rows: pa.Table) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = rows["date_created"].to_numpy().astype("datetime64[D]")
    return found


def list_payments(
    client: Client, me: Me, on_progress: Callable[[int, int], object], mask: Mask | None, *, since: datetime | None
) -> pd.DataFrame:
    """Return the compared columns of payments, listed once without the cache; raise a RecordError without an id."""

    def iterate_payments() -> Iterator[Payments]:
        after = None if since is None else since - timedelta(seconds=1)  # the service's bounds are exclusive
        with contextlib.closing(client.history_pages(after=after, refresh=True, progress=on_progress)) as pages:
            for page in pages:
                yield page.items

    def require_ids(found: Sequence[records.Problem]) -> None:
        nameless = [problem for problem in found if problem.record_id is None]
        records.raise_unreadable(nameless if mask is None else mask.problems(nameless))

    listed = payments_frame(iterate_payments(), str(me.user.id), require_ids)[[*COMPARED]]
    return listed if since is None else listed[listed["date_created"] >= since].reset_index(drop=True)


def read_compared(folder: ArchiveFolder, service: Service | None) -> pd.DataFrame:
    """Return the compared columns of the archived payments that a sync has to have loaded."""
    tables = [folder.read(entry, columns=COMPARED) for entry in (service.payments if service else ())]
    found = frame_of(pa.concat_tables([arrow_schema("payments").empty_table().select(COMPARED), *tables]))
    return found[found["date_created"] >= service.since] if service and service.since else found


def find_differences(archived: pd.DataFrame, listed: pd.DataFrame) -> pd.DataFrame:
    """Return one row per payment that differs, as `Archive.verify` describes it."""
    both = archived.merge(listed, on="payment_id", how="outer", suffixes=("", "_listed"), indicator="side")
    shared = both["side"] == "both"
    pairs = {name: (both[name], both[f"{name}_listed"]) for name in COMPARED[1:]}
    differ = pd.DataFrame(
        {
            name: shared & ~(one.eq(other).fillna(value=False).astype(bool) | (one.isna() & other.isna()))
            for name, (one, other) in pairs.items()
        }
    )
    differs = ~shared | differ.any(axis="columns")
    found, differ = both[differs], differ[differs]
    kinds = {"left_only": "extra", "right_only": "missing", "both": "changed"}
    created = found["date_created_listed"].fillna(found["date_created"])
    fields = [", ".join(differ.columns[row]) or None for row in differ.to_numpy()]
    named = pd.DataFrame(
        {
            "month": created.dt.strftime("%Y-%m").astype(schema.TEXT),
            "payment_id": found["payment_id"],
            "difference": found["side"].astype(schema.TEXT).map(kinds).astype(schema.TEXT),
            "fields": pd.Series(fields, index=found.index, dtype=schema.TEXT),
            "created": created,
        }
    )
    return named.sort_values(["created", "payment_id"], ascending=False, ignore_index=True).drop(columns="created")
