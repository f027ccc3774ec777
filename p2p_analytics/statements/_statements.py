"""The Statements class: payments, files, reconciliation and problems of statement files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.display import PRIVATE, STRICT, clean_line, format_count
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.arrow import is_among
from p2p_analytics.frames.schema import FRIENDS, KIND_PAYMENT, PLACE, list_files_after_gaps, list_wrong_files
from p2p_analytics.frames.schema import PROBLEMS as RECORD_PROBLEMS
from p2p_analytics.handles import fold_name, normalize_account
from p2p_analytics.history import History
from p2p_analytics.privacy import NOT_SHOWN, Mask, is_masked
from p2p_analytics.statements._files import to_frame
from p2p_analytics.statements._registry import find_service
from p2p_analytics.statements._versions import ReadPayments, list_versions
from p2p_analytics.statements.balances import frame_balances
from p2p_analytics.statements.transactions import ACCOUNT
from p2p_analytics.times import EPOCH

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime

    import pandas as pd

    from p2p_analytics.records import Me

_MOST_FILES: Final = 5
SKIPPED: Final = "skipped: "  # begins the problem of a file that is no statement
_QUIET: Final = "color:var(--jp-content-font-color2,inherit);font-size:.85em"
_CARD: Final = (
    "box-sizing:border-box;max-width:46rem;padding:.8em 1em;border-radius:.4em;line-height:1.45;"
    "border:1px solid var(--jp-border-color1,rgba(128,128,128,.5));color:var(--jp-content-font-color1,inherit)"
)


class OtherFile(NamedTuple):
    """A file that says that it is of another account, the name in it, and how many transactions it has."""

    file: str
    account: str
    transactions: int


def select_row_problems(problems: pd.DataFrame) -> pd.DataFrame:
    """Return the problems of statements without those of skipped files, which are of no account."""
    return problems[~problems["problem"].str.startswith(SKIPPED)]


def list_skipped(problems: pd.DataFrame) -> list[tuple[str, str]]:
    """Return the skipped files, and why each is skipped."""
    is_skipped = problems["problem"].str.startswith(SKIPPED)
    rows = problems.loc[is_skipped, ["file", "problem"]].itertuples(index=False, name=None)
    return [(file, reason.removeprefix(SKIPPED)) for file, reason in rows]


def list_other_accounts(problems: pd.DataFrame, payments: pd.DataFrame) -> tuple[OtherFile, ...]:
    """Return the files that name another account than the one that the caller named, from `Statements`' frames."""
    rows = problems[problems["field"] == ACCOUNT].drop_duplicates("file")
    counts = payments["file"].value_counts()
    found = zip(rows["file"], rows["value"], strict=True)
    return tuple(OtherFile(file, account, int(counts.get(file, 0))) for file, account in found)


def list_services(statements: Statements) -> tuple[str, ...]:
    """Return the services of statement files, in alphabetical order."""
    return tuple(sorted({find_service(name) for name in statements.files["format"].unique()}))


def find_common_handle(statements: Statements) -> str | None:
    """Return the handle that can be the account of all statements, if only the user knows whether it is.

    That is one handle of a holder of whom no file shows the name, beside one account that is a holder's name. Two
    people can have such files, too.
    """
    holders = {account: statements.get_holder(account).user for account in statements.accounts}
    handles = [account for account, user in holders.items() if user.username is not None]
    names = [account for account in holders if account not in {*handles, *statements.unnamed_accounts}]
    if len(handles) != 1 or len(names) != 1 or len(holders) != 2:  # noqa: PLR2004 - the handle and the name
        return None
    return handles[0] if holders[handles[0]].display_name == handles[0] else None


def describe_balances(reconciliation: pd.DataFrame) -> str:
    """Return how many of the balances that files state agree with their rows, and how many files state none."""
    if reconciliation.empty:
        return "no balance is stated"
    checked = reconciliation["reconciled"].dropna()
    # A single balance, such as that of a quiet month with one row, is stated, but leaves nothing to check.
    is_stated = reconciliation[["reconciled", "opening_cents", "closing_cents"]].notna().any(axis="columns")
    alone = int(is_stated.sum()) - len(checked)
    if not is_stated.any():
        return "no balance is stated"
    wrong = int((~checked).sum())
    has_balance = is_stated.groupby(reconciliation["file"]).any()
    without = int((~has_balance).sum())
    in_others = int((~is_stated & reconciliation["file"].map(has_balance)).sum())
    unchecked = f"{format_count(alone, 'balance', 'balances')} with nothing to check"
    if checked.empty:
        counted = unchecked
    else:
        counted = f"{len(checked) - wrong:,} of {format_count(len(checked), 'balance', 'balances')} reconciled"
        counted += f", {wrong:,} wrong" if wrong else ""
        counted += f", {unchecked}" if alone else ""
    return (
        counted
        + (f", {format_count(without, 'file states', 'files state')} none" if without else "")
        + (f", {in_others:,} in other currencies not stated" if in_others else "")
    )


def _hide_reasons(problems: pd.DataFrame) -> pd.DataFrame:
    """Return problems without the reasons of skipped files, which quote names and columns."""
    is_skipped = problems["problem"].str.startswith(SKIPPED)
    return problems.assign(problem=problems["problem"].mask(is_skipped, f"{SKIPPED}{NOT_SHOWN}"))


