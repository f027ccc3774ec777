"""The year in review: the figures of one year, in privacy mode unless real names are asked for."""

import html
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest

from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames.schema import DOES_NOT_ADD_UP, GAP
from p2p_analytics.history import History
from p2p_analytics.report import choose_privacy, render_year, select_year
from p2p_analytics.times import parse_instant
from support.reports import AS_OF, ParsedPage, check_page_is_closed, payment_row, read_report, read_year, report_history

pytestmark = pytest.mark.usefixtures("draw_nothing")
EVIL = '<img src=x onerror="alert(1)"> & {{ 7 * 7 }}'
BEN = {"counterparty_id": "2", "counterparty_name": "Ben 🌲"}
EVE = {"counterparty_id": "3", "counterparty_name": EVIL}
CY = {"counterparty_id": "4", "counterparty_name": "Cy Da"}
DEE = {"counterparty_id": "5", "counterparty_name": "Dee Marlow"}
COMPARED = "Spending in 2024 until the end of May is"


def _pay(number: int, day: str, cents: int, who: dict[str, str], **fields: Any) -> dict[str, Any]:
    moment = day if "T" in day else f"{day}T09:00:00Z"
    flow = {"direction": "out", "flow_cents": -cents} if cents > 0 else {"direction": "in", "flow_cents": -cents}
    return payment_row(number, moment, **{**flow, "note": "Pizza", **who, **fields})


def _ask(number: int, day: str, cents: int, status: str, **fields: Any) -> dict[str, Any]:
    return _pay(number, day, -cents, EVE, action="charge", status=status, **fields)


def _at(day: str) -> dict[str, Any]:
    return {"date_completed": parse_instant(day)}


ROWS = [
    _pay(1, "2022-12-31", 100, BEN),
    _pay(2, "2023-01-05", 1000, BEN),
    _pay(3, "2023-03-05", 2000, CY),
    _pay(4, "2023-12-31T20:00:00Z", 10000, DEE, **_at("2024-01-02T09:00:00Z")),  # completed in January 2024
    _pay(5, "2024-01-10", 4010, EVE),
    _pay(6, "2024-01-20", 290, BEN, note="Rent"),
    _pay(7, "2024-02-10", -1234, BEN),
    _ask(8, "2024-02-01T00:00:00Z", 700, "settled", **_at("2024-02-03T12:00:00Z")),  # after 2.5 days
    _ask(9, "2024-03-01", 500, "cancelled"),
    _ask(10, "2024-03-02", 999, "pending"),
    _pay(11, "2024-07-01", 99900, BEN),  # after the moment of the page
]


def _read_figures(page: ParsedPage) -> dict[str, str]:
    """Return the figures at the head of a page: name to value and words."""
    found = re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)<small>(.*?)</small></dd></div>", page.html)
    return {name: html.unescape(f"{value}, {words}") for name, value, words in found}


@pytest.fixture(scope="module")
def page() -> ParsedPage:
    """Return the page of 2024 of the payments above, the last year up to `AS_OF`, with figures."""
    return read_year(ROWS)


def test_the_figures_of_a_year(page: ParsedPage) -> None:
    """Each number of the page, worked out by hand from the rows above."""
    assert _read_figures(page) == {
        "Payments": "5, settled, sent or received",
        "People": "3, 2 for the first time",
        "Busiest month": "Jan, 3 payments",
        "Sent": "$143.00, to others",  # 100.00 + 40.10 + 2.90
        "Received": "$19.34, from others",  # 12.34 + 7.00
        "Net": "−$123.66, received less sent",  # noqa: RUF001 - a minus sign
        "Requests paid": "1 of 2, of your requests that are not open any more",
        "Half of them paid within": "2.5 days, from request to payment",
    }
    for words in (
        "2024 in payments Rosa <Vale> , until 30 Jun 2024 Names and amounts are real.",
        # January to May: 10 + 20 = 30 dollars in 2023; 143 is 113 more, which is 376.7 % of 30.
        f"{COMPARED} 376.7% above that of the same months of 2023.",
        "Dee Marlow $100.00 $0.00 −$100.00 1 69.9%",  # noqa: RUF001
        f"{EVIL} $40.10 $7.00 −$33.10 2 28.0%",  # noqa: RUF001
        "Ben 🌲 $2.90 $12.34 $9.44 2 2.0%",
        "Together $143.00 $19.34 −$123.66 5",  # noqa: RUF001
        "food $140.10 $19.34 −$120.76 4 98.0%",  # noqa: RUF001 - pizza: 100.00 + 40.10; 12.34 + 7.00
        "2024-01 $143.00 $0.00 −$143.00 3 −$143.00 2024-02 $0.00 $19.34 $19.34 2 −$123.66",  # noqa: RUF001
    ):
        assert words in page.text
    assert "999" not in page.text
    sections = [attributes["id"] for tag, attributes in page.tags if tag == "section"]
    assert sections == ["spend_by_friend", "categories", "monthly_flow", "activity"]


