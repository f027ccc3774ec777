"""Tests of exposure and sensitive_notes against hand calculation, on every kind of frame."""

from datetime import UTC, datetime

import pytest
from analyses.conftest import read_values

from p2p_analytics import exposure, sensitive_notes

ALCOHOL = "drugs and alcohol and gambling"


def note(text, audience="public", at="05-10T12:00:00", **more):
    """Return a payment with a note, from Ann in 2024."""
    created = None if at is None else f"2024-{at}Z"
    return {"note": text, "audience": audience, "created": created, "counterparty_name": "Ann"} | more


MIXED = [
    note("beer"),
    note(" BEER ", at="05-31T23:59:59.999999"),
    note("beer", "friends"),
    note("doctor", "private"),
    note("doctor", None),
    note("doctor", "Public"),
    note("doctor", status="failed", direction=None, currency="EUR"),
    note("pizza", status="pending", currency="USD"),
    note(None),
    note("beer", kind="transfer"),
    note("beer", at="07-01T00:00:00"),
    note("beer", "friends", at=None),
    note("pizza", "private", created="1969-12-31T23:59:59.999999Z"),
    note("pizza", "private", created="2200-01-01T00:00:00Z"),
    note("doctor", at=None),
    note("beer", None, at="08-01T00:00:00"),
    note("beer", "Public", at="08-02T00:00:00"),
]


def test_months(payments):
    """Any status, direction and currency counts, unknown audiences in payments only.

    June has no payments, and in August nothing is known about them: they have no share.
    """
    assert read_values(exposure(payments(*MIXED))) == [
        ("2024-05", 9, 5, 1, 1, 5 / 9, 3),
        ("2024-06", 0, 0, 0, 0, None, 0),
        ("2024-07", 1, 1, 0, 0, 1.0, 1),
        ("2024-08", 2, 0, 0, 0, None, 0),
        (None, 4, 1, 1, 2, 0.25, 1),
    ]


@pytest.mark.parametrize(("tz", "may", "june"), [("Asia/Tokyo", 8, 1), ("America/New_York", 9, 1)])
def test_months_of_a_zone(payments, tz, may, june):
    """A payment in the last microsecond of May in UTC is in June in Tokyo, and one at its end in June in New York."""
    rows = dict(read_values(exposure(payments(*MIXED), tz=tz), "month", "payments"))
    july, august = (1, 2) if tz == "Asia/Tokyo" else (1, 1)
    assert rows == {"2024-05": may, "2024-06": june, "2024-07": july, "2024-08": august, None: 4}


def test_rows_of_notes(payments):
    """The public payments alone, newest first, then by id, with the note as it was written."""
    may, july = datetime(2024, 5, 10, 12, tzinfo=UTC), datetime(2024, 7, 1, tzinfo=UTC)
    assert read_values(sensitive_notes(payments(*MIXED))) == [
        ("010", july, "Ann", "beer", ALCOHOL),
        ("001", datetime(2024, 5, 31, 23, 59, 59, 999999, tzinfo=UTC), "Ann", " BEER ", ALCOHOL),
        ("000", may, "Ann", "beer", ALCOHOL),
        ("006", may, "Ann", "doctor", "health"),
        ("014", None, "Ann", "doctor", "health"),
    ]


def test_several_reasons(payments):
    """Reasons are joined by a comma, in the order of the documentation, each once."""
    table = sensitive_notes(payments(note("beer, beer after the doctor, write to ann@example.org")))
    assert read_values(table, "reasons") == [(f"email,health,{ALCOHOL}",)]


def test_no_payments(payments):
    """Without payments there are no rows."""
    assert read_values(exposure(payments())) == read_values(sensitive_notes(payments())) == []
    assert read_values(sensitive_notes(payments(note("pizza")))) == []
