"""From a client to a History: who, their payments and friends as frames, and what was strange."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from p2p_analytics import records, settings
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.build import friends_frame, payments_frame, problems_frame
from p2p_analytics.privacy import Mask, strip_service_text
from p2p_analytics.progress import loading_bar
from p2p_analytics.records import Problem
from p2p_analytics.vocabulary import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from datetime import date, datetime

    import pandas as pd

    from p2p_analytics.client import Client
    from p2p_analytics.records import Me, Page, PaymentPage, Payments, User
    from p2p_analytics.settings import Privacy


@dataclass(frozen=True, eq=False)
class History:
    """One user's payments and friends as they were at one moment.

    Attributes
    ----------
    me : Me
        Whose history it is, with the balance where the token could see it.
    payments : DataFrame
        PAYMENTS: one row per payment, newest first.
    friends : DataFrame
        FRIENDS: one row per friend.
    fetched_at : datetime
        "Data as of": when the oldest answer was given that could have changed since, aware UTC.
    problems : DataFrame
        One row per strange thing in a record: payment_id, field, value, problem.
    private : bool
        Whether names, notes, ids and amounts in it are invented, and dates are days.
    strict : bool
        Whether it is private and dates are months.
    """

    me: Me
    payments: pd.DataFrame
    friends: pd.DataFrame
    fetched_at: datetime
    problems: pd.DataFrame
    private: bool = False
    strict: bool = False

    def masked(self, *, key: bytes | None = None, strict: bool = False) -> History:
        """Return the history in privacy mode: people, notes, ids, addresses and amounts invented.

        The same person has the same pseudonym everywhere in it, and tomorrow, and on this machine alone.
        Each amount is multiplied by one secret factor and changed by secret noise: $20 by 74 % at most, larger
        amounts by less. Sums of ten payments of $100 or more are mostly within 5 % of the real sum times the
        factor; sums of ten smaller payments often are not.
        Dates are whole days in UTC. Statuses and counts are real. ``about``, pictures and ``date_joined`` are null,
        and values in ``problems`` are hidden. A history that is private already stays as it is.

        Parameters
        ----------
        key : bytes, optional
            The secret behind it, 32 bytes; by default the one in your state folder, made at first use.
        strict : bool
            True shows only the months of dates: each is the first day of its month. Equal notes become different
            ones and ``audience`` is null, because both help to match payments with a public feed.

        Raises
        ------
        ConfigurationError
            The key cannot be kept or read, or ``strict`` is asked of a history that is private with whole days.
        """
        if not self.private:
            return self._masked(Mask(key, strict=strict), strict=strict)
        if strict and not self.strict:
            raise ConfigurationError("This history is in privacy mode already: mask the one it is of with strict=True.")
        return self

    def _masked(self, mask: Mask, *, strict: bool) -> History:
        return replace(
            self,
            me=mask.me(self.me),
            payments=mask.frame(self.payments),
            friends=mask.frame(self.friends),
            problems=mask.frame(self.problems),
            private=True,
            strict=strict,
        )

    def __repr__(self) -> str:
        """Show the size of the history, not its contents."""
        mode = ", strict privacy mode" if self.strict else ", privacy mode" if self.private else ""
        return (
            f"<History of {self.me.user.display_name}: {len(self.payments)} payments, {len(self.friends)} friends, "
            f"{len(self.problems)} problems, data as of {self.fetched_at:%Y-%m-%d %H:%M} UTC{mode}>"
        )

    def _repr_html_(self) -> str:
        """Show a summary card in a notebook."""
        from p2p_analytics.history._summary_card import render_card

        return render_card(
            self.me,
            self.payments,
            friends=len(self.friends),
            problems=len(self.problems),
            fetched_at=self.fetched_at,
            private=self.private,
            strict=self.strict,
        )


def require_history(value: object, *, what: str) -> None:
    """Raise a ConfigurationError unless the value is a `History`."""
    if not isinstance(value, History):
        raise ConfigurationError(f"{what} needs a History, as load_history gives it, not {type(value).__name__}.")


@strip_service_text
def load_history(  # noqa: PLR0913 - each is one wish of the caller
    client: Client,
    *,
    after: datetime | date | str | None = None,
    before: datetime | date | str | None = None,
    on_bad_record: Literal["raise", "report"] = "raise",
    progress: Callable[[int], object] | Literal[False] | None = None,
    refresh: bool = False,
    privacy: Privacy | None = None,
) -> History:
    """Load the token owner's payments and friends.

    What can no longer change is kept in the account's cache: the next load asks for the rest, and so does one after
    a load that stopped. What was pending is compared with what is pending now.

    Parameters
    ----------
    client : Client
        Whose token needs the scopes ``access_profile`` and ``access_friends``.
    after, before : datetime, date or str, optional
        Only payments made after, or before, this instant; UTC where no zone is given.
    on_bad_record : {"raise", "report"}
        Whether a field that cannot be read stops the load, or is left empty and listed in
        ``problems``. Unknown words and missing values never stop it; they are listed.
    progress : callable or False, optional
        Called after each page with the number of payments so far, instead of the bar that a terminal or a
        notebook shows when a load takes longer; False shows nothing.
    refresh : bool
        Ask for all of it anew, whatever is kept.
    privacy : bool or "strict", optional
        True gives the history as `History.masked` does, "strict" as ``masked(strict=True)`` does, and no error quotes
        a value of a record or what the service says.
        Without it, the environment variable ``P2P_PRIVACY`` counts.

    Returns
    -------
    History
        With empty frames of the same columns and dtypes where there is nothing.

    Raises
    ------
    ConfigurationError
        ``client``, ``on_bad_record``, ``privacy`` or a bound cannot be used; nothing was sent.
    RecordError
        A record cannot be read, and ``on_bad_record`` is "raise".
    ServiceError
        A page could not be had. Nothing partial is returned, and where asking again may help, the error tells how
        much is kept for the next load.
    """
    if on_bad_record not in {"raise", "report"}:
        raise ConfigurationError(f'on_bad_record can be "raise" or "report", not {on_bad_record!r}.')
    if not hasattr(client, "history_pages"):
        raise ConfigurationError(f"load_history needs a Client, such as Client(token), not {type(client).__name__}.")
    mode = settings.privacy(privacy)
    strict = mode == settings.STRICT
    mask = Mask(strict=strict) if mode else None
    with shown(progress) as told:
        pages = client.history_pages(after=after, before=before, refresh=refresh, progress=told)
        me = client.me(lenient=True)
        history = gathered(me, pages, client.friend_pages(me.user.id, fresh=True), on_bad_record, mask)
    return history if mask is None else history._masked(mask, strict=strict)  # noqa: SLF001 - this module's class


def gathered(
    me: Me,
    payment_pages: Generator[PaymentPage],
    friend_pages: Iterable[Page[User]],
    on_bad_record: str,
    mask: Mask | None,
) -> History:
    """Return the history of some pages; the mask is for the words of errors alone."""
    friends: list[User] = []
    problems: list[Problem] = []
    answered: list[datetime | None] = []

    def note(found: Sequence[Problem]) -> None:
        if on_bad_record == "raise":
            shown = found if mask is None else mask.problems(found)
            records.raise_unreadable(shown, instead='load with on_bad_record="report" to list it in .problems')
        problems.extend(found)

    def taken() -> Iterator[Payments]:
        for page in payment_pages:
            answered.append(page.fetched_at)
            yield page.items

    note(me.problems)
    with contextlib.closing(payment_pages):  # page by page, so that no more than the frame's columns are kept
        frame = payments_frame(taken(), str(me.user.id), note)
    for page in friend_pages:
        note(page.problems)
        answered.append(page.fetched_at)
        friends.extend(page.items)
    problems.extend(_foreign(frame))
    return History(
        me=me,
        payments=frame,
        friends=friends_frame(friends),
        fetched_at=min(moment for moment in answered if moment is not None),
        problems=problems_frame(dict.fromkeys(problems)),  # an overlap tells some of them twice,
    )


@contextlib.contextmanager
def shown(progress: Callable[[int], object] | Literal[False] | None) -> Iterator[Callable[[int, int], object]]:
    """Give what is told how far a load is."""
    if progress is None:
        with loading_bar() as show:
            yield show
    else:
        yield lambda payments, _expected: progress(payments) if progress else None


def _foreign(payments: pd.DataFrame) -> Iterator[Problem]:
    """Tell of payments between others, which a list of the viewer's own should not hold."""
    known = payments["action"].isin(list(Action)) & payments["actor_id"].notna()
    for payment_id in payments.loc[known & payments["direction"].isna(), "payment_id"]:
        yield Problem(payment_id, "actor", "", "neither actor nor target is the viewer; direction and flow stay empty")
