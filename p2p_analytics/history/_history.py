"""The History class: one user's payments, people and friends as frames, with problems and the time of the data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, cast

import msgspec
import pandas as pd

from p2p_analytics.display import describe_start, format_count, join_first
from p2p_analytics.errors import ConfigurationError, SchemaError, name_type
from p2p_analytics.frames.arrow import is_among
from p2p_analytics.frames.missing_amounts import describe_missing_amounts
from p2p_analytics.frames.people import list_sides, mark_friends, merge_people, people_frame
from p2p_analytics.frames.row_currencies import count_currencies, is_in_currency, list_currencies
from p2p_analytics.frames.schema import (
    PEOPLE,
    PROBLEMS,
    list_cut_off_files,
    list_files_after_gaps,
    list_wrong_files,
    require,
    require_unique_ids,
    select_payments,
)
from p2p_analytics.history._summary_card import render_card
from p2p_analytics.privacy import Mask, is_masked
from p2p_analytics.records import Me


@dataclass(frozen=True, eq=False)
class History:
    """One user's payments, people and friends as they were at one moment.

    Attributes
    ----------
    me : Me
        The user, with the balance if the token could see it.
    payments : DataFrame
        PAYMENTS: one row per payment, newest first. Each ``payment_id`` occurs once.
    friends : DataFrame
        FRIENDS: one row per friend.
    fetched_at : datetime
        "Data as of", aware UTC: the time of the oldest response that could have changed since.
    problems : DataFrame
        PROBLEMS: one row per unexpected value in a record or a statement file, and per file that does not add up.
    private : bool
        Whether its names, notes, ids and amounts are invented and its dates are days.
    strict : bool
        Whether it is private and its dates are months.
    people : DataFrame
        PEOPLE: one row per person seen (the user, friends, actors, targets), with the profile. Without it, a history
        is built with what its other parts show of each person.
    since : datetime or None
        The date from which it holds all payments, None without a bound. It is set in a history loaded with ``after``,
        and in the history of an archive from a sync with ``since``, which also holds older pending payments.

    Raises
    ------
    SchemaError
        A part is not a pandas frame or lacks a column: ``payment_id`` of the payments, ``user_id`` of the friends, a
        column of PROBLEMS, or a column of PEOPLE other than ``is_friend``, which is computed. Or a ``payment_id`` is
        repeated.
    """

    me: Me
    payments: pd.DataFrame
    friends: pd.DataFrame
    fetched_at: datetime
    problems: pd.DataFrame
    private: bool = False
    strict: bool = False
    people: pd.DataFrame = field(default=cast("pd.DataFrame", None))  # never None in a history
    since: datetime | None = None

    def __post_init__(self) -> None:
        """Check the frames, and collect the people if they are not given."""
        needed: dict[str, Collection[str]] = {
            "payments": ["payment_id"],
            "friends": ["user_id"],
            "problems": PROBLEMS,
            "people": [name for name in PEOPLE if name != "is_friend"],
        }
        people = cast("pd.DataFrame | None", self.people)
        for part, columns in needed.items():
            frame = getattr(self, part)
            if part == "people" and people is None:
                continue
            instead = f"{part} as load_history or p2p.read_csv gives them"
            if not isinstance(frame, pd.DataFrame):
                raise SchemaError(f"History needs {part} as a pandas frame, not {name_type(frame)}; pass {instead}.")
            require(frame.columns, columns, what=f"History.{part}", instead=instead)
        require_unique_ids(self.payments, what="History")
        if people is None:
            people = merge_people([people_frame([self.me.user]), self.friends, list_sides(self.payments)])
        object.__setattr__(self, "people", mark_friends(people, self.friends, self.me.user.id))

    def masked(self, *, key: bytes | None = None, strict: bool = False) -> History:
        """Return the history in privacy mode, with invented people, notes, ids, addresses and amounts.

        A person has the same pseudonym in every table and in later runs, but another one on another machine.
        Each amount is multiplied by one secret factor and changed by secret noise: $20 by 74 % at most, larger
        amounts by less. Sums of ten payments of $100 or more are mostly within 5 % of the real sum times the
        factor; sums of ten smaller payments often are not.
        Dates are whole days in UTC. Statuses and counts are real. ``about``, pictures and ``date_joined`` are null,
        and values in ``problems`` are hidden. A history that is private already is returned unchanged.

        Parameters
        ----------
        key : bytes, optional
            The secret key, 32 bytes; by default the one in your state folder, which the first use creates.
        strict : bool
            True reduces each date to the first day of its month. Equal notes become different ones and ``audience``
            is null, because both help to match payments with a public feed.

        Raises
        ------
        ConfigurationError
            The key cannot be written or read, or ``strict`` is True for a history that is already private with days.
        """
        if is_masked(self, strict=strict):
            return self
        return mask_history(self, Mask(key, strict=strict), strict=strict)

    def select_currency(self, code: str) -> History:
        """Return the history of the rows in one currency, because amounts of several are never added.

        People and friends stay. The balance stays if all payments between people are in this currency.

        Parameters
        ----------
        code : str
            A value of the column ``currency``, such as ``"GBP"``. A null there is US dollars in rows of the service; in
            rows of statements it is an unknown currency, which ``"XXX"`` selects.

        Raises
        ------
        ConfigurationError
            No row is in this currency.
        """
        is_wanted = is_in_currency(self.payments, code)
        if not is_wanted.any():
            known = ", ".join(map(repr, list_currencies(self.payments)))
            found = f"its rows are in {known}" if known else "it has no rows"
            raise ConfigurationError(f"The history has no rows in {code!r}: {found}.")
        payments = self.payments[is_wanted].reset_index(drop=True)
        dropped = self.payments.loc[~is_wanted, "payment_id"]
        is_only = [*count_currencies(self.payments)] == [code]
        return replace(
            self,
            me=self.me if is_only else msgspec.structs.replace(self.me, balance_cents=None),
            payments=payments,
            problems=self.problems[~is_among(self.problems["payment_id"], dropped)].reset_index(drop=True),
        )

    def describe_start(self) -> str:
        """Return a sentence about the date from which it holds all payments; empty without such a date."""
        if self.since is None:
            return ""
        has_older = bool((self.payments["date_created"].dropna() < self.since).any())
        return describe_start(self.since, has_older=has_older)

    def describe_wrong_files(self) -> str:
        """Return sentences about the statement files that do not add up, are cut off, or are after a gap.

        Empty without such files.
        """
        found = {
            "The last rows of {} may be missing: {}.": list_cut_off_files(self.problems),
            "The balances and the rows of {} do not add up: {}.": list_wrong_files(self.problems),
            "Files or rows may be missing before {}: {}.": list_files_after_gaps(self.problems),
        }
        return " ".join(
            sentence.format(format_count(len(files), "statement file", "statement files"), join_first(files))
            for sentence, files in found.items()
            if files
        )

    def describe_missing_amounts(self) -> str:
        """Return a sentence about the settled and pending payments without a readable amount, which are in no sum.

        It names the lines of the first ones. Empty without such payments.
        """
        return describe_missing_amounts(self.payments)

    def __repr__(self) -> str:
        """Show the size of the history, not its contents."""
        mode = ", strict privacy mode" if self.strict else ", privacy mode" if self.private else ""
        payments = len(select_payments(self.payments))
        others = len(self.payments) - payments
        transactions = f"{payments} payments" + (f", {others} other transactions" if others else "")
        return (
            f"<History of {self.me.user.display_name}: {transactions}, {len(self.friends)} friends, "
            f"{len(self.problems)} problems, data as of {self.fetched_at:%Y-%m-%d %H:%M} UTC{mode}>"
        )

    def _repr_html_(self) -> str:
        """Show a summary card in a notebook."""
        return render_card(
            self.me,
            self.payments,
            friends=len(self.friends),
            problems=len(self.problems),
            fetched_at=self.fetched_at,
            private=self.private,
            strict=self.strict,
            remarks=[self.describe_start(), self.describe_missing_amounts(), self.describe_wrong_files()],
        )


def require_history(value: object, *, what: str) -> None:
    """Raise a ConfigurationError unless the value is a `History`, a SchemaError if a ``payment_id`` is repeated."""
    if not isinstance(value, History):
        advice = describe_history_call(value)
        raise ConfigurationError(
            f"{what} needs a History, such as the result of load_history, not {type(value).__name__}{advice}."
        )
    require_unique_ids(value.payments, what=what)  # the frame may have been changed since the history was built


def describe_history_call(value: object) -> str:
    """Return the end of a sentence about a value that has a history, such as an archive; empty for any other."""
    return ": call .history() of it" if callable(getattr(value, "history", None)) else ""


def mask_history(history: History, mask: Mask, *, strict: bool) -> History:
    """Return the history with every part masked."""
    parts = ("payments", "friends", "problems", "people")
    frames: dict[str, Any] = {name: mask.frame(getattr(history, name)) for name in parts}
    since = None if history.since is None else mask.instant(history.since)
    return replace(history, me=mask.me(history.me), since=since, private=True, strict=strict, **frames)