def _name_files(files: list[str]) -> str:
    """Return the names of the first files."""
    return ", ".join(map(clean_line, files[:_MOST_FILES])) + (" ..." if len(files) > _MOST_FILES else "")


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
    _needed: ReadPayments | None = field(default=None, repr=False)  # payments with several versions, as read
    _owners: Mapping[str, str] = field(default_factory=dict, repr=False)  # the names of the holders, as the rows show
    _ends: Mapping[str, datetime | None] = field(default_factory=dict, repr=False)  # the last date of each file
    _handles: Mapping[str, Collection[str]] = field(default_factory=dict, repr=False)  # as `find_handle` needs them
    _balances: pd.DataFrame | None = field(default=None, repr=False)  # of each file, as read
    _unnamed: frozenset[str] = field(default=frozenset(), repr=False)

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
        are about several balances, such as those of two services. There are no friends, because statements do not list
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
        payments, problems = own.payments, select_row_problems(own.problems)
        return History(
            me=self._holders[chosen],
            payments=payments,
            friends=to_frame({name: [] for name in FRIENDS}, FRIENDS),
            fetched_at=self.find_end(chosen),
            problems=problems[[*RECORD_PROBLEMS, *PLACE]].reset_index(drop=True),
            private=self.private,
            strict=self.strict,
        )

    def get_holder(self, account: str | None = None) -> Me:
        """Return the holder of an account, as `history` has it in ``me``."""
        return self._holders[self._choose(account)]

    def find_end(self, account: str | None = None) -> datetime:
        """Return the end of the last file of an account; a payment can be after the period that its file states."""
        import pandas as pd

        chosen = self._choose(account)
        ends = self.files.loc[self.files["account"] == chosen, "period_end"]
        dates = self.payments.loc[self.payments["account_id"] == chosen, "date_created"]
        known = [end.to_pydatetime() for end in (ends.max(), dates.max()) if not pd.isna(end)]
        return max(known, default=EPOCH)

    def list_handles(self) -> dict[str, frozenset[str]]:
        """Return the handles of the holders of each name in the files that were read together.

        They decide to which account a file without a handle belongs; a name is in lower case.
        """
        return {name: frozenset(handles) for name, handles in self._handles.items()}

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
        balances = self.list_balances()
        is_own_balance = (balances["account"] == chosen) | (
            balances["account"].isna() & ~balances["file"].isin(of_others)
        )
        needed = self._needed
        if needed is not None and len(self._holders) > 1:  # a copy takes as much memory as the rows
            own = [table[table["account_id"] == chosen].reset_index(drop=True) for table in needed]
            needed = ReadPayments(*own)
        return replace(
            self,
            payments=payments,
            reconciliation=self.reconciliation[is_checked].reset_index(drop=True),
            problems=problems[is_own].reset_index(drop=True),
            files=self.files[~is_of_other].reset_index(drop=True),
            _holders={chosen: self._holders[chosen]},
            _needed=needed,
            _balances=balances[is_own_balance.fillna(value=False)].reset_index(drop=True),
        )

    def list_versions(self) -> pd.DataFrame:
        """Return the rows of the files that `payments` are made of, as `Archive.import_` stores them.

        PAYMENTS and STATEMENT as in `payments`, then ``file_end``, the last date in the file; ``adds_up``, whether its
        balances agree with its rows; ``is_refund``, whether the kind depends on other rows; and ``is_corrected``,
        whether you have edited the counterparty or direction. A payment has one row, or several where files know
        different things about it or contradict each other. They are in no particular order. A row of `payments` that
        you have edited is the only one of its payment.
        In privacy mode there is one row per payment.
        """
        return list_versions(self.payments, self._needed, self._owners, self._ends, self.reconciliation)

    def list_balances(self) -> pd.DataFrame:
        """Return what an archive keeps of the balance of each account and currency in each file.

        `BALANCES`: what each file says and whether its rows agree, before files are joined to `reconciliation`. No rows
        in privacy mode.
        """
        return frame_balances([]) if self._balances is None else self._balances

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
            problems=mask.frame(_hide_reasons(self.problems)),
            files=mask.frame(self.files),
            private=True,
            strict=strict,
            _holders={str(me.user.id): me for me in holders.values()},
            _needed=None,
            _owners={},
            _ends={},
            _handles={},
            _balances=None,
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
        wrong_lines = "".join(
            f'<div style="{_QUIET}">{words}: {escape(_name_files(files))}</div>'
            for words, files in named.items()
            if files
        )
        return (
            f'<div style="{_CARD}"><div><strong style="font-size:1.2em">Statements: {escape(first)}</strong></div>'
            f'<div style="{_QUIET}">{escape(" · ".join(others))}</div>{wrong_lines}{mode}</div>'
        )

    def _count(self) -> list[str]:
        people = int((self.payments["kind"] == KIND_PAYMENT).sum())
        problems = len(select_row_problems(self.problems))
        skipped = len(self.problems) - problems
        return [
            format_count(self.files["file"].nunique(), "file", "files"),
            format_count(len(self._holders), "account", "accounts"),
            format_count(len(self.payments), "transaction", "transactions"),
            f"{people:,} between people",
            describe_balances(self.reconciliation),
            format_count(problems, "problem", "problems"),
            *([f"{format_count(skipped, 'file', 'files')} skipped"] if skipped else []),
        ]

    def _choose(self, account: str | None) -> str:
        if account is None and len(self._holders) == 1:
            return next(iter(self._holders))
        if isinstance(account, str):
            wanted = normalize_account(clean_line(account))  # as messages show it
            found = [name for name in self._holders if name == account or normalize_account(clean_line(name)) == wanted]
            found = found or self._find_accounts(account)
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

    def _find_accounts(self, name: str) -> list[str]:
        """Return the accounts of the holders with a name."""
        wanted = fold_name(clean_line(name))
        return [
            account
            for account, me in self._holders.items()
            if wanted and fold_name(clean_line(me.user.display_name or "")) == wanted
        ]
