"""Parsing and formatting of datetimes as aware UTC instants."""

from __future__ import annotations

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
    parse_instant,
    to_microseconds,
)

MAY = datetime(2024, 5, 31, 18, 30, tzinfo=UTC)
INSTANTS = st.datetimes(timezones=st.just(UTC))


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-05-31T18:30:00Z", MAY),  # as stated
        ("2024-05-31T18:30:00", MAY),  # as the samples show
        ("2024-05-31T18:30:00.123456", MAY.replace(microsecond=123456)),  # as after a create
        ("2024-05-31T18:30:00.5Z", MAY.replace(microsecond=500000)),
        ("2024-05-31T18:30:00.000001499Z", MAY.replace(microsecond=1)),  # the nearest microsecond
        ("2024-05-31T18:29:59.9999999Z", MAY),
        ("2024-05-31t18:30:00z", MAY),  # RFC 3339 takes small letters too
        ("2024-05-31 18:30:00", MAY),
        ("2024-05-31T20:30:00+02:00", MAY),
        ("2024-05-31T13:00:00-0530", MAY),
        ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
    ],
)
def test_spellings(text: str, instant: datetime) -> None:
    """Datetimes with and without Z, fraction and offset are parsed, and all are UTC."""
    parsed = parse_instant(text)
    assert parsed == instant
    assert parsed.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        "", "now", "2024-05-31", "2024-05-31T18:30", "2024-05-31T18:30:00ZZ", "2024-05-31T18:30:00.Z",
        "20240531T183000Z", "2024-02-30T00:00:00Z", "2024-05-31T24:00:01Z", "2024-05-31T18:30:60Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-01:00", "2024-05-31T18:30:00+99:00",
        "\uff12024-05-31T18:30:00Z", "2024-05-31T18:30:00Z\n", " 2024-05-31T18:30:00Z", "1717180200",
        "20240531T183000.123Z", "2024-W18-4T12:00:00Z", "2024-05-31T18:30:0\uff10", "\ud83c",
    ],
)  # fmt: skip
def test_invalid_instants_are_refused(text: str) -> None:
    """Other forms, invalid days and instants outside the calendar are refused, and the message quotes the text."""
    with pytest.raises(ValueError, match=r"\."):
        parse_instant(text)


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        (MAY, MAY),
        (datetime(2024, 5, 31, 20, 30, tzinfo=timezone(timedelta(hours=2))), MAY),
        (datetime(2024, 5, 31, 18, 30), MAY),  # noqa: DTZ001 - a user's value without a zone
        (date(2024, 5, 31), datetime(2024, 5, 31, tzinfo=UTC)),
        ("2024-05-31", datetime(2024, 5, 31, tzinfo=UTC)),
        ("2024-05-31T18:30:00", MAY),
        ("2024-05-31 18:30", MAY),
        ("2024-05-31T18:30", MAY),
        ("2024-05-31T20:30+02:00", MAY),
        ("2024-05-31 13:00:00-05:30", MAY),
        ("20240531T183000Z", MAY),
        ("2024-05-31T18:30:00,000000Z", MAY),
        ("2024-05-31T18", MAY.replace(minute=0)),
        ("2024-W22-5", datetime(2024, 5, 31, tzinfo=UTC)),
        ("2024W225T1830", MAY),
        ("2024-W22", datetime(2024, 5, 27, tzinfo=UTC)),
        ("20240531", datetime(2024, 5, 31, tzinfo=UTC)),
        (pd.Timestamp("2024-05-31 18:30"), MAY),
        (pd.Timestamp("2024-05-31 14:30", tz="America/New_York"), MAY),
        (np.datetime64("2024-05-31T18:30"), MAY),
        (np.datetime64("2024-05-31T18:30:00.000000001"), MAY),
        (np.datetime64("2024-05"), datetime(2024, 5, 1, tzinfo=UTC)),
    ],
)
def test_accepted_arguments(value: datetime | date | str, instant: datetime) -> None:
    """Datetimes, dates and text are accepted; without a zone they are UTC, and a date is its first instant."""
    assert as_instant(value) == instant
    assert as_instant(value).utcoffset() == timedelta(0)


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


@pytest.mark.parametrize(
    "value",
    [
        20240531,
        np.int64(20240531),
        pd.Series([0]),
        1.5,
        None,
        np.datetime64("NaT"),
        np.datetime64(10**17, "s"),
        time(18),
    ],
)
def test_refused_types(value: object) -> None:
    """Numbers, null values and instants that Python has not are refused."""
    with pytest.raises((TypeError, ValueError)):
        as_instant(value)


def test_a_zone_by_name_or_itself() -> None:
    """A zone is found by its name; a ZoneInfo is returned; nothing else is a zone."""
    assert find_zone("Asia/Kolkata") is ZoneInfo("Asia/Kolkata")
    odd = ZoneInfo.no_cache("Asia/Kolkata")
    assert find_zone(odd) is odd
    for other in ("Mars", "asia/kolkata/", None, 5, UTC, timezone(timedelta(hours=2))):
        with pytest.raises(ConfigurationError, match=r"^tz must be a zone name like 'America/New_York' or 'UTC', "):
            find_zone(other)


@pytest.mark.parametrize(
    ("instant", "text"),
    [
        (MAY, "2024-05-31T18:30:00Z"),
        (MAY.replace(microsecond=50), "2024-05-31T18:30:00.000050Z"),
        (datetime(2024, 5, 31, 20, 30, tzinfo=timezone(timedelta(hours=2))), "2024-05-31T18:30:00Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
    ],
)
def test_the_documents_form(instant: datetime, text: str) -> None:
    """Instants are formatted in UTC with a Z, with microseconds only if they are not zero."""
    assert format_instant(instant) == text


@given(INSTANTS)
def test_text_round_trip(instant: datetime) -> None:
    """Any instant survives the round trip through text, to the microsecond."""
    assert parse_instant(format_instant(instant)) == instant


@given(INSTANTS)
def test_microseconds_round_trip(instant: datetime) -> None:
    """Any instant survives the round trip through microseconds."""
    assert from_microseconds(to_microseconds(instant)) == instant


@pytest.mark.parametrize(
    ("instant", "microseconds"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), -1),
        (datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC), 1_000_000_000_000_000),
    ],
)
def test_microseconds_since_1970(instant: datetime, microseconds: int) -> None:
    """The epoch is 1970-01-01 UTC, and instants before it are negative."""
    assert to_microseconds(instant) == microseconds
