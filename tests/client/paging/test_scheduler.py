"""Scheduler on a model service: complete, ordered, few requests, and no stale page."""

import threading
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.client.paging.pager import Query
from p2p_analytics.errors import TransportError
from p2p_analytics.records import PaymentPage
from support.payment_list import START, YEAR, Model, load_ids, load_pages, make_rows, make_uneven


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(0, 6 * YEAR // 1000).map(lambda number: number * 1000), max_size=400, unique=True),
    st.booleans(),
    st.integers(1, 8),
    st.sampled_from([None, START, START - timedelta(days=900), START + timedelta(days=900)]),
)
def test_every_payment_is_returned_once_and_in_order(seconds: list[int], inclusive: bool, width: int, since) -> None:  # noqa: FBT001
    """For any density, likely start and kind of bound."""
    model = Model(make_rows([*seconds, *seconds[::7]]), inclusive=inclusive)
    assert load_ids(model, concurrency=width, likely_start=since) == [row.id for row in model.rows]


@pytest.mark.parametrize(("since", "concurrency"), [(None, 1), (START - timedelta(days=20), 8)])
def test_many_uneven_payments_take_few_requests(concurrency: int, since) -> None:
    """At most a tenth more than the minimum, and never more at once than allowed; the progress is a fair estimate."""
    model = Model(make_uneven(20_000, 6))
    progress: list[tuple[int, int]] = []
    found = load_ids(model, concurrency=concurrency, likely_start=since, on_progress=lambda *two: progress.append(two))
    assert found == [row.id for row in model.rows]
    assert len(model.asked) <= 1.10 * 20_000 / 50
    assert model.most_at_once <= concurrency
    assert [payments for payments, _ in progress] == sorted(payments for payments, _ in progress)
    assert progress[-1] == (20_000, 20_000)
    if since is not None:
        expected = next(expected for payments, expected in progress if payments > 10_000)
        assert 2 / 3 <= expected / 20_000 <= 4 / 3


@pytest.mark.parametrize(("count", "requests"), [(0, 2), (1, 2), (50, 2), (60, 3), (75, 3), (100, 5)])
def test_a_short_history_takes_few_requests(count: int, requests: int) -> None:
    """A hundred payments in ten years take five requests at most, fifty take two: the end is confirmed."""
    model = Model(make_rows([number * 10 * YEAR // 100 // 2 for number in range(count)]))
    assert len(load_ids(model)) == count
    assert len(model.asked) <= requests


def test_daily_loads_send_few_new_requests() -> None:
    """With a payment every eight hours, a load needs at most two new requests."""
    every = make_rows([number * 8 * 3600 for number in range(3 * 140)])
    model = Model(every[:300])
    known: set[datetime | None] = {None}
    for day in range(40):
        model.rows = sorted(every[: 300 + 3 * day], key=lambda row: row.date_created, reverse=True)
        model.asked.clear()
        assert len(load_ids(model)) == len(model.rows)
        anew = {query.before for query in model.asked} - known if day else set()
        assert len(anew) <= 2, day
        known |= {query.before for query in model.asked}


def test_bounds_are_exclusive() -> None:
    """A load between the dates of two payments excludes both, even within complete windows."""
    model = Model(make_rows([number * 40_000 for number in range(3_000)]), inclusive=True)
    load_ids(model)
    ordered = list(reversed(model.rows))
    for low, high in ((10, 20), (100, 2_900), (0, 2_999), (2_950, 2_999)):
        after, before = ordered[low].date_created, ordered[high].date_created
        assert load_ids(model, after=after, before=before) == [row.id for row in reversed(ordered[low + 1 : high])]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_no_thread_outlives_a_load(concurrency: int) -> None:
    """A fault is raised unchanged; it ends the load, as closing the generator does."""
    model = Model(make_uneven(3_000, 3))
    pages = load_pages(model, concurrency=concurrency)
    next(pages)
    pages.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]
    closed, model.asked = model.fetch_closed, []

    def fail(query: Query, *, refetch: bool = False) -> PaymentPage:
        if len(model.asked) > 12:
            raise TransportError("gone")
        return closed(query)

    model.fetch_closed = fail
    with pytest.raises(TransportError, match="gone"):
        load_ids(model, concurrency=concurrency)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]
