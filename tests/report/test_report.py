"""The report is one self-contained HTML file with the figures of the analyses and no script but its own."""

import base64
import dataclasses
import html
import re

import pandas as pd
import pytest

from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.report import render_report
from p2p_analytics.times import parse_instant
from support.reports import AS_OF, ParsedPage, check_page_is_closed, payment_row, read_report, report_history

EVIL = '<img src=x onerror="alert(1)"> & {{ 7 * 7 }}'
TO_BEN = {"counterparty_id": "2", "counterparty_name": "Ben 🌲"}
TO_EVIL = {"counterparty_id": "3", "counterparty_name": EVIL}
TO_CY = {"counterparty_id": "4", "counterparty_name": "Cy\x00 Da"}
PAYMENT_ROWS = [
    payment_row(1, "2024-06-20T09:00:00Z", flow_cents=123456, **TO_BEN),
    payment_row(2, "2024-05-31T23:30:00Z", flow_cents=-4010, **TO_EVIL),
    payment_row(3, "2024-05-02T09:00:00Z", flow_cents=-290, **TO_BEN),
    payment_row(
        4, "2024-06-23T12:00:00Z", flow_cents=700, **TO_EVIL, status="pending", note=f"tent {EVIL}"
    ),
    payment_row(
        5, "2024-01-01T00:00:00Z", flow_cents=-9999, **TO_CY, status="pending",
        note="half the\nrent 🏠",
    ),
]  # fmt: skip
ZONE = "America/New_York"
HEAD = ["spend_by_friend", "monthly_flow", "pending_requests"]  # the sections of tables that are built in any case
pytestmark = pytest.mark.usefixtures("draw_nothing")  # the page of all tests has figures


@pytest.fixture(scope="module")
def page() -> ParsedPage:
    """Return the report of the literal payments above."""
    return read_report(PAYMENT_ROWS, tz=ZONE)


def test_it_is_a_complete_page(page: ParsedPage) -> None:
    """It has a language, charset, viewport and title, and loads nothing; its policy permits its script and style."""
    assert page.html.startswith("<!DOCTYPE html>")
    assert ("html", {"lang": "en"}) in page.tags
    metas = [attributes for tag, attributes in page.tags if tag == "meta"]
    assert {"charset": "utf-8"} in metas
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in metas
    assert page.text.startswith("Payments of Rosa <Vale> ")
    check_page_is_closed(page, "style", "script")


def test_figures_are_drawn_and_described(page: ParsedPage) -> None:
    """Each figure is an SVG without scripts or addresses to load, and has an alternative text."""
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    sections = [section.partition('"') for section in page.html.split('<section id="')[1:]]
    assert {name for name, _, content in sections if "<img " in content} >= {
        "spend_by_friend", "categories", "spending_over_time", "monthly_flow", "people_by_year", "status_mix",
        "pending_requests", "activity",
    }  # fmt: skip
    for attributes in images:
        start, _, code = str(attributes["src"]).partition(",")
        drawing = base64.b64decode(code).decode()
        assert start == "data:image/svg+xml;base64"
        assert "<svg " in drawing
        assert "<script" not in drawing
        assert re.findall(r'href="(?!#)', drawing) == []
        assert len(str(attributes["alt"])) > 40


def test_names_and_notes_are_escaped(page: ParsedPage) -> None:
    """Names and notes are shown as text, never run; characters that a file cannot hold are replaced."""
    assert "<img src=x" not in page.html
    assert f"{EVIL} $40.10" in page.text
    assert "tent " + EVIL in page.text
    assert "Cy Da" in page.text
    odd = read_report(report_history([], display_name="Rosa \ud83d\x07 Vale"), only=["status_mix"])
    assert odd.text.startswith("Payments of Rosa ? Vale Payments of Rosa ? Vale")


