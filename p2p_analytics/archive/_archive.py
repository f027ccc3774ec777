"""The public Archive class: history, merge, sync, verify and scan."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Literal

from p2p_analytics import settings
from p2p_analytics.archive._baseline import build_baseline
from p2p_analytics.archive._manifest import STATEMENT_KINDS, BrokenFileError, Entry, Manifest
from p2p_analytics.archive._recovery import settle_imports
from p2p_analytics.archive._rewrite import Changes, build_rows, write_changes
from p2p_analytics.archive._scan import Scannable, Source
from p2p_analytics.archive._statement_archive import StatementArchive
from p2p_analytics.archive._user import require_user
from p2p_analytics.archive._verify import COMPARED, find_differences, limit_to, list_payments
from p2p_analytics.errors import ArchiveError, ConfigurationError, PaginationError, describe_type
from p2p_analytics.history import History, load_changes, show_progress
from p2p_analytics.privacy import Mask, strip_service_text
from p2p_analytics.times import as_instant

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from datetime import date, datetime

    import pandas as pd

    from p2p_analytics.client import Client
    from p2p_analytics.settings import Privacy

log = logging.getLogger(__name__)


def open_archive(path: str | os.PathLike[str]) -> Archive:
    """Return the archive in a folder, which the first merge or sync creates.

    Raises
    ------
    ArchiveError
        The path is a file, or a folder with other content.
    """
    return Archive(path)


class Archive(StatementArchive, Scannable):
    """One person's history in a folder of Parquet files, which only its owner can read.

    Payments are identified by id. Of two states of a payment, the one fetched later is kept; of two fetched at the
    same time, the one that is not pending. A null in ``medium``, ``fee_cents`` or a refund, which lists of the
    service omit, does not replace a value. Writers wait for each other for ten seconds; readers never wait.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __repr__(self) -> str:
        """Show the path, not the content."""
        return f"<Archive {self.path}>"

    def history(self, *, privacy: Privacy | None = None) -> History:
        """Return the archived history, without a token or a network.

        Rows, columns, dtypes and ``privacy`` are as in `load_history`; "data as of" is the last sync.

        With imported statements, ``payments`` has the columns of STATEMENT too (``type``, ``funding_source``,
        ``destination``, ``tip_cents``, ``tax_cents``, ``balance_cents``, ``file``, ``line``), and
        ``counterparty_matched``: "payments" or "people.csv" where a name in a statement became a person, see `people`.
        Of a payment that service and statement know, the service's values are shown, and the statement's where it
        has none. Before the first sync, "data as of" is that of the latest statement.

        Raises
        ------
        ArchiveError
            There is no archive yet, or the file that the error names is broken.
        """
        private = settings.privacy(privacy)
        manifest = self._require_manifest()
        try:
            friends = self._folder.read_frame(manifest.friends)
            payments, problems, people = self._read_parts(manifest, is_private=bool(private))
        except BrokenFileError:
            if self._folder.read_manifest() != manifest:  # another process wrote twice in the meantime
                return self.history(privacy=privacy)
            raise
        history = History(
            me=manifest.me,
            payments=payments,
            friends=friends,
            fetched_at=manifest.fetched_at,
            problems=problems,
            people=people,
            since=manifest.since,
        )
        return history.masked(strict=private == settings.STRICT) if private else history

    @property
    def is_new(self) -> bool:
        """Whether the folder holds no archive yet: the first merge or sync creates it."""
        return self._folder.is_new()

    @property
    def since(self) -> datetime | None:
        """The date before which a sync has loaded pending payments only; None if it has loaded all, or nothing yet."""
        manifest = self._folder.read_manifest()
        return None if manifest is None else manifest.since

    def merge(self, history: History) -> Changes:
        """Add a history's payments; friends and balance are taken from the one that was fetched later.

        "Data as of" stays at the older of the two, because the history may be incomplete.

        Raises
        ------
        ConfigurationError
            The argument is not a History.
        ArchiveError
            The history is another account's or in privacy mode, a file is broken, or another process is writing.
        SchemaError
            The payments lack columns.
        """
        if not isinstance(history, History):
            raise ConfigurationError(
                f"merge needs a History, such as the result of load_history(client), not {describe_type(history)}"
                f"{': sync(client) loads into the archive' if _is_client(history) else ''}."
            )
        if history.private:
            raise ArchiveError(
                "A history in privacy mode holds invented names and amounts: merge the original history."
            )
        rows = build_rows(history)
        with self._folder.lock():
            settle_imports(self._folder)
            return write_changes(self._folder, history, rows, self._folder.read_manifest(), synced_to=None)

    def sync(
        self,
        client: Client,
        *,
        refresh: bool = False,
        since: datetime | date | str | None = None,
        on_bad_record: Literal["raise", "report"] = "raise",
        progress: Callable[[int], object] | Literal[False] | None = None,
    ) -> Changes:
        """Load what may have changed since the last sync, and add it. The first sync loads everything, or from a date.

        A sync requests new payments, all pending payments, each payment that is no longer pending by its id, the
        friends if their number changed or they are a day old, and the periods of broken files. A broken file is
        renamed once the service has listed as many payments as it held.

        Parameters
        ----------
        client : Client
            With a token of the archive's account.
        refresh : bool
            True reloads everything from the service, without the response cache, and replaces the archived rows: for
            an archive that `verify` found incomplete. A payment that the service no longer lists is kept and listed
            in ``problems``; payments of a broken file that are not listed are lost, and a warning says how many.
        since : datetime, date or str, optional
            The date from which the archive is to hold all payments; of older ones, a first sync loads the pending ones
            only. The archive keeps the date (`Archive.since`), and `verify` compares the payments since then. A later
            sync with an earlier date, or without one, loads the missing ones; with a later date, it changes nothing.
        on_bad_record, progress
            As for `load_history`.

        Raises
        ------
        ConfigurationError
            ``since`` is no date, or is given with ``refresh``, which reloads everything.
        ArchiveError
            The token is another account's, another process is writing, or a path of the archive is not a regular
            file.
        ServiceError
            The request failed. The archive is unchanged.
        PaginationError
            The service lists fewer payments than are known. The archive is unchanged.
        """
        _require_client(client, "sync")
        if refresh and since is not None:
            raise ConfigurationError("refresh reloads everything: leave out since, or refresh.")
        start = None if since is None else _parse_since(since)
        manifest, suspects = self._find_broken()
        me = client.me(lenient=True)
        if manifest is not None:
            require_user(self._folder, manifest, me)
        baseline = build_baseline(self._folder, manifest, suspects, me, refresh=refresh, start=start)
        history = load_changes(client, me, baseline, on_bad_record=on_bad_record, progress=progress)
        rows = build_rows(history)
        latest = history.payments["date_created"].max()
        synced_to = None if latest != latest else min(latest.to_pydatetime(), history.fetched_at)  # noqa: PLR0124 - NaT
        with self._folder.lock():
            settle_imports(self._folder)
            # Another process may have repaired a file in the meantime.
            broken = [entry.name for entry in suspects if not self._folder.is_sound(entry)]
            for name in broken:
                lost = "; the earlier names of people (also_named) are lost" if name.startswith("people-") else ""
                log.warning("The file %s of the archive %s was broken and is set aside%s.", name, self.path, lost)
                self._folder.set_aside(name)
            try:
                current = self._folder.read_manifest()
            except BrokenFileError as error:
                log.warning("%s", error)
                current = None
                broken.append(self._folder.set_manifest_aside())
            changes = write_changes(
                self._folder, history, rows, current, synced_to=synced_to, without=broken, baseline=baseline
            )
        return changes._replace(set_aside=tuple(broken))

    @strip_service_text
    def verify(
        self, client: Client, *, progress: Callable[[int], object] | Literal[False] | None = None
    ) -> pd.DataFrame:
        """Compare the archive with the service, month by month, and change no file of the archive.

        Every payment is listed once from the service, without the response cache: as in a refresh, the client's
        cached responses for the account are deleted and replaced, so after an interrupted `verify` the next full
        load requests everything. The comparison covers ids, status, action, amount, note and both dates, but not
        names of people, which change independently of the payment. Sync first: a payment made since the last sync is
        missing too. ``sync(refresh=True)`` adds missing payments and replaces changed ones. In an archive that a sync
        with ``since`` has made, only payments since then are compared.

        Parameters
        ----------
        client : Client
            With a token of the archive's account.
        progress
            As for `load_history`.

        Returns
        -------
        DataFrame
            One row per payment that differs, newest first; empty if archive and service agree.

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
            There is no archive yet, a file is broken, or the token is another account's.
        ServiceError
            The request failed, or the service lists a record without an id, or no payment although the archive holds
            some.
        """
        _require_client(client, "verify")
        mask = Mask() if settings.privacy() else None
        manifest = self._require_manifest()
        me = client.me(lenient=True)
        require_user(self._folder, manifest, me)
        try:
            archived = [self._folder.read(entry, columns=[*COMPARED]) for entry in manifest.payments]
        except BrokenFileError:
            if self._folder.read_manifest() != manifest:  # another process wrote twice in the meantime
                return self.verify(client, progress=progress)
            raise
        with show_progress(progress) as on_progress:
            listed = list_payments(client, me, on_progress, mask, since=manifest.since)
        archived = [limit_to(table, manifest.since) for table in archived]
        if listed.empty and any(table.num_rows for table in archived):
            raise PaginationError(
                "The service lists no payment at all, though the archive holds some, so nothing is compared: try "
                "again later."
            )
        found = find_differences(archived, listed)
        return found if mask is None else found.assign(payment_id=mask.frame(found[["payment_id"]])["payment_id"])

    def _open_sources(self) -> list[Source]:
        """Return this archive, for `scan`."""
        return [Source(self._folder, self._require_manifest())]

    def _find_broken(self) -> tuple[Manifest | None, list[Entry]]:
        """Return the manifest and its broken files; no manifest if it is broken itself."""
        try:
            manifest = self._folder.read_manifest()
        except BrokenFileError:
            return None, []
        if manifest is None:
            return None, []
        loaded = [entry for entry in manifest.entries if entry.kind not in STATEMENT_KINDS]
        return manifest, [entry for entry in loaded if not self._folder.is_sound(entry)]


def _parse_since(since: datetime | date | str) -> datetime:
    try:
        return as_instant(since)
    except (ValueError, TypeError, OverflowError):
        raise ConfigurationError(f"since: {str(since)[:40]!r} is no date, such as 2024-05-31.") from None


def _require_client(client: object, call: str) -> None:
    """Raise a ConfigurationError, with the call that was meant, for an object that is no client."""
    if not _is_client(client):
        meant = ": merge(history) adds a loaded history" if call == "sync" and isinstance(client, History) else ""
        raise ConfigurationError(f"{call} needs a Client, such as Client(token), not {describe_type(client)}{meant}.")


def _is_client(value: object) -> bool:
    return hasattr(value, "history_pages")  # reading an archive imports no client
