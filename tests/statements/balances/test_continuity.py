"""Files of one account in order: gaps, overlaps and the balance at each seam, worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.statements.ledger.reconcile import reconcile
from support.statements.rows import describe_files, make_file


def _day(month: int, day: int = 1) -> datetime:
    return datetime(2024, month, day, tzinfo=UTC)


def _end(month: int, day: int) -> datetime:
    return _day(month, day) + timedelta(days=1, microseconds=-1)


def _find_seams(*files: pl.DataFrame, **options: Any) -> list[tuple[Any, ...]]:
    rows = pl.concat(files)
    frame = reconcile(rows, describe_files(rows, **options)).table
    names = ["file", "follows", "gap_cents", "note"]
    return [tuple(None if pd.isna(value) else value for value in row) for row in frame[names].itertuples(index=False)]


def _find_gaps(*files: pl.DataFrame, **options: Any) -> list[tuple[Any, ...]]:
    """Return file, file before, days, months and cents of each gap."""
    rows = pl.concat(files)
    problems = reconcile(rows, describe_files(rows, **options)).problems
    gaps = [problem for problem in problems if problem.code == "gap"]
    return [(gap.file, gap.other_file, *gap.details[:2], gap.cents) for gap in gaps]


def _find_doubles(*files: pl.DataFrame) -> list[tuple[Any, ...]]:
    rows = pl.concat(files)
    problems = reconcile(rows, describe_files(rows)).problems
    return [(each.file, each.other_file, each.details) for each in problems if each.code == "possible_double"]


JANUARY = make_file("january", [500, -200], opening=1000, closing=1300, start=_day(1, 30))
FEBRUARY = make_file("february", [-300], opening=1300, closing=1000, start=_day(2, 5))
MARCH = make_file("march", [40, 2], opening=1000, closing=1042, start=_day(3, 5))
DECEMBER = make_file("december", [40, 2], opening=1300, closing=1342, start=_day(12, 5))


def test_files_that_connect() -> None:
    """Closing balance = opening balance of the next file, whatever the order of the files."""
    expected = [("january", None, None, None), ("february", "january", 0, None), ("march", "february", 0, None)]
    assert _find_seams(JANUARY, FEBRUARY, MARCH) == expected
    assert _find_seams(MARCH, JANUARY, FEBRUARY) == expected


def test_a_missing_file() -> None:
    """Without February the balance falls by 3.00 between the two files, and a month has no rows."""
    assert _find_seams(JANUARY, MARCH)[1] == ("march", "january", -300, None)
    assert _find_gaps(JANUARY, MARCH) == [("march", "january", 0, 1, -300)]


def test_periods_that_the_files_name() -> None:
    """Days between two periods are counted, both ends included; a named period has quiet months without remark."""
    named = {"january": (_day(1), _end(1, 31)), "march": (_day(3), _end(3, 31))}
    assert _find_gaps(JANUARY, MARCH, periods=named) == [("march", "january", 29, 0, -300)]
    named["january"] = (_day(1), _end(2, 29))
    assert _find_gaps(JANUARY, MARCH, periods=named) == [("march", "january", 0, 0, -300)]


def _count_days(end: datetime, start: datetime) -> int:
    """Return how many days the gap between two files has that state these periods."""
    periods = {"january": (_day(1), end), "december": (start, _end(12, 31))}
    gaps = _find_gaps(JANUARY, DECEMBER, periods=periods)
    return gaps[0][2] if gaps else 0


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Tokyo", "Europe/London"])
def test_days_between_periods_in_any_zone(zone: str) -> None:
    """One day is left out: 1 February; 23 or 25 hours, or a clock that changes among more days, are days too."""

    def count(january: tuple[int, int], december: tuple[int, int]) -> int:
        last = datetime(2024, *january, 23, 59, 59, 999999, ZoneInfo(zone)).astimezone(UTC)
        return _count_days(last, datetime(2024, *december, tzinfo=ZoneInfo(zone)).astimezone(UTC))

    assert count((1, 31), (2, 1)) == 0
    assert count((1, 31), (2, 2)) == 1
    assert count((3, 9), (3, 11)) == 1
    assert count((3, 9), (3, 10)) == 0
    assert count((3, 1), (4, 20)) == 49
    assert count((10, 1), (11, 20)) == 49


@pytest.mark.parametrize(("hours", "days"), [(13, 0), (20, 0), (21, 1), (25, 1), (36, 1), (47, 2)])
def test_hours_between_periods(hours: int, days: int) -> None:
    """Part of a day is no day, except where a clock can have been changed by up to three hours."""
    end = _end(1, 31)
    assert _count_days(end, end + timedelta(microseconds=1, hours=hours)) == days


def test_an_overlap() -> None:
    """Both files have the payments b and c: the second one opens with the balance before b, 10.00 + 1.00."""
    first = [{"payment_id": name, "moved_cents": cents} for name, cents in (("a", 100), ("b", 20), ("c", -3))]
    last = [{"payment_id": name, "moved_cents": cents} for name, cents in (("b", 20), ("c", -3), ("d", 500))]
    one = make_file("one", first, opening=1000, closing=1117, start=_day(1, 1))
    other = make_file("other", last, opening=1100, closing=1617, start=_day(1, 2))
    assert _find_seams(one, other)[1] == ("other", "one", 0, "2 rows are in the file before too.")
    wrong = make_file("other", last, opening=1117, closing=1634, start=_day(1, 2))
    assert _find_seams(one, wrong)[1][2:] == (17, "2 rows are in the file before too.")


def test_a_payment_that_was_pending_in_the_file_before() -> None:
    """It settles after the overlap, so the overlap begins with the second row of both files, 10.00 + 5.00."""
    first = [{"payment_id": "late", "moved_cents": 0, "flow_cents": -40}, 500, {"payment_id": "b", "moved_cents": 20}]
    last = [{"payment_id": "b", "moved_cents": 20}, {"payment_id": "late", "moved_cents": -40}, 7]
    one = make_file("one", first, opening=1000, closing=1520, start=_day(1, 1))
    other = make_file("other", last, opening=1500, closing=1487, start=_day(1, 3))
    assert _find_seams(one, other)[1] == ("other", "one", 0, "2 rows are in the file before too.")


def test_a_file_inside_another() -> None:
    """A month inside a quarter has no row of its own, and the next month follows the quarter, which ends later."""
    ids = [{"payment_id": str(number), "moved_cents": number} for number in range(1, 5)]
    quarter = make_file("quarter", ids, opening=0, closing=10, start=_day(1, 1))
    month = make_file("month", ids[1:3], opening=1, closing=6, start=_day(1, 2))
    after = make_file("after", [7], opening=10, closing=17, start=_day(1, 9))
    assert _find_seams(after, month, quarter) == [
        ("quarter", None, None, None),
        ("month", "quarter", 0, "The file before has all of these rows."),
        ("after", "quarter", 0, None),
    ]


def test_the_same_days_without_a_common_row() -> None:
    """Files about the same days with different rows cannot follow each other; they can be doubles."""
    one = make_file("one", [1, 2, 3], opening=0, closing=6)
    other = make_file("other", [4, 5, 6], opening=0, closing=15)
    assert _find_seams(one, other)[1] == ("other", "one", None, None)
    assert _find_doubles(one, other) == _find_doubles(other, one) == [("other", "one", ("days",))]
    assert _find_doubles(one, other.with_columns(currency=pl.lit("EUR"))) == []
    assert _find_doubles(one, other.with_columns(account=pl.lit("theo"))) == []


@pytest.mark.parametrize(("hours", "is_double"), [(0, False), (24, False), (49, True), (95, True)])
def test_days_that_two_files_share(hours: int, *, is_double: bool) -> None:
    """One file has rows of 1 to 5 January, the other begins before them or at the last one, two, three or four.

    Two months may share the boundary day, and a payment that was begun in one can have the date of the next.
    """
    start = _day(1, 5) - timedelta(hours=hours)
    one, other = make_file("one", [1, 2, 3, 4, 5]), make_file("other", [6, 7, 8, 9, 10], start=start)
    assert bool(_find_doubles(one, other)) == is_double


_MOVED = [500, -200, 700, -300]


@pytest.mark.parametrize(
    ("moved", "opening", "is_double"),
    [
        (_MOVED, 1000, True),
        (_MOVED, 1001, False),
        ([*_MOVED, 5, 6, 7, 8], 1000, True),
        ([*_MOVED[:2], 5, 6], 1000, False),  # two of four
        ([500, -500, 500, -500], 1000, False),  # few different balances
    ],
)
def test_the_same_balances_with_other_ids(moved: list[int], opening: int, *, is_double: bool) -> None:
    """The dates are others, as those of days and months that were taken for each other."""
    one = make_file("one", moved if len(set(moved)) == 2 else _MOVED, opening=1000)
    other = make_file("other", moved, opening=opening, start=_day(6))
    assert _find_doubles(one, other) == ([("other", "one", ("balances",))] if is_double else [])
    ids = {f"other-{number}": f"one-{number}" for number in range(1, 5)}
    assert _find_doubles(one, other.with_columns(pl.col("payment_id").replace(ids))) == []


def test_balances_that_repeat_each_month() -> None:
    """Who pays the same persons each month, and is paid by them, has the same balances each month."""
    months = [make_file(f"{month}", _MOVED, opening=1000, start=_day(month)) for month in (1, 3, 5)]
    assert _find_doubles(*months) == []


def test_accounts_and_currencies_have_seams_of_their_own() -> None:
    """The file of another account or currency is not the one before."""
    euros = make_file("euros", [40], opening=0, closing=40, start=_day(2), currency="EUR")
    friend = make_file("friend", [{"moved_cents": 1, "account": "theo"}], opening=5, closing=6, start=_day(3))
    assert [seam[:3] for seam in _find_seams(JANUARY, euros, friend)] == [
        ("euros", None, None), ("january", None, None), ("friend", None, None),
    ]  # fmt: skip


def test_files_without_dates_come_last() -> None:
    """A file without a date has no period, so it follows nothing."""
    undated = make_file("undated", [{"moved_cents": 1, "date": None}], opening=0, closing=1)
    assert [seam[:2] for seam in _find_seams(undated, JANUARY, FEBRUARY)] == [
        ("january", None), ("february", "january"), ("undated", None),
    ]  # fmt: skip


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.data())
def test_any_split_connects(data: st.DataObject) -> None:
    """One history, cut into files at any rows and in any order, with or without overlaps, connects without a gap."""
    moved = data.draw(st.lists(st.integers(-5000, 5000), min_size=2, max_size=20))
    rows = [
        {"payment_id": str(number), "moved_cents": cents, "date": _day(1, number + 1)}
        for number, cents in enumerate(moved)
    ]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(rows) - 1), min_size=1)))
    files = []
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
        first = data.draw(st.integers(0, start))
        opening = sum(moved[:first])
        files.append(make_file(f"{number}", rows[first:end], opening=opening, closing=opening + sum(moved[first:end])))
    rows = pl.concat(data.draw(st.permutations(files)))
    frame = reconcile(rows, describe_files(rows)).table
    assert frame["reconciled"].all()
    assert frame["gap_cents"].dropna().eq(0).all()
    assert frame["gap_cents"].notna().sum() == len(files) - 1
    assert frame["suggestion"].isna().all()
