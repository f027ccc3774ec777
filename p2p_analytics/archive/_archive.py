"""An archive as its user sees it: open, history, merge, sync, scan."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, overload

from p2p_analytics import settings
from p2p_analytics.archive import _merge
from p2p_analytics.archive._scan import scan
from p2p_analytics.archive._store import FETCHED_AT, BrokenFileError, Entry, Manifest, Store, arrow_schema, starts_of
from p2p_analytics.errors import ArchiveError, ConfigurationError
from p2p_analytics.files import checked
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import frame_of, table_of
from p2p_analytics.load import History, Known, load_changes

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence
    from datetime import date
    from pathlib import Path

    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from p2p_analytics.client import Client
    from p2p_analytics.records import Me

log = logging.getLogger(__name__)

_FRIENDS_STAY: Final = timedelta(days=1)
_SECOND: Final = timedelta(seconds=1)  # bounds of a list leave out their own instant


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


def open_archive(path: str | os.PathLike[str]) -> Archive:
    """Return the archive in a folder, which is made by the first merge or sync.

    Raises
    ------
    ArchiveError
        The path is a file, or a folder of other things.
    """
    return Archive(path)


class Archive:
    """One person's history in a folder of Parquet files, which only its owner can read.

    Payments are told apart by id. Where two states of one meet, that counts which was fetched later; of two
    fetched at the same time, the one that is not pending. A null in ``medium``, ``fee_cents`` or a refund, which
    lists of the service do not show, replaces nothing. Writers wait for each other ten seconds; readers
    never wait.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = checked(path).expanduser().absolute()
        self._store = Store(self.path)

    def __repr__(self) -> str:
        """Show where it is, not what it holds."""
        return f"<Archive {self.path}>"

    def history(self, *, privacy: bool | None = None) -> History:
        """Return what the archive holds, without a token or a network.

        Texts that repeat are categoricals; rows and columns are those of `load_history`, and "data as of" is
        the last sync. ``privacy`` is that of `load_history`.

        Raises
        ------
        ArchiveError
            The folder holds nothing yet, or a file of it is broken, which the error names.
        """
        import pyarrow as pa

        private = settings.privacy(privacy)
        manifest = self._needed()
        try:
            tables = [self._store.read(entry, columns=list(schema.PAYMENTS), compact=True)
                      for entry in reversed(manifest.payments)]  # fmt: skip
            friends, problems = (self._frame(entry) for entry in (manifest.friends, manifest.problems))
        except BrokenFileError:
            if self._store.manifest() != manifest:  # somebody wrote meanwhile, twice
                return self.history(privacy=privacy)
            raise
        history = History(
            me=manifest.me,
            payments=frame_of(pa.concat_tables(tables).unify_dictionaries()),
            friends=friends,
            fetched_at=manifest.fetched_at,
            problems=problems,
        )
        return history.masked() if private else history

    def merge(self, history: History) -> Changes:
        """Add a history's payments; friends and balance are those of whichever was fetched later.

        "Data as of" stays at the older of the two, for nobody knows whether the history is all there is.

        Raises
        ------
        ArchiveError
            It is another account's or in privacy mode, a file is broken, or another process is writing.
        SchemaError
            The payments lack columns.
        """
        if history.private:
            raise ArchiveError("A history in privacy mode holds invented names and amounts: merge the one it is of.")
        rows = self._rows(history)
        with self._store.locked():
            return self._written(history, rows, self._store.manifest(), synced_to=None)

    def sync(
        self,
        client: Client,
        *,
        on_bad_record: Literal["raise", "report"] = "raise",
        progress: Callable[[int], object] | None = None,
    ) -> Changes:
        """Load what may have changed since the last sync, and add it. The first sync loads all.

        Asked for are payments made since, all that are pending, by its id each one that was and is no more, the
        friends if their number changed or they are a day old, and the time of files that are broken: these are
        set aside under another name.

        Parameters
        ----------
        client : Client
            With a token of the archive's account.
        on_bad_record, progress
            As for `load_history`.

        Raises
        ------
        ArchiveError
            The token is another account's, or another process is writing.
        ServiceError
            The service could not be asked. The archive is as it was.
        """
        manifest, broken = self._checked()
        me = client.me(lenient=True)
        if manifest is not None:
            self._same_account(manifest, me)
        known = self._known(manifest, broken, me)
        history = load_changes(client, me, known, on_bad_record=on_bad_record, progress=progress)
        rows = self._rows(history)
        latest = history.payments["date_created"].max()
        synced_to = None if latest != latest else min(latest.to_pydatetime(), history.fetched_at)  # noqa: PLR0124 - NaT
        with self._store.locked():
            for name in broken:
                log.warning("The file %s of the archive %s was broken and is set aside.", name, self.path)
                self._store.set_aside(name)
            try:
                current = self._store.manifest()
            except BrokenFileError as error:
                log.warning("%s", error)
                current = None
                broken.append(self._store.set_manifest_aside())
            changes = self._written(history, rows, current, synced_to=synced_to, without=broken, known=known)
        return changes._replace(set_aside=tuple(broken))

    @overload
    def scan(self, engine: Literal["polars"]) -> pl.LazyFrame: ...

    @overload
    def scan(self, engine: Literal["duckdb"]) -> duckdb.DuckDBPyRelation: ...

    @overload
    def scan(self, engine: Literal["spark"]) -> Any: ...  # noqa: ANN401 - pyspark need not be there

    def scan(self, engine: str) -> object:
        """Return the payments for another engine, which reads of the files only what a question needs.

        Its rows are in no order. After a sync, scan again: the files of a scan are there until the sync after
        the next one.

        Parameters
        ----------
        engine : {"polars", "duckdb", "spark"}
            Gives a Polars LazyFrame, a DuckDB relation or a Spark DataFrame, the last two with UTC as their zone.

        Raises
        ------
        ArchiveError
            The folder holds nothing yet, or a file is missing.
        ConfigurationError
            The engine is unknown or not installed, or privacy mode is on: files hold what is real.
        """
        if settings.privacy():
            raise ConfigurationError("An archive's files hold what is real: in privacy mode, use history() instead.")
        return scan(self._store.paths(self._needed()), list(schema.PAYMENTS), engine)

    def _needed(self) -> Manifest:
        manifest = self._store.manifest()
        if manifest is None:
            raise ArchiveError(f"There is no archive in {self.path} yet: sync it, or merge a history into it.")
        return manifest

    def _checked(self) -> tuple[Manifest | None, list[str]]:
        """Return what counts, and the names of the files that are broken."""
        try:
            manifest = self._store.manifest()
        except BrokenFileError:
            return None, []
        if manifest is None:
            return None, []
        entries = (*manifest.payments, manifest.friends, manifest.problems)
        return manifest, [entry.name for entry in entries if not self._store.sound(entry)]

    def _same_account(self, manifest: Manifest, me: Me) -> None:
        if manifest.me.user.id != me.user.id:
            raise ArchiveError(f"{self.path} holds the history of another account: name another folder.")

    def _known(self, manifest: Manifest | None, broken: Sequence[str], me: Me) -> Known:
        if (
            manifest is None
            or manifest.synced_to is None
            or {manifest.friends.name, manifest.problems.name} & {*broken}
        ):
            return Known()
        stay = (
            timedelta(0) <= datetime.now(UTC) - manifest.friends_at < _FRIENDS_STAY
            and manifest.friends.rows == me.user.friends_count
        )
        starts = [*starts_of(manifest.payments), None]
        return Known(
            since=manifest.synced_to,
            pending=frozenset(name for entry in manifest.payments for name in entry.pending),
            missing=tuple(
                (_midnight(starts[place], -_SECOND), _midnight(starts[place + 1]))
                for place, entry in enumerate(manifest.payments)
                if entry.name in broken
            ),
            friends=self._frame(manifest.friends) if stay else None,
        )

    def _frame(self, entry: Entry) -> pd.DataFrame:
        return frame_of(self._store.read(entry))

    def _rows(self, history: History) -> pa.Table:
        """Return a history's payments as the archive keeps them: with the moment they were fetched."""
        import pyarrow as pa

        schema.require(history.payments.columns, schema.PAYMENTS, what="merge")
        rows = table_of(history.payments[list(schema.PAYMENTS)])
        if rows["payment_id"].null_count:
            raise ArchiveError("A payment without an id cannot be told from others: leave it out of the history.")
        moment = pa.scalar(history.fetched_at, pa.timestamp("us", "UTC"))
        return rows.append_column(FETCHED_AT, pa.repeat(moment, rows.num_rows)).cast(arrow_schema("payments"))

    def _written(  # noqa: PLR0913 - what was there, what came, and how it was asked for
        self,
        history: History,
        rows: pa.Table,
        previous: Manifest | None,
        *,
        synced_to: datetime | None,
        without: Iterable[str] = (),
        known: Known | None = None,
    ) -> Changes:
        """Write what changed and make it count; known tells that it was a sync."""
        import pyarrow as pa

        account = str(history.me.user.id)
        if previous is None:
            rows = pa.concat_tables([*self._store.unnamed(account), rows])
            kept: list[Entry] = []
            fetched_at, friends_at = history.fetched_at, history.fetched_at
            me, friends, problems = history.me, history.friends, history.problems
        else:
            self._same_account(previous, history.me)
            kept = [entry for entry in previous.payments if entry.name not in without]
            asked = history.fetched_at >= previous.friends_at if known is None else known.friends is None
            friends = history.friends if asked else self._frame(previous.friends)
            friends_at = history.fetched_at if asked else previous.friends_at
            me = history.me if asked or known else previous.me
            fetched_at = history.fetched_at if known else min(history.fetched_at, previous.fetched_at)
            problems = history.problems
            if previous.problems.name not in without:
                problems = _together(self._frame(previous.problems), history)
            synced_to = max(filter(None, (synced_to, previous.synced_to)), default=None)
        payments, changes = self._placed(rows, kept, account)
        manifest = Manifest(
            me=me,
            fetched_at=fetched_at,
            friends_at=friends_at,
            synced_to=synced_to,
            payments=tuple(payments),
            friends=self._entry("friends", friends, account, previous, without),
            problems=self._entry("problems", problems, account, previous, without),
        )
        self._store.commit(manifest, previous)
        return changes

    def _placed(self, rows: pa.Table, kept: Sequence[Entry], account: str) -> tuple[list[Entry], Changes]:
        """Put rows among those that are kept; files in which nothing changes stay as they are."""
        import pyarrow as pa
        import pyarrow.compute as pc

        starts = starts_of(kept) or [None]
        touched = {*_merge.places(rows, starts).tolist()} or {0}
        ids = rows["payment_id"].combine_chunks()
        for place, entry in enumerate(kept):  # its date may have put a payment elsewhere before
            found = pc.is_in(self._store.read(entry, columns=["payment_id"])["payment_id"], value_set=ids)
            if pc.any(found).as_py():
                touched.add(place)
        stored = {place: self._store.read(entry) for place, entry in enumerate(kept) if place in touched}
        old = pa.concat_tables([arrow_schema("payments").empty_table(), *stored.values()])
        new = _merge.newest(pa.concat_tables([old, rows]))
        where = _merge.places(new, starts)
        payments: list[Entry] = []
        for place, start in enumerate(starts):
            part = new.filter(where == place) if place in touched else None
            if part is None or (place in stored and _same(part, stored[place])):
                payments += kept[place : place + 1]
            elif part.num_rows or len(starts) == 1:
                payments += [
                    self._store.write("payments", piece, account, start=first)
                    for first, piece in _merge.cut(part, start)
                ]
        added, changed = _merge.changed(old, new)
        return payments, Changes(added, changed)

    def _entry(
        self, kind: str, frame: pd.DataFrame, account: str, previous: Manifest | None, without: Iterable[str]
    ) -> Entry:
        table = table_of(frame[list(schema.FRIENDS if kind == "friends" else schema.PROBLEMS)])
        table = table.cast(arrow_schema(kind))
        entry: Entry | None = None if previous is None else getattr(previous, kind)
        if entry is not None and entry.name not in without and self._store.read(entry).equals(table):
            return entry
        return self._store.write(kind, table, account)


def _midnight(day: date | None, shift: timedelta = timedelta(0)) -> datetime | None:
    return None if day is None else datetime.combine(day, time(), UTC) + shift


def _same(new: pa.Table, old: pa.Table) -> bool:
    """Tell whether two tables differ in nothing but when their rows were fetched."""
    same: bool = new.drop_columns(FETCHED_AT).equals(old.drop_columns(FETCHED_AT))
    return same


def _together(known: pd.DataFrame, history: History) -> pd.DataFrame:
    """Return the problems: a payment that came again has only those that it came with."""
    import pandas as pd

    stay = known[~known["payment_id"].isin(history.payments["payment_id"])]
    return pd.concat([stay, history.problems], ignore_index=True).drop_duplicates(ignore_index=True)
