"""What may have changed since a history was loaded, for who keeps one."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from p2p_analytics import settings
from p2p_analytics.errors import ConfigurationError, NotFoundError, PaginationError, RecordError
from p2p_analytics.load import gathered, shown
from p2p_analytics.privacy import Mask, hushed
from p2p_analytics.records import PaymentPage, Payments, Problem
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from datetime import datetime

    import pandas as pd

    from p2p_analytics.client import Client
    from p2p_analytics.load import History
    from p2p_analytics.records import Me


class Known(NamedTuple):
    """What somebody who asks for changes has already.

    Attributes
    ----------
    since : datetime or None
        All payments up to this instant of their ``date_created`` are known, and one of this instant or later; None:
        nothing is.
    pending : frozenset of str
        The ids of those that were pending.
    missing : tuple of (datetime or None, datetime or None)
        Stretches of time, each from and up to, that are to be loaded again.
    friends : DataFrame or None
        The friends, where they need not be asked for again.
    refresh : bool
        Whether to reload everything from the service, without what the response cache holds.
    """

    since: datetime | None = None
    pending: frozenset[str] = frozenset()
    missing: tuple[tuple[datetime | None, datetime | None], ...] = ()
    friends: pd.DataFrame | None = None
    refresh: bool = False


@hushed
def load_changes(
    client: Client,
    me: Me,
    known: Known,
    *,
    on_bad_record: Literal["raise", "report"] = "raise",
    progress: Callable[[int], object] | Literal[False] | None = None,
) -> History:
    """Load what may have changed: new payments, those that are pending, and those that were and are no more.

    Only a pending payment changes (document: "States and transitions"). One that was pending and is not in the
    list of the pending ones (in a refresh: in no list) is asked for by its id; where it cannot be found, ``problems``
    tells it. A payment that
    shows more than an hour later than it is dated is not looked for.

    Parameters
    ----------
    client : Client
        As for `p2p_analytics.load_history`.
    me : Me
        The token's owner.
    known : Known
        What need not be asked for.
    on_bad_record, progress
        As for `p2p_analytics.load_history`.

    Returns
    -------
    History
        Of the payments that were asked for; all of them, where nothing was known. Never in privacy mode.
    """
    if on_bad_record not in {"raise", "report"}:
        raise ConfigurationError(f'on_bad_record can be "raise" or "report", not {on_bad_record!r}.')
    friends = client.friend_pages(me.user.id, fresh=True) if known.friends is None else ()
    mask = Mask() if settings.privacy() else None  # for the words of errors alone
    with shown(progress) as told:
        pages = (
            _all_pages(client, known, told)
            if known.since is None or known.refresh
            else _changed_pages(client, known, told)
        )
        history = gathered(me, pages, friends, on_bad_record, mask)
    return history if known.friends is None else replace(history, friends=known.friends)


def _all_pages(client: Client, known: Known, told: Callable[[int, int], object]) -> Generator[PaymentPage]:
    seen: set[str] = set()
    with contextlib.closing(client.history_pages(refresh=known.refresh, progress=told)) as pages:
        for page in pages:
            seen.update(page.items.ids)
            yield page
    yield from _pages_by_id(client, known.pending - seen)


def _changed_pages(client: Client, known: Known, told: Callable[[int, int], object]) -> Generator[PaymentPage]:
    from p2p_analytics.client._windows import BEGINNING, GRACE  # who only reads an archive sends nothing

    seen: set[str] = set()
    since = known.since or BEGINNING
    is_continued = False
    for after, before in ((max(since, BEGINNING + GRACE) - GRACE, None), *known.missing):
        with contextlib.closing(client.history_pages(after=after, before=before, progress=told)) as pages:
            for page in pages:
                seen.update(page.items.ids)
                is_continued |= any(date is not None and date >= since for date in page.items.created)
                yield page
        if not is_continued:
            raise PaginationError(
                "The service lists no payment as new as the newest one that is known, so payments may be missing and "
                "nothing is changed: try again later; if it stays so, reload everything with refresh=True (--refresh)."
            )
    for page in client.payment_pages(status=Status.PENDING, fresh=True):
        seen.update(page.items.ids)
        yield page
    yield from _pages_by_id(client, known.pending - seen)


def _pages_by_id(client: Client, payment_ids: frozenset[str]) -> Generator[PaymentPage]:
    """Ask for payments that were pending and are not listed, one by one; a problem takes the place of a lost one."""
    for payment_id in sorted(payment_ids):
        try:
            yield PaymentPage(Payments.of([client.payment(payment_id, fresh=True)]))
        except NotFoundError:
            problem, unreadable = "was pending and cannot be found any more; it stays as it was", False
        except RecordError:
            problem, unreadable = "was pending and what it is now cannot be read; it stays as it was", True
        else:
            continue
        yield PaymentPage(Payments.of((), [Problem(payment_id, "status", Status.PENDING, problem, unreadable)]))
