"""Long histories in the report: tables by the period of the figure's bars, and by month on screens only."""

from __future__ import annotations

import pytest

from support.reports import payment_row, read_report

pytestmark = pytest.mark.usefixtures("draw_nothing")


@pytest.mark.parametrize(
    ("years", "words", "row"),
    [
        (4, ["month"], "2001-02 $0.10 $0.00 −$0.10 1 −$0.20"),  # noqa: RUF001 - a minus sign
        (5, ["quarter", "month"], "2001 Q2 $0.30 $0.00 −$0.30 3 −$0.60"),  # noqa: RUF001
        (15, ["year", "month"], "2002 $1.20 $0.00 −$1.20 12 −$2.40"),  # noqa: RUF001
    ],
)
def test_the_tables_of_a_span(years: int, words: list[str], row: str) -> None:
    """Four years are shown by month, five by quarter, fifteen by year; the months only on screens.

    The report is of one payment of 10 cents at noon of the fifth of each month, from January 2001.
    """
    rows = [
        payment_row(at, f"{2001 + at // 12}-{at % 12 + 1:02}-05T12:00:00Z", direction="out", flow_cents=-10)
        for at in range(12 * years)
    ]
    page = read_report(rows, only=["monthly_flow"])
    assert f"{words[0].capitalize()} by {words[0]} " in page.text
    assert [word for word in ("year", "quarter", "month") if f"The {word}s as a table" in page.text] == words
    assert row in page.text
    assert "2001-02 $0.10" in page.text
    classes = [attributes.get("class") for tag, attributes in page.tags if tag == "details"]
    assert classes == [None, "screen"][: len(words)]
    assert ("has a table of the months, for screens" in page.text) == (len(words) > 1)
    assert "for screens" not in read_report(rows, only=["monthly_flow"], kind="markdown").text
