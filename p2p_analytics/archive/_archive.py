"""The public Archive class, and several archives in one folder."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import pandas as pd
from msgspec.structs import replace

from p2p_analytics import settings
from p2p_analytics.archive import _imports, _people, _service, _view
from p2p_analytics.archive._batches import Holder, add_edits, read_rows, recover_statements, write_edits
from p2p_analytics.archive._folder import PEOPLE_FILE, ArchiveFolder, build_format_name
from p2p_analytics.archive._imports import ImportPlan, UndoPlan
from p2p_analytics.archive._manifest import NAME, BrokenFileError, Manifest, is_file_name
from p2p_analytics.archive._scan import Scannable, Source
from p2p_analytics.archive._service import Changes
from p2p_analytics.archive._view import derive_statements, read_view
from p2p_analytics.archive.tables import empty_frame
from p2p_analytics.display import format_count
from p2p_analytics.errors import ArchiveError, ConfigurationError, PaginationError, describe_os_error, describe_type
from p2p_analytics.files import to_path
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import is_among
from p2p_analytics.frames.build import friends_frame
from p2p_analytics.frames.merge_sources import rename_account, select_edits
from p2p_analytics.handles import fold_name, normalize_account
from p2p_analytics.history import History, load_changes, show_progress
from p2p_analytics.privacy import Mask, strip_service_text
from p2p_analytics.records import Me, User
from p2p_analytics.settings import Privacy
from p2p_analytics.statements import RECONCILIATION, Statements
from p2p_analytics.statements.reading.sources import read_path
from p2p_analytics.times import as_instant

if TYPE_CHECKING:
    from p2p_analytics.client import Client


log = logging.getLogger(__name__)

_MOST_NAMES: Final = 5


def open_archive(path: str | os.PathLike[str]) -> Archive:
    """Return the archive in a folder, which the first merge or sync creates.

    Raises
    ------
    ArchiveError
        The path is a file, or a folder with other content.
    """
    return Archive(path)


class Archive(Scannable):
    """One person's history in a folder of Parquet files, which only its owner can read.

    Payments are identified by id. Of two states of a payment, the one fetched later is kept; of two fetched at the
    same time, the one that is not pending. A null in ``medium``, ``fee_cents`` or a refund, which lists of the
    service omit, does not replace a value. Writers wait for each other for ten seconds; readers never wait.

    Attributes
    ----------
    path : Path
        The folder.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = to_path(path).expanduser().absolute()
        self._folder = ArchiveFolder(self.path)

    def __repr__(self) -> str:
        """Show the path, not the content."""
        return f"<Archive {self.path}>"

    def history(self, *, privacy: Privacy | None = None) -> History:
        """Return the archived history, without a token or a network.

        Rows, columns, dtypes and ``privacy`` are as in `load_history`; "data as of" is the last sync, or before it the
        latest statement. With imported statements, ``payments`` has the columns of STATEMENT too (``type``,
        ``funding_source``, ``destination``, ``tip_cents``, ``tax_cents``, ``balance_cents``, ``file``, ``line``), and
        ``counterparty_matched``: "payments" or "people.csv" where a name in a statement became a person, see `people`.
        A value of the statement fills a null of the service.

        Raises
        ------
        ArchiveError
            No archive exists yet, or the file that the error names is broken.
        """
        private = settings.privacy(privacy)
        manifest = self._require_manifest()
        service = manifest.service
        try:
            view = read_view(self._folder, manifest)
            friends = self._folder.read_frame(service.friends) if service else friends_frame([])
        except BrokenFileError:
            if self._folder.read_manifest() != manifest:  # another process wrote twice in the meantime
                return self.history(privacy=privacy)
            raise
        history = History(
            me=view.me,
            payments=view.payments,
            friends=friends,
            fetched_at=view.fetched_at,
            problems=view.problems,
            people=view.people,
            since=service.since if service else None,
        )
        return history.masked(strict=private == settings.STRICT) if private else history

    @property
    def is_new(self) -> bool:
        """Whether the folder holds no archive yet: the first merge, sync or import creates it."""
        manifest = self._read_sound_manifest()
        return not self._folder.list_kinds() if manifest is None else manifest.is_empty

    @property
    def since(self) -> datetime | None:
        """The date before which a sync has loaded pending payments only; None if it has loaded all, or nothing yet."""
        manifest = self._folder.read_manifest() or Manifest()
        return manifest.service.since if manifest.service else None

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
        rows = _service.build_rows(history)
        stated = _view.select_stated(history.payments)
        with self._folder.lock():
            previous = self._folder.read_manifest()
            manifest = previous or recover_statements(self._folder)
            changes = Changes(0, 0, loaded=rows.num_rows)
            if manifest.service or rows.num_rows or stated.empty:
                self._require_user(manifest, history.me)
            if rows.num_rows or stated.empty:
                service, changes = _service.write_changes(self._folder, history, rows, manifest.service, synced_to=None)
                manifest = replace(manifest, service=service)
            if len(stated):
                manifest, changes = self._merge_statements(manifest, history, stated, changes)
            self._folder.commit(manifest, previous)
        return changes

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

        A sync requests new and pending payments, each payment that is no longer pending by its id, the friends if their
        number changed or they are a day old, and the periods of broken files, which it renames.

        Parameters
        ----------
        client : Client
            With a token of the archive's account.
        refresh : bool
            True reloads everything without the response cache and replaces the archived rows: for an archive that
            `verify` found incomplete. A payment that the service no longer lists is kept and listed in ``problems``;
            payments of a broken file that are not listed are lost, and a warning says how many.
        since : datetime, date or str, optional
            The date from which the archive is to hold all payments (`Archive.since`), and of older ones the pending
            ones. A later sync with an earlier date, or without one, loads the missing ones; a later date changes
            nothing.
        on_bad_record, progress
            As for `load_history`.

        Raises
        ------
        ConfigurationError
            ``since`` is not a date, or is given with ``refresh``, which reloads everything.
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
        try:
            start = None if since is None else as_instant(since)
        except (ValueError, TypeError, OverflowError):
            raise ConfigurationError(f"since: {str(since)[:40]!r} is no date, such as 2024-05-31.") from None
        manifest = self._read_sound_manifest() or Manifest()
        suspects = [entry for entry in manifest.synced_entries if not self._folder.is_sound(entry)]
        me = client.me(lenient=True)
        self._require_user(manifest, me)
        baseline = _service.build_baseline(self._folder, manifest.service, suspects, me, refresh=refresh, start=start)
        history = load_changes(client, me, baseline, on_bad_record=on_bad_record, progress=progress)
        rows = _service.build_rows(history)
        latest = history.payments["date_created"].max()
        synced_to = None if latest != latest else min(latest.to_pydatetime(), history.fetched_at)  # noqa: PLR0124 - NaT
        with self._folder.lock():
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
                self._folder.set_aside(NAME)
                broken.append(NAME)
            before = current or recover_statements(self._folder)
            if before.problems and before.problems.name in broken:
                before = replace(before, problems=None)
            service, changes = _service.write_changes(
                self._folder, history, rows, before.service, synced_to=synced_to, without=broken, baseline=baseline
            )
            self._folder.commit(replace(before, service=service), current)
        return changes._replace(set_aside=tuple(broken))

    @strip_service_text
    def verify(
        self, client: Client, *, progress: Callable[[int], object] | Literal[False] | None = None
    ) -> pd.DataFrame:
        """Compare the archive with the service, month by month, and change no file of the archive.

        Every payment (since `Archive.since`) is listed once without the response cache; the cached responses for the
        account are deleted and replaced. The comparison covers ids, status, action, amount, note and both dates, but
        not names, which change independently of the payment. Sync first: a payment made since the last sync is missing
        too.
        ``sync(refresh=True)`` adds missing payments and replaces changed ones.

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
            No archive exists yet, a file is broken, or the token is another account's.
        ServiceError
            The request failed, or the service lists a record without an id, or no payment although the archive holds
            some.
        """
        _require_client(client, "verify")
        mask = Mask() if settings.privacy() else None
        manifest = self._require_manifest()
        me = client.me(lenient=True)
        self._require_user(manifest, me)
        service = manifest.service
        try:
            archived = _service.read_compared(self._folder, service)
        except BrokenFileError:
            if self._folder.read_manifest() != manifest:  # another process wrote twice in the meantime
                return self.verify(client, progress=progress)
            raise
        with show_progress(progress) as on_progress:
            listed = _service.list_payments(client, me, on_progress, mask, since=service.since if service else None)
        if listed.empty and len(archived):
            raise PaginationError(
                "The service lists no payment at all, though the archive holds some, so nothing is compared: try again "
                "later."
            )
        found = _service.find_differences(archived, listed)
        return found if mask is None else found.assign(payment_id=mask.frame(found[["payment_id"]])["payment_id"])

    def import_(self, statements: Statements, *, dry_run: bool = False, repair: bool = False) -> ImportPlan:
        """Add statements, as a batch that `undo` takes back. The first import or sync creates the archive.

        The result is the same as if `read_statements` had read all files in one call, in whatever order they are
        imported; of a payment that the service lists, a statement fills nulls only. The statements must be of the
        archive's account: its username, the account that the first import named or, in files without a handle, the name
        of its holder. The first sync of an archive of statements needs a user with this username or name.

        Parameters
        ----------
        statements : Statements
            As `read_statements` returns them.
        dry_run : bool
            True only returns the plan.
        repair : bool
            True sets damaged files of earlier imports aside, which `imports` then no longer lists: import all your
            statement files again, at best in this call.

        Raises
        ------
        ConfigurationError
            The argument is not Statements.
        ArchiveError
            The statements are another account's, name none or are in privacy mode; a file of the archive is broken; or
            another process is writing.
        """
        if not isinstance(statements, Statements):
            raise ConfigurationError(
                f"import_ needs statements, as read_statements(paths) returns them, not {describe_type(statements)}."
            )
        planned = _imports.plan_import(self._folder, statements, repair=repair)  # raises before a folder is made
        if dry_run:
            return planned.plan
        with self._folder.lock():
            return _imports.write_planned(self._folder, statements, planned, repair=repair)

    def preview_undo(self) -> UndoPlan:
        """Return what `undo` would take back, and change nothing. In privacy mode, names are invented.

        Raises
        ------
        ArchiveError
            Nothing has been imported.
        """
        return _imports.plan_undo(self._folder)

    def undo(self) -> pd.DataFrame:
        """Take the last import back, and return its row of `imports`; what a sync or merge has added stays.

        Raises
        ------
        ArchiveError
            Nothing has been imported.
        """
        _imports.require_import(self._folder)  # before a folder is made
        with self._folder.lock():
            return _imports.frame_batches([_imports.undo_import(self._folder)], undoable=False)

    @property
    def imports(self) -> pd.DataFrame:
        """The imports, the first one first.

        One row per import: ``number``, ``imported_at``, ``files`` (separated by "; "), the counts ``new``, ``known``,
        ``changed`` and ``refused`` of its `ImportPlan`, and ``undoable``, True for the one that `undo` would take back.
        In privacy mode, the names of files are invented.
        """
        manifest = self._folder.read_manifest() or Manifest()
        return _imports.frame_batches(manifest.batches, undoable=True)

    @property
    def holder_names(self) -> list[str]:
        """The names of the account holder: in earlier statements, then in the user's profile.

        Raises
        ------
        ConfigurationError
            Privacy mode is on.
        """
        if settings.privacy():
            raise ConfigurationError("The holder's names are real: in privacy mode, use history() instead.")
        manifest = self._folder.read_manifest() or Manifest()
        if manifest.is_empty:
            return []
        owners = read_rows(self._folder, manifest).collected.rows["owner"].drop_nulls().unique()
        profile = read_view(self._folder, manifest).me.user.display_name
        return [*dict.fromkeys([*sorted(owners), *filter(None, [profile])])]

    @property
    def formats(self) -> list[Path]:
        """The files of the user's own formats, which `keep_format` has copied into the archive."""
        return sorted(self._folder.list_formats())

    def keep_format(self, path: str | os.PathLike[str], name: str) -> None:
        """Copy the TOML file of a user's format into the archive, in place of an earlier one of this name."""
        body = read_path(path, ConfigurationError)
        with self._folder.lock():
            self._folder.replace_file(build_format_name(name), body)

    def reconciliation(self, *, privacy: Privacy | None = None) -> pd.DataFrame:
        """Return whether the balances of imported files agree with their rows and with the previous file's balances.

        One row per file and currency, as in `Statements.reconciliation`. ``privacy`` is as in `load_history`.

        Raises
        ------
        ArchiveError
            No archive exists yet, or a file of it is broken.
        """
        manifest = self._require_manifest()
        known = manifest.has_statements
        table = read_view(self._folder, manifest).reconciliation if known else empty_frame(RECONCILIATION)
        mode = settings.privacy(privacy)
        return Mask(strict=mode == settings.STRICT).frame(table) if mode else table

    @property
    def people(self) -> pd.DataFrame:
        """Names found in statements, with the person each one was matched to.

        One row per name, or per suggestion for it: ``alias``, the name; ``person``, a user id, or a name without one;
        ``username`` of the person; ``matched``, "payments" if service and statements contain payments of the name with
        one person, "people.csv" if the user's file states it, null for a suggestion; ``evidence``; and ``payments``,
        the number of payments that only statements contain. Lines of people.csv without effect come last, with 0.
        """
        names = self._read_names()
        if names is None:
            return _people.list_people({}, {}, [], {})
        suggestions = _people.suggest_people(names.counts, names.known, names.matches)
        unused = _people.list_unused(names.counts, names.known, _view.read_file(self._folder).lines, names.faults)
        return _people.list_people(names.counts, names.matches, suggestions, names.known.usernames, unused)

    def write_people(self) -> Path:
        """Write the suggestions into people.csv in the archive's folder, and return its path; the user's lines stay.

        In each line of a suggestion, the person begins with "?": remove it to accept the suggestion. A line with an
        empty person keeps the name apart from all people.
        """
        names = self._read_names()
        with self._folder.lock():
            decided = _view.read_file(self._folder)
            suggestions = _people.suggest_people(names.counts, names.known, names.matches) if names else []
            self._folder.replace_file(PEOPLE_FILE, _people.write_aliases(_people.add_suggestions(decided, suggestions)))
        return self.path / PEOPLE_FILE

    def _merge_statements(
        self, manifest: Manifest, history: History, stated: pd.DataFrame, changes: Changes
    ) -> tuple[Manifest, Changes]:
        """Add the rows of statements of a history as edits, unless the archive has them as they are."""
        if stated["payment_id"].isna().any() or not stated["payment_id"].is_unique:
            raise ArchiveError("A payment without an id, or with that of another one, cannot be merged: leave it out.")
        rows, account = read_rows(self._folder, manifest), str(history.me.user.id)
        known = derive_statements(self._folder, manifest, rows)
        if manifest.has_statements and not _is_same_user(known.me.user, history.me.user):
            raise self._user_error(str(known.me.user.id), history.me.user)
        user = known.me.user if manifest.has_statements or manifest.service else history.me.user
        stated = rename_account(stated, str(user.id), user.username)  # another spelling of the holder is not an edit
        every = pd.concat([known.payments, known.refused])
        # Of a payment that the archive has from a statement, the service's values are not edits.
        is_known = is_among(stated["payment_id"], every["payment_id"]) & is_among(
            stated["payment_id"], history.payments.loc[history.payments["source"] == schema.SOURCE_API, "payment_id"]
        )
        edits = select_edits(stated[~is_known], every)
        is_listed = is_among(edits["payment_id"], known.listed["payment_id"])
        is_new = ~is_among(edits["payment_id"], every["payment_id"])
        added, changed = int((is_new & ~is_listed).sum()), int((~is_new).sum())
        if len(edits):
            holders = [Holder(history.me, history.fetched_at), *([rows.holder] if rows.holder else [])]
            holder = max(holders, key=lambda each: each.fetched_at)
            named = [each for each in (rows.holder, holder) if each and each.me.user.username]
            if named:  # a file without a handle shows no username
                holder = Holder(replace(holder.me, user=named[0].me.user), holder.fetched_at)
            merged = rows.edits.iloc[:0] if manifest.edits is None else self._folder.read_frame(manifest.edits)
            entry = write_edits(self._folder, add_edits(rows._replace(edits=merged), edits).edits, holder)
            manifest = replace(manifest, edits=entry)
        problems = history.problems[history.problems["file"].notna()]
        united = pd.concat([known.problems, problems], ignore_index=True).drop_duplicates(ignore_index=True)
        further = united.iloc[len(known.problems) :]
        if len(further):
            earlier = [self._folder.read_frame(manifest.problems)] if manifest.problems else []
            merged = pd.concat([*earlier, further], ignore_index=True).drop_duplicates(ignore_index=True)
            entry = _service.write_table(self._folder, "problems", merged, manifest.problems, account)
            manifest = replace(manifest, problems=entry)
        if manifest.service is None:
            manifest = replace(manifest, account=manifest.account or account)
        return manifest, changes._replace(added=changes.added + added, changed=changes.changed + changed)

    def _require_user(self, manifest: Manifest, me: Me) -> None:
        """Raise an ArchiveError if the archive, or the username or holder of its statements, is of another account."""
        if manifest.service and manifest.service.me.user.id != me.user.id:
            raise self._folder.account_error()
        if manifest.service or not manifest.has_statements:
            return
        own = {normalize_account(name) for name in (me.user.username, me.user.id) if name}
        rows = read_rows(self._folder, manifest)
        accounts = derive_statements(self._folder, manifest, rows, me.user).accounts
        others = [name for name in accounts if normalize_account(name) not in own]
        holder = rows.holder.me.user if rows.holder else None
        if not accounts and holder and not _is_same_user(holder, me.user):  # all rows were merged
            others = [str(holder.id)]
        if others:
            raise self._user_error(others[0], me.user)

    def _user_error(self, holder: str, user: User) -> ArchiveError:
        if settings.privacy():
            return self._folder.account_error()
        return ArchiveError(
            f"{self.path} holds statements of {holder}, not of {user.username or user.id}: name another folder."
        )

    def _open_sources(self) -> list[Source]:
        """Return this archive, for `scan`."""
        return [Source(self._folder, self._require_manifest())]

    def _read_names(self) -> _view.Names | None:
        """Return the names in statements; None without statements."""
        if settings.privacy():
            raise ConfigurationError("The names in statements are real: in privacy mode, use history() instead.")
        manifest = self._require_manifest()
        if not manifest.has_statements:
            return None
        statements = derive_statements(self._folder, manifest, read_rows(self._folder, manifest))
        return _view.match_people(self._folder, manifest, statements)

    def _read_sound_manifest(self) -> Manifest | None:
        """Return the manifest; None if there is none, or a broken one."""
        try:
            return self._folder.read_manifest()
        except BrokenFileError:
            return None

    def _require_manifest(self) -> Manifest:
        manifest = self._folder.read_manifest() or Manifest()
        if manifest.is_empty:
            raise ArchiveError(f"There is no archive in {self.path} yet: sync it, or import statement files into it.")
        return manifest


