"""Instants in pandas: parts, zones, resampling, rolling windows, selection by date."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from support.frames import list_values

NEW_YORK = ZoneInfo("America/New_York")


def flows_by_month(rows, zone=UTC) -> Counter[tuple[int, int]]:
    """Return the flow of plain rows by year and month of a zone."""
    flows: Counter[tuple[int, int]] = Counter()
    for row in rows:
        local = row["date_created"].astimezone(zone)
        flows[local.year, local.month] += row["flow_cents"]
    return flows


def nonzero(sums: pd.Series) -> dict[tuple[int, int], int]:
    """Return the sums of a monthly index by year and month, without empty months."""
    return {(month.year, month.month): int(value) for month, value in sums.items() if value}


def test_parts_of_a_date(payments, rows) -> None:
    """`dt` gives year, month, hour, weekday and day as the datetime itself does."""
    dates = [row["date_created"] for row in rows]
    parts = payments["date_created"].dt
    assert parts.year.tolist() == [date.year for date in dates]
    assert parts.month.tolist() == [date.month for date in dates]
    assert parts.hour.tolist() == [date.hour for date in dates]
    assert parts.day_name().tolist() == [date.strftime("%A") for date in dates]
    assert parts.date.tolist() == [date.date() for date in dates]
    assert parts.isocalendar().week.tolist() == [date.isocalendar().week for date in dates]
    assert parts.strftime("%Y-%m").tolist() == [date.strftime("%Y-%m") for date in dates]
    assert parts.isocalendar()["day"].tolist() == [date.isoweekday() for date in dates]


def test_dates_keep_their_microseconds(payments, rows) -> None:
    """A null is NaT, and no instant is rounded."""
    assert payments["date_created"].tolist() == [row["date_created"] for row in rows]
    assert list_values(payments["date_completed"]) == [row["date_completed"] for row in rows]
    assert payments["date_completed"].max() == max(row["date_completed"] for row in rows if row["date_completed"])


def test_dates_in_another_zone(payments, rows) -> None:
    """`tz_convert` shows local time; `tz_localize(None)` drops the zone; `tz_localize` again is refused by pandas."""
    local = payments["date_created"].dt.tz_convert("America/New_York")
    expected = [row["date_created"].astimezone(NEW_YORK) for row in rows]
    assert local.dt.hour.tolist() == [date.hour for date in expected]
    assert local.dt.tz_localize(None).tolist() == [date.replace(tzinfo=None) for date in expected]
    with pytest.raises(TypeError, match="Already tz-aware, use tz_convert to convert"):
        payments["date_created"].dt.tz_localize("UTC")


def test_dates_are_compared(payments, rows) -> None:
    """With a text, an aware Timestamp and `between`; pandas refuses a naive datetime."""
    new_year = datetime(2024, 1, 1, tzinfo=UTC)
    expected = sum(row["date_created"] >= new_year for row in rows)
    assert 0 < expected < len(rows)
    assert (payments["date_created"] >= "2024-01-01").sum() == expected
    assert (payments["date_created"] >= pd.Timestamp(new_year)).sum() == expected
    assert payments["date_created"].between("2024-01-01", "2024-12-31").sum() == sum(
        new_year <= row["date_created"] <= datetime(2024, 12, 31, tzinfo=UTC) for row in rows
    )
    with pytest.raises(TypeError, match="Invalid comparison between dtype=datetime64\\[us, UTC\\] and datetime"):
        _ = payments["date_created"] >= datetime(2024, 1, 1)  # noqa: DTZ001 - naive on purpose


def test_time_to_settle(payments, rows) -> None:
    """The difference of two dates is a timedelta; without a completion it is NaT."""
    took = payments["date_completed"] - payments["date_created"]
    expected = [row["date_completed"] and row["date_completed"] - row["date_created"] for row in rows]
    assert list_values(took) == expected
    assert (took > "1 day").sum() == sum(each is not None and each > timedelta(days=1) for each in expected)
    seconds = sorted(each.total_seconds() for each in expected if each is not None)
    assert took.dt.total_seconds().median() == np.median(seconds)


def test_resample_on_a_date_column(payments, settled_rows) -> None:
    """Sums by calendar month, in UTC, with empty months as zero."""
    moved = payments[payments["status"] == "settled"]
    sums = moved.resample("MS", on="date_created")["flow_cents"].sum()
    assert nonzero(sums) == {month: flow for month, flow in flows_by_month(settled_rows).items() if flow}
    assert sums.index.freqstr == "MS"


def test_resample_in_another_zone(payments, settled_rows) -> None:
    """A payment late on the last of a month belongs to the next month in one zone, and not in another."""
    local = payments[payments["status"] == "settled"].set_index("date_created").tz_convert("America/New_York")
    sums = local.sort_index()["flow_cents"].resample("MS").sum()
    assert nonzero(sums) == {month: flow for month, flow in flows_by_month(settled_rows, NEW_YORK).items() if flow}


def test_grouper_by_month_and_word(payments, rows) -> None:
    """`Grouper` together with a text column."""
    found = payments.groupby([pd.Grouper(key="date_created", freq="YS"), "direction"])["amount_cents"].count()
    counts = Counter((row["date_created"].year, row["direction"]) for row in rows)
    assert {(year.year, word): count for (year, word), count in found.items() if count} == counts


def test_periods_of_naive_dates(payments, rows) -> None:
    """Periods have no zone: pandas warns of it for aware dates, and groups naive ones."""
    with pytest.warns(UserWarning, match="will drop timezone information"):
        payments["date_created"].dt.to_period("M")
    months = payments["date_created"].dt.tz_localize(None).dt.to_period("M")
    counts = Counter(row["date_created"].strftime("%Y-%m") for row in rows)
    assert {str(month): count for month, count in payments.groupby(months).size().items()} == counts


def test_group_by_weekday_and_hour(payments, rows) -> None:
    """A part of the date is a key of its own."""
    found = payments.groupby([payments["date_created"].dt.day_of_week, payments["date_created"].dt.hour]).size()
    assert found.to_dict() == Counter((row["date_created"].weekday(), row["date_created"].hour) for row in rows)


def test_rolling_window_of_days(payments, rows) -> None:
    """The amount of the last 30 days at each payment, oldest first."""
    oldest_first = payments.sort_values("date_created", kind="stable")
    found = oldest_first.rolling("30D", on="date_created")["flow_cents"].sum()
    ordered = sorted(rows, key=lambda row: row["date_created"])
    for place in (0, 40, len(rows) - 1):
        end = ordered[place]["date_created"]
        window = [row for row in ordered[: place + 1] if end - timedelta(days=30) < row["date_created"]]
        assert found.iloc[place] == sum(row["flow_cents"] for row in window)


def test_running_balance_by_date(payments, rows) -> None:
    """The cumulative flow, oldest first, ends at the total."""
    running = payments.sort_values(["date_created", "payment_id"]).set_index("date_created")["flow_cents"].cumsum()
    assert running.iloc[-1] == sum(row["flow_cents"] for row in rows)
    year = [row["flow_cents"] for row in rows if row["date_created"].year == 2023]
    assert running.loc["2023"].iloc[-1] == sum(year)


def test_select_by_partial_date(payments, rows) -> None:
    """A date index selects a month by its text, and a slice of months."""
    indexed = payments.set_index("date_created").sort_index()
    counts = Counter((row["date_created"].year, row["date_created"].month) for row in rows)
    assert len(indexed.loc["2024-05"]) == counts[2024, 5] > 0
    assert len(indexed.loc["2024-05":"2024-07"]) == sum(counts[2024, month] for month in (5, 6, 7))


def test_floor_and_bins_of_dates(payments, rows) -> None:
    """`floor` cuts the time off; `cut` sorts dates into years."""
    days = Counter(row["date_created"].date() for row in rows)
    busiest = payments["date_created"].dt.floor("D").value_counts()
    assert {day.date(): count for day, count in busiest.items()} == days
    edges = pd.to_datetime([f"{year}-01-01" for year in (2023, 2024, 2025, 2026)], utc=True)
    years = pd.cut(payments["date_created"], edges, right=False, labels=["2023", "2024", "2025"])
    assert years.value_counts().to_dict() == {str(y): n for y, n in Counter(d.year for d in days.elements()).items()}


def test_time_between_payments(payments, rows) -> None:
    """`diff` of the dates of one person, by `groupby`."""
    oldest_first = payments.sort_values("date_created", kind="stable")
    gaps = oldest_first.groupby("counterparty_id")["date_created"].diff()
    person = rows[0]["counterparty_id"]
    dates = sorted(row["date_created"] for row in rows if row["counterparty_id"] == person)
    found = gaps[oldest_first["counterparty_id"] == person]
    assert list_values(found) == [None, *(later - earlier for earlier, later in pairwise(dates))]


def test_an_edited_date_counts(payments) -> None:
    """Dates can be assigned and shifted; the analyses use them."""
    payments.loc[0, "date_created"] = pd.Timestamp("2030-02-03T04:05:06.000007Z")
    payments["date_created"] = payments["date_created"] + pd.DateOffset(years=1)
    assert payments["date_created"].iloc[0] == pd.Timestamp("2031-02-03T04:05:06.000007Z")
    assert payments["date_created"].dtype == "datetime64[us, UTC]"


def test_days_without_payments(payments, rows) -> None:
    """`reindex` over a range of days fills the gaps."""
    daily = payments.groupby(payments["date_created"].dt.date).size()
    days = pd.date_range("2024-03-01", "2024-03-31").date
    counts = Counter(row["date_created"].date() for row in rows)
    assert daily.reindex(days, fill_value=0).tolist() == [counts[date(2024, 3, day)] for day in range(1, 32)]


def test_merge_asof_with_prices(payments, rows) -> None:
    """Each payment finds the last row before it in a table by date, such as balances."""
    starts = pd.to_datetime(["2020-01-01", "2024-01-01"], utc=True).as_unit("us")
    eras = pd.DataFrame({"date_created": starts, "era": ["before", "since"]})
    found = pd.merge_asof(payments.sort_values("date_created"), eras, on="date_created")
    assert (found["era"] == "since").sum() == sum(row["date_created"].year >= 2024 for row in rows)
