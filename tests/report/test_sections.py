"""Sections of the report: one for each analysis, with its rows and a sentence about the others."""

import re
from typing import Any

import pandas as pd
import pytest

from p2p_analytics import plots
from p2p_analytics.analyses.caveats import describe_caveat, lacks_audiences
from p2p_analytics.catalogue import ANALYSES
from support.reports import ParsedPage, check_page_is_closed, payment_row, read_report, read_year, report_history

pytestmark = pytest.mark.usefixtures("draw_nothing")
EVIL = '<img src=x onerror="alert(1)">'
BEN = {"counterparty_id": "2", "counterparty_name": f"Ben {EVIL}"}
CY = {"counterparty_id": "3", "counterparty_name": "Cy"}
DAY = "2024-06-27T12:00:00Z"


def _charge(number: int, minute: int, cents: int, **fields: Any) -> dict[str, Any]:
    created = f"2024-06-20T18:{minute:02}:00Z"
    return payment_row(number, created, flow_cents=cents, action="charge", **fields)


ROWS = [
    _charge(1, 0, 1000, **BEN, note=f"Pizza {EVIL}", date_completed=payment_row(0, DAY, flow_cents=0)["date_created"]),
    _charge(2, 1, 1000, **CY, note=f"pizza  {EVIL}", status="pending"),
    *(payment_row(10 + at, f"2024-0{at + 1}-03T08:00:00Z", flow_cents=-50000, **CY, note="Rent") for at in range(6)),
    *(payment_row(20 + at, f"2024-06-0{at + 1}T21:00:00Z", flow_cents=-100, **BEN) for at in range(4)),
    payment_row(30, "2024-06-09T21:00:00Z", flow_cents=-9900, **BEN, note="party", audience="public"),
    payment_row(31, "2024-06-09T21:05:00Z", flow_cents=-9900, **BEN, note="Party"),
    payment_row(32, "2023-06-09T21:05:00Z", flow_cents=-1, **CY, note=f"therapist {EVIL}", audience="public"),
]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the plots of the figures and their tables, by the names of the plots."""
    drawn: dict[str, Any] = {}

    def keep(plot: Any, table: Any, *_arguments: Any, **_options: Any) -> bytes:
        drawn[getattr(plot, "func", plot).__name__] = (plot, table)
        return b"<svg/>"

    monkeypatch.setattr(plots, "to_image", keep)
    return drawn


@pytest.mark.parametrize("read", [read_report, read_year])
def test_the_hours_name_the_zone_of_the_page(read: Any, figures: dict[str, Any]) -> None:
    """Report and year in review draw the hours of the week with the zone in which they were counted."""
    read(ROWS, tz="America/New_York", **({"only": ["activity"]} if read is read_report else {}))
    plot, table = figures["activity"]
    assert plot(table).get_xlabel() == "Hour of the day in America/New_York; total of each weekday on the right"


@pytest.fixture(scope="module")
def page() -> ParsedPage:
    """Return the report of the payments above."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "to_image", lambda *_, **__: b"<svg/>")
        return read_report(ROWS)


def test_every_analysis_has_a_section(page: ParsedPage) -> None:
    """It has the rows of the table, with names and notes as text; the two tables of pending payments share one."""
    sections = [attributes["id"] for tag, attributes in page.tags if tag == "section"]
    assert sections == [name for name in ANALYSES if name != "pending_ageing"]
    check_page_is_closed(page, "style", "script")
    assert "statement" not in page.text
    for words in (
        "rent $3,000.00 $0.00 −$3,000.00 6 93.7%",  # noqa: RUF001 - a minus sign
        "food $0.00 $10.00 $10.00 1 0.0%",
        "2023 1 1 0 100.0% 100.0% $0.01 $0.00",
        "2024 2 1 0 93.4% 100.0% $3,202.00 $10.00",
        f"Ben {EVIL} to receive 1 1 $10.00 $10.00 $0.00 100.0% 6.8",
        "Cy to receive 1 0 $10.00 $0.00 $10.00 not known",
        "to receive 1 6.8 6.8 6.8 6.8",
        f"Pizza {EVIL} 20 Jun 2024 2 $20.00 $10.00 $10.00 $0.00 9",
        "Cy Rent to pay monthly $500.00 6 3 Jun 2024 3 Jul 2024 active",
        f"Ben {EVIL} Party sent 9 Jun 2024 $99.00 $1.00 large",
        f"Ben {EVIL} Party sent 9 Jun 2024 $99.00 duplicate",
        "2023-06 1 1 0 0 100.0% 1",
        f"therapist {EVIL} health Cy 9 Jun 2023",
    ):
        assert words in page.text


