"""Tests of split_bills and unusual against hand calculation, on every kind of frame."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.analyses.bills import split_bills
from p2p_analytics.analyses.outliers import unusual
from p2p_analytics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    Builder = Callable[..., Any]
    Reader = Callable[[Any], list[dict[str, Any]]]

AS_OF = "2024-05-11T00:00:00Z"


def make_request(person: str | None, cents: int | None, at: str, **more: Any) -> dict[str, Any]:
    """Return a request of the viewer in May 2024 with the note Pizza."""
    row = {"action": "charge", "direction": "in", "status": "pending", "note": "Pizza", "created": f"2024-05-{at}Z"}
    return row | {"counterparty_id": person, "counterparty_name": "Ann", "amount_cents": cents} | more


def test_a_bill(payments: Builder, rows_of: Reader) -> None:
    """Five requests, of which the first is the name of the bill, to four people."""
    frame = payments(
        make_request("1", -100, "01T06:00:00", note=" pizza\u00a0\t "),
        make_request("2", -200, "01T12:00:00", status="settled"),
        make_request("3", -400, "01T17:59:59", status="cancelled"),
        make_request(None, -800, "01T18:00:00", status="failed"),
        make_request("1", None, "01T18:00:00", note="PIZZA"),
        make_request("5", -9, "01T18:00:00", note="Pizza Hut"),
        make_request("6", -9, "01T18:00:00", action="pay"),
        make_request("7", -9, "01T18:00:00", direction="out"),
        make_request("8", -9, "01T18:00:00", kind="merchant"),
    )
    (row,) = rows_of(split_bills(frame, as_of=AS_OF))
    assert row.pop("date").isoformat() == "2024-05-01T06:00:00+00:00"
    assert row == {
        "bill_id": "000", "note": " pizza\u00a0\t ", "people": 4, "asked": 15.0, "collected": 2.0, "still_open": 1.0,
        "declined": 12.0, "oldest_open_days": 9.75,
    }  # fmt: skip


def test_requests_that_only_notes_put_in_order(payments: Builder, rows_of: Reader) -> None:
    """Of requests of one instant without an id, the bill has the first note by code points."""
    requests = [
        make_request(person, -100, "01T06:00:00", payment_id=None, note=note)
        for person, note in (("1", "pizza "), ("2", "PIZZA"), ("3", "Pizza"))
    ]
    for rows in permutations(requests):
        (bill,) = rows_of(split_bills(payments(*rows), as_of=AS_OF))
        assert (bill["note"], bill["people"]) == ("PIZZA", 3)
    paid = [{**row, "status": "settled", "action": "pay", "counterparty_id": "1"} for row in requests[:2]]
    for rows in (paid, paid[::-1]):
        assert [row["note"] for row in rows_of(unusual(payments(*rows)))] == ["pizza "]


def test_the_gap_between_requests(payments: Builder, rows_of: Reader) -> None:
    """Six hours and a microsecond begin another bill; several short gaps make one long bill."""
    frame = payments(
        make_request("1", -100, "01T00:00:00"),
        make_request("2", -100, "01T06:00:00"),
        make_request("3", -100, "01T12:00:00.000001"),
        make_request("4", -100, "01T18:00:00.000001"),
        make_request("5", -100, "02T00:00:00"),
    )
    bills = rows_of(split_bills(frame, as_of=AS_OF))
    assert [(row["bill_id"], row["people"], row["asked"]) for row in bills] == [("002", 3, 3.0), ("000", 2, 2.0)]
    assert [row["people"] for row in rows_of(split_bills(frame, as_of=AS_OF, within=timedelta(hours=7)))] == [5]
    assert rows_of(split_bills(frame, as_of=AS_OF, within="10min")) == []


def test_requests_of_one_instant_without_ids(payments: Builder, rows_of: Reader) -> None:
    """They are one bill, whichever of them is the first, and begin another one after a gap."""
    frame = payments(
        *(make_request(str(person), -100, "01T00:00:00", payment_id=None) for person in range(20)),
        *(make_request(str(person), -100, "01T06:00:00.000001", payment_id=None) for person in range(30)),
    )
    rows = rows_of(split_bills(frame, as_of=AS_OF))
    assert [(row["bill_id"], row["people"]) for row in rows] == [(None, 30), (None, 20)]


def test_what_makes_no_bill(payments: Builder, rows_of: Reader) -> None:
    """One person asked twice, no note, and no date make no bill; nothing open has no age, the future has age 0."""
    frame = payments(
        make_request("1", -100, "01T00:00:00", note="rent"),
        make_request("1", -100, "01T00:00:00", note="rent"),
        make_request("1", -100, "01T00:00:00", note="  "),
        make_request("2", -100, "01T00:00:00", note=None),
        make_request("3", -100, "01T00:00:00", note="bus"),
        make_request("4", -100, "01T00:00:00", note="bus", created=None),
        make_request("5", -100, "02T00:00:00", note="tea", status="settled"),
        make_request("6", -100, "02T00:00:00", note="tea", status="settled"),
        make_request("5", -100, "20T00:00:00"),
        make_request("6", -100, "20T00:00:00"),
    )
    rows = rows_of(split_bills(frame, as_of=AS_OF))
    assert [(row["note"], row["oldest_open_days"]) for row in rows] == [("Pizza", 0.0), ("tea", None)]


def make_payment(cents: int | None, minute: int, **more: Any) -> dict[str, Any]:
    """Return a settled payment to Ann for lunch, some minutes after noon."""
    row = {"direction": "out", "amount_cents": cents, "note": "lunch", "created": f"2024-05-01T12:{minute:02}:00Z"}
    return row | {"counterparty_id": "1", "counterparty_name": "Ann"} | more


def test_duplicates(payments: Builder, rows_of: Reader) -> None:
    """The later of two alike payments, each with the nearest earlier one; what differs in one thing is no duplicate."""
    frame = payments(
        make_payment(100, 0),
        make_payment(100, 10, note=" LUNCH "),
        make_payment(100, 10),
        make_payment(100, 21),
        make_payment(101, 22),
        make_payment(100, 22, direction="in"),
        make_payment(100, 22, counterparty_id="2"),
        make_payment(100, 22, note="lunch!"),
        make_payment(100, 22, status="pending"),
        make_payment(None, 22),
        make_payment(None, 22),
        make_payment(100, 22, created=None),
    )
    rows = rows_of(unusual(frame))
    assert [(row["payment_id"], row["reason"], row["other_id"]) for row in rows] == [
        ("001", "duplicate", "000"),
        ("002", "duplicate", "001"),
    ]
    assert [row["payment_id"] for row in rows_of(unusual(frame, within="11min"))] == ["003", "001", "002"]
    assert rows[0]["usual"] is None
    assert rows[0]["amount"] == 1.0
    assert rows[0]["note"] == " LUNCH "


def test_duplicates_at_any_time(payments: Builder, rows_of: Reader) -> None:
    """Two payments exactly as far apart as given, or within a time without end, are found whenever they were made."""
    first = datetime(1969, 12, 31, 21, 30, tzinfo=UTC)
    made = [first + timedelta(minutes=10 * number) for number in range(31)]
    pairs = [(at, at + timedelta(minutes=10)) for at in made]
    rows = [make_payment(100 + number, 0, created=f"{at:%FT%TZ}") for number, pair in enumerate(pairs) for at in pair]
    assert [row["payment_id"] for row in rows_of(unusual(payments(*rows)))] == [f"{at:03}" for at in range(61, 0, -2)]
    assert rows_of(unusual(payments(*rows), within="599s")) == []
    far = payments(make_payment(100, 0, created="0001-01-01T00:00:00Z"), make_payment(100, 0))
    assert [row["other_id"] for row in rows_of(unusual(far, within=timedelta.max))] == ["000"]


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
def test_large_payments(
    payments: Builder, rows_of: Reader, amounts: tuple[int, ...], large: tuple[int, ...], usual: float
) -> None:
    """Five times the median or more, of at least five payments of a person in one direction."""
    apart = [make_payment(cents, 10 * number, note=f"{number}") for number, cents in enumerate(amounts)]
    rows = rows_of(unusual(payments(*apart, make_payment(10_000, 0, direction="in"), make_payment(None, 0))))
    assert sorted((row["amount"], row["usual"], row["other_id"]) for row in rows if row["reason"] == "large") == sorted(
        (abs(cents) / 100, usual, None) for cents in large
    )


def test_names_of_unusual_payments(payments: Builder, rows_of: Reader) -> None:
    """An id is under the last of its names in the alphabet, whatever payment has it; without an id, the name counts."""
    frame = payments(
        make_payment(100, 0),
        make_payment(100, 1),
        make_payment(7, 2, counterparty_name="Zoe"),
        make_payment(9, 3, counterparty_name="Zz", status="pending"),
        make_payment(100, 4, counterparty_id=None),
        make_payment(100, 5, counterparty_id=None),
        make_payment(100, 5, counterparty_id=None, counterparty_name=None),
    )
    rows = rows_of(unusual(frame))
    assert [(row["payment_id"], row["counterparty_id"], row["counterparty_name"]) for row in rows] == [
        ("005", None, "Ann"),
        ("001", "1", "Zoe"),
    ]


def test_nothing_unusual(payments: Builder, rows_of: Reader) -> None:
    """Without payments there are no rows."""
    assert rows_of(unusual(payments())) == rows_of(split_bills(payments(), as_of=AS_OF)) == []


@pytest.mark.parametrize("within", ["6 hours", "-1h", "", "h", 6, None, timedelta(seconds=-1)])
def test_a_wrong_duration(payments: Builder, within: Any) -> None:
    """The error shows how durations are written."""
    with pytest.raises(ConfigurationError, match="is not a duration: give a timedelta, or text like '10min'"):
        unusual(payments(), within=within)