def test_figures_and_tables(page: ParsedPage) -> None:
    """The head and the tables hold the rows of the analyses in the given zone, with their totals."""
    for words in (
        # Sent, received and net are settled money; open amounts are separate.
        "Sent $43.00 to others Received $1,234.56 from others Net $1,191.56 in 3 settled payments",
        "Still open, to receive $7.00 in 1 pending payment Still open, to pay $99.99 in 1 pending payment",
        "5 payments from 31 Dec 2023 to 23 Jun 2024, 1 friend.",
        "@ rosa-vale · Loaded 30 Jun 2024, 08:05; requests counted as of 30 Jun 2024, 08:00 · balance −$0.05",  # noqa: RUF001 - a minus sign
        f"{EVIL} $40.10 $0.00 −$40.10 1 93.3%",  # noqa: RUF001
        "Ben 🌲 $2.90 $1,234.56 $1,231.66 2 6.7%",
        "Together $43.00 $1,234.56 $1,191.56 3",
        "2024-05 $43.00 $0.00 −$43.00 2 −$43.00 2024-06 $0.00 $1,234.56 $1,234.56 1 $1,191.56",  # noqa: RUF001
        "pay settled 3 60.0% $1,277.56 pay pending 2 40.0% $106.99",
        "7 to 30 days to receive 1 $7.00 7 90 days or more to pay 1 $99.99 181",
        "Cy Da half the rent 🏠 31 Dec 2023 181 days $99.99 to pay",
    ):
        assert words in page.text


def test_the_values_to_sort_by(page: ParsedPage) -> None:
    """Amounts have their cents, dates their seconds, and bands of ages their order; missing values are empty."""
    undated = {**PAYMENT_ROWS[4], "payment_id": "6", "amount_cents": None, "flow_cents": None, "date_created": None}
    text = page.html + read_report([*PAYMENT_ROWS, undated], only=HEAD).html
    for shown, key in (
        ("$40.10", "4010"), ("−$40.10", "-4010"), ("93.3%", str(4010 / 4300)), ("23 Jun 2024", "1719144000"),  # noqa: RUF001
    ):  # fmt: skip
        assert re.search(f'<td [^>]*data-key="{re.escape(key)}"[^>]*>{re.escape(shown)}<', text), shown
    assert re.findall(r'data-key="(\d)">(?:7 to 30 days|90 days or more)<', page.html) == ["1", "2"]
    assert re.search('data-key="">no date<', text)
    assert re.search('data-key="">not known<small>', text)


def test_an_empty_history() -> None:
    """Without payments, each section states that there are none."""
    page = read_report(report_history([], display_name=None, username=None))
    assert "Payments of 1 0 payments, 1 friend." in page.text
    none = [analysis.none for analysis in ANALYSES.values()]
    assert page.text.count("No settled payments.") == none.count("No settled payments.") >= 6
    for sentence in (
        "No payments.", "No requests.", "No settled requests with both dates.", "No pending payments.",
        "No split bills.", "Nothing recurs.", "No unusual payments.", "No public payments with such a note.",
    ):  # fmt: skip
        assert sentence in page.text
    assert "could not be read" not in page.text
    assert not [tag for tag, _ in page.tags if tag == "img"]


def test_what_is_outside_the_figures_is_counted() -> None:
    """Settled payments of an unknown direction; and records that could not be read, which are listed and escaped."""
    unknown = {**PAYMENT_ROWS[0], "payment_id": "9", "direction": None, "flow_cents": None, "action": "gift"}
    problem = {"code": "unreadable", "payment_id": "7", "field": "amount", "value": "<b>1</b>", "problem": "is odd"}
    history = report_history([*PAYMENT_ROWS, unknown], [problem, {**problem, "value": None}])
    text = read_report(history, only=["status_mix"]).text
    assert "Sent $43.00 to others Received $1,234.56" in text
    assert "1 settled or pending payment has no known direction, and is counted" in text
    assert "1 record could not be read fully" in text
    assert "7 amount <b>1</b> is odd" in text


