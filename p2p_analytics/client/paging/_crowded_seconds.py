"""Crowded seconds: more payments in one second than a page holds.

A time cursor cannot get past such a second, so its payments are requested by filters: by action, then by status,
and finally by the people who may have acted. All people of a load are known only at its end, so the last filter
waits until then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from p2p_analytics.client.paging._load_state import CrowdedSecond
from p2p_analytics.records import PaymentPage, Payments, Problem
from p2p_analytics.times import format_instant
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from p2p_analytics.client.paging._load_state import LoadState
    from p2p_analytics.client.paging.query import FetchPage, Query
    from p2p_analytics.records import Payment

_PEOPLE_PER_REQUEST: Final = 100  # about two kilobytes of URL
_SAME_KIND_AND_PERSON: Final = "of one kind and one person, which no filter can separate; some of them are missing"


def fetch_by_filters(
    fetch: FetchPage, query: Query, page: PaymentPage, second: datetime, state: LoadState
) -> Iterator[PaymentPage]:
    """Yield the payments of a crowded second by action, then by status; by actor, if the query names several.

    A second that these filters cannot complete is added to ``state.crowded``. Where payments may be missing, a page
    without payments reports it in its ``problems``.
    """
    narrower = _narrow_query(query)
    if not narrower:
        if query.actor:
            yield _report_incomplete(second, _SAME_KIND_AND_PERSON)
        else:
            state.crowded.append(CrowdedSecond(fetch, query, page, second))
        return
    found: set[str] = set()
    for part in narrower:
        result = _fetch_narrower(fetch, part, page, second)
        found.update(result.items.ids)
        yield _drop_older(result, second)
        if state.is_crowded(result, second):
            yield from fetch_by_filters(fetch, part, result, second, state)
    if not found.issuperset(page.items.ids):
        yield _report_incomplete(second, "and some of them are found by no filter; others may be missing")


def fetch_by_people(state: LoadState) -> Iterator[PaymentPage]:
    """Yield the payments that the crowded seconds of a load still lack, by people seen in the load and friends.

    Nothing proves that these are all people who acted in such a second. If the second holds people who are seen
    nowhere else, there may be more of them, and a page without payments reports it in its ``problems``.
    """
    if not state.crowded:
        return
    known = state.people.ids()
    for crowded in state.crowded:
        actors = {_get_actor_id(payment) for payment in crowded.page.items}
        groups = _split_groups(sorted({actor for actor in actors if actor} | known), _PEOPLE_PER_REQUEST)
        found: set[str] = set()
        while groups:
            group = groups.pop()
            query = msgspec.structs.replace(crowded.query, actor=",".join(group))
            result = _fetch_narrower(crowded.fetch, query, crowded.page, crowded.second)
            found.update(result.items.ids)
            yield _drop_older(result, crowded.second)
            if not state.is_crowded(result, crowded.second):
                continue
            if len(group) == 1:
                yield _report_incomplete(crowded.second, _SAME_KIND_AND_PERSON)
            else:
                groups += _split_groups(group, (len(group) + 1) // 2)
        if not known.issuperset(actors) or not found.issuperset(crowded.page.items.ids):
            yield _report_incomplete(
                crowded.second, "and some of the people in it are seen nowhere else; others may be missing"
            )


def _narrow_query(query: Query) -> list[Query]:
    """Return one query per value of the first filter that can still be split, an empty list if none can."""
    for name, values in (("action", Action), ("status", Status), ("actor", ())):
        given = getattr(query, name)
        split = given.split(",") if given else list(values)
        if len(split) > 1:
            return [msgspec.structs.replace(query, **{name: str(value)}) for value in split]
    return []


def _fetch_narrower(fetch: FetchPage, query: Query, wider: PaymentPage, second: datetime) -> PaymentPage:
    """Return the page of a narrower query.

    The page is refetched if it lacks payments that the wider page shows, or holds none of the second.
    """
    expected = {payment.id for payment in wider.items if _is_match(payment, query)}
    page = fetch(query)
    has_second = any(date is not None and date >= second for date in page.items.created)
    if not has_second or not expected.issubset(page.items.ids):
        page = fetch(query, refetch=True)
    return page


def _is_match(payment: Payment, query: Query) -> bool:
    pairs = ((query.action, payment.action), (query.status, payment.status), (query.actor, _get_actor_id(payment)))
    return all(not values or value in values.split(",") for values, value in pairs)


def _get_actor_id(payment: Payment) -> str | None:
    return payment.actor.id if payment.actor is not None else None


def _split_groups(user_ids: Sequence[str], size: int) -> list[Sequence[str]]:
    return [user_ids[start : start + size] for start in range(0, len(user_ids), size)]


def _drop_older(page: PaymentPage, second: datetime) -> PaymentPage:
    items = page.items.select(date is None or date >= second for date in page.items.created)
    return msgspec.structs.replace(page, items=items)


def _report_incomplete(second: datetime, reason: str) -> PaymentPage:
    text = f"more payments than a page holds share one second, {reason}"
    problem = Problem(None, "date_created", format_instant(second), text, incomplete=True)
    return PaymentPage(Payments.of((), [problem]))
