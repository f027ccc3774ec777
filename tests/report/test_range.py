"""Parts of a report: some days of its payments, and some of its analyses."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from p2p_analytics.errors import ConfigurationError
from p2p_analytics.report import render_report
from support.reports import payment_row, read_report, report_history

pytestmark = pytest.mark.usefixtures("draw_nothing")
AS_OF = "2025-01-31"
BEN = {"counterparty_id": "2", "counterparty_name": "Ben", "direction": "out"}


def _pay(number: int, created: str, cents: int, completed: str | None = None, **fields: Any) -> dict[str, Any]:
    done = {"date_completed": payment_row(0, completed, flow_cents=0)["date_created"]} if completed else {}
    return payment_row(number, created, flow_cents=-cents, **{**BEN, **done, **fields})


# 2024 in New York is from 05:00 UTC on 1 January to 05:00 UTC on 1 January 2025.
ROWS = [
    _pay(1, "2024-01-01T04:59:59Z", 1),
    _pay(2, "2024-01-01T05:00:00Z", 20),
    _pay(3, "2023-12-24T12:00:00Z", 300, "2024-01-02T12:00:00Z"),
    _pay(4, "2025-01-01T04:59:59Z", 4000),
    _pay(5, "2024-12-30T12:00:00Z", 50000, "2025-01-01T05:00:00Z"),
    _pay(6, "2024-12-31T12:00:00Z", 600000, "2025-01-05T12:00:00Z", status="pending"),
    {**_pay(7, "2024-06-01T12:00:00Z", 7000000), "date_created": None},
]
PROBLEMS = [
    {"payment_id": number, "field": "note", "value": "?", "problem": f"strange {number}"} for number in ("2", "5", None)
]


@pytest.mark.parametrize(
    ("since", "until", "sent", "sentence"),
    [
        ("2024-01-01", "2024-12-31", "$43.20", "Only payments from 2024-01-01 to 2024-12-31 are counted: 4 of 7 "),
        (None, "2024-12-31", "$43.21", "Only payments until 2024-12-31 are counted: 5 of 7 transactions."),
        ("2025-01-01", None, "$500.00", "Only payments from 2025-01-01 on are counted: 1 of 7 transactions."),
        (None, None, "$70,543.21", ""),
    ],
)
def test_the_days_of_a_report(since: str | None, until: str | None, sent: str, sentence: str) -> None:
    """Both days are included, in the zone; a settled payment is of the day on which it completed."""
    options = {"as_of": AS_OF, "tz": "America/New_York", "only": ["status_mix"], "since": since, "until": until}
    text = read_report(report_history(ROWS, PROBLEMS), **options).text
    assert f"Sent {sent} to others" in text
    assert (sentence in text) if sentence else ("Only payments" not in text)
    shown = {"2": since != "2025-01-01", "5": until is None, "None": True}
    assert {number: f"strange {number}" in text for number in shown} == shown


def test_the_end_of_the_range_ends_the_compared_months() -> None:
    """With all months until May, a report until March compares three of them."""
    months = [
        _pay(100 * year + month, f"{year}-{month:02}-10T12:00:00Z", 1000 if year == 2023 else 1000 * month)
        for year in (2023, 2024)
        for month in range(1, 6)
    ] + [_pay(1, "2022-12-31T12:00:00Z", 1)]
    page = read_report(months, until="2024-03-31", only=["monthly_flow"])
    assert "Spending in 2024 until the end of Mar is 100.0% above that of the same months of 2023." in page.text


def test_only_some_analyses() -> None:
    """They are in the order of the report; the figures at its top and the findings are about nothing else."""
    history = report_history([*ROWS, _pay(8, "2024-06-09T21:05:00Z", 99), _pay(9, "2024-06-09T21:06:00Z", 99)])
    page = read_report(history, as_of=AS_OF, only=["unusual", "pending_ageing", "spend_by_friend"])
    assert re.findall(r'<section id="(\w+)">', page.html) == ["spend_by_friend", "pending_requests", "unusual"]
    assert {*re.findall(r'href="#(\w+)"', page.html)} == {"spend_by_friend", "pending_requests", "unusual"}
    assert "looks like a duplicate" in page.text
    assert 'class="findings"' not in read_report(history, as_of=AS_OF, only=["status_mix"]).html
    private = read_report(history.masked(key=bytes(32)), as_of=AS_OF, only=["unusual", "status_mix"])
    assert "Left out, because they are about times of day: “Look again”." in private.text


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"only": []}, r"only is a list of analyses, of spend_by_friend, .*, not none\."),
        ({"only": "unusual"}, r"only is a list of analyses, .*, not 'unusual'\."),
        ({"only": ["unusual", "rent"]}, r"only is a list of analyses, .*, not 'rent'\."),
        ({"since": "2024"}, r"since is a day such as 2024-05-31, not '2024'\."),
        ({"until": "9999-12-31"}, r"until is a day such as 2024-05-31, not '9999-12-31'\."),
        ({"since": "2024-05-31", "until": "2024-05-30"}, "The last day, 2024-05-30, is before the first, 2024-05-31"),
        ({"kind": "pdf"}, r"^kind is 'html' or 'markdown', not 'pdf'\.$"),
        ({"tz": "Mars/Olympus"}, "tz must be a zone name"),
        ({"as_of": "someday"}, "is not an instant: give a datetime"),
    ],
)
def test_what_is_refused(options: dict[str, Any], sentence: str) -> None:
    """A sentence says which names and days there are."""
    with pytest.raises(ConfigurationError, match=sentence):
        render_report(report_history(ROWS), **{"as_of": AS_OF, **options})


def test_a_range_of_statements() -> None:
    """Without any payment the page still says where the data come from; the balance is only that of the last days."""
    rows = [{**row, "source": "statement", "currency": "USD"} for row in ROWS]
    history = replace(report_history(rows), fetched_at=datetime(2025, 1, 2, tzinfo=UTC))
    empty = read_report(history, since="2030-01-01", only=["status_mix"]).text
    assert ("Statements until 2 Jan 2025" in empty, "balance" in empty) == (True, True)
    assert "balance" not in read_report(history, until="2024-12-31", only=["status_mix"]).text


def test_what_recurs_is_judged_at_the_end_of_the_range() -> None:
    """Rent of 3 May is not late in a report until 2 May, nor is one that data of April cannot have."""
    rent = [_pay(at, f"2024-0{at}-03T12:00:00Z", 90000) for at in range(1, 6)]
    # On 20 May: 47 days after 3 April, of 30; on 2 May: 29 of 30.
    of_april = replace(report_history(rent[:4]), fetched_at=datetime(2024, 4, 30, tzinfo=UTC))
    of_may = replace(of_april, fetched_at=datetime(2024, 5, 20, tzinfo=UTC))
    for history, until, times, state in (
        (report_history(rent), "2024-05-02", 4, "active"),
        (report_history(rent), "2024-05-20", 5, "active"),
        (of_april, None, 4, "active"),
        (of_may, None, 4, "late"),
    ):
        text = read_report(history, as_of="2024-05-20", until=until, only=["recurring"]).text
        assert f"monthly $900.00 {times}" in text
        assert state in text.partition("What recurs Settled")[2].split()
        assert ("was expected on" in text) == (state == "late")


def test_a_range_of_months() -> None:
    """In strict privacy mode the payments of a month are all in a range, or none, and the page says by which day."""
    rows = [_pay(1, "2024-04-01T12:00:00Z", 1), _pay(2, "2024-04-30T12:00:00Z", 2), _pay(3, "2024-05-01T12:00:00Z", 3)]
    for strict, words in (
        (False, "are counted: 1 of 3 transactions."),
        (True, "are counted, each as of the first day of its month: 2 of 3 transactions."),
    ):
        masked = report_history(rows).masked(key=bytes(32), strict=strict)
        text = read_report(masked, until="2024-04-15", only=["status_mix"]).text
        assert f"Only payments until 2024-04-15 {words}" in text
