"""Tests of split_bills and unusual against hand calculation, on every kind of frame."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from analyses.conftest import read_rows, read_values

from p2p_analytics.analyses.bills import split_bills
from p2p_analytics.analyses.outliers import unusual

AS_OF = "2024-05-11T00:00:00Z"


def make_request(person, cents, at, **more):
    """Return a request of the viewer in May 2024 with the note Pizza."""
    row = {"action": "charge", "direction": "in", "status": "pending", "note": "Pizza", "created": f"2024-05-{at}Z"}
    return row | {"counterparty_id": person, "counterparty_name": "Ann", "amount_cents": cents} | more


def read_bills(frame, *names, within="6h"):
    """Return some columns of each bill."""
    return read_values(split_bills(frame, as_of=AS_OF, within=within), *names)


def read_unusual(frame, *names, within="10min"):
    """Return some columns of each unusual payment."""
    return read_values(unusual(frame, within=within), *names)


def test_a_bill(payments):
    """Seven requests to four people, one under two names; the first names the bill."""
    frame = payments(
        make_request("1", -100, "01T06:00:00", note=" pizza\u00a0\t "),
        make_request("2", -200, "01T12:00:00", status="settled"),
        make_request("3", -400, "01T17:59:59", status="cancelled"),
        make_request(None, -800, "01T18:00:00", status="failed"),
        make_request("1", None, "01T18:00:00", note="PIZZA", counterparty_name="Anne"),
        make_request("3", -1600, "01T18:00:00", status="expired"),
        make_request("3", -3200, "01T18:00:00", status="on_hold"),
        make_request("5", -9, "01T18:00:00", note="Pizza Hut"),
        make_request("6", -9, "01T18:00:00", action="pay"),
        make_request("7", -9, "01T18:00:00", direction="out"),
        make_request("8", -9, "01T18:00:00", kind="merchant"),
    )
    assert read_rows(split_bills(frame, as_of=AS_OF)) == [
        {
            "bill_id": "000", "date": datetime(2024, 5, 1, 6, tzinfo=UTC), "note": " pizza\u00a0\t ", "people": 4,
            "asked": 63.0, "collected": 2.0, "still_open": 1.0, "declined": 28.0, "oldest_open_days": 9.75,
        }
    ]  # fmt: skip


def test_requests_that_only_notes_put_in_order(payments):
    """Of requests of one instant without an id, the bill has the first note by code points."""
    requests = [
        make_request(person, -100, "01T06:00:00", payment_id=None, note=note)
        for person, note in (("1", "pizza "), ("2", "PIZZA"), ("3", "Pizza"))
    ]
    for rows in [*permutations(requests)][::2]:  # each request is the first once
        assert read_bills(payments(*rows), "note", "people") == [("PIZZA", 3)]
    paid = [{**row, "status": "settled", "action": "pay", "counterparty_id": "1"} for row in requests[:2]]
    for rows in (paid, paid[::-1]):
        assert read_unusual(payments(*rows), "note") == [("pizza ",)]


def test_the_gap_between_requests(payments):
    """Six hours and a microsecond begin another bill; several short gaps make one long bill."""
    times = ("01T00:00:00", "01T06:00:00", "01T12:00:00.000001", "01T18:00:00.000001", "02T00:00:00")
    frame = payments(*(make_request(f"{at}", -100, time) for at, time in enumerate(times)))
    assert read_bills(frame, "bill_id", "people", "asked") == [("002", 3, 3.0), ("000", 2, 2.0)]
    assert read_bills(frame, "people", within=timedelta(hours=7)) == [(5,)]
    assert read_bills(frame, "people", within="10min") == []
    # Without ids, requests of one instant are one bill, whichever is the first.
    frame = payments(
        *(make_request(str(person), -100, "01T00:00:00", payment_id=None) for person in range(20)),
        *(make_request(str(person), -100, "01T06:00:00.000001", payment_id=None) for person in range(30)),
    )
    assert read_bills(frame, "bill_id", "people") == [(None, 30), (None, 20)]


def test_what_makes_a_bill(payments):
    """One person asked twice, no note, and no date make no bill; two names without an id are two people.

    Nothing open has no age, the future has age 0, and bills of one instant are in the order of their ids.
    """
    frame = payments(
        make_request("1", -100, "01T00:00:00", note="rent"),
        make_request("1", -100, "01T00:00:00", note="rent", counterparty_name="Anne"),
        make_request(None, -100, "01T00:00:00", note="gas"),
        make_request(None, -100, "01T00:00:00", note="gas"),
        make_request("1", -100, "01T00:00:00", note="  "),
        make_request("2", -100, "01T00:00:00", note=None),
        make_request("3", -100, "01T00:00:00", note="bus"),
        make_request("4", -100, "01T00:00:00", note="bus", created=None),
        make_request("5", -100, "02T00:00:00", note="tea", status="settled"),
        make_request(None, -100, "02T00:00:00", note="zoo", counterparty_name="Bo"),
        make_request(None, -100, "02T00:00:00", note="zoo"),
        make_request("6", -100, "02T00:00:00", note="tea", status="settled"),
        make_request("5", -100, "20T00:00:00"),
        make_request("6", -100, "20T00:00:00"),
    )
    assert read_bills(frame, "bill_id", "note", "people", "oldest_open_days") == [
        ("012", "Pizza", 2, 0.0),
        ("008", "tea", 2, None),
        ("009", "zoo", 2, 9.0),
    ]
    assert read_bills(payments(), "note") == read_unusual(payments(), "note") == []


def make_payment(cents, minute, **more):
    """Return a settled payment to Ann for lunch, some minutes after noon."""
    row = {"direction": "out", "amount_cents": cents, "note": "lunch", "created": f"2024-05-01T12:{minute:02}:00Z"}
    return row | {"counterparty_id": "1", "counterparty_name": "Ann"} | more


def test_duplicates(payments):
    """The later of two alike payments, each with the nearest earlier one; one that differs is not a duplicate."""
    frame = payments(
        make_payment(100, 0),
        make_payment(-100, 10, note=" LUNCH "),
        make_payment(100, 10),
        make_payment(100, 21),
        make_payment(101, 22),
        make_payment(100, 22, direction="in"),
        make_payment(100, 22, counterparty_id="2"),
        make_payment(100, 22, note="lunch!"),
        make_payment(100, 22, status="pending"),
        make_payment(100, 22, direction="IN"),
        make_payment(100, 22, kind="card"),
        make_payment(None, 22),
        make_payment(None, 22),
        make_payment(100, 22, created=None),
        make_payment(100, 22, created=None),
        *(make_payment(7, 0, note=note, created="2024-04-01T12:00:00Z") for note in ("", None)),
    )
    at_ten = datetime(2024, 5, 1, 12, 10, tzinfo=UTC)
    names = ("payment_id", "reason", "other_id", "amount", "usual", "counterparty_id", "counterparty_name")
    assert [tuple(row.items()) for row in read_rows(unusual(frame))] == [
        tuple(zip((*names, "date_created", "note"), row, strict=True))
        for row in (
            ("001", "duplicate", "000", 1.0, None, "1", "Ann", at_ten, " LUNCH "),
            ("002", "duplicate", "001", 1.0, None, "1", "Ann", at_ten, "lunch"),
            ("016", "duplicate", "015", 0.07, None, "1", "Ann", datetime(2024, 4, 1, 12, tzinfo=UTC), None),
        )
    ]
    assert read_unusual(frame, "payment_id", within="11min") == [("003",), ("001",), ("002",), ("016",)]


def test_duplicates_at_any_time(payments):
    """Two payments exactly as far apart as given, or within a time without end, are found whenever they were made."""
    first = datetime(1969, 12, 31, 21, 30, tzinfo=UTC)
    made = [first + timedelta(minutes=10 * number) for number in range(31)]
    pairs = [(at, at + timedelta(minutes=10)) for at in made]
    rows = [make_payment(100 + number, 0, created=f"{at:%FT%TZ}") for number, pair in enumerate(pairs) for at in pair]
    assert read_unusual(payments(*rows), "payment_id") == [(f"{at:03}",) for at in range(61, 0, -2)]
    assert read_unusual(payments(*rows), "payment_id", within="599s") == []
    far = payments(make_payment(100, 0, created="0001-01-01T00:00:00Z"), make_payment(100, 0))
    assert read_unusual(far, "other_id", within=timedelta.max) == [("000",)]


@pytest.mark.parametrize(
    ("amounts", "large", "usual"),
    [
        ((1, 2, 10, 11, 50), (50,), 0.1),  # the middle of five
        ((1, 2, 10, 11, 49), (), None),
        ((1, 2, 10, 13, 58, 59), (58, 59), 0.115),  # between 10 and 13 of six
        ((1, 2, 10, 50), (), None),  # four are too few
        ((1, 2, 10, -50, 11), (-50,), 0.1),
    ],
)
def test_large_payments(payments, amounts, large, usual):
    """Five times the median or more, of at least five payments of a person in one direction."""
    apart = [make_payment(cents, 10 * number, note=f"{number}") for number, cents in enumerate(amounts)]
    frame = payments(*apart, make_payment(10_000, 0, direction="in"), make_payment(None, 0))
    found = read_unusual(frame, "reason", "amount", "usual", "other_id")
    assert sorted(found) == [("large", abs(cents) / 100, usual, None) for cents in sorted(large)]


def test_large_payments_in_order(payments):
    """One may be a duplicate too, which is first; one without a date is large all the same, and last."""
    frame = payments(
        *(make_payment(1, at, note=f"{at}") for at in range(7)),
        make_payment(500, 30),
        make_payment(500, 31),
        make_payment(600, 0, created=None),
    )
    assert read_unusual(frame, "payment_id", "reason", "other_id", "usual") == [
        ("008", "duplicate", "007", None),
        ("008", "large", None, 0.01),
        ("007", "large", None, 0.01),
        ("009", "large", None, 0.01),
    ]


def test_names_of_unusual_payments(payments):
    """An id is under the last of its names in the alphabet, whatever payment has it; without an id, the name counts."""
    frame = payments(
        make_payment(100, 0),
        make_payment(100, 1),
        make_payment(7, 2, counterparty_name="Zoe"),
        make_payment(None, 3, counterparty_name="Zora"),
        make_payment(9, 3, counterparty_name="Zz", status="pending"),
        make_payment(100, 4, counterparty_id=None),
        make_payment(100, 5, counterparty_id=None),
        make_payment(100, 5, counterparty_id=None, counterparty_name=None),
    )
    found = read_unusual(frame, "payment_id", "counterparty_id", "counterparty_name")
    assert found == [("006", None, "Ann"), ("001", "1", "Zora")]