def test_long_lists_add_up() -> None:
    """Fifteen people and fifty requests are listed; a row adds up the others, and the captions give the totals."""
    many = [
        {**PAYMENT_ROWS[1 if at % 2 else 3], "payment_id": f"{at}", "counterparty_id": f"{at}"} for at in range(1, 121)
    ]
    many[118] |= {"flow_cents": -10, "amount_cents": 10}  # id 119, so it is the last one by amount
    many[119] |= {"direction": "out", "flow_cents": -(10**9), "amount_cents": 10**9}  # id 120
    text = read_report(many, only=HEAD).text
    assert "the most sent first : the first 15 of 60" in text
    # 59 people with $40.10 and one with $0.10: together $2,366.00, of which the first 15 have $601.50.
    assert "45 other people $1,764.50 $0.00 −$1,764.50 45 74.6%" in text  # noqa: RUF001 - a minus sign
    assert "All 60 $2,366.00 $0.00 −$2,366.00 60" in text  # noqa: RUF001
    assert "the oldest first : the first 50 of 60" in text
    requests = text[text.index("Pending payments , the oldest first") :]
    # Equal dates are in the order of the ids as text: 10, 100, 102, ..., 120, 14, ...; the last ten of $7 are left.
    assert requests.count("$7.00 to receive") == 49
    assert "10 other requests $70.00 to receive $0.00 to pay" in requests
    asked = [{**PAYMENT_ROWS[3], "payment_id": f"{at:03}"} for at in range(52)]
    asked[51] |= {"amount_cents": None, "flow_cents": None}
    text = read_report(asked, only=HEAD).text
    assert "2 other requests 1 of unknown amount $7.00 to receive $0.00 to pay" in text
    few = [row for row in many if row["direction"] == "out"][:15] + asked[:50]
    text = read_report([{**row, "payment_id": f"{at}"} for at, row in enumerate(few)], only=HEAD).text
    assert not re.search("other people|other request|the first", text)


@pytest.mark.parametrize(
    ("tz", "odd"),
    [
        ("UTC", "1000-06-01T00:00:00Z"),
        ("America/New_York", "0001-01-01T00:00:00Z"),
        ("Pacific/Kiritimati", "9999-12-31T23:59:59Z"),
    ],
)
def test_implausible_dates_are_counted(odd: str, tz: str) -> None:
    """Implausible dates are counted; they raise no error and do not enlarge the report."""
    late = payment_row(8, odd, flow_cents=-100, **TO_BEN)
    asked = {**PAYMENT_ROWS[3], "date_created": late["date_created"], "payment_id": "9"}
    plain, page = (
        read_report([*PAYMENT_ROWS, *more], tz=tz, only=[*HEAD, "people_by_year", "exposure"])
        for more in ([], [late, {**late, "payment_id": "10"}, asked])
    )
    count = "2 settled payments have no date, or one before 1970 or after 2199; they are counted under “no date”"
    assert count in page.text
    assert "no date $2.00 $0.00 −$2.00 2 $1,189.56" in page.text  # noqa: RUF001 - a minus sign
    assert "8 payments from " in page.text
    assert f" to {24 if tz == 'Pacific/Kiritimati' else 23} Jun 2024, 1 friend" in page.text
    assert len(page.html) < 1.2 * len(plain.html)
    assert "settled payment has no date" not in plain.text


def test_a_long_calendar_omits_empty_months() -> None:
    """A payment of 1970 is in its month; months without payments are omitted if the table would be too long."""
    early = payment_row(8, "1970-01-01T00:00:00Z", flow_cents=-100, **TO_BEN)
    text = read_report([*PAYMENT_ROWS, early], only=HEAD).text
    assert "1970-01 $1.00 $0.00 −$1.00 1 −$1.00 2024-05 $43.00" in text  # noqa: RUF001 - a minus sign
    assert "zone UTC; 651 months without payments are left out" in text


