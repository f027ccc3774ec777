"""Instants in pandas: parts, zones, resampling, rolling windows, selection by date."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, timedelta
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


def test_merge_asof_with_prices(payments, rows) -> None:
    """Each payment finds the last row before it in a table by date, such as balances."""
    starts = pd.to_datetime(["2020-01-01", "2024-01-01"], utc=True).as_unit("us")
    eras = pd.DataFrame({"date_created": starts, "era": ["before", "since"]})
    found = pd.merge_asof(payments.sort_values("date_created"), eras, on="date_created")
    assert (found["era"] == "since").sum() == sum(row["date_created"].year >= 2024 for row in rows)
