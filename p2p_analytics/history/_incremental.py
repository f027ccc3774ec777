"""What may have changed since a history was loaded, for who keeps one."""

from __future__ import annotations

import contextlib
import logging
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from p2p_analytics import settings
from p2p_analytics.errors import ConfigurationError, NotFoundError, PaginationError, RecordError
from p2p_analytics.history._load import gathered, shown
from p2p_analytics.privacy import Mask, strip_service_text
from p2p_analytics.records import PaymentPage, Payments, Problem
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable
    from datetime import datetime

    import pandas as pd

    from p2p_analytics.client import Client
    from p2p_analytics.history._load import History
    from p2p_analytics.records import Me

log = logging.getLogger(__name__)

_SECOND: Final = timedelta(seconds=1)  # bounds of a list leave out their own instant


class Stretch(NamedTuple):
    """A period of time whose payments are lost here and are to be loaded again.

    Attributes
    ----------
    start, end : datetime or None
        It holds its start and not its end; None: it has no bound there. The one without a start holds payments
        without a date too.
    rows : int
        How many payments of it were known.
    """

    start: datetime | None
    end: datetime | None
    rows: int

    def holds(self, created: datetime | None) -> bool:
        """Return whether a payment of this date belongs into it."""
        if created is None:
            return self.start is None
        return (self.start is None or created >= self.start) and (self.end is None or created < self.end)


class Known(NamedTuple):
    """What somebody who asks for changes has already.

    Attributes
    ----------
    since : datetime or None
        All payments up to this instant of their ``date_created`` are known, and one of this instant or later; None:
        nothing is.
    pending : frozenset of str
        The ids of those that were pending.
    missing : tuple of Stretch
        Periods that are to be loaded again.
    friends : DataFrame or None
        The friends, where they need not be asked for again.
    everything : bool
        Whether to load all payments again, though those up to ``since`` are known.
    refresh : bool
        Whether to reload everything from the service, without what the response cache holds, and to accept that the
        service lists fewer payments than are known.
    """

    since: datetime | None = None
    pending: frozenset[str] = frozenset()
    missing: tuple[Stretch, ...] = ()
    friends: pd.DataFrame | None = None
    everything: bool = False
    refresh: bool = False


@strip_service_text
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

    Raises
    ------
    PaginationError
        The service lists no payment as new as the newest known one, or fewer payments than were known of a period
        that is to be loaded again. In a refresh the latter is a warning.
    """
    if on_bad_record not in {"raise", "report"}:
        raise ConfigurationError(f'on_bad_record can be "raise" or "report", not {on_bad_record!r}.')
    friends = client.friend_pages(me.user.id, fresh=True) if known.friends is None else ()
    mask = Mask() if settings.privacy() else None  # for the words of errors alone
    with shown(progress) as told:
        pages = (
            _all_pages(client, known, told)
            if known.since is None or known.everything or known.refresh
            else _changed_pages(client, known, told)
        )
        history = gathered(me, pages, friends, on_bad_record, mask)
    return history if known.friends is None else replace(history, friends=known.friends)


class _Listing:
    """What a load of changes has listed so far, compared with what is known."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._ids: set[str] = set()
        self._newest: datetime | None = None
        self._counts = [0] * len(known.missing)

    def counted(self, pages: Iterable[PaymentPage]) -> Generator[PaymentPage]:
        """Yield pages and count their payments, each id once."""
        for page in pages:
            for payment_id, created in zip(page.items.ids, page.items.created, strict=True):
                if payment_id not in self._ids:
                    self._ids.add(payment_id)
                    self._count(created)
            yield page

    def _count(self, created: datetime | None) -> None:
        since = self._known.since
        if created is not None:
            self._newest = created if self._newest is None else max(created, self._newest)
            if since is not None and created > since:
                return  # it is new, so it makes up for none that was known
        for place, stretch in enumerate(self._known.missing):
            self._counts[place] += stretch.holds(created)

    def unlisted_pending(self) -> frozenset[str]:
        """Return the ids of payments that were pending and are not listed."""
        return self._known.pending - self._ids

    def require_newest(self) -> None:
        """Raise a PaginationError where no payment is as new as the newest known one."""
        since = self._known.since
        if since is not None and (self._newest is None or self._newest < since):
            raise PaginationError(
                "The service lists no payment as new as the newest one that is known, so payments may be missing and "
                "nothing is changed: try again later; if it stays so, reload everything with refresh=True (--refresh)."
            )

    def require_missing(self) -> None:
        """Raise a PaginationError where a period holds fewer payments than were known; warn in a refresh."""
        for stretch, found in zip(self._known.missing, self._counts, strict=True):
            if found >= stretch.rows:
                continue
            first, last = ("" if bound is None else f"{bound:%Y-%m-%d}" for bound in (stretch.start, stretch.end))
            period = " ".join(filter(None, (first and f"from {first}", last and f"before {last}"))) or "of all time"
            lists = f"The service lists {found:,} of the {stretch.rows:,} payments {period} that a broken file held"
            if self._known.refresh:
                log.warning("%s: the others are lost, unless another copy of the file exists.", lists)
            else:
                raise PaginationError(
                    f"{lists}, so nothing is changed: try again later; if it stays so, reload everything with "
                    "refresh=True (--refresh), which does without the others."
                )


def _all_pages(client: Client, known: Known, told: Callable[[int, int], object]) -> Generator[PaymentPage]:
    listing = _Listing(known)
    with contextlib.closing(client.history_pages(refresh=known.refresh, progress=told)) as pages:
        yield from listing.counted(pages)
    if not known.refresh:
        listing.require_newest()
    yield from listing.counted(_pages_by_id(client, listing.unlisted_pending()))
    listing.require_missing()


def _changed_pages(client: Client, known: Known, told: Callable[[int, int], object]) -> Generator[PaymentPage]:
    from p2p_analytics.client.paging.windows import BEGINNING, GRACE  # who only reads an archive sends nothing

    listing = _Listing(known)
    after = max(known.since or BEGINNING, BEGINNING + GRACE) - GRACE
    with contextlib.closing(client.history_pages(after=after, progress=told)) as pages:
        yield from listing.counted(pages)
    listing.require_newest()
    for stretch in known.missing:
        start = stretch.start and stretch.start - _SECOND
        with contextlib.closing(client.history_pages(after=start, before=stretch.end, progress=told)) as pages:
            yield from listing.counted(pages)
    yield from listing.counted(client.payment_pages(status=Status.PENDING, fresh=True))
    yield from listing.counted(_pages_by_id(client, listing.unlisted_pending()))
    listing.require_missing()


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
