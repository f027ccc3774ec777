"""An archive as its user sees it: open, history, merge, sync, verify, scan."""

from __future__ import annotations

import functools
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from p2p_analytics import settings
from p2p_analytics.archive._manifest import Entry, Manifest, starts_of
from p2p_analytics.archive._scan import scan
from p2p_analytics.archive._store import BrokenFileError, Store
from p2p_analytics.archive._verify import COMPARED, differences, list_payments
from p2p_analytics.archive._writing import Changes, rows_of, written
from p2p_analytics.errors import ArchiveError, ConfigurationError, PaginationError
from p2p_analytics.files import to_path
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import frame_of, with_microseconds
from p2p_analytics.history import Baseline, History, MissingPeriod, load_changes, show_progress
from p2p_analytics.privacy import Mask, strip_service_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import duckdb
    import pandas as pd
    import polars as pl

    from p2p_analytics.client import Client
    from p2p_analytics.records import Me
    from p2p_analytics.settings import Privacy

log = logging.getLogger(__name__)

_FRIENDS_STAY: Final = timedelta(days=1)


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
        self.path: Path = to_path(path).expanduser().absolute()
        self._store = Store(self.path)

    def __repr__(self) -> str:
        """Show where it is, not what it holds."""
        return f"<Archive {self.path}>"

    def history(self, *, privacy: Privacy | None = None) -> History:
        """Return what the archive holds, without a token or a network.

        Rows, columns and dtypes are those of `load_history`, and so is ``privacy``; "data as of" is the last sync.

        Raises
        ------
        ArchiveError
            The folder holds nothing yet, or a file of it is broken, which the error names.
        """
        import pyarrow as pa

        private = settings.privacy(privacy)
        manifest = self._needed()
        try:
            columns = [name for name in schema.PAYMENTS if not name.endswith("_us")]  # the dates tell them
            read = functools.partial(self._store.read, columns=columns, compact=True)
            with ThreadPoolExecutor(os.cpu_count()) as pool:  # file by file, which takes less than column by column
                tables = list(pool.map(read, reversed(manifest.payments)))
            friends, problems = (self._store.frame(entry) for entry in (manifest.friends, manifest.problems))
        except BrokenFileError:
            if self._store.manifest() != manifest:  # somebody wrote meanwhile, twice
                return self.history(privacy=privacy)
            raise
        history = History(
            me=manifest.me,
            payments=frame_of(with_microseconds(pa.concat_tables(tables).unify_dictionaries())),
            friends=friends,
            fetched_at=manifest.fetched_at,
            problems=problems,
        )
        return history.masked(strict=private == settings.STRICT) if private else history

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
        rows = rows_of(history)
        with self._store.locked():
            return written(self._store, history, rows, self._store.manifest(), synced_to=None)

    def sync(
        self,
        client: Client,
        *,
        refresh: bool = False,
        on_bad_record: Literal["raise", "report"] = "raise",
        progress: Callable[[int], object] | Literal[False] | None = None,
    ) -> Changes:
        """Load what may have changed since the last sync, and add it. The first sync loads all.

        Asked for are payments made since, all that are pending, by its id each one that was and is no more, the
        friends if their number changed or they are a day old, and the time of files that are broken: these are
        set aside under another name, once the service has listed as many payments as they held.

        Parameters
        ----------
        client : Client
            With a token of the archive's account.
        refresh : bool
            Reload everything from the service, without the response cache, and replace what the archive holds: for
            an archive that `verify` found incomplete. A payment that the service does not list any more is kept and
            listed in ``problems``; only if it was in a broken file, it is lost, and a warning says how many are.
        on_bad_record, progress
            As for `load_history`.

        Raises
        ------
        ArchiveError
            The token is another account's, another process is writing, or something that is no file of the archive
            has the name of one.
        ServiceError
            The service could not be asked. The archive is as it was.
        PaginationError
            The service lists fewer payments than it must. The archive is as it was.
        """
        manifest, suspects = self._checked()
        me = client.me(lenient=True)
        if manifest is not None:
            self._store.same_account(manifest, me)
        baseline = self._build_baseline(manifest, suspects, me, refresh=refresh)
        history = load_changes(client, me, baseline, on_bad_record=on_bad_record, progress=progress)
        rows = rows_of(history)
        latest = history.payments["date_created"].max()
        synced_to = None if latest != latest else min(latest.to_pydatetime(), history.fetched_at)  # noqa: PLR0124 - NaT
        with self._store.locked():
            # Another process may have put a file right meanwhile.
            broken = [entry.name for entry in suspects if not self._store.is_sound(entry)]
            for name in broken:
                log.warning("The file %s of the archive %s was broken and is set aside.", name, self.path)
                self._store.set_aside(name)
            try:
                current = self._store.manifest()
            except BrokenFileError as error:
                log.warning("%s", error)
                current = None
                broken.append(self._store.set_manifest_aside())
            changes = written(
                self._store, history, rows, current, synced_to=synced_to, without=broken, baseline=baseline
            )
        return changes._replace(set_aside=tuple(broken))

    @strip_service_text
    def verify(
        self, client: Client, *, progress: Callable[[int], object] | Literal[False] | None = None
    ) -> pd.DataFrame:
        """Compare the archive with the service, month by month, and change no file of the archive.

        Every payment is listed from the service once, without the response cache: as in a refresh, the client's
        cached responses for the account are deleted and replaced, so an interrupted `verify` makes the next full
        load ask for everything. Compared are the ids and, because
        the lists show them anyway, status, action, amount, note and both dates. Names of people are not: they change
        without the payment. Sync first: a payment made since the last sync is missing too. ``sync(refresh=True)``
        brings in what is missing or changed.

        Parameters
        ----------
        client : Client
            With a token of the archive's account.
        progress
            As for `load_history`.

        Returns
        -------
        DataFrame
            One row per payment that differs, newest first; empty where archive and service agree.

            ========== =====================================================================================
            month      "2024-05", the UTC month of the payment; null where it has no date
            payment_id the payment
            difference "missing" from the archive, "extra" in it (the service does not list it), or "changed"
            fields     of a changed payment, the columns that differ, such as "status, amount_cents"; else null
            ========== =====================================================================================

            ``frame.groupby("month")["difference"].value_counts()`` counts them. In privacy mode the ids are invented.

        Raises
        ------
        ArchiveError
            The folder holds nothing yet, a file is broken, or the token is another account's.
        ServiceError
            The service could not be asked, lists a record without an id, or lists nothing where the archive holds
            payments.
        """
        mask = Mask() if settings.privacy() else None
        manifest = self._needed()
        me = client.me(lenient=True)
        self._store.same_account(manifest, me)
        try:
            archived = [self._store.read(entry, columns=[*COMPARED]) for entry in manifest.payments]
        except BrokenFileError:
            if self._store.manifest() != manifest:  # another process wrote meanwhile, twice
                return self.verify(client, progress=progress)
            raise
        with show_progress(progress) as on_progress:
            listed = list_payments(client, me, on_progress, mask)
        if listed.empty and any(table.num_rows for table in archived):
            raise PaginationError(
                "The service lists no payment at all, though the archive holds some, so nothing is compared: try "
                "again later."
            )
        found = differences(archived, listed)
        return found if mask is None else found.assign(payment_id=mask.frame(found[["payment_id"]])["payment_id"])

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
            The folder holds nothing yet, or a file is broken.
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

    def _checked(self) -> tuple[Manifest | None, list[Entry]]:
        """Return what counts, and the files that are broken."""
        try:
            manifest = self._store.manifest()
        except BrokenFileError:
            return None, []
        if manifest is None:
            return None, []
        return manifest, [entry for entry in manifest.entries if not self._store.is_sound(entry)]

    def _build_baseline(self, manifest: Manifest | None, broken: Sequence[Entry], me: Me, *, refresh: bool) -> Baseline:
        pending = frozenset(name for entry in manifest.payments for name in entry.pending) if manifest else frozenset()
        if manifest is None:
            return Baseline(pending=pending, refresh=refresh)
        starts = [*starts_of(manifest.payments), None]
        missing = tuple(
            MissingPeriod(_midnight(starts[place]), _midnight(starts[place + 1]), entry.rows)
            for place, entry in enumerate(manifest.payments)
            if entry in broken
        )
        if refresh:
            return Baseline(pending=pending, missing=missing, refresh=True)
        everything = manifest.friends in broken or manifest.problems in broken
        stay = (
            not everything
            and manifest.synced_to is not None
            and timedelta(0) <= datetime.now(UTC) - manifest.friends_at < _FRIENDS_STAY
            and manifest.friends.rows == me.user.friends_count
        )
        return Baseline(
            since=manifest.synced_to,
            pending=pending,
            missing=missing,
            friends=self._store.frame(manifest.friends) if stay else None,
            everything=everything,
        )


def _midnight(day: date | None) -> datetime | None:
    if day is None or day == date.min:  # nothing is before
        return None
    return datetime.combine(day, time(), UTC)