def test_no_column_is_hidden_on_phones_or_in_print(page: ParsedPage) -> None:
    """Narrow screens show each row as a card with labels; the folded months are unfolded in print."""
    rules = re.sub(r"\s+", " ", page.html[page.html.index("<style>") : page.html.index("</style>")])
    assert re.findall(r"([^{}]+) \{ display: none; \}", rules) == [
        " .paper", " summary, nav, .screen, .tools", " td:empty",
    ]  # fmt: skip
    assert "--amount: calc(.93 * 9ch);" in rules  # "$1,277.56"
    assert "@media screen { .out { display: none !important; } }" in rules
    assert "screen" not in {attributes.get("class") for _, attributes in page.tags}
    assert "details::details-content { content-visibility: visible; block-size: auto; }" in rules
    labels = [attributes["data-label"] for tag, attributes in page.tags if tag == "td"]
    assert labels[:5] == ["Sent", "Received", "Net", "Payments", "Share of sent"]
    roles = {"table": "table", "tr": "row", "td": "cell", "thead": "rowgroup", "tbody": "rowgroup", "tfoot": "rowgroup"}
    for tag, attributes in page.tags:
        header = {"col": "columnheader", "row": "rowheader"}.get(attributes.get("scope") or "")
        assert attributes.get("role") == roles.get(tag, header)
        assert tag != "th" or header
    tables, captions = (sum(tag == name for tag, _ in page.tags) for name in ("table", "caption"))
    assert tables == captions >= 7


def test_several_currencies_are_refused() -> None:
    """One sentence names them with their numbers of payments, and what to type; that gives a report of one."""
    rows = [*PAYMENT_ROWS[:-1], {**PAYMENT_ROWS[-1], "currency": "EUR"}]
    history = report_history([*rows, {**rows[0], "payment_id": "99", "currency": "CHF", "kind": "merchant"}])
    sentence = (
        r"^render_report needs payments in one currency, not in USD \(4\) and EUR \(1\): "
        r"choose one, like history\.select_currency\('USD'\)\.$"
    )
    with pytest.raises(SchemaError, match=sentence):
        render_report(history, as_of=AS_OF)
    text = read_report(history.select_currency("USD"), only=["status_mix"]).text
    assert ("4 payments" in text, "Not counted here" in text) == (True, False)


@pytest.mark.parametrize(
    ("code", "name", "balance"),
    [("GBP", "pounds sterling", "£0.05"), ("JPY", "yen", "¥0.05"), ("KWD", "KWD", "KWD 0.050")],
)
def test_a_report_in_one_currency(page: ParsedPage, code: str, name: str, balance: str) -> None:
    """Amounts have the symbol or code of the currency everywhere, and its decimals; nothing says dollars."""
    told = read_report([{**row, "currency": code} for row in PAYMENT_ROWS], tz=ZONE)
    assert "$" not in told.html.split("</style>")[1].split("<script>")[0]
    assert "dollar" not in told.text
    assert f"count settled payments only, in {name}, exact" in told.text
    assert f"balance \N{MINUS SIGN}{balance}" in told.text.replace("\N{NO-BREAK SPACE}", " ")
    assert len(told.tags) == len(page.tags)


def test_only_payments_are_counted(page: ParsedPage) -> None:
    """Rows of another kind, such as a transfer to a bank, are in no count and no sum; a sentence says how many."""
    transfer = {**PAYMENT_ROWS[1], "payment_id": "9", "kind": "transfer"}
    rows = [{**row, "kind": "payment", "currency": "USD"} for row in PAYMENT_ROWS]
    told = read_report([*rows, transfer], tz=ZONE)
    sentence = "Not counted here, because they are not payments between people: 1 transfer. "
    assert told.text.replace(sentence, "") == page.text != told.text


def test_the_words_fit_statement_files() -> None:
    """Statements are not loaded, list no friends, and may be older than the last state of a request."""
    rows = [{**row, "source": "statement", "currency": "USD"} for row in PAYMENT_ROWS]
    history = report_history(rows)
    told = read_report(dataclasses.replace(history, friends=history.friends.head(0)), only=["status_mix"]).text
    mixed = read_report([*rows[1:], PAYMENT_ROWS[0]], only=["status_mix"]).text
    for words, is_mixed in (
        ("from statement files.", False), ("Statements until", False), ("as its statement file shows it", False),
        ("1 friend.", True), ("Loaded", True),
    ):  # fmt: skip
        assert (words in told, words in mixed) == (not is_mixed, is_mixed)


