"""Calendar windows: exact cover, starts at calendar units, and splits for idle connections."""

from datetime import UTC, datetime, timedelta

import pytest

from p2p_analytics.client.paging._windows import (
    WindowTask,
    cover_window,
    find_open_window_start,
    floor_to_unit,
    split_window,
)
from p2p_analytics.client.paging.pager import LoadState
from p2p_analytics.errors import PaginationError
from p2p_analytics.times import BEGINNING, Window
from support.payment_list import START, Model, make_rows

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "parts", "starts"),
    [
        ("2017-01-01", "2020-01-01", 3, "2019-01-01 2018-01-01 2017-01-01"),
        (
            "2013-02-03",
            "2016-11-05",
            7,
            "2016-07-01 2016-01-01 2015-07-01 2015-01-01 2014-07-01 2014-01-01 2013-07-01 2013-02-03",
        ),
        ("2024-01-01", "2025-01-01", 4, "2024-10-01 2024-07-01 2024-04-01 2024-01-01"),
        ("2024-04-01", "2024-07-01", 3, "2024-06-01 2024-05-01 2024-04-01"),
        ("2024-04-01", "2024-04-29", 4, "2024-04-22 2024-04-15 2024-04-08 2024-04-01"),
        ("2024-04-01T05", "2024-04-03T05", 2, "2024-04-03 2024-04-02 2024-04-01T05"),
        ("2024-04-01T05", "2024-04-01T08", 8, "2024-04-01T05"),
    ],
)
def test_the_parts_are_calendar_units(start: str, end: str, parts: int, starts: str) -> None:
    """Years, half years, quarters, months, weeks from Monday or days, newest first; less than a day is not split."""
    window = Window(*(datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (start, end)))
    found = split_window(window, parts)
    assert " ".join(f"{part.start:%Y-%m-%dT%H}".removesuffix("T00") for part in found) == starts
    assert [part.end for part in found] == [window.end, *(part.start for part in found[:-1])]


def test_complete_windows_and_the_rest_cover_the_window() -> None:
    """All without overlap are used; of two that overlap, the one with the older end or the shorter one is dropped."""
    day = [datetime(2010, 1, 1, tzinfo=UTC) + timedelta(days=number) for number in range(9)]
    complete = [(1, 2), (4, 6), (3, 5), (5, 6), (7, 8)]
    plan = cover_window(Window(day[0], day[7]), [Window(day[start], day[end]) for start, end in complete])
    assert plan == [
        ((day[6], day[7]), False), ((day[4], day[6]), True), ((day[2], day[4]), False),
        ((day[1], day[2]), True), ((day[0], day[1]), False),
    ]  # fmt: skip


def test_the_open_window_starts_at_the_longest_unit_on_the_page() -> None:
    """A year for monthly payments, a day for frequent ones."""
    newest = datetime(2025, 6, 20, 12, tzinfo=UTC)  # a Friday
    starts = [find_open_window_start(newest, newest - timedelta(days=n), NOW) for n in (400, 150, 30, 10, 3, 0)]
    days = [(1, 1), (4, 1), (6, 1), (6, 16), (6, 20), (6, 20)]
    assert starts == [datetime(2025, month, day, tzinfo=UTC) for month, day in days]
    # The next page may have more payments of the same instant.
    assert find_open_window_start(newest, datetime(2025, 4, 1, tzinfo=UTC), NOW) == datetime(2025, 6, 1, tzinfo=UTC)


def test_a_payment_in_the_future_does_not_close_the_present() -> None:
    """The clock of this machine bounds the closed windows, which end an hour or more before the newest payment."""
    far, midnight = datetime(2090, 1, 1, tzinfo=UTC), datetime(2025, 6, 20, tzinfo=UTC)
    assert find_open_window_start(far, far, NOW) == datetime(2029, 12, 31, tzinfo=UTC)
    assert find_open_window_start(midnight, midnight, NOW) == datetime(2025, 6, 19, tzinfo=UTC)
    assert find_open_window_start(BEGINNING, BEGINNING, NOW) == BEGINNING
    assert floor_to_unit(far) == far


def test_the_end_of_a_list_is_not_split() -> None:
    """Its last page is no measure of the older part of the window, however many connections are idle."""
    model, state = Model(make_rows([3600 * number for number in range(60)])), LoadState()
    window = Window(START - timedelta(days=900), START + timedelta(days=10))
    task = WindowTask(window, model.fetch_closed, state, pages_left=9)
    for _ in range(2):
        task.add_page(task.pager.fetch_next(), None)
    assert (task.complete, task.pages_left, task.split(None, idle=3)) == (False, 1, [])


@pytest.mark.parametrize(
    ("left", "idle", "shared"),
    [(3, 0, False), (3, 1, True), (2, 3, False), (20, -1, False), (20, 1, True), (72, 0, True)],
)
def test_idle_connections_split_a_window(left: int, idle: int, shared: bool) -> None:  # noqa: FBT001
    """Three pages are split for an idle connection; with an estimated start, seven."""
    window = Window(datetime(2021, 1, 1, tzinfo=UTC), datetime(2022, 1, 1, tzinfo=UTC))
    for start, is_split in ((window.start, shared), (BEGINNING, shared and left > 6)):
        task = WindowTask(Window(start, window.end), Model([]).fetch_closed, LoadState(), pages_left=left)
        parts = task.split(None, idle)
        assert bool(parts) == is_split
        if is_split and start == window.start:
            assert sum(part.pages_left for part in parts) == pytest.approx(left)


def test_a_window_is_refetched_once() -> None:
    """Pages that contradict each other again give an error, not an endless load."""
    task = WindowTask(Window(START - timedelta(days=9), START), Model([]).fetch_closed, LoadState(), pages_left=1)
    task.restart()
    with pytest.raises(PaginationError, match="contradict each other"):
        task.restart()


def test_the_open_window_holds_an_hour() -> None:
    """A payment may appear an hour after its date."""
    newest = datetime(2025, 6, 20, 1, tzinfo=UTC)
    for minutes, day in ((0, 20), (1, 19)):
        moment = newest - timedelta(minutes=minutes)
        assert find_open_window_start(moment, moment, NOW) == datetime(2025, 6, day, tzinfo=UTC)


def test_a_complete_window_across_a_bound_is_kept_whole() -> None:
    """It is used unchanged, although it extends beyond the bounds."""
    day = [datetime(2010, 1, 1, tzinfo=UTC) + timedelta(days=number) for number in range(8)]
    known = [Window(day[0], day[2]), Window(day[5], day[7])]
    assert cover_window(Window(day[1], day[6]), known) == [
        (known[1], True), ((day[2], day[5]), False), (known[0], True),
    ]  # fmt: skip