def test_it_is_a_page_without_script_that_loads_nothing(page: ParsedPage) -> None:
    """The policy permits the page's own style and figures in data addresses, and all text is escaped."""
    check_page_is_closed(page, "style")
    turned = read_year(report_history(ROWS, display_name="Rosa\u202e\u2066 Vale"))
    assert "<title>2024 in payments: Rosa Vale</title>" in turned.html


def test_a_date_ends_the_day_before() -> None:
    """A date is its first instant, so the data ends on the day before, and a year that has not begun has no end."""
    text = read_year(ROWS, as_of=date(2024, 6, 30)).text
    assert "2024 in payments Rosa <Vale> , until 29 Jun 2024 Names" in text
    text = read_year(ROWS, as_of=date(2024, 1, 1), year=np.int64(2024)).text
    assert "2024 in payments Rosa <Vale> Names and amounts are real. No payment settled in 2024" in text


def test_a_year_that_is_over() -> None:
    """It has no end, all months are compared, and no person is new in the first year of all."""
    early = [_pay(20, "2021-12-01", 100, BEN), _pay(21, "2022-06-01", 2900, CY)]  # with 1.00 in December: 30.00
    over = read_year([*ROWS, *early], as_of=date(2024, 6, 30), year=2023)
    figures = _read_figures(over)
    assert figures["Busiest months"] == "Jan and Mar, 1 payment each"
    assert figures["People"] == "2, none for the first time"
    assert "Requests paid" not in figures
    assert "until" not in over.text.partition("Payments")[0]
    assert 'class="findings"' not in over.html  # 30 dollars in both years
    more = read_year([*ROWS, *early, _pay(22, "2023-12-30", 300, CY)], year=2023)
    assert "Spending in 2023 was 10.0% above that of 2022." in more.text
    first = _read_figures(read_year(ROWS, year=2022))
    assert (first["People"], [name for name in first if "Busiest" in name]) == ("1, with payments", [])


def test_the_zone_decides_on_the_year() -> None:
    """Three o'clock in the morning of New Year in UTC is the old year in New York; in privacy mode it is UTC."""
    rows = [_pay(1, "2024-01-01T03:00:00Z", 100, BEN)]
    for zone, privacy, year, shown in (
        ("UTC", False, 2024, "UTC"), ("America/New_York", False, 2023, "America/New_York"),
        ("America/New_York", True, 2024, "UTC"),
    ):  # fmt: skip
        chosen = select_year(report_history(rows), None, AS_OF, zone, privacy)
        assert (chosen.number, f"{chosen.zone}") == (year, shown)
    text = read_year(rows, tz="America/New_York").text
    assert text.startswith("2023 in payments")
    assert "the zone America/New_York." in text


@pytest.mark.parametrize(("variable", "says"), [("0", "Privacy mode: "), ("strict", "Strict privacy mode: ")])
def test_privacy_mode_is_the_default(monkeypatch: pytest.MonkeyPatch, variable: str, says: str) -> None:
    """Names, notes and amounts are invented and counts are real, unless they are switched off at the call itself."""
    monkeypatch.setenv("P2P_PRIVACY", variable)
    assert [choose_privacy(mode) for mode in (True, "strict", False)] == [True, "strict", False]
    masked = read_year(ROWS, privacy=None)
    assert says in masked.text
    real = r"are real\.|Rosa|Vale|Ben|Dee|Marlow|img src=x|143\.00|19\.34|100\.00|food|Pizza"
    assert not re.search(real, masked.text)
    figures = {name: words.partition(",")[0] for name, words in _read_figures(masked).items()}
    assert (
        figures.items() >= {"Payments": "5", "People": "3", "Busiest month": "Jan", "Requests paid": "1 of 2"}.items()
    )
    assert "Half of them paid within" not in figures
    assert re.findall(r'<section id="(\w+)">', masked.html) == ["spend_by_friend", "monthly_flow"]
    assert "Left out, because they are about the words of notes or times of day: " in masked.text
    if variable == "strict":
        assert "Dee Marlow" in read_year(ROWS).text  # at the call it can be switched off


