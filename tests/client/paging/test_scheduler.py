"""Scheduler on a model service: complete, ordered, few requests, and no stale page."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.client.paging._windows import WindowTask
from p2p_analytics.client.paging.pager import LoadState, Query
from p2p_analytics.client.paging.scheduler import fetch_history
from p2p_analytics.errors import TransportError
from p2p_analytics.records import Payment, PaymentPage
from p2p_analytics.times import BEGINNING, END, Window
from support.payment_list import START, YEAR, Model, load_ids, make_rows, make_uneven


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


@pytest.mark.parametrize(("since", "concurrency"), [(None, 1), (None, 8), (START - timedelta(days=20), 4)])
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


def test_the_end_of_a_list_is_not_split() -> None:
    """Its last page is no measure of the older part of the window, however many connections are idle."""
    model, state = Model(make_rows([3600 * number for number in range(60)])), LoadState()
    window = Window(START - timedelta(days=900), START + timedelta(days=10))
    task = WindowTask(window, model.fetch_closed, state, pages_left=9)
    for _ in range(2):
        task.add_page(task.pager.fetch_next(), None)
    assert (task.complete, task.pages_left, task.split(None, idle=3)) == (False, 1, [])


@pytest.mark.parametrize(("count", "requests"), [(0, 2), (1, 2), (50, 2), (60, 3), (75, 3), (100, 5)])
def test_a_short_history_takes_few_requests(count: int, requests: int) -> None:
    """A hundred payments in ten years take five requests at most, fifty take two: the end is confirmed."""
    model = Model(make_rows([number * 10 * YEAR // 100 // 2 for number in range(count)]))
    assert len(load_ids(model)) == count
    assert len(model.asked) <= requests


@pytest.mark.parametrize(
    ("left", "idle", "shared"),
    [(3, 0, False), (3, 1, True), (2, 3, False), (20, -1, False), (20, 1, True), (72, 0, True)],
)
def test_idle_connections_split_a_window(left: int, idle: int, shared: bool) -> None:  # noqa: FBT001
    """Three pages are split for an idle connection; with an estimated start, seven."""
    model, window = Model([]), Window(datetime(2021, 1, 1, tzinfo=UTC), datetime(2022, 1, 1, tzinfo=UTC))
    parts = [
        part.window for part in WindowTask(window, model.fetch_closed, LoadState(), pages_left=left).split(None, idle)
    ]
    assert bool(parts) == shared
    assert [later.start for later in parts[:-1]] == [earlier.end for earlier in parts[1:]]
    guessed = WindowTask(Window(BEGINNING, window.end), model.fetch_closed, LoadState(), pages_left=left)
    assert bool(guessed.split(None, idle)) == (shared and left > 6)


def test_a_second_load_only_fetches_the_open_window() -> None:
    """Closed windows get the same requests as before; only the newest page differs."""
    model = Model(make_uneven(5_000, 6))
    load_ids(model)
    before = Counter(query.before for query in model.asked)
    model.rows.insert(0, Payment(id="9999999", date_created=START + timedelta(days=6 * 365, seconds=1)))
    model.asked.clear()
    assert load_ids(model) == [row.id for row in model.rows]
    assert [query for query in model.asked if query.before not in before] == []


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
    pages = fetch_history(
        model, after=BEGINNING, before=END, likely_start=None, concurrency=concurrency, on_progress=lambda *_: None
    )
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