def _is_same_user(holder: User, user: User) -> bool:
    """Return whether the holder of statements is a user: by the handle or, where one has none, by the name."""
    own = {normalize_account(name) for name in (user.username, user.id) if name}
    if own & {normalize_account(name) for name in (holder.username, holder.id) if name}:
        return True
    has_handles = holder.username is not None and user.username is not None
    return not has_handles and fold_name(holder.display_name) == fold_name(user.display_name)


def _require_client(client: object, call: str) -> None:
    """Raise a ConfigurationError, with the call that was meant, for an object that is not a client."""
    if not _is_client(client):
        meant = ": merge(history) adds a loaded history" if call == "sync" and isinstance(client, History) else ""
        raise ConfigurationError(f"{call} needs a Client, such as Client(token), not {describe_type(client)}{meant}.")


def _is_client(value: object) -> bool:
    return hasattr(value, "history_pages")  # reading an archive imports no client


def open_archives(root: str | os.PathLike[str]) -> Archives:
    """Return the archives in a folder: each of its folders is the archive of one account.

    Raises
    ------
    ArchiveError
        The folder does not exist, holds no archive, or is one itself; a folder in it cannot be read, is broken, is no
        archive, or holds the archive of an account that another one holds too. Files beside the archives are ignored.
    """
    path = to_path(root).expanduser().absolute()
    try:
        with os.scandir(path) as entries:
            found = list(entries)
    except OSError as error:
        raise ArchiveError(
            f"{path} cannot be read ({describe_os_error(error)}): name a folder with archives in it."
        ) from None
    if any(entry.name == NAME or is_file_name(entry.name) for entry in found):
        raise ArchiveError(f"{path} is itself an archive: use open_archive, or name the folder that contains it.")
    for entry in found:
        if entry.is_symlink() and not os.path.exists(entry.path):  # noqa: PTH110 - an entry of scandir
            raise ArchiveError(f"{entry.path} is a link that leads nowhere: remove it.")
    folders = sorted(path / entry.name for entry in found if entry.is_dir())
    if not folders:
        raise ArchiveError(f"{path} holds no archives: name a folder in which each folder is an archive.")
    return Archives(path, [Archive(folder) for folder in folders])


