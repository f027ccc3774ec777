"""Calendar windows: exact cover, and starts at calendar units."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.client.paging._windows import cover_window, find_open_window_start, floor_to_unit, split_window
from p2p_analytics.times import BEGINNING, GRACE, Window

EPOCH = datetime(2010, 1, 1, tzinfo=UTC)
NOW = datetime(2030, 1, 1, tzinfo=UTC)
moments = st.integers(0, 15 * 365 * 86_400).map(lambda second: EPOCH + timedelta(seconds=second))
windows = st.tuples(moments, moments).filter(lambda pair: pair[0] != pair[1]).map(lambda pair: Window(*sorted(pair)))


@settings(max_examples=50)
@given(windows, st.integers(1, 40))
def test_the_parts_cover_the_window(window: Window, parts: int) -> None:
    """Newest first, without gap or overlap; inner edges are starts of days."""
    found = split_window(window, parts)
    assert (found[-1].start, found[0].end) == window
    assert all(newer.start == older.end for newer, older in pairwise(found))
    assert all(part.start < part.end for part in found)
    assert all(part.start.time() == datetime.min.time() for part in found[:-1])
    assert len(found) <= 2 * parts + 2


@pytest.mark.parametrize(
    ("start", "end", "parts", "starts"),
    [
        ("2017-01-01", "2020-01-01", 3, "2019-01-01 2018-01-01 2017-01-01"),
        ("2024-01-01", "2025-01-01", 4, "2024-10-01 2024-07-01 2024-04-01 2024-01-01"),
        ("2024-04-01", "2024-07-01", 3, "2024-06-01 2024-05-01 2024-04-01"),
        ("2024-04-01", "2024-04-29", 4, "2024-04-22 2024-04-15 2024-04-08 2024-04-01"),
        ("2024-04-01T05", "2024-04-03T05", 2, "2024-04-03 2024-04-02 2024-04-01T05"),
        ("2024-04-01T05", "2024-04-01T08", 8, "2024-04-01T05"),
    ],
)
def test_the_parts_are_calendar_units(start: str, end: str, parts: int, starts: str) -> None:
    """Years, quarters, months, weeks from Monday or days; less than a day is not split."""
    window = Window(*(datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (start, end)))
    found = [f"{part.start:%Y-%m-%dT%H}".removesuffix("T00") for part in split_window(window, parts)]
    assert " ".join(found) == starts


def test_multiples_of_units_start_at_fixed_months() -> None:
    """Half years begin in January and July, so that later loads get the same windows."""
    for start, end in ((2011, 2016), (2012, 2017)):
        window = Window(datetime(start, 2, 3, tzinfo=UTC), datetime(end, 11, 5, tzinfo=UTC))
        assert {part.start.month for part in split_window(window, 11)[:-1]} == {1, 7}


@settings(max_examples=50)
@given(windows, st.lists(windows, max_size=8))
def test_complete_windows_and_the_rest_cover_the_window(whole: Window, known: list[Window]) -> None:
    """Newest first and adjacent; only complete windows extend beyond the bounds."""
    plan = cover_window(whole, known)
    found = [window for window, _ in plan]
    assert all(newer.start == older.end for newer, older in pairwise(found))
    assert found[0].end >= whole.end
    assert found[-1].start <= whole.start
    assert all(window in known for window, is_known in plan if is_known)
    assert all(whole.start <= window.start and window.end <= whole.end for window, is_known in plan if not is_known)


def test_all_windows_without_overlap_are_used() -> None:
    """The other windows lie between, before and after them."""
    day = [EPOCH + timedelta(days=number) for number in range(8)]
    plan = cover_window(Window(day[0], day[7]), [Window(day[1], day[2]), Window(day[4], day[6])])
    assert plan == [
        ((day[6], day[7]), False), ((day[4], day[6]), True), ((day[2], day[4]), False),
        ((day[1], day[2]), True), ((day[0], day[1]), False),
    ]  # fmt: skip


@settings(max_examples=50)
@given(moments, st.integers(0, 3000))
def test_the_open_window_starts_before_the_newest_payment(newest: datetime, days: int) -> None:
    """It starts at the start of a day, an hour or more before the newest payment, and on the page if possible."""
    oldest = newest - timedelta(days=days)
    start = find_open_window_start(newest, oldest, NOW)
    assert start <= newest - GRACE
    assert start.time() == datetime.min.time()
    assert start > oldest or start == (newest - GRACE).replace(hour=0, minute=0, second=0, microsecond=0)


def test_the_open_window_starts_at_the_longest_unit_on_the_page() -> None:
    """A year for monthly payments, a day for frequent ones."""
    newest = datetime(2025, 6, 20, 12, tzinfo=UTC)  # a Friday
    starts = {
        days: find_open_window_start(newest, newest - timedelta(days=days), NOW) for days in (400, 150, 30, 10, 3, 0)
    }
    found = [(start.month, start.day) for start in starts.values()]
    assert found == [(1, 1), (4, 1), (6, 1), (6, 16), (6, 20), (6, 20)]


def test_a_payment_in_the_future_does_not_close_the_present() -> None:
    """The clock of this machine bounds the closed windows."""
    far = datetime(2090, 1, 1, tzinfo=UTC)
    assert find_open_window_start(far, far, NOW) == datetime(2029, 12, 31, tzinfo=UTC)
    assert find_open_window_start(BEGINNING, BEGINNING, NOW) == BEGINNING
    assert floor_to_unit(far) == far
