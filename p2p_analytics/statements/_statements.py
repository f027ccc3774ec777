"""The Statements class, and the call that reads statement files: payments, reconciliation, problems and files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import pandas as pd
import polars as pl

from p2p_analytics import settings
from p2p_analytics.display import PRIVATE, STRICT, clean_line, format_count
from p2p_analytics.errors import ConfigurationError, StatementError
from p2p_analytics.forks import refuse_marked
from p2p_analytics.frames.arrow import is_among
from p2p_analytics.frames.merge_sources import select_edits
from p2p_analytics.frames.schema import FRIENDS, KIND_PAYMENT, list_files_after_gaps, list_wrong_files, parse_dtype
from p2p_analytics.handles import fold_name, normalize_account
from p2p_analytics.history import History
from p2p_analytics.privacy import Mask, is_masked
from p2p_analytics.statements.collect import collect
from p2p_analytics.statements.formats.instants import has_zone
from p2p_analytics.statements.ledger.derive import View, derive
from p2p_analytics.statements.problems import OTHER_ACCOUNTS, REFUSED, SKIPPED, frame_problems
from p2p_analytics.statements.rows import Collected
from p2p_analytics.times import EPOCH, find_zone

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime
    from typing import IO
    from zoneinfo import ZoneInfo

    from p2p_analytics.records import Me

    Content: TypeAlias = bytes | IO[bytes]
    StatementFile: TypeAlias = str | os.PathLike[str] | Content | tuple[str, Content] | Mapping[str, Any]
    StatementFiles: TypeAlias = StatementFile | Iterable[StatementFile]

_MOST_FILES: Final = 5
_QUIET: Final = "color:var(--jp-content-font-color2,inherit);font-size:.85em"
_CARD: Final = (
    "box-sizing:border-box;max-width:46rem;padding:.8em 1em;border-radius:.4em;line-height:1.45;"
    "border:1px solid var(--jp-border-color1,rgba(128,128,128,.5));color:var(--jp-content-font-color1,inherit)"
)


def read_statements(  # noqa: PLR0913 - each is an independent option of a public function
    paths: StatementFiles,
    *,
    tz: str | ZoneInfo = "UTC",
    account: str | None = None,
    member: str | None = None,
    skip_others: bool = False,
    on_bad_file: Literal["raise", "refuse"] = "raise",
    exclude: str | Iterable[str] = (),
    on_progress: Callable[[int, int], object] | None = None,
) -> Statements:
    """Return the payments of statement files, reconciled to the cent.

    The format of a file is found by the names in its header. Overlapping files are united: a payment that is in several
    files counts once. Of its rows, a final state counts before a pending one, then a date with seconds before one
    without, then the file with the later last date, then the later name. Of amounts, the one in a file that adds up
    counts first. A null replaces no value; rows with different amounts are problems, which name both. Nothing is
    dropped: every row is in one of the counted kinds of `Statements.files`, and everything strange is in
    `Statements.problems`. In privacy mode (``P2P_PRIVACY``) the result is masked.

    Parameters
    ----------
    paths : path, bytes, binary file or upload, or iterable of them
        Files, folders (their own files, not files in their subfolders, as ``folder/**/*.csv`` does), zip archives, and
        patterns such as ``~/Downloads/*.csv``. A file that is named must be a statement; another file that a folder, an
        archive or a pattern leads to is skipped, and listed in the problems. Files in memory are bytes, binary files,
        pairs of a name and one of these, or the ``value`` of an ``ipywidgets.FileUpload``.
    tz : str or ZoneInfo
        Zone of datetimes in files that name none. A local time that the clock shows twice is the first one.
    account : str, optional
        Name of the account of all files. A file that names another one, such as a former handle or an e-mail address,
        or that names none and has another holder, is listed in the problems. By default the account is the one that the
        file names.
    member : str, optional
        Name of the account holder among the members of shared groups, such as Splitwise groups; by default
        ``account``.
    skip_others : bool
        Whether a named file without the header of a statement is skipped, too, as for a list in which some files
        may be others.
    on_bad_file : {"raise", "refuse"}
        Whether a file that is damaged, was rounded by a spreadsheet or needs ``member`` is an error, or is listed in
        the problems with the reason. If every file is refused, the first reason is raised.
    exclude : str or iterable of str
        Glob patterns of files to leave out, compared with the name and the path of each file.
    on_progress : callable, optional
        Called with the number of files that are read, and of all files. By default a terminal and a notebook show a
        bar.

    Raises
    ------
    StatementError
        A file cannot be read, is not a statement or was damaged, for example by a spreadsheet; or none of the files
        found is a statement.
    MemberNeededError
        The file of a shared group does not name the account holder.
    ConfigurationError
        An argument is of another type, the zone is unknown, or a pattern of ``exclude`` matches no file.
    """
    refuse_marked()  # before the first query of Polars, which knows the zones
    zone = find_zone(tz)
    if zone.key is None or not has_zone(zone.key):
        raise ConfigurationError(f"tz must be a zone name like 'America/New_York' or 'UTC', not {tz!r}.")
    if account is not None and not (isinstance(account, str) and account.strip().removeprefix("@")):
        raise ConfigurationError(f"account is the name of an account, not {account!r}.")
    if member is not None and not (isinstance(member, str) and member.strip()):
        raise ConfigurationError(f"member is the name of a member of a group, not {member!r}.")
    mode = settings.privacy()
    name = account and account.strip().removeprefix("@")
    try:
        statements = build_statements(
            collect(
                paths,
                tz=zone,
                account=name,
                member=member,
                skip_others=skip_others,
                on_bad_file=on_bad_file,
                exclude=exclude,
                on_progress=on_progress,
            )
        )
    except (StatementError, ConfigurationError):
        if not mode:
            raise
    else:
        return statements.masked(strict=mode == settings.STRICT) if mode else statements
    # Outside of the except block, so that the error, which quotes names of files and cells, is not the context.
    raise StatementError(
        f"A statement file cannot be read: privacy mode hides its name and the reason, so set "
        f"{settings.PRIVACY_VARIABLE}=0 to see them."
    )


def build_statements(collected: Collected) -> Statements:
    """Return what follows from the rows of files."""
    view = derive(collected)
    return Statements(
        view.payments.copy(deep=False),  # the view keeps its own, so that edits show
        view.reconciliation,
        frame_problems(view.problems),
        view.files,
        _holders=view.holders,
        _unnamed=view.unnamed,
        _collected=collected,
        _view=view,
    )


def find_end(files: pd.DataFrame, payments: pd.DataFrame, *others: datetime) -> datetime:
    """Return the end of the last file, or another date; a payment can be after the period that its file states."""
    ends = (files["period_end"].max(), payments["date_created"].max())
    return max([*(end.to_pydatetime() for end in ends if not pd.isna(end)), *others], default=EPOCH)


class OtherFile(NamedTuple):
    """A file that says that it is of another account, the name in it, and how many transactions it has."""

    file: str
    account: str
    transactions: int


def _select_row_problems(problems: pd.DataFrame) -> pd.DataFrame:
    """Return the problems of statements without skipped and refused files, which are of no account."""
    return problems[~problems["code"].isin([SKIPPED, REFUSED])]


def list_skipped(problems: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the skipped files, and why each is skipped."""
    return list(problems.loc[problems["code"] == SKIPPED, ["file", "value"]].itertuples(index=False, name=None))


def list_refused(problems: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the refused files, and why each is refused."""
    return list(problems.loc[problems["code"] == REFUSED, ["file", "value"]].itertuples(index=False, name=None))


def list_other_accounts(problems: pd.DataFrame, payments: pd.DataFrame) -> tuple[OtherFile, ...]:
    """Return the files that name another account than the one that the caller named, from `Statements`' frames."""
    rows = problems[problems["code"].isin(list(OTHER_ACCOUNTS))].drop_duplicates("file")
    counts = payments["file"].value_counts()
    found = zip(rows["file"], rows["value"], strict=True)
    return tuple(OtherFile(file, account, int(counts.get(file, 0))) for file, account in found)


def find_common_handle(statements: Statements) -> str | None:
    """Return the handle that can be the account of all statements, if only the user knows whether it is.

    That is the only handle, beside one account that is a name; no file shows the name of its holder.
    """
    holders = {account: statements.get_holder(account).user for account in statements.accounts}
    handles = [account for account, user in holders.items() if user.username is not None]
    names = [account for account in holders if account not in {*handles, *statements.unnamed_accounts}]
    if len(handles) != 1 or len(names) != 1 or len(holders) != 2:  # noqa: PLR2004 - the handle and the name
        return None
    return handles[0] if holders[handles[0]].display_name == handles[0] else None


def describe_balances(reconciliation: pd.DataFrame) -> str:
    """Return how many of the balances that files state agree with their rows, and how many files state none."""
    checked = reconciliation["reconciled"].dropna()
    # A single balance, such as in a quiet month with one row, is stated, but leaves nothing to check.
    is_stated = reconciliation[["reconciled", "opening_cents", "closing_cents"]].notna().any(axis="columns")
    alone = int(is_stated.sum()) - len(checked)
    if not is_stated.any():
        return "no balance is stated"
    wrong = int((~checked).sum())
    has_balance = is_stated.groupby(reconciliation["file"]).any()
    without = int((~has_balance).sum())
    in_others = int((~is_stated & reconciliation["file"].map(has_balance)).sum())
    counts = []
    if len(checked):
        counts.append(f"{len(checked) - wrong:,} of {format_count(len(checked), 'balance', 'balances')} reconciled")
    counts += [f"{wrong:,} wrong"] if wrong else []
    counts += [f"{format_count(alone, 'balance', 'balances')} with nothing to check"] if alone else []
    counts += [f"{format_count(without, 'file states', 'files state')} none"] if without else []
    counts += [f"{in_others:,} in other currencies not stated"] if in_others else []
    return ", ".join(counts)


@dataclass(frozen=True, eq=False)
class Statements:
    """Statement files as frames, for every account that they are about.

    Attributes
    ----------
    payments : DataFrame
        PAYMENTS, newest first, then ``type``, ``funding_source``, ``destination``, ``tip_cents``, ``tax_cents``,
        ``balance_cents``, ``file`` and ``line``: one row per transaction of an account. ``kind`` separates payments
        between people from transfers, purchases and the like; ``account_id`` is the account.
    reconciliation : DataFrame
        One row per file, account and currency: whether its balances agree with its rows.
    problems : DataFrame
        Skipped files, and rows and cells that are strange or cannot be read: file, line, payment_id, field, value,
        problem. The rows are kept. ``line`` is null for a whole file.
    files : DataFrame
        One row per file, account and currency: format, period, number of rows in all and of each kind, and the opening
        and closing balance.
    private : bool
        Whether names, notes, ids and amounts are invented and dates are days.
    strict : bool
        Whether it is private and dates are months.
    """

    payments: pd.DataFrame
    reconciliation: pd.DataFrame
    problems: pd.DataFrame
    files: pd.DataFrame
    private: bool = False
    strict: bool = False
    _holders: Mapping[str, Me] = field(default_factory=dict, repr=False)
    _unnamed: frozenset[str] = field(default=frozenset(), repr=False)
    _collected: Collected | None = field(default=None, repr=False)  # what was read; None in privacy mode
    _view: View | None = field(default=None, repr=False)  # what followed from it

    @property
    def accounts(self) -> list[str]:
        """The accounts that the files are about, in alphabetical order."""
        return sorted(self._holders)

    @property
    def unnamed_accounts(self) -> list[str]:
        """Those of `accounts` that have the name of a service because neither their files nor you name the account."""
        return sorted(self._unnamed & set(self._holders))

    def history(self, account: str | None = None) -> History:
        """Return one account's payments as a History, for the summary card, report, explorer and analyses.

        It holds the rows of every kind, with the columns of `payments`; the analyses count payments between people.
        "Data as of" is the end of the last file, and the balance is that file's closing balance; unknown if the files
        are about several balances, such as in two services. The history has no friends, because statements do not list
        them.

        Parameters
        ----------
        account : str, optional
            One of `accounts`, or the name of the holder of one of them; it may be omitted if there is one only.

        Raises
        ------
        ConfigurationError
            The account is not one of `accounts`, or there are several or none.
        """
        chosen = self._choose(account)
        own = self.select_account(chosen)
        payments, problems = own.payments, _select_row_problems(own.problems)
        return History(
            me=self._holders[chosen],
            payments=payments,
            friends=pd.DataFrame({name: pd.array([], dtype=parse_dtype(dtype)) for name, dtype in FRIENDS.items()}),
            fetched_at=self.find_end(chosen),
            problems=problems.reset_index(drop=True),
            private=self.private,
            strict=self.strict,
        )

    def get_holder(self, account: str | None = None) -> Me:
        """Return the holder of an account, as `history` has it in ``me``."""
        return self._holders[self._choose(account)]

    def find_end(self, account: str | None = None) -> datetime:
        """Return the end of the last file of an account; a payment can be after the period that its file states."""
        chosen = self._choose(account)
        return find_end(
            self.files[self.files["account"] == chosen], self.payments[self.payments["account_id"] == chosen]
        )

    def select_account(self, account: str) -> Statements:
        """Return the statements of one account: its payments, its files, and their problems, with the skipped files.

        Raises
        ------
        ConfigurationError
            The account is not one of `accounts`.
        """
        chosen = self._choose(account)
        payments = self.payments[self.payments["account_id"] == chosen].reset_index(drop=True)
        is_of_other = self.files["account"].notna() & (self.files["account"] != chosen)
        of_others = set(self.files.loc[is_of_other, "file"]) - set(self.files.loc[~is_of_other, "file"])
        problems = self.problems[~self.problems["file"].isin(of_others)]
        others = self.payments.loc[self.payments["account_id"] != chosen, "payment_id"]
        is_own = is_among(problems["payment_id"], payments["payment_id"]) | ~is_among(problems["payment_id"], others)
        is_checked = self.reconciliation["account"] == chosen
        collected, view = self._collected, self._view
        if collected is not None and view is not None and len(self._holders) > 1:
            in_others = collected.rows["file"].cast(pl.String).is_in(list(of_others))
            of_account = (view.ids["account"] == chosen).fill_null(value=False) & ~in_others
            collected = Collected(
                collected.rows.filter(of_account),
                tuple(info for info in collected.files if info.file not in of_others),
                tuple(problem for problem in collected.problems if problem.file not in of_others),
            )
            view = view._replace(ids=view.ids.filter(of_account))
        return replace(
            self,
            payments=payments,
            reconciliation=self.reconciliation[is_checked].reset_index(drop=True),
            problems=problems[is_own].reset_index(drop=True),
            files=self.files[~is_of_other].reset_index(drop=True),
            _holders={chosen: self._holders[chosen]},
            _collected=collected,
            _view=view,
        )

    def collect(self) -> tuple[Collected, pd.DataFrame]:
        """Return the rows of transactions in `payments`, and what the user has edited, for `Archive.import_`."""
        collected, view = self._collected, self._view
        if collected is None or view is None:
            raise ConfigurationError("These statements do not hold the rows of their files: read the files again.")
        if self.payments.equals(view.payments):
            return collected, view.payments.iloc[:0]
        is_kept = view.ids["payment_id"].is_null() | view.ids["payment_id"].is_in(self.payments["payment_id"].tolist())
        own = dict(list(self.payments.groupby("account_id", sort=False)))
        read = dict(list(view.payments.groupby("account_id", sort=False)))
        parts = [select_edits(part, read.get(account, part.iloc[:0])) for account, part in own.items()]
        edits = pd.concat(parts, ignore_index=True) if parts else view.payments.iloc[:0]
        return collected._replace(rows=collected.rows.filter(is_kept)), edits

    def masked(self, *, key: bytes | None = None, strict: bool = False) -> Statements:
        """Return the statements in privacy mode, as `History.masked` does it; the names of files are invented too.

        Parameters
        ----------
        key : bytes, optional
            The secret key, 32 bytes; by default the one in your state folder, which the first use creates.
        strict : bool
            True reduces each date to the first day of its month.

        Raises
        ------
        ConfigurationError
            The key cannot be written or read, or ``strict`` is True for statements that are private with days.
        """
        if is_masked(self, strict=strict):
            return self
        mask = Mask(key, strict=strict)
        holders = {name: mask.me(me) for name, me in self._holders.items()}
        return replace(
            self,
            payments=mask.frame(self.payments),
            reconciliation=mask.frame(self.reconciliation),
            problems=mask.frame(self.problems),
            files=mask.frame(self.files),
            private=True,
            strict=strict,
            _holders={str(me.user.id): me for me in holders.values()},
            _collected=None,
            _view=None,
            _unnamed=frozenset(str(me.user.id) for name, me in holders.items() if name in self._unnamed),
        )

    def __repr__(self) -> str:
        """Show counts, not contents."""
        mode = ", strict privacy mode" if self.strict else ", privacy mode" if self.private else ""
        return f"<Statements: {', '.join(self._count())}{mode}>"

    def _repr_html_(self) -> str:
        """Show counts in a notebook, and the files that do not add up, without names of people."""
        first, *others = self._count()
        mode = f'<div style="{_QUIET}">{STRICT if self.strict else PRIVATE}</div>' if self.private else ""
        named = {
            "Does not add up": list_wrong_files(self.problems),
            "Files or rows may be missing before": list_files_after_gaps(self.problems),
        }
        wrong_lines = ""
        for words, files in named.items():
            names = ", ".join(map(clean_line, files[:_MOST_FILES])) + (" ..." if len(files) > _MOST_FILES else "")
            wrong_lines += f'<div style="{_QUIET}">{words}: {escape(names)}</div>' if files else ""
        return (
            f'<div style="{_CARD}"><div><strong style="font-size:1.2em">Statements: {escape(first)}</strong></div>'
            f'<div style="{_QUIET}">{escape(" · ".join(others))}</div>{wrong_lines}{mode}</div>'
        )

    def _count(self) -> list[str]:
        people = int((self.payments["kind"] == KIND_PAYMENT).sum())
        problems = len(_select_row_problems(self.problems))
        counts = {code: int((self.problems["code"] == code).sum()) for code in (SKIPPED, REFUSED)}
        return [
            format_count(self.files["file"].nunique(), "file", "files"),
            format_count(len(self._holders), "account", "accounts"),
            format_count(len(self.payments), "transaction", "transactions"),
            f"{people:,} between people",
            describe_balances(self.reconciliation),
            format_count(problems, "problem", "problems"),
            *(f"{format_count(count, 'file', 'files')} {code}" for code, count in counts.items() if count),
        ]

    def _choose(self, account: str | None) -> str:
        if account is None and len(self._holders) == 1:
            return next(iter(self._holders))
        if isinstance(account, str):
            wanted = normalize_account(clean_line(account))  # as messages show it
            found = [name for name in self._holders if name == account or normalize_account(clean_line(name)) == wanted]
            # Otherwise it can be the name of a holder.
            folded = fold_name(clean_line(account))
            holders = {name: fold_name(clean_line(me.user.display_name or "")) for name, me in self._holders.items()}
            found = found or [name for name in holders if folded and holders[name] == folded]
            if account in found or len(found) == 1:
                return account if account in found else found[0]
        if not self._holders:
            raise ConfigurationError(
                "The statements name no account: read them with yours, such as account='ada' (--account ada)."
            )
        names = ", ".join(map(repr, self.accounts))
        if account is None:
            raise ConfigurationError(
                f"The statements are of {len(self._holders)} accounts ({names}): name one, with "
                f"history(account={self.accounts[0]!r})."
            )
        raise ConfigurationError(f"account is one of {names}, not {account!r}.")
