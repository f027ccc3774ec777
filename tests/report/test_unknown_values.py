"""Findings and figures of a report where people or amounts are not known: nothing is guessed."""

from __future__ import annotations

from typing import Any

import pytest

from p2p_analytics.report import render_year
from support.findings import ask, list_findings, parse_findings, pay, select_section, spread
from support.reports import report_history

pytestmark = pytest.mark.usefixtures("draw_nothing")
NOBODY: dict[str, Any] = {"counterparty_id": None, "counterparty_name": None}
UNNAMED: dict[str, Any] = {"counterparty_id": "77", "counterparty_name": None}


def test_the_largest_share_of_people_who_are_not_known() -> None:
    """Payments without id and name may be of several people; what they were for is found among themselves."""
    for fields, sentence in (
        (NOBODY, "40.0% of what you sent went to people who are not known."),
        (NOBODY | {"note": "Rent"}, "Rent to people who are not known is 40.0% of what you sent."),
        (UNNAMED, "40.0% of what you sent went to an unknown person."),
        (UNNAMED | {"note": "Rent"}, "Rent to an unknown person is 40.0% of what you sent."),
    ):
        rows = [*spread(people=3), pay(1, "2022-06-01", 2000, **fields)]
        assert list_findings(rows) == [("spend_by_friend", sentence)]
        year = render_year(report_history(rows), as_of="2024-01-01", privacy=False)
        assert parse_findings(year) == [("spend_by_friend", sentence)]


def test_requests_of_people_who_are_not_known() -> None:
    """A request is to one person, known or not; who pays seldom is somebody, not all who are not known."""
    for who in (NOBODY, UNNAMED):
        old = ask(1, "2024-05-31", 2400, status="pending", **who)
        assert list_findings([old]) == [
            ("pending_requests", "A request to an unknown person for $24.00 has been open for 30 days.")
        ]
        unpaid = [ask(at, "2024-06-20", 1000, status="cancelled", **who) for at in range(5)]
        sentence = "Of your 5 requests to an unknown person that are not open any more, 0 were paid."
        found = select_section(list_findings(unpaid), "request_outcomes")
        assert found == ([sentence] if who is UNNAMED else [])