JUNE = [*ROWS, _pay(12, "2024-06-29T18:00:00Z", 500, CY), _pay(13, "2024-06-29", 500, CY)]


@pytest.mark.parametrize("privacy", [False, True, "strict"])
def test_privacy_mode_masks_what_is_chosen(privacy: Any) -> None:
    """Year and payments are those of the real dates: masked ones are at the beginning of their day or month."""
    for as_of, year, count in (
        ("2024-06-29T12:00:00Z", 2024, 6),  # between two payments of one day
        ("2024-06-15", 2024, 5),  # strict mode shows that month as its first day
        ("2024-01-01", 2023, 2),  # a payment of the next days is of January in strict mode
    ):
        chosen = select_year(report_history(JUNE), None, as_of, privacy=privacy)
        assert (chosen.number, chosen.settled_count) == (year, count)


@pytest.mark.parametrize(
    ("strict", "as_of", "count", "day"),
    [
        (False, "2024-06-29T12:00:00Z", 7, "29 Jun 2024"),
        (False, "2024-06-29", 5, None),
        (True, "2024-06-15", 7, "Jun 2024"),
        (True, "2024-06-01", 5, None),
        (False, "2024-07-02", 8, None),  # the data ends before, apart from what was made while it was loaded
    ],
)
def test_a_masked_history_knows_days_or_months_only(*, strict: bool, as_of: str, count: int, day: str | None) -> None:
    """Of the day or month of `as_of` all payments are counted, which the page says; the next ones are not."""
    masked = report_history(JUNE).masked(strict=strict)
    chosen = select_year(masked, None, as_of)
    assert chosen.settled_count == count
    assert (chosen.undecided and chosen.format_day(chosen.undecided)) == day
    assert select_year(masked, 2023, as_of).undecided is None
    loaded_then = replace(masked, fetched_at=datetime.fromisoformat(as_of).replace(tzinfo=UTC))  # so nothing is later
    assert select_year(loaded_then, None, as_of).undecided is None
    if day:
        words = f"All payments of {day} are counted, because privacy mode hides which of them were later."
        assert words in read_year(masked, as_of=as_of).text
    if count == 8:
        assert "privacy mode hides" not in read_year(masked, as_of=as_of).text


def _problem(code: str, file: str, days: tuple[str, str] | None, **fields: Any) -> dict[str, Any]:
    """Return a problem of a file about days, with a sentence that names others."""
    first, last = (pd.Timestamp(day, tz="UTC") for day in days or (None, None))
    return {
        "code": code, "file": file, "field": "balance", "first_day": first, "last_day": last, "currency": "USD",
        "problem": "after 'x, 2023-01-01 to 2023-12-31: .csv', which differs by $3.21", "other_file": "x.csv", **fields,
    }  # fmt: skip


def _with_problems(*problems: dict[str, Any]) -> History:
    earlier = [_pay(30, "2021-12-01", 100, BEN), _pay(31, "2022-03-01", 900, BEN)]
    return report_history([*ROWS, *earlier], list(problems))


OF_2023 = ("2023-02-01", "2023-02-28")
OF_2022 = ("2022-02-05", "2022-07-06")


def test_only_the_gaps_of_the_year_are_named() -> None:
    """By their days or, in strict mode, months, and without balances and names of files."""
    gaps = [_problem(GAP, "secret.csv", OF_2023, cents=8765), _problem(GAP, "hidden.csv", OF_2022, cents=6543)]
    history = _with_problems(*gaps)
    days = {2022: ["5 Feb 2022 to 6 Jul 2022"], 2023: ["1 Feb 2023 to 28 Feb 2023"], 2024: []}
    for year, expected in days.items():
        assert select_year(history, year, AS_OF, privacy=False).gaps == expected
        if year > 2022:
            text = read_year(history, year=year).text
            assert re.findall(r"leave out what no file has: (.*?) \.", text) == expected * 2
            assert not re.search(r"secret|hidden|x, 2023|87\.65|65\.43|x\.csv|may be missing", text)
    assert COMPARED not in text  # payments of 2023 may be missing
    assert select_year(_with_problems(gaps[1]), 2024, AS_OF, privacy=False).is_whole
    for strict, of_2022 in ((False, days[2022]), (True, ["Feb 2022 to Jul 2022"])):
        masked = history.masked(strict=strict)
        for source, privacy in ((history, "strict" if strict else True), (masked, False)):
            assert select_year(source, 2022, AS_OF, privacy=privacy).gaps == of_2022
        assert select_year(masked, 2024, AS_OF, privacy=False).gaps == []
    assert f"leave out what no file has: {of_2022[0]} ." in read_year(masked, year=2022).text


