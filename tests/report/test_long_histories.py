"""Long histories in the report: tables by the period of the figure's bars, and by month on screens only."""

from __future__ import annotations

import pytest

from p2p_analytics.report import render_report
from support.reports import ParsedPage, payment_row, report_history

AS_OF = "2024-06-30T12:00:00Z"
BEN = {"counterparty_id": "2", "counterparty_name": "Ben"}


def render_page(years: int) -> ParsedPage:
    """Return the report of one payment of 10 cents at noon of the fifth of each month, from January 2001."""
    rows = [
        payment_row(
            at, f"{2001 + at // 12}-{at % 12 + 1:02}-05T12:00:00Z", direction="out", flow_cents=-10, **BEN
        )
        for at in range(12 * years)
    ]  # fmt: skip
    return ParsedPage(render_report(report_history(rows), as_of=AS_OF))


@pytest.mark.parametrize(
    ("years", "summaries", "row"),
    [
        (4, ["month"], "2001-02 $0.10 $0.00 −$0.10 1 −$0.20"),  # noqa: RUF001 - a minus sign
        (5, ["quarter", "month"], "2001 Q2 $0.30 $0.00 −$0.30 3 −$0.60"),  # noqa: RUF001
        (15, ["year", "month"], "2002 $1.20 $0.00 −$1.20 12 −$2.40"),  # noqa: RUF001
    ],
)
def test_the_tables_of_a_span(years: int, summaries: list[str], row: str) -> None:
    """Four years are shown by month, five by quarter, fifteen by year; the months only on screens."""
    page = render_page(years)
    assert f"{summaries[0].capitalize()} by {summaries[0]} " in page.text
    assert [f"The {word}s as a table" in page.text for word in ("month", "quarter", "year")] == [
        word in summaries for word in ("month", "quarter", "year")
    ]
    assert row in page.text
    assert "2001-02 $0.10" in page.text
    classes = [attributes.get("class") for tag, attributes in page.tags if tag == "details"]
    assert classes[: len(summaries)] == [None, "screen"][: len(summaries)]  # other tables are below
    assert classes.count("screen") == len(summaries) - 1
    assert ("has a table of the months, for screens" in page.text) == (len(summaries) > 1)
