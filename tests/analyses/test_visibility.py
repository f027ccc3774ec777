"""Tests of exposure and sensitive_notes against hand calculation, on every kind of frame."""

import pytest
from analyses.conftest import read_rows

from p2p_analytics import exposure, sensitive_notes
from p2p_analytics.errors import ConfigurationError

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
    note("doctor", at=None),
    note("beer", None, at="08-01T00:00:00"),
    note("beer", "Public", at="08-02T00:00:00"),
]


def test_months(payments):
    """Any status, direction and currency counts, unknown audiences in payments only.

    June has no payments, and in August nothing is known about them: they have no share.
    """
    names = ("month", "payments", "public", "friends", "private", "share_public", "sensitive_public")
    assert [tuple(row.items()) for row in read_rows(exposure(payments(*MIXED)))] == [
        tuple(zip(names, row, strict=True))
        for row in (
            ("2024-05", 9, 5, 1, 1, 5 / 9, 3),
            ("2024-06", 0, 0, 0, 0, None, 0),
            ("2024-07", 1, 1, 0, 0, 1.0, 1),
            ("2024-08", 2, 0, 0, 0, None, 0),
            (None, 2, 1, 1, 0, 0.5, 1),
        )
    ]


@pytest.mark.parametrize(("tz", "may", "june"), [("Asia/Tokyo", 8, 1), ("America/New_York", 9, 1)])
def test_months_of_a_zone(payments, tz, may, june):
    """A payment in the last microsecond of May in UTC is in June in Tokyo, and one at its end in June in New York."""
    rows = {row["month"]: row["payments"] for row in read_rows(exposure(payments(*MIXED), tz=tz))}
    july, august = (1, 2) if tz == "Asia/Tokyo" else (1, 1)
    assert rows == {"2024-05": may, "2024-06": june, "2024-07": july, "2024-08": august, None: 2}


def test_rows_of_notes(payments):
    """The public payments alone, newest first, then by id, with the note as it was written."""
    rows = read_rows(sensitive_notes(payments(*MIXED)))
    assert [(row["payment_id"], row["note"], row["reasons"]) for row in rows] == [
        ("010", "beer", ALCOHOL),
        ("001", " BEER ", ALCOHOL),
        ("000", "beer", ALCOHOL),
        ("006", "doctor", "health"),
        ("012", "doctor", "health"),
    ]
    assert [*rows[0]] == ["payment_id", "date_created", "counterparty_name", "note", "reasons"]
    assert rows[0]["counterparty_name"] == "Ann"
    assert rows[0]["date_created"].isoformat() == "2024-07-01T00:00:00+00:00"
    assert rows[-1]["date_created"] is None


def test_both_count_alike(payments):
    """sensitive_public is the number of rows of sensitive_notes in each month."""
    frame = payments(*MIXED)
    listed = [row["date_created"] and f"{row['date_created']:%Y-%m}" for row in read_rows(sensitive_notes(frame))]
    counted = {row["month"]: row["sensitive_public"] for row in read_rows(exposure(frame))}
    assert {month: listed.count(month) for month in counted} == counted
    assert sum(counted.values()) == len(listed)


def test_several_reasons(payments):
    """Reasons are joined by a comma, in the order of the documentation, each once."""
    (row,) = read_rows(sensitive_notes(payments(note("beer, beer after the doctor, write to ann@example.org"))))
    assert row["reasons"] == f"email,health,{ALCOHOL}"


def test_no_payments(payments):
    """Without payments there are no rows."""
    assert read_rows(exposure(payments())) == read_rows(sensitive_notes(payments())) == []
    assert read_rows(sensitive_notes(payments(note("pizza")))) == []


def test_a_wrong_zone(payments):
    """An unknown zone is refused."""
    with pytest.raises(ConfigurationError, match="Mars"):
        exposure(payments(*MIXED), tz="Mars/Base")