def test_the_days_of_a_gap() -> None:
    """Both days are included, and a gap without days can be of any year."""
    for days, years in (
        (("2023-11-01", "2023-12-31"), [2023]),
        (("2023-12-31", "2024-01-01"), [2023, 2024]),
        (("2024-01-01", "2024-01-01"), [2024]),
        (None, [2022, 2023, 2024]),
    ):
        history = _with_problems(_problem(GAP, "b.csv", days))
        gaps = {year: select_year(history, year, AS_OF, privacy=False).gaps for year in (2022, 2023, 2024)}
        assert [year for year, found in gaps.items() if found] == years
        assert (gaps[years[0]] == ["days that are not known"]) == (days is None)


@pytest.mark.parametrize(
    ("days", "named"),
    [
        (OF_2023, {2023}),
        (("2022-05-05", "2022-05-05"), {2022}),
        pytest.param(None, {2022, 2023, 2024}, marks=pytest.mark.full),
    ],
)
def test_a_file_of_another_year_that_does_not_add_up(days: tuple[str, str] | None, named: set[int]) -> None:
    """It is named on the page of its own year, and ends the comparison of the next one."""
    history = _with_problems(_problem(DOES_NOT_ADD_UP, "d.csv", days, cents=321))
    chosen = {year: select_year(history, year, AS_OF, privacy=False) for year in (2022, 2023, 2024)}
    assert {
        year for year, part in chosen.items() if "do not add up: d.csv." in part.history.describe_wrong_files()
    } == named
    assert chosen[2024].is_whole == (named == {2022})
    if named == {2023}:
        assert "do not add up: d.csv." in read_year(history, year=2023).text
    assert ("Spending in 2024" in read_year(history).text) == (named == {2022})


@pytest.mark.parametrize(
    ("rows", "options", "days", "begins"),
    [
        (ROWS[1:], {"privacy": False}, "", ""),  # in January
        (ROWS[2:], {}, ", from 5 Mar 2023", "5 Mar 2023"),
        (ROWS[2:], {"as_of": "2023-11-30T12:00:00Z"}, ", from 5 Mar 2023 until 30 Nov 2023", "5 Mar 2023"),
        (ROWS[2:], {"as_of": "2023-03-05T23:30:00Z"}, ", on 5 Mar 2023", "5 Mar 2023"),
        (ROWS[2:], {"as_of": "2023-03-25T12:00:00Z", "privacy": "strict"}, ", in Mar 2023", "Mar 2023"),
        (ROWS[2:], {"privacy": "strict"}, ", from Mar 2023", "Mar 2023"),
        (ROWS[2:], {"year": 2022}, "", None),  # an empty year
        (ROWS[2:], {"year": 2024, "as_of": "2025-01-01"}, ", until 30 Jun 2024", ""),
        ([*ROWS[2:], _pay(99, "2022-05-05", 100, BEN, **_at("2024-02-05T12:00:00Z"))], {}, "", ""),
    ],
)
def test_data_that_begins_within_the_year(rows, options, days, begins) -> None:
    """The page says so below its heading, and in a sentence."""
    text = read_year(rows, **{"year": 2023, "privacy": True, **options})
    (shown,) = re.findall(r'<p class="owner">.*?</bdi>(.*?)</p>', text.html)
    assert shown == days
    found = re.findall(r"The payments begin with (.*?); the data has no earlier ones\.", text.text)
    assert found == [begins] * bool(begins) or begins is None


