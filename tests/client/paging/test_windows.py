"""Windows cover what is asked for exactly, and begin where the calendar does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from p2p_analytics.client.paging._windows import cover_window, find_open_window_start, floor_to_unit, split_window
from p2p_analytics.client.window import BEGINNING, GRACE, Window

EPOCH = datetime(2010, 1, 1, tzinfo=UTC)
NOW = datetime(2030, 1, 1, tzinfo=UTC)
moments = st.integers(0, 15 * 365 * 86_400).map(lambda second: EPOCH + timedelta(seconds=second))
windows = st.tuples(moments, moments).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: Window(*sorted(pair)))


@given(windows, st.integers(1, 40))
def test_the_parts_of_a_window_join_into_it(window: Window, parts: int) -> None:
    """Newest first, without gap or overlap, each with an end of the day's first moment but for the window's own."""
    found = split_window(window, parts)
    assert (found[-1].start, found[0].end) == window
    assert all(newer.start == older.end for newer, older in pairwise(found))
    assert all(part.start < part.end for part in found)
    assert all(part.start.time() == datetime.min.time() for part in found[:-1])
    assert len(found) <= 2 * parts + 2


def test_the_parts_are_calendar_units_of_about_the_right_length() -> None:
    """Ten years in ten are years, a year in four is quarters, a quarter in three months, four weeks in four weeks."""
    decade = Window(datetime(2010, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC))
    assert [part.start.year for part in split_window(decade, 10)] == list(range(2019, 2009, -1))
    year = Window(datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC))
    assert [part.start.month for part in split_window(year, 4)] == [10, 7, 4, 1]
    quarter = Window(datetime(2024, 4, 1, tzinfo=UTC), datetime(2024, 7, 1, tzinfo=UTC))
    assert [part.start.month for part in split_window(quarter, 3)] == [6, 5, 4]
    weeks = Window(datetime(2024, 4, 1, tzinfo=UTC), datetime(2024, 4, 29, tzinfo=UTC))  # from a Monday
    assert [part.start.day for part in split_window(weeks, 4)] == [22, 15, 8, 1]
    days = Window(datetime(2024, 4, 1, 5, tzinfo=UTC), datetime(2024, 4, 3, 5, tzinfo=UTC))
    assert [part.start.hour for part in split_window(days, 2)] == [0, 0, 5]
    assert split_window(Window(days.start, days.start + timedelta(hours=3)), 8) == [
        (days.start, days.start + timedelta(hours=3))
    ]


def test_units_of_several_months_begin_at_the_same_months_whatever_is_cut() -> None:
    """Half years begin in January and July, so that windows asked for in another year meet them."""
    for start, end in ((2011, 2016), (2012, 2017)):
        window = Window(datetime(start, 2, 3, tzinfo=UTC), datetime(end, 11, 5, tzinfo=UTC))
        assert {part.start.month for part in split_window(window, 11)[:-1]} == {1, 7}


@given(windows, st.lists(windows, max_size=8))
def test_known_windows_and_the_rest_cover_the_whole(whole: Window, known: list[Window]) -> None:
    """Newest first, joined, only known ones reach out of it, and what is said to be known is."""
    plan = cover_window(whole, known)
    found = [window for window, _ in plan]
    assert all(newer.start == older.end for newer, older in pairwise(found))
    assert found[0].end >= whole.end
    assert found[-1].start <= whole.start
    assert all(window in known for window, is_known in plan if is_known)
    assert all(whole.start <= window.start and window.end <= whole.end for window, is_known in plan if not is_known)


def test_of_windows_that_do_not_overlap_all_are_used() -> None:
    """The rest is only what lies between, before and after them."""
    day = [EPOCH + timedelta(days=number) for number in range(8)]
    plan = cover_window(Window(day[0], day[7]), [Window(day[1], day[2]), Window(day[4], day[6])])
    assert plan == [
        ((day[6], day[7]), False), ((day[4], day[6]), True), ((day[2], day[4]), False),
        ((day[1], day[2]), True), ((day[0], day[1]), False),
    ]  # fmt: skip


@given(moments, st.integers(0, 3000))
def test_the_open_window_holds_what_is_not_settled(newest: datetime, days: int) -> None:
    """It begins at a day's first moment, an hour or more before the newest payment, and where it can on the page."""
    oldest = newest - timedelta(days=days)
    start = find_open_window_start(newest, oldest, NOW)
    assert start <= newest - GRACE
    assert start.time() == datetime.min.time()
    assert start > oldest or start == (newest - GRACE).replace(hour=0, minute=0, second=0, microsecond=0)


def test_the_open_window_begins_at_the_coarsest_calendar_start_on_the_page() -> None:
    """A year's for who pays once a month, a day's for who pays all the time."""
    newest = datetime(2025, 6, 20, 12, tzinfo=UTC)  # a Friday
    starts = {
        days: find_open_window_start(newest, newest - timedelta(days=days), NOW) for days in (400, 150, 30, 10, 3, 0)
    }
    assert [(start.month, start.day) for start in starts.values()] == [
        (1, 1),
        (4, 1),
        (6, 1),
        (6, 16),
        (6, 20),
        (6, 20),
    ]


def test_a_payment_dated_in_the_future_does_not_close_the_present() -> None:
    """The machine's own clock bounds what is taken for settled."""
    far = datetime(2090, 1, 1, tzinfo=UTC)
    assert find_open_window_start(far, far, NOW) == datetime(2029, 12, 31, tzinfo=UTC)
    assert find_open_window_start(BEGINNING, BEGINNING, NOW) == BEGINNING
    assert floor_to_unit(far) == far