def _tea(number: int, side: str, cents: int, **fields: Any) -> dict[str, Any]:
    created = f"2024-06-09T21:0{number}:00Z"
    return payment_row(number, created, direction=side, flow_cents=cents, **BEN, note="tea", **fields)


def test_unusual_payments_say_their_direction() -> None:
    """Money that was received twice is not taken for money that was sent, also where another one was sent."""
    twice = [_tea(0, "in", 500), _tea(1, "in", 500), _tea(2, "out", -700), _tea(3, "out", -700)]
    text = read_report(twice, only=["unusual"]).text
    assert f"Ben {EVIL} tea received 9 Jun 2024 $5.00 duplicate" in text
    assert f"Ben {EVIL} tea sent 9 Jun 2024 $7.00 duplicate" in text


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_payments_without_an_id(kind: str) -> None:
    """Their direction is not known in the table of unusual ones; no open payment is taken for a request."""
    rows = [_tea(0, "out", -500), _tea(1, "out", -500)]
    rows.append(payment_row(3, "2019-06-09T21:00:00Z", status="pending", flow_cents=-900, **BEN))
    rows.append(payment_row(4, DAY, action="charge", flow_cents=100, **BEN))
    text = read_report([row | {"payment_id": None} for row in rows], kind=kind).text
    assert "has been open" not in text
    assert "duplicate" in text
    if kind == "html":
        assert f"Ben {EVIL} tea not known 9 Jun 2024 $5.00 duplicate" in text


def test_long_tables_end_with_a_sentence() -> None:
    """Thirty rows are shown, folded; a caption has the number of all, and a sentence that of the others."""
    many = [
        payment_row(at, DAY, flow_cents=100 + at, action="charge", counterparty_id=f"7{at:03}",
                    counterparty_name=f"P{at}")
        for at in range(33)
    ]  # fmt: skip
    text = read_report(many, only=["request_outcomes"]).text
    assert "the most requested first : the first 30 of 33" in text
    assert "3 other rows are not listed." in text
    assert text.count("The figures as a table") == 1
    fewer = read_report(many[:31], only=["request_outcomes"]).text
    assert ("P30 to receive" in fewer, "not listed" in fewer) == (True, False)


def test_a_wrong_date_adds_no_empty_rows(figures: dict[str, Any]) -> None:
    """Of many years or months, mostly empty, only those with payments are listed; a figure has them all."""
    early = payment_row(40, "1970-01-05T08:00:00Z", flow_cents=-100, **CY)
    text = read_report([*ROWS, early], only=["people_by_year", "exposure"]).text
    assert "1970 1 1 0 100.0% 100.0% $1.00 $0.00 2023 1 0 0" in text
    assert "; years without payments are left out Year" in text
    assert "1970-01 1 0 0 0 not known 0 2023-06 1" in text
    assert len(figures["exposure"][1]) == 54 * 12 + 6  # from January 1970 to June 2024, as the axis of the figure
    assert "; months without payments are left out Month" in text
    undated = {**ROWS[-1], "date_created": None}
    assert "no date 1 1 0 0 100.0% 1" in read_report([undated], only=["exposure"]).text


