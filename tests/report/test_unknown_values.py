"""Findings and figures of a report where people or amounts are not known: nothing is guessed."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from support.reports import (
    ask,
    find_sentences,
    list_findings,
    parse_findings,
    pay,
    read_report,
    read_year,
    report_history,
    spread,
)

pytestmark = pytest.mark.usefixtures("draw_nothing")
NOBODY: dict[str, Any] = {"counterparty_id": None, "counterparty_name": None}
UNNAMED: dict[str, Any] = {"counterparty_id": "77", "counterparty_name": None}
UNKNOWN: dict[str, Any] = {"amount_cents": None, "flow_cents": None}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (NOBODY, "40.0% of what you sent went to people who are not known."),
        (NOBODY | {"note": "Rent"}, "Rent to people who are not known is 40.0% of what you sent."),
        (UNNAMED, "40.0% of what you sent went to an unknown person."),
        (UNNAMED | {"note": "Rent"}, "Rent to an unknown person is 40.0% of what you sent."),
    ],
)
def test_the_largest_share_of_people_who_are_not_known(fields: dict[str, Any], sentence: str) -> None:
    """Payments without id and name may be of several people; what they were for is found among themselves."""
    rows = [*spread(people=3), pay(1, "2022-06-01", 2000, **fields)]
    assert list_findings(rows, "spend_by_friend", "categories") == [("spend_by_friend", sentence)]
    assert parse_findings(read_year(rows, as_of="2024-01-01").html) == [("spend_by_friend", sentence)]


@pytest.mark.parametrize("who", [NOBODY, UNNAMED])
def test_requests_of_people_who_are_not_known(who: dict[str, Any]) -> None:
    """A request is to one person, known or not; all who are not known are not one person who pays seldom."""
    assert find_sentences([ask(1, "2024-05-31", 2400, status="pending", **who)], "pending_requests") == [
        "A request to an unknown person for $24.00 has been open for 30 days."
    ]
    unpaid = [ask(at, "2024-06-20", 1000, status="cancelled", **who) for at in range(5)]
    sentence = "Of your 5 requests to an unknown person that are not open any more, 0 were paid."
    assert find_sentences(unpaid, "request_outcomes") == ([sentence] if who is UNNAMED else [])


@pytest.mark.parametrize(
    ("day", "fields", "is_compared"),
    [
        ("2023-01-05", {}, False),
        ("2024-05-31", {}, False),
        ("2024-06-01", {}, True),  # this month has not ended, so it is not compared
        ("2023-02-05", {"direction": "in"}, True),
        ("2023-02-05", {"status": "pending"}, True),
    ],
)
def test_years_with_unknown_amounts_are_not_compared(day: str, fields: dict[str, Any], *, is_compared: bool) -> None:
    """An unknown amount of the compared months could be any, so nothing is said about them."""
    # Five dollars a month in 2023 and ten in 2024, which is twice as much.
    months = [pay(at, f"{2023 + at // 5}-0{at % 5 + 1}-10", 500 + at // 5 * 500, at % 4) for at in range(10)]
    history = report_history([*months, pay(10, "2022-12-31", 1), {**pay(11, day, 0, **fields), **UNKNOWN}])
    sentence = "Spending in 2024 until the end of May is 100.0% above that of the same months of 2023."
    assert find_sentences(history, "monthly_flow") == [sentence] * is_compared
    assert (sentence in read_year(history, year=2024).text) == is_compared
    later = replace(history, fetched_at=datetime(2025, 1, 10, tzinfo=UTC))
    assert find_sentences(later, "monthly_flow") == ["Spending in 2024 was 100.0% above that of 2023."] * bool(fields)


@pytest.mark.parametrize(
    ("fields", "is_said"),
    [
        ({}, False),
        ({"direction": "in"}, True),
        ({"status": "failed"}, True),
        ({"amount_cents": 1, "flow_cents": -1}, True),
    ],
)
def test_no_share_of_a_sum_that_is_not_known(fields: dict[str, Any], *, is_said: bool) -> None:
    """An unknown amount that was sent could be any, so no person or category is said to have a large share."""
    # 20.01 of 50.01 or 50.02 dollars.
    unknown = {**pay(2, "2022-06-02", 0, 1), **UNKNOWN, **fields}
    rows = [*spread(people=3), pay(1, "2022-06-01", 2001, 7, note="Rent"), unknown]
    said = [("spend_by_friend", "Rent to Friend 7 is 40.0% of what you sent.")] * is_said
    assert list_findings(rows, "spend_by_friend", "categories") == said


def _read_figures(page: str) -> list[str]:
    """Return the amounts at the head of a page."""
    return re.findall(r"<dt>(?:Sent|Received|Net|Still open.*?)</dt><dd>(.*?)<", page)


SENT = {**pay(1, "2024-01-05", 0), **UNKNOWN}
ASKED = {**ask(3, "2024-06-20", 0, status="pending"), **UNKNOWN}


@pytest.mark.parametrize(
    ("rows", "figures", "opened"),
    [
        ([SENT], ["not known", "$0.00", "not known"], ["$0.00", "$0.00"]),
        (
            [SENT, pay(2, "2024-01-05", -500, direction="in"), ASKED],
            ["not known", "$5.00", "not known"],
            ["not known", "$0.00"],
        ),
        (
            [SENT, pay(4, "2024-01-05", 700), ASKED, ask(5, "2024-06-20", 300, status="pending")],
            ["$7.00", "$0.00", "−$7.00"],  # noqa: RUF001 - a minus sign
            ["$3.00", "$0.00"],
        ),
    ],
)
def test_sums_of_unknown_amounts_only_are_not_known(
    rows: list[dict[str, Any]], figures: list[str], opened: list[str]
) -> None:
    """If no amount is known, the sum is not known, and the net neither."""
    assert _read_figures(read_report(rows, only=["status_mix"]).html) == figures + opened
    assert _read_figures(read_year(rows).html) == figures


def test_a_person_without_an_id_is_known_by_name() -> None:
    """Payments to another person without an id are not counted."""
    others = [*spread(people=2), pay(5, "2022-06-01", 1000, counterparty_id=None, counterparty_name="Kay")]
    rent = pay(1, "2022-06-01", 2000, counterparty_id=None, counterparty_name="Ann", note="Rent")
    found = list_findings([*others, rent], "spend_by_friend", "categories")
    assert found == [("spend_by_friend", "Rent to Ann is 40.0% of what you sent.")]


def test_two_largest_shares() -> None:
    """Two people, or two categories, with the same share are both named."""
    twice = [pay(1, "2022-06-01", 4000, 7), pay(2, "2022-06-01", 4000, 8, note="Rent")]
    assert find_sentences([*spread(people=2), *twice], "spend_by_friend") == [
        "40.0% of what you sent went to Friend 7, and as much to Friend 8."
    ]
    notes = ["Rent", "Rent", "Pizza", "Pizza", "Taxi", "Movie tickets"]
    rows = [pay(at, "2022-05-05", 2000 if at < 4 else 1000, at, note=note) for at, note in enumerate(notes)]
    sentence = "Food is 40.0% of what you sent, and rent as much."
    assert list_findings(rows, "spend_by_friend", "categories") == [("categories", sentence)]
