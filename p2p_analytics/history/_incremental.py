"""Incremental loads: what may have changed since a history was loaded."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import pandas as pd

from p2p_analytics import settings
from p2p_analytics.errors import NotFoundError, PaginationError, RecordError
from p2p_analytics.history._history import History
from p2p_analytics.history._load import build_history, require_bad_record_mode, show_progress
from p2p_analytics.privacy import Mask, strip_service_text
from p2p_analytics.records import Me, PaymentPage, Payments, Problem
from p2p_analytics.times import BEGINNING, GRACE
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from p2p_analytics.client import Client  # heavy: reading an archive loads no module that sends requests


log = logging.getLogger(__name__)

_SECOND: Final = timedelta(seconds=1)  # the service's bounds are exclusive


class MissingPeriod(NamedTuple):
    """A half-open period with a number of lost payments; without a start, it includes payments without a date."""

    start: datetime | None
    end: datetime | None
    rows: int

    def contains(self, created: datetime | None) -> bool:
        """Return whether a payment of this date belongs to the period."""
        if created is None:
            return self.start is None
        return (self.start is None or created >= self.start) and (self.end is None or created < self.end)


class Baseline(NamedTuple):
    """Data that the caller already has, from which an incremental load starts."""

    since: datetime | None = None  # all payments up to it are known, and at least one of it or later; None: no payments
    pending: frozenset[str] = frozenset()  # the ids of known payments that were pending
    missing: tuple[MissingPeriod, ...] = ()  # to load again
    friends: pd.DataFrame | None = None  # if they need not be loaded again
    everything: bool = False  # whether to load all payments again, although those up to ``since`` are known
    refresh: bool = False  # likewise without the response cache, even if the service lists fewer than are known
    start: datetime | None = None  # all payments from it on are known after the load, and all pending ones


@strip_service_text
def load_changes(
    client: Client,
    me: Me,
    baseline: Baseline,
    *,
    on_bad_record: Literal["raise", "report"] = "raise",
    progress: Callable[[int], object] | Literal[False] | None = None,
) -> History:
    """Load the payments that may have changed: new ones, pending ones, and ones that were pending before.

    Only a pending payment changes (document: "States and transitions"). A payment that was pending and is not in the
    list of pending payments (in a refresh: in no list) is requested by its id; if the service does not find it,
    ``problems`` lists it. A payment that appears more than an hour after its date is not found.

    The history holds the requested payments, all if the baseline is empty, and is never in privacy mode. Raises a
    PaginationError if the service lists no payment as new as the newest known one, or fewer payments than were known of
    a missing period; in a refresh the latter is a warning.
    """
    require_bad_record_mode(on_bad_record)
    friends = client.friend_pages(me.user.id, fresh=True) if baseline.friends is None else ()
    mask = Mask() if settings.privacy() else None  # only for the text of errors
    with show_progress(progress) as on_progress:
        pages = _load_pages(client, baseline, on_progress)
        history = build_history(me, pages, friends, on_bad_record, mask)
    return history if baseline.friends is None else replace(history, friends=baseline.friends)


class _ListingCheck:
    """Comparison of the payments that the service lists during a load, ``ids``, with the baseline."""

    def __init__(self, baseline: Baseline) -> None:
        self._baseline = baseline
        self.ids: set[str] = set()
        self._newest: datetime | None = None
        self._counts = [0] * len(baseline.missing)

    def count_pages(self, pages: Iterable[PaymentPage]) -> Generator[PaymentPage]:
        """Yield the pages, and count each payment id once."""
        since = self._baseline.since
        for page in pages:
            for payment_id, created in zip(page.items.ids, page.items.created, strict=True):
                if payment_id in self.ids:
                    continue
                self.ids.add(payment_id)
                self._newest = max(filter(None, (created, self._newest)), default=None)
                if created is None or since is None or created <= since:  # a new payment does not replace a lost one
                    for place, period in enumerate(self._baseline.missing):
                        self._counts[place] += period.contains(created)
            yield page

    def require_newest(self) -> None:
        """Raise a PaginationError if no listed payment is as new as the newest known one."""
        since = self._baseline.since
        if since is not None and (self._newest is None or self._newest < since):
            raise PaginationError(
                "The service lists no payment as new as the newest one that is known, so payments may be missing and "
                "nothing is changed: try again later; if it stays so, reload everything with refresh=True (--refresh)."
            )

    def require_missing(self) -> None:
        """Raise a PaginationError if a period lists fewer payments than were known; in a refresh, log a warning."""
        for period, found in zip(self._baseline.missing, self._counts, strict=True):
            if found >= period.rows:
                continue
            first, last = ("" if bound is None else f"{bound:%Y-%m-%d}" for bound in (period.start, period.end))
            dates = " ".join(filter(None, (first and f"from {first}", last and f"before {last}"))) or "of all time"
            lists = f"The service lists {found:,} of the {period.rows:,} payments {dates} that a broken file held"
            if self._baseline.refresh:
                log.warning("%s: the others are lost, unless another copy of the file exists.", lists)
            else:
                raise PaginationError(
                    f"{lists}, so nothing is changed: try again later; if it stays so, reload everything with "
                    "refresh=True (--refresh), which does without the others."
                )


def _load_pages(
    client: Client, baseline: Baseline, on_progress: Callable[[int, int], object]
) -> Generator[PaymentPage]:
    check = _ListingCheck(baseline)
    if baseline.since is None or baseline.everything or baseline.refresh:
        after = _before(baseline.start)
    else:
        after = max(baseline.since, BEGINNING + GRACE) - GRACE
    with contextlib.closing(client.history_pages(after=after, refresh=baseline.refresh, progress=on_progress)) as pages:
        yield from check.count_pages(pages)
    if not baseline.refresh:
        check.require_newest()
    if after is not None:  # else the list was complete
        for period in baseline.missing:
            missing = client.history_pages(after=_before(period.start), before=period.end, progress=on_progress)
            with contextlib.closing(missing) as pages:
                yield from check.count_pages(pages)
        yield from check.count_pages(client.payment_pages(status=Status.PENDING, fresh=True))
    yield from check.count_pages(_load_by_id(client, baseline.pending - check.ids))
    check.require_missing()


def _before(start: datetime | None) -> datetime | None:
    """Return the bound for a request from ``start`` on; the service's bounds are exclusive."""
    return None if start is None or start < BEGINNING + _SECOND else start - _SECOND


def _load_by_id(client: Client, payment_ids: frozenset[str]) -> Generator[PaymentPage]:
    """Request payments one by one, by id; a payment that is not found or cannot be read gives a problem instead."""
    for payment_id in sorted(payment_ids):
        try:
            yield PaymentPage(Payments.of([client.payment(payment_id, fresh=True)]))
        except NotFoundError:
            problem, unreadable = "was pending and cannot be found any more; it stays as it was", False
        except RecordError:
            problem, unreadable = "was pending and its present state cannot be read; it stays as it was", True
        else:
            continue
        yield PaymentPage(Payments.of((), [Problem(payment_id, "status", Status.PENDING, problem, unreadable)]))
