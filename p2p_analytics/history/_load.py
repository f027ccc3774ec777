"""Loading a history from the service."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal

from p2p_analytics import records, settings
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.build import friends_frame, payments_frame, problems_frame
from p2p_analytics.frames.people import people_frame
from p2p_analytics.history._history import History, mask_history
from p2p_analytics.privacy import Mask, strip_service_text
from p2p_analytics.progress import loading_bar
from p2p_analytics.records import Me, Page, PaymentPage, Payments, Problem, User
from p2p_analytics.settings import Privacy
from p2p_analytics.times import as_instant
from p2p_analytics.vocabulary import Action

if TYPE_CHECKING:
    from p2p_analytics.client import Client  # heavy: reading an archive loads no module that sends requests


@strip_service_text
def load_history(  # noqa: PLR0913 - each is one option of the caller
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

    Responses that can no longer change are kept in the account's cache: later loads, also after one that was
    interrupted, request only the rest. Payments that were pending are compared with the current list of pending ones.

    Parameters
    ----------
    client : Client
        Its token needs the scopes ``access_profile`` and ``access_friends``.
    after, before : datetime, date or str, optional
        Only payments made after, or before, this instant, as the service compares: one made at the instant itself is
        left out. UTC where no zone is given. The history has ``after`` as ``since``.
    on_bad_record : {"raise", "report"}
        Whether a field that cannot be read stops the load, or is left empty and listed in
        ``problems``. Unknown words and missing values never stop it; they are listed.
    progress : callable or False, optional
        Called after each page with the number of payments so far, instead of the bar that a terminal or a
        notebook shows when a load takes longer; False shows nothing.
    refresh : bool
        True requests everything again and ignores the cache.
    privacy : bool or "strict", optional
        True returns the history as `History.masked` does, "strict" as ``masked(strict=True)`` does, and errors quote
        neither values of records nor the service's text.
        By default, the environment variable ``P2P_PRIVACY`` decides.

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
        A page could not be loaded. No partial history is returned; if a retry may help, the error says how much of
        the load is kept for it.
    """
    require_bad_record_mode(on_bad_record)
    if not hasattr(client, "history_pages"):
        raise ConfigurationError(f"load_history needs a Client, such as Client(token), not {type(client).__name__}.")
    mode = settings.privacy(privacy)
    strict = mode == settings.STRICT
    mask = Mask(strict=strict) if mode else None
    with show_progress(progress) as on_progress:
        pages = client.history_pages(after=after, before=before, refresh=refresh, progress=on_progress)
        me = client.me(lenient=True)
        history = build_history(me, pages, client.friend_pages(me.user.id, fresh=True), on_bad_record, mask)
    history = replace(history, since=None if after is None else as_instant(after))
    return history if mask is None else mask_history(history, mask, strict=strict)


def require_bad_record_mode(on_bad_record: str) -> None:
    """Raise a ConfigurationError unless the value is "raise" or "report"."""
    if on_bad_record not in {"raise", "report"}:
        raise ConfigurationError(f'on_bad_record can be "raise" or "report", not {on_bad_record!r}.')


def build_history(
    me: Me,
    payment_pages: Generator[PaymentPage],
    friend_pages: Iterable[Page[User]],
    on_bad_record: str,
    mask: Mask | None,
) -> History:
    """Return the unmasked history of these pages; with a mask, errors quote no values of records."""
    friends: list[User] = []
    people: list[User] = []
    problems: list[Problem] = []
    fetched: list[datetime | None] = []

    def on_problems(found: Sequence[Problem]) -> None:
        if on_bad_record == "raise":
            records.raise_unreadable(
                found if mask is None else mask.problems(found),
                instead='in Python, load with on_bad_record="report" to list it in .problems',
            )
        problems.extend(found)

    def iterate_payments() -> Iterator[Payments]:
        for page in payment_pages:
            fetched.append(page.fetched_at)
            yield page.items

    on_problems(me.problems)
    with contextlib.closing(payment_pages):  # page by page, so that only the frame's columns stay in memory
        frame = payments_frame(iterate_payments(), str(me.user.id), on_problems, people.extend)
    for page in friend_pages:
        on_problems(page.problems)
        fetched.append(page.fetched_at)
        friends.extend(page.items)
    # The viewer's own list should hold no payment between other people.
    known = frame["action"].isin(list(Action)) & frame["actor_id"].notna()
    foreign = "neither actor nor target is the viewer; direction and flow stay empty"
    problems += [Problem(each, "actor", "", foreign) for each in frame["payment_id"][known & frame["direction"].isna()]]
    return History(
        me=me,
        payments=frame,
        friends=friends_frame(friends),
        fetched_at=min(moment for moment in fetched if moment is not None),
        problems=problems_frame(dict.fromkeys(problems)),  # overlapping pages report some problems twice
        people=people_frame([me.user, *friends, *people]),
    )


@contextlib.contextmanager
def show_progress(progress: Callable[[int], object] | Literal[False] | None) -> Iterator[Callable[[int, int], object]]:
    """Give the callback of a load: the caller's, one that shows the loading bar, or one that does nothing."""
    if progress is None:
        with loading_bar() as show:
            yield show
    else:
        yield lambda payments, _expected: progress(payments) if progress else None
