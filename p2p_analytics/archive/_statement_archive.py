"""The part of an archive that concerns statements: import, undo, and the people behind names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2p_analytics import settings
from p2p_analytics.archive._all_payments import (
    has_statements,
    read_all_payments,
    read_balances,
    read_file,
    read_names,
    read_other_rows,
    read_problems,
)
from p2p_analytics.archive._folder import PEOPLE_FILE, ArchiveFolder
from p2p_analytics.archive._import import (
    frame_batches,
    list_imports,
    plan_import,
    require_import,
    require_importable,
    undo_import,
    write_import,
)
from p2p_analytics.archive.imports.people import (
    PeopleFileError,
    add_suggestions,
    list_people,
    list_unused,
    suggest_people,
    write_aliases,
)
from p2p_analytics.errors import ArchiveError, ConfigurationError, describe_type
from p2p_analytics.files import to_path
from p2p_analytics.frames.schema import TEXT
from p2p_analytics.privacy import Mask

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas as pd

    from p2p_analytics.archive._all_payments import Names
    from p2p_analytics.archive._manifest import Manifest
    from p2p_analytics.archive.imports.rows import ImportPlan
    from p2p_analytics.settings import Privacy
    from p2p_analytics.statements import Statements


class StatementArchive:
    """The folder of an archive, and the statements in it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = to_path(path).expanduser().absolute()
        self._folder = ArchiveFolder(self.path)

    def import_(self, statements: Statements, *, dry_run: bool = False, repair: bool = False) -> ImportPlan:
        """Add statements, as a batch that `undo` takes back. The first import or sync creates the archive.

        Payments are identified by id. The service's row of a payment stays, with what the statement knows more. Of the
        rows of several files, the same values count as if `read_statements` had read all files in one call, whatever
        the order of the imports is: the archive keeps the rows that it needs for this. The statements must be of the
        archive's account: its username, the account that the first import named or, in files without a handle, the name
        of its holder. An archive of files without a handle takes over the handle that later statements of a holder with
        this name show. An archive that only statements have filled becomes that of the user with this username, or
        name, with its first sync.

        Parameters
        ----------
        statements : Statements
            As `read_statements` returns them, of one account, or of several that all belong to the archive.
        dry_run : bool
            True only returns the plan.
        repair : bool
            True sets a damaged file of statements aside, so that what earlier imports kept in it is lost: import all
            your statement files again, at best in this call. If it is the file of the payments, `imports` lists the
            earlier imports no more.

        Raises
        ------
        ConfigurationError
            The argument is not Statements.
        ArchiveError
            The statements are another account's, name none or are in privacy mode; a file of the archive is broken; or
            another process is writing.
        """
        from p2p_analytics.statements import Statements

        if not isinstance(statements, Statements):
            raise ConfigurationError(
                f"import_ needs statements, as read_statements(paths) returns them, not {describe_type(statements)}."
            )
        if dry_run:
            return plan_import(self._folder, statements, repair=repair)
        require_importable(self._folder, statements)  # before a folder is made
        with self._folder.lock():
            return write_import(self._folder, statements, repair=repair)

    def undo(self) -> pd.DataFrame:
        """Take the last import back, so that every file is as before, and return its row of `imports`.

        Raises
        ------
        ArchiveError
            There is no import, or a sync or merge came after it.
        """
        require_import(self._folder)  # before a folder is made
        with self._folder.lock():
            return frame_batches([undo_import(self._folder)], undoable=False)

    @property
    def imports(self) -> pd.DataFrame:
        """The imports, the first one first.

        One row per import: ``number``, ``imported_at``, ``files`` (separated by "; "), the counts ``new``, ``known``,
        ``changed`` and ``refused`` of its `ImportPlan`, and ``undoable``, True for the one that `undo` would take back.
        In privacy mode, the names of files are invented.
        """
        batches, undoable = list_imports(self._folder)
        return frame_batches(batches, undoable=undoable)

    def reconciliation(self, *, privacy: Privacy | None = None) -> pd.DataFrame:
        """Return whether the balances of imported files agree with their rows, and with those of the file before.

        One row per file and currency, with the columns of `Statements.reconciliation`. It does not depend on the order
        or number of the imports. An archive does not keep the rows of each file: where the rows of two files are of the
        same days, ``gap_cents`` is null. Files that an earlier version imported are not there. ``privacy``
        is as in `load_history`.

        Raises
        ------
        ArchiveError
            There is no archive yet, or its file of balances is broken.
        """
        from p2p_analytics.statements import reconcile_balances

        manifest = self._require_manifest()
        balances = read_balances(self._folder, manifest)
        others = read_other_rows(self._folder, manifest, balances)
        rows = balances.assign(account=str(manifest.me.user.id)).astype({"account": TEXT})
        table = reconcile_balances(rows, others).table
        mode = settings.privacy(privacy)
        return Mask(strict=mode == settings.STRICT).frame(table) if mode else table

    @property
    def people(self) -> pd.DataFrame:
        """The names in statements, and the people that they are.

        One row per name, or per suggestion of one: ``alias``, the name; ``person``, a user id, or a name where no id is
        known; ``username``, that of the person, where it is known; ``matched``, "payments" if service and statements
        show payments of the name with one person, "people.csv" if the user's file says so, else null: the person is a
        suggestion, or unknown; ``evidence``; and ``payments``, the number of payments that only statements know. A line
        of people.csv with a name that no payment has comes last, with 0 payments.
        """
        names = self._read_names()
        if names is None:
            return list_people({}, {}, [], {})
        suggestions = suggest_people(names.counts, names.known, names.matches)
        unused = list_unused(names.counts, names.known, read_file(self._folder).lines)
        return list_people(names.counts, names.matches, suggestions, names.known.usernames, unused)

    def write_people(self) -> Path:
        """Write the suggestions into people.csv in the archive's folder, and return its path; the user's lines stay.

        In each line of a suggestion, the person begins with "?": remove it to accept the suggestion. A line with an
        empty person keeps the name apart from all people.
        """
        names = self._read_names()
        with self._folder.lock():
            decided = read_file(self._folder)
            suggestions = suggest_people(names.counts, names.known, names.matches) if names else []
            self._folder.replace_file(PEOPLE_FILE, write_aliases(add_suggestions(decided, suggestions)))
        return self.path / PEOPLE_FILE

    def _read_parts(self, manifest: Manifest, *, is_private: bool) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Return payments, problems and people of the service, with those of statements if there are any."""
        problems = self._folder.read_frame(manifest.problems)
        people = self._folder.read_people(manifest)
        if not has_statements(manifest):
            return self._folder.read_payments(manifest), problems, people
        try:
            payments, people = read_all_payments(self._folder, manifest, people)
        except PeopleFileError as error:
            if not is_private:
                raise
            hidden = error.without_reason()
        else:
            return payments, read_problems(self._folder, manifest, problems), people
        raise hidden  # outside of the except block, so that the error, which quotes names, is not the context

    def _read_names(self) -> Names | None:
        """Return the names in statements; None without statements."""
        if settings.privacy():
            raise ConfigurationError("The names in statements are real: in privacy mode, use history() instead.")
        manifest = self._require_manifest()
        if not has_statements(manifest):
            return None
        return read_names(self._folder, manifest, self._folder.read_people(manifest))

    def _require_manifest(self) -> Manifest:
        manifest = self._folder.read_manifest()
        if manifest is None:
            raise ArchiveError(f"There is no archive in {self.path} yet: sync it, or import statement files into it.")
        return manifest