def test_what_is_no_history() -> None:
    """A payment that was repeated after the history was built, and a frame, are each refused in one sentence."""
    history = report_history(PAYMENT_ROWS)
    with pytest.raises(ConfigurationError, match=r"^render_report needs a History, .* not DataFrame\.$"):
        render_report(history.payments, as_of=AS_OF)
    object.__setattr__(history, "payments", pd.concat([history.payments] * 2, ignore_index=True))
    with pytest.raises(SchemaError, match=r"^render_report needs each payment once"):
        render_report(history, as_of=AS_OF)


def test_ages_before_the_payments_are_announced() -> None:
    """Requests that are later than the moment to which ages are counted look new; the top of the page says so."""
    head, _, _ = read_report(PAYMENT_ROWS, as_of="2001-01-01", only=["categories"]).html.partition("<main>")
    assert "2 pending payments are later" in head
    assert "later than 2001-01-01 00:00 UTC, to which ages are counted" in head
    assert "to which ages are counted" not in read_report(PAYMENT_ROWS, only=["recurring"]).text


def test_payments_of_one_day() -> None:
    """They are of that day."""
    rows = [payment_row(at, f"2024-05-05T{at:02}:00:00Z", flow_cents=-500, direction="out") for at in (1, 23)]
    assert "2 payments of 5 May 2024, 1 friend." in read_report(rows, only=["status_mix"]).text


@pytest.mark.parametrize(
    ("years", "words", "row"),
    [
        (4, ["month"], "2001-02 $0.10 $0.00 −$0.10 1 −$0.20"),  # noqa: RUF001 - a minus sign
        (5, ["quarter", "month"], "2001 Q2 $0.30 $0.00 −$0.30 3 −$0.60"),  # noqa: RUF001
        (15, ["year", "month"], "2002 $1.20 $0.00 −$1.20 12 −$2.40"),  # noqa: RUF001
    ],
)
def test_the_tables_of_a_span(years: int, words: list[str], row: str) -> None:
    """Four years of ten cents a month are shown by month, five by quarter, fifteen by year; months then on screens."""
    rows = [
        payment_row(at, f"{2001 + at // 12}-{at % 12 + 1:02}-05T12:00:00Z", flow_cents=-10) for at in range(12 * years)
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


def test_problems_of_files_show_file_line_and_days() -> None:
    """The days of a gap stand below the sums, above the months and beside the problem; private ones have the code."""
    first, last = parse_instant("2024-02-01T00:00:00Z"), parse_instant("2024-02-29T00:00:00Z")
    problems = [
        {
            "code": "not_an_amount", "file": "may.csv", "line": 1234, "payment_id": "7", "field": "amount",
            "value": "1o", "problem": "is not an amount",
        },
        {
            "code": "gap", "file": "may<b>.csv", "field": "balance", "first_day": first, "last_day": last,
            "cents": 4321, "currency": "USD", "other_file": "april.csv", "problem": "a file may be missing before it",
        },
    ]  # fmt: skip
    history, gap = report_history(PAYMENT_ROWS, problems), "1 Feb 2024 to 29 Feb 2024"
    page = read_report(history, only=["monthly_flow"])
    sums, _, months = page.html.partition('<section id="monthly_flow">')
    for part in (sums.partition("</dl>")[2], months.partition("<table")[0]):
        text = html.unescape(re.sub(r"</?bdi>", "", part))
        assert f"leave out what no file has: before may<b>.csv, {gap}." in text
    listed = f"may<b>.csv balance {gap} a file may be missing before it may.csv line 1,234 7 amount 1o is not an amount"
    assert listed in page.text
    for strict, days in ((False, gap), (True, "Feb 2024")):
        private = read_report(history.masked(key=bytes(32), strict=strict), only=["monthly_flow"]).text
        assert re.search(rf"leave out what no file has: before [a-z ]+, {days} \.", private)
        assert f"balance {days} gap" in private
        assert [
            words for words in ("april", "may.csv", "43.21", "line 1,234", " 1o ", "a file may") if words in private
        ] == []
    assert "leave out" not in read_report(PAYMENT_ROWS, only=["monthly_flow"]).text
