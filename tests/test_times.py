"""Parsing and formatting of datetimes as aware UTC instants."""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2p_analytics.errors import ConfigurationError
from p2p_analytics.times import (
    as_instant,
    find_zone,
    format_instant,
    from_microseconds,
    parse_as_of,
    parse_instant,
    to_microseconds,
)

MAY = datetime(2024, 5, 31, 18, 30, tzinfo=UTC)
DAY = datetime(2024, 5, 31, tzinfo=UTC)
EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-05-31T18:30:00Z", MAY),  # as stated
        ("2024-05-31T18:30:00", MAY),  # as the samples show
        ("2024-05-31T18:30:00.123456", MAY.replace(microsecond=123456)),  # as after a create
        ("2024-05-31T18:30:00.000001499Z", MAY.replace(microsecond=1)),  # the nearest microsecond
        ("2024-05-31T18:29:59.9999999Z", MAY),
        ("2024-05-31t18:30:00z", MAY),  # RFC 3339 takes small letters too
        ("2024-05-31 18:30:00", MAY),
        ("2024-05-31T13:00:00-0530", MAY),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
    ],
)
def test_spellings(text: str, instant: datetime) -> None:
    """Datetimes with and without Z, fraction and offset are parsed, and all are UTC."""
    parsed = parse_instant(text)
    assert (parsed, parsed.utcoffset()) == (instant, timedelta(0))


@pytest.mark.parametrize(
    "text",
    [
        "", "now", "2024-05-31", "2024-05-31T18:30", "2024-05-31T18:30:00ZZ", "2024-05-31T18:30:00.Z",
        "20240531T183000Z", "2024-02-30T00:00:00Z", "2024-05-31T24:00:01Z", "2024-05-31T18:30:60Z",
        "10000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-01:00", "2024-05-31T18:30:00+99:00",
        "\uff12024-05-31T18:30:00Z", "2024-05-31T18:30:00Z\n", "1717180200", "2024-W18-4T12:00:00Z", "\ud83c",
    ],
)  # fmt: skip
def test_invalid_instants_are_refused(text: str) -> None:
    """Other forms, invalid days and instants outside the calendar."""
    with pytest.raises(ValueError, match=r"\."):
        parse_instant(text)


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        (MAY.astimezone(EAST), MAY), (datetime(2024, 5, 31, 18, 30), MAY), (date(2024, 5, 31), DAY),  # noqa: DTZ001 - a user's value
        ("2024-05-31", DAY), ("20240531", DAY), ("2024-W22-5", DAY), ("2024-05-31 18:30", MAY),
        ("2024-05-31T20:30+02:00", MAY), ("20240531T183000Z", MAY), ("2024-05-31T18:30:00,000000Z", MAY),
        ("2024-05-31T18", MAY.replace(minute=0)), ("2024W225T1830", MAY), ("2024-W22", DAY - timedelta(4)),
        (pd.Timestamp("2024-05-31 18:30"), MAY), (pd.Timestamp("2024-05-31 14:30", tz="America/New_York"), MAY),
        (np.datetime64("2024-05-31T18:30:00.000000001"), MAY), (np.datetime64("2024-05"), DAY.replace(day=1)),
    ],
)  # fmt: skip
def test_accepted_arguments(value: datetime | date | str, instant: datetime) -> None:
    """Datetimes, dates and text are accepted; without a zone they are UTC, and a date is its first instant."""
    assert (as_instant(value), as_instant(value).utcoffset()) == (instant, timedelta(0))
    assert parse_as_of(value) == instant


@pytest.mark.parametrize(
    "value",
    [
        "yesterday", "2024-13-01", "31.05.2024", "2024-05", "2024", "20240531118", "202405311830", "2024-05-31x18:30",
        "2024-05-31T", "2024-W54", "2024-152", "\uff12024-05-31", "2024-05-31T25:00", "0001-01-01T00:00+23:00",
        "2024-05-31 18:30 UTC", " 2024-05-31",
    ],
)  # fmt: skip
def test_refused_arguments(value: str) -> None:
    """Text that is not a date is refused, and quoted."""
    with pytest.raises(ValueError, match=re.escape(value)):
        as_instant(value)
    with pytest.raises(ConfigurationError, match=re.escape(f"until={value!r} is not an instant: give a datetime, ")):
        parse_as_of(value, name="until")


@pytest.mark.parametrize(
    "value", [20240531, np.int64(20240531), 1.5, None, np.datetime64("NaT"), np.datetime64(10**17, "s"), time(18)]
)
def test_refused_types(value: object) -> None:
    """Numbers, null values and instants that Python has not; a frame, which has names and amounts, is not quoted."""
    with pytest.raises((TypeError, ValueError)):
        as_instant(value)
    with pytest.raises(ConfigurationError, match=r"^as_of=DataFrame\(\.\.\.\) is not an instant"):
        parse_as_of(pd.DataFrame({"note": [value, "x" * 60]}))


def test_a_zone_by_name_or_itself() -> None:
    """A zone is found by its name; a ZoneInfo is returned; nothing else is a zone."""
    assert find_zone("Asia/Kolkata") is ZoneInfo("Asia/Kolkata")
    odd = ZoneInfo.no_cache("Asia/Kolkata")
    assert find_zone(odd) is odd
    for other in ("Mars", "asia/kolkata/", None, 5, UTC, EAST):
        with pytest.raises(ConfigurationError, match=r"^tz must be a zone name like 'America/New_York' or 'UTC', "):
            find_zone(other)


@pytest.mark.parametrize(
    ("instant", "text", "microseconds"),
    [
        (MAY.astimezone(EAST), "2024-05-31T18:30:00Z", 1_717_180_200_000_000),
        (datetime(1970, 1, 1, microsecond=50, tzinfo=UTC), "1970-01-01T00:00:00.000050Z", 50),
        (datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), "1969-12-31T23:59:59.999999Z", -1),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z", -62_135_596_800_000_000),
    ],
)
def test_the_documents_form(instant: datetime, text: str, microseconds: int) -> None:
    """Text is in UTC with a Z, with microseconds only if they are not zero; numbers count from 1970-01-01 UTC."""
    assert (format_instant(instant), to_microseconds(instant)) == (text, microseconds)


@given(st.datetimes(timezones=st.just(UTC)))
def test_round_trips(instant: datetime) -> None:
    """Any instant survives the round trip through text and microseconds."""
    assert parse_instant(format_instant(instant)) == from_microseconds(to_microseconds(instant)) == instant