def test_a_year_is_not_compared_with_one_that_is_loaded_in_part() -> None:
    """Also where privacy mode makes a month of the day; the page says from which day on payments are loaded."""
    history = report_history(ROWS)
    for since, is_compared in ((datetime(2023, 1, 1, tzinfo=UTC), True), (datetime(2023, 1, 2, tzinfo=UTC), False)):
        part = replace(history, since=since)
        assert (COMPARED in read_year(part).text) == is_compared
        assert (COMPARED in read_report(part, only=["monthly_flow"]).text) == is_compared
    assert "Spending in 2024" not in read_year(part, privacy="strict").text
    for day, words in ((20, "before some day of Mar 2023"), (1, "before 2023-03-01")):
        part = replace(history, since=datetime(2023, 3, day, tzinfo=UTC))
        text = read_year(part, year=2023, privacy="strict").html
        assert f"Payments made {words}" in text
        assert ", from Mar 2023</p>" in text


def test_other_currencies_in_other_years() -> None:
    """They are not added, and do not refuse the page; a person who was paid in another one is not new."""
    rows = [
        _pay(1, "2022-05-05", 5000, CY, currency="USD"), _pay(2, "2023-02-05", 1000, BEN, currency="EUR"),
        _pay(3, "2023-03-05", 9900, CY, currency="USD"), _pay(4, "2024-02-05", 2000, BEN, currency="USD"),
        _pay(5, "2024-03-05", 2000, DEE, currency="USD"),
    ]  # fmt: skip
    page = read_year(rows)
    figures = _read_figures(page)
    assert (figures["Sent"], figures["People"]) == ("$40.00, to others", "2, 1 for the first time")
    # 40 dollars are 59.6 % less than 99 dollars; with ten euros it would be 63.3 %.
    assert f"{COMPARED} 59.6% below that of the same months of 2023." in page.text
    with pytest.raises(SchemaError, match="render_year needs payments in one currency, not in"):
        read_year([*rows, _pay(6, "2024-04-05", 2000, DEE, currency="EUR")])


def test_an_empty_year_says_so() -> None:
    """One sentence, with the years that have payments; the year of `as_of` where there are none at all."""
    undated = {**_pay(2, "2023-01-05", 1000, BEN), "date_created": None}
    ended = "No payment settled in 2025; the payments are from 2022 to 2024. The data ends with 30 Jun 2024."
    for rows, options, words in (
        (ROWS, {"as_of": "2027-03-01", "year": 2025}, ended),
        ([], {"as_of": "2027-03-01"}, "2024 in payments"),
        ([undated], {}, "1 settled payment is in no year: without a date, or with one before 1970."),
    ):
        page = read_year(rows, **options)
        assert words in page.text
        assert {tag for tag, _ in page.tags}.isdisjoint({"dl", "section"})
    for rows, year, words in (
        (ROWS, 2019, "No payment settled in 2019; the payments are from 2022 to 2024."),
        ([_ask(1, "2023-03-01", 500, "pending")], None, "No payment settled in 2024."),
    ):
        assert select_year(report_history(rows), year, AS_OF).describe_empty() == words


def test_markdown_has_the_same_figures() -> None:
    """Figures, sentences and tables, escaped."""
    text = render_year(report_history(ROWS), as_of=AS_OF, privacy=False, kind="markdown")
    assert text.startswith("# 2024 in payments\n\nRosa \\<Vale\\>, until 30 Jun 2024\n")
    assert "- Sent: \\$143.00 · to others" in text
    assert "| Dee Marlow | \\$100.00 | \\$0.00 |" in text
    assert "<" not in text.replace("\\<", "")
    *_, months, notes = re.split(r"\n(?:## .*|---)\n", text)  # hours are a figure only
    assert ("2024-02" in months, notes.startswith("\nSettled payments with others are counted")) == (True, True)
    assert "hours" not in text.lower()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"year": 1969}, r"year is a whole number from 1970 to 2199, not 1969"),
        ({"year": True}, r"year is a whole number from 1970 to 2199, not True"),
        ({"as_of": "1960-01-01"}, r"No payment settled up to 1960-01-01.*from 1970 to 2199: choose another as_of"),
        ({"kind": "pdf"}, r"kind is 'html' or 'markdown', not 'pdf'"),
        ({"privacy": "no"}, r"privacy is True, \"strict\", False, or None"),
        ({"tz": "Mars"}, r"Mars"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], words: str) -> None:
    """Each is refused with the value and what it can be."""
    with pytest.raises(ConfigurationError, match=words):
        read_year([], **options)