def test_what_statements_do_not_tell(figures: dict[str, Any]) -> None:
    """Audiences and the time to settle are not shown as none or nothing; the sections say why."""
    rows = [
        {**row, "source": "statement", "currency": "USD", "audience": None, "date_completed": row["date_created"]}
        for row in ROWS
    ]
    text = read_report(rows).text
    assert figures.keys().isdisjoint({"exposure", "sensitive_notes", "time_to_settle"})
    assert text.count("The audience of no payment is known. 15 payments are from statement files, which do not") == 2
    assert "No settled requests with both dates. 1 settled request is from statement files, which" in text
    assert ("Half within" in text, "from request to payment" in text) == (False, False)
    assert "bills that were paid at different times are missing, or shown in parts. Requests to several" in text


@pytest.mark.parametrize(
    ("strict", "about", "left_out"),
    [
        (
            False, "notes or times of day",
            ["What it was for", "What it was for, over time", "Hours of the week", "Look again", "Who can see it"],
        ),
        (
            True, "notes, days or times of day",
            ["What it was for", "What it was for, over time", "How long requests took", "Split bills", "What recurs",
             "Hours of the week", "Look again", "Who can see it"],
        ),
    ],
)  # fmt: skip
def test_privacy_mode_leaves_hidden_parts_out(*, strict: bool, about: str, left_out: list[str]) -> None:
    """Sections about the words of notes, times of day or, in strict mode, days are named, and not shown."""
    text = read_report(report_history(ROWS).masked(key=bytes(32), strict=strict)).text
    _, _, titles = text.partition(f"Left out, because they are about the words of {about}: ")
    assert {*left_out, "Public notes to look at"} <= {*re.findall("“(.+?)”", titles.partition(".")[0])}
    assert [title for title in [*left_out, "Public notes to look at"] if f" {title} " in text] == []
    assert ("Requests by person" in text, "Half within, days" in text) == (True, not strict)
    assert not [word for word in ("Pizza", "therapist", "Rent", "Ben", "Cy ") if word in text]


STATED = pd.DataFrame(
    [
        ("statement", "payment", "charge", "settled", "in", None),
        ("statement", "payment", "charge", "settled", "out", None),
        ("statement", None, "charge", "settled", "out", "public"),
        ("statement", "payment", "charge", "settled", None, None),
        ("statement", "payment", "charge", "pending", "in", "everyone"),
        ("statement", "payment", "pay", "settled", "in", None),
        ("statement", "transfer", None, "settled", "in", None),
        ("api", "payment", "charge", "settled", "in", None),
        (None, "payment", "charge", "settled", "in", None),
    ],
    columns=["source", "kind", "action", "status", "direction", "audience"],
    dtype="str",
)


def test_rows_are_counted() -> None:
    """Settled requests between people count; for split bills those of the viewer; else payments without an audience."""
    dates = "from statement files, which have the date of the payment, not of the request"
    times = "3 settled requests are from statement files, which do not say when they were made"
    audiences = "5 payments are from statement files, which do not say who can see them"
    expected = {
        "request_outcomes": times,
        "time_to_settle": f"{times}: how l",
        "split_bills": f"1 settled request is {dates}",
        "recurring": f"3 settled requests are {dates}",
        "activity": f"3 settled requests are {dates}",
        "unusual": f"3 settled requests are {dates}",
        "exposure": f"{audiences}.",
        "sensitive_notes": f"{audiences}: their notes are",
    }
    assert {name: describe_caveat(name, STATED)[: len(words)] for name, words in expected.items()} == expected
    assert [name for name, each in ANALYSES.items() if not each.caveat and describe_caveat(name, STATED)] == []
    for rows in (STATED[7:], STATED.drop(columns="source")):
        assert [name for name in ANALYSES if describe_caveat(name, rows)] == []


def test_known_audiences() -> None:
    """An unknown word is no known audience, and neither is that of a transfer; without payments nothing is missing."""
    assert not lacks_audiences("exposure", STATED)
    assert lacks_audiences("exposure", STATED.drop(index=2))
    assert lacks_audiences("sensitive_notes", STATED[5:7].assign(audience=[None, "public"]))
    assert not lacks_audiences("exposure", STATED[6:7])
    assert not lacks_audiences("activity", STATED.drop(index=2))