class Archives(Scannable):
    """The archives in a folder, each of one account, in the order of their names.

    ``len`` counts them, a loop yields each `Archive`, and ``archives["ada"]`` is the one in the folder ``ada``.

    Attributes
    ----------
    path : Path
        The folder.
    """

    _has_accounts = True

    def __init__(self, path: Path, archives: list[Archive]) -> None:
        self.path = path
        self._archives = {archive.path.name: archive for archive in archives}
        self._open_sources()

    def __repr__(self) -> str:
        """Show the path and the number of archives."""
        return f"<Archives {self.path}: {format_count(len(self), 'archive', 'archives')}>"

    def __len__(self) -> int:
        """Return the number of archives."""
        return len(self._archives)

    def __iter__(self) -> Iterator[Archive]:
        """Yield the archives in the order of their names."""
        return iter(self._archives.values())

    def __getitem__(self, name: str | int) -> Archive:
        """Return the archive in the folder of this name, or at this position."""
        if isinstance(name, int):
            return list(self)[name]
        try:
            return self._archives[name]
        except (KeyError, TypeError):
            known = ", ".join(self.names[:_MOST_NAMES]) + (", ..." if len(self) > _MOST_NAMES else "")
            raise KeyError(f"{self.path} has no archive {name!r}: there are {known}.") from None

    def __contains__(self, name: object) -> bool:
        """Return whether there is an archive in a folder of this name."""
        return name in self._archives

    @property
    def names(self) -> list[str]:
        """The names of the archives' folders, rising."""
        return list(self._archives)

    def _open_sources(self) -> list[Source]:
        """Return the archives, for `scan`: each with its present manifest."""
        sources = [source for archive in self for source in archive._open_sources()]  # noqa: SLF001 - same package
        ids: dict[str, Path] = {}
        # Until its first sync, an archive of statements has a username in place of the id.
        names: dict[str, Path] = {}
        for folder, manifest in sorted(sources, key=lambda source: source.manifest.service is None):
            path, other = folder.path, folder.path
            if manifest.service is not None:
                user = manifest.service.me.user
                other = ids.setdefault(str(user.id), path)
                names[normalize_account(user.username or "")] = path
            elif manifest.account is not None:
                other = names.setdefault(normalize_account(manifest.account), path)
            if other != path:
                raise ArchiveError(
                    f"{other} and {path} hold the same account, so its payments would count twice: move one away."
                )
        return sources
