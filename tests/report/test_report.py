"""The report is one self-contained HTML file with the figures of the analyses and no script but its own."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from zoneinfo import ZoneInfo

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest

from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.report import render_report
from support.reports import ParsedPage, payment_row, report_history

pytestmark = pytest.mark.usefixtures("draw_once")
AS_OF = "2024-06-30T12:00:00Z"
EVIL = '<img src=x onerror="alert(1)"> & {{ 7 * 7 }}'


TO_BEN = {"counterparty_id": "2", "counterparty_name": "Ben 🌲"}
TO_EVIL = {"counterparty_id": "3", "counterparty_name": EVIL}
TO_CY = {"counterparty_id": "4", "counterparty_name": "Cy\x00 Da"}
PAYMENT_ROWS = [
    payment_row(1, "2024-06-20T09:00:00Z", direction="in", flow_cents=123456, **TO_BEN),
    payment_row(2, "2024-05-31T23:30:00Z", direction="out", flow_cents=-4010, **TO_EVIL),
    payment_row(3, "2024-05-02T09:00:00Z", direction="out", flow_cents=-290, **TO_BEN),
    payment_row(
        4, "2024-06-23T12:00:00Z", direction="in", flow_cents=700, **TO_EVIL, status="pending", note=f"tent {EVIL}"
    ),
    payment_row(
        5,
        "2024-01-01T00:00:00Z",
        direction="out",
        flow_cents=-9999,
        **TO_CY,
        status="pending",
        note="half the\nrent 🏠",
    ),
]


@pytest.fixture(scope="module")
def html() -> str:
    """Return the report of the literal payments above."""
    return render_report(report_history(PAYMENT_ROWS), as_of=AS_OF, tz="America/New_York")


@pytest.fixture(scope="module")
def page(html: str) -> ParsedPage:
    """Return the same report, parsed."""
    return ParsedPage(html)


def test_it_is_a_complete_page(html: str, page: ParsedPage) -> None:
    """The page has a language, charset, viewport and title, and every element is closed."""
    assert html.startswith("<!DOCTYPE html>")
    tags = dict(reversed(page.tags))
    assert tags["html"] == {"lang": "en"}
    metas = [attributes for tag, attributes in page.tags if tag == "meta"]
    assert {"charset": "utf-8"} in metas
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in metas
    assert page.open == []
    assert page.text.startswith("Payments of Rosa <Vale> ")


def test_it_loads_nothing_from_other_addresses(html: str, page: ParsedPage) -> None:
    """Addresses are data URLs of figures and places in the page; the policy permits the page's own script and style."""
    assert {tag for tag, _ in page.tags}.isdisjoint({"link", "iframe", "object", "form", "base"})
    assert {(attributes["href"] or "")[:1] for tag, attributes in page.tags if tag == "a"} == {"#"}
    assert re.findall(r"(?:https?:)?//[\w.]+", re.sub(r"base64,[\w+/=]+", "", html)) == []
    assert not re.search(r"url\(|@import", html)
    assert [attributes["src"][:26] for tag, attributes in page.tags if tag == "img"] == [
        "data:image/svg+xml;base64,"
    ] * 8
    policy = next(attributes for _, attributes in page.tags if "http-equiv" in attributes)
    hashes = {
        tag: base64.b64encode(hashlib.sha256(re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)[0].encode()).digest())
        for tag in ("style", "script")
    }
    assert [tag for tag, attributes in page.tags if tag in hashes and not attributes] == ["style", "script"]
    assert not any("style" in attributes for _, attributes in page.tags)
    assert policy["content"] == (
        f"default-src 'none'; img-src data:; style-src 'sha256-{hashes['style'].decode()}'; "
        f"script-src 'sha256-{hashes['script'].decode()}'; base-uri 'none'; form-action 'none'"
    )


def test_names_and_notes_are_escaped(page: ParsedPage) -> None:
    """Names and notes are shown as text, never run; characters that a file cannot hold are replaced."""
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert page.text.count(EVIL) == 3
    assert "tent " + EVIL in page.text
    assert "Cy Da" in page.text
    odd = ParsedPage(render_report(report_history([], display_name="Rosa \ud83d\x07 Vale"), as_of=AS_OF))
    assert odd.text.startswith("Payments of Rosa ? Vale Payments of Rosa ? Vale")


def test_figures_are_drawn_and_described(page: ParsedPage) -> None:
    """Each figure is an SVG without scripts or addresses to load, and has an alternative text."""
    for tag, attributes in page.tags:
        if tag == "img":
            drawing = base64.b64decode(str(attributes["src"]).partition(",")[2]).decode()
            assert "<svg " in drawing
            assert "<script" not in drawing
            assert re.findall(r'href="(?!#)', drawing) == []
            assert len(str(attributes["alt"])) > 40


def test_the_headline_figures(page: ParsedPage) -> None:
    """Sent, received and net are settled money; open amounts are separate."""
    for words in (
        "Sent $43.00 to others",
        "Received $1,234.56 from others",
        "Net $1,191.56 in 3 settled payments",
        "Still open, to receive $7.00 in 1 pending payment",
        "Still open, to pay $99.99 in 1 pending payment",
        "5 payments from 31 Dec 2023 to 23 Jun 2024, 1 friend.",
        "@ rosa-vale · Loaded 30 Jun 2024, 08:05; requests counted as of 30 Jun 2024, 08:00 · balance −$0.05",  # noqa: RUF001 - a minus sign
    ):
        assert words in page.text


def test_the_tables(page: ParsedPage) -> None:
    """The tables hold the rows of the analyses in the given zone, with their totals."""
    for words in (
        f"{EVIL} $40.10 $0.00 −$40.10 1 93.3%",  # noqa: RUF001 - a minus sign
        "Ben 🌲 $2.90 $1,234.56 $1,231.66 2 6.7%",
        "Together $43.00 $1,234.56 $1,191.56 3",
        "2024-05 $43.00 $0.00 −$43.00 2 −$43.00 2024-06 $0.00 $1,234.56 $1,234.56 1 $1,191.56",  # noqa: RUF001
        "pay settled 3 60.0% $1,277.56 pay pending 2 40.0% $106.99",
        "7 to 30 days to receive 1 $7.00 7 90 days or more to pay 1 $99.99 181",
        "Cy Da half the rent 🏠 31 Dec 2023 181 days $99.99 to pay",
    ):
        assert words in page.text
    tables = [tag for tag, _ in page.tags if tag == "table"]
    assert len(tables) == len([tag for tag, _ in page.tags if tag == "caption"]) == 7
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")


def test_the_values_to_sort_by(html: str) -> None:
    """Amounts have their cents, dates their seconds, and bands of ages their order; missing values are empty."""
    keys = {
        "$40.10": "4010", "−$40.10": "-4010", "93.3%": str(4010 / 4300), "23 Jun 2024": "1719144000",  # noqa: RUF001
    }  # fmt: skip
    undated = {**PAYMENT_ROWS[4], "payment_id": "6", "amount_cents": None, "flow_cents": None, "date_created": None}
    text = html + render_report(report_history([*PAYMENT_ROWS, undated]), as_of=AS_OF)
    for shown, key in keys.items():
        assert re.search(f'<td [^>]*data-key="{re.escape(key)}"[^>]*>{re.escape(shown)}<', text), shown
    assert re.findall(r'data-key="(\d)">(?:7 to 30 days|90 days or more)<', html) == ["1", "2"]
    assert re.search('data-key="">no date<', text)
    assert re.search('data-key="">not known<small>', text)


def test_the_same_history_gives_the_same_bytes(html: str) -> None:
    """The report does not depend on the time, the user's plot style or the run; it leaves no figure open."""
    before = plt.get_fignums()
    with mpl.rc_context({"axes.facecolor": "black", "text.color": "white", "svg.hashsalt": "other", "font.size": 30}):
        again = render_report(report_history(PAYMENT_ROWS), as_of=AS_OF, tz=ZoneInfo("America/New_York"))
    assert again == html
    assert plt.get_fignums() == before


def test_an_empty_history() -> None:
    """Without payments, each section states that there are none."""
    page = ParsedPage(render_report(report_history([], display_name=None, username=None), as_of=AS_OF))
    assert "Payments of 1 0 payments, 1 friend." in page.text
    assert page.text.count("No settled payments.") == 6
    for sentence in (
        "No payments.", "No requests.", "No settled requests with both dates.", "No pending payments.",
        "No split bills.", "Nothing recurs.", "No unusual payments.", "No public payments with such a note.",
    ):  # fmt: skip
        assert sentence in page.text
    assert "could not be read" not in page.text
    assert not [tag for tag, _ in page.tags if tag == "img"]


def test_problems_are_listed() -> None:
    """Records that could not be read fully are counted, listed, and escaped."""
    problems = [
        {
            "code": "unreadable", "payment_id": "7", "field": "amount", "value": "<b>12.345</b>",
            "problem": "has a fraction of a cent",
        },
        {"code": "unreadable", "payment_id": "7", "field": "note", "value": None, "problem": "is no text"},
    ]  # fmt: skip
    page = ParsedPage(render_report(report_history(PAYMENT_ROWS, problems), as_of=AS_OF))
    assert "1 record could not be read fully" in page.text
    assert "7 amount <b>12.345</b> has a fraction of a cent" in page.text


def test_payments_outside_the_figures_are_counted() -> None:
    """Settled payments of an unknown direction are in no sum, but they are counted below the figures."""
    unknown = {**PAYMENT_ROWS[0], "payment_id": "9", "direction": None, "flow_cents": None, "action": "gift"}
    page = ParsedPage(render_report(report_history([*PAYMENT_ROWS, unknown]), as_of=AS_OF))
    assert "Sent $43.00 to others Received $1,234.56" in page.text
    assert "1 settled or pending payment has no known direction, and is counted" in page.text


def test_long_lists_add_up() -> None:
    """Fifteen people and fifty requests are listed; a row adds up the others, and the captions give the totals."""
    many = [
        {**PAYMENT_ROWS[1 if at % 2 else 3], "payment_id": f"{at}", "counterparty_id": f"{at}"} for at in range(1, 121)
    ]
    many[118] |= {"flow_cents": -10, "amount_cents": 10}  # id 119, so it is the last one by amount
    many[119] |= {"direction": "out", "flow_cents": -(10**9), "amount_cents": 10**9}  # id 120
    text = ParsedPage(render_report(report_history(many), as_of=AS_OF)).text
    assert "the most sent first : the first 15 of 60" in text
    # 59 people with $40.10 and one with $0.10: together $2,366.00, of which the first 15 have $601.50.
    assert "45 other people $1,764.50 $0.00 −$1,764.50 45 74.6%" in text  # noqa: RUF001 - a minus sign
    assert "All 60 $2,366.00 $0.00 −$2,366.00 60" in text  # noqa: RUF001
    assert "the oldest first : the first 50 of 60" in text
    requests = text[text.index("Pending payments , the oldest first") :]
    # Equal dates are in the order of the ids as text: 10, 100, 102, ..., 120, 14, ...; the last ten of $7 are left.
    assert requests.count("$7.00 to receive") == 49
    assert "10 other requests $70.00 to receive $0.00 to pay" in requests


def test_a_request_without_amount_is_counted() -> None:
    """A request of unknown amount that has no row of its own is named in the row of the others."""
    asked = [{**PAYMENT_ROWS[3], "payment_id": f"{at:03}"} for at in range(52)]
    asked[51] |= {"amount_cents": None, "flow_cents": None}
    text = ParsedPage(render_report(report_history(asked), as_of=AS_OF)).text
    assert "2 other requests 1 of unknown amount $7.00 to receive $0.00 to pay" in text


def test_a_list_at_its_limit_has_no_other_row() -> None:
    """Fifteen people and fifty requests are all listed."""
    many = [{**PAYMENT_ROWS[1], "payment_id": f"{at}", "counterparty_id": f"{at}"} for at in range(15)]
    many += [{**PAYMENT_ROWS[3], "payment_id": f"{100 + at}"} for at in range(50)]
    text = ParsedPage(render_report(report_history(many), as_of=AS_OF)).text
    assert "Together $601.50" in text
    assert not re.search("other people|other request|the first", text)


@pytest.mark.parametrize(
    ("tz", "odd"),
    [
        ("UTC", "1000-06-01T00:00:00Z"),
        ("America/New_York", "0001-01-01T00:00:00Z"),
        ("Pacific/Kiritimati", "9999-12-31T23:59:59Z"),
    ],
)
def test_implausible_dates_are_counted(html: str, odd: str, tz: str) -> None:
    """Implausible dates are counted; they raise no error and do not enlarge the report."""
    late = payment_row(8, odd, direction="out", flow_cents=-100, **TO_BEN)
    asked = {**PAYMENT_ROWS[3], "date_created": late["date_created"], "payment_id": "9"}
    text = render_report(report_history([*PAYMENT_ROWS, late, {**late, "payment_id": "10"}, asked]), as_of=AS_OF, tz=tz)
    page = ParsedPage(text)
    assert (
        "2 settled payments have no date, or one before 1970 or after 2199; they are counted under “no date”"
        in page.text
    )
    assert "no date $2.00 $0.00 −$2.00 2 $1,189.56" in page.text  # noqa: RUF001 - a minus sign
    assert "8 payments from " in page.text
    assert f" to {24 if tz == 'Pacific/Kiritimati' else 23} Jun 2024, 1 friend" in page.text
    assert len(text) < 1.2 * len(html)
    assert "settled payment has no date" not in ParsedPage(html).text


def test_a_long_calendar_omits_empty_months(html: str) -> None:
    """A payment of 1970 is in its month; months without payments are omitted if the table would be too long."""
    early = payment_row(8, "1970-01-01T00:00:00Z", direction="out", flow_cents=-100, **TO_BEN)
    text = render_report(report_history([*PAYMENT_ROWS, early]), as_of=AS_OF)
    assert "1970-01 $1.00 $0.00 −$1.00 1 −$1.00 2024-05 $43.00" in ParsedPage(text).text  # noqa: RUF001 - a minus sign
    assert "zone UTC; 651 months without payments are left out" in ParsedPage(text).text
    assert "left out" not in ParsedPage(html).text
    assert len(text) < 1.2 * len(html)


def test_no_column_is_hidden_on_phones_or_in_print(html: str, page: ParsedPage) -> None:
    """Narrow screens show each row as a card with labels; the folded months are unfolded in print."""
    rules = re.sub(r"\s+", " ", html[html.index("<style>") : html.index("</style>")])
    assert re.findall(r"([^{}]+) \{ display: none; \}", rules) == [
        " .paper",
        " summary, nav, .screen, .tools",
        " td:empty",
    ]
    assert "@media screen { .out { display: none !important; } }" in rules
    assert "screen" not in {attributes.get("class") for _, attributes in page.tags}
    assert "details::details-content { content-visibility: visible; block-size: auto; }" in rules
    cells = [attributes for tag, attributes in page.tags if tag == "td"]
    assert {attributes["data-label"] for attributes in cells[:5]} == {
        "Sent", "Received", "Net", "Payments", "Share of sent",
    }  # fmt: skip
    roles = {"table": "table", "tr": "row", "td": "cell", "thead": "rowgroup", "tbody": "rowgroup", "tfoot": "rowgroup"}
    for tag, attributes in page.tags:
        header = {"col": "columnheader", "row": "rowheader"}.get(attributes.get("scope") or "")
        assert attributes.get("role") == roles.get(tag, header)


def test_several_currencies_are_refused() -> None:
    """One sentence names them with their numbers of payments, and what to type; that gives a report of one."""
    rows = [*PAYMENT_ROWS[:-1], {**PAYMENT_ROWS[-1], "currency": "EUR"}]
    count = len(rows) - 1
    history = report_history([*rows, {**rows[0], "payment_id": "99", "currency": "CHF", "kind": "merchant"}])
    sentence = (
        f"^render_report needs payments in one currency, not in USD \\({count}\\) and EUR \\(1\\): "
        r"choose one, like history\.select_currency\('USD'\)\.$"
    )
    with pytest.raises(SchemaError, match=sentence):
        render_report(history, as_of=AS_OF)
    page = ParsedPage(render_report(history.select_currency("USD"), as_of=AS_OF))
    assert f"{count} payments" in page.text
    assert "Not counted here" not in page.text


@pytest.mark.parametrize(
    ("code", "name", "balance"),
    [("GBP", "pounds sterling", "£0.05"), ("JPY", "yen", "¥0.05"), ("KWD", "KWD", "KWD 0.050")],
)
def test_a_report_in_one_currency(html: str, code: str, name: str, balance: str) -> None:
    """Amounts have the symbol or code of the currency everywhere, and its decimals; nothing says dollars."""
    rows = [{**row, "currency": code} for row in PAYMENT_ROWS]
    told = render_report(report_history(rows), as_of=AS_OF, tz="America/New_York")
    page, dollars = ParsedPage(told), ParsedPage(html)
    assert "$" not in told.split("</style>")[1].split("<script>")[0]
    assert "dollar" not in page.text
    assert f"count settled payments only, in {name}, exact" in page.text
    assert f"balance \N{MINUS SIGN}{balance}" in page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert len(page.tags) == len(dollars.tags)


def test_only_payments_are_counted(html: str) -> None:
    """Rows of another kind, such as a transfer to a bank, are in no count and no sum; a sentence says how many."""
    transfer = {**PAYMENT_ROWS[1], "payment_id": "9", "kind": "transfer"}
    rows = [{**row, "kind": "payment", "currency": "USD"} for row in PAYMENT_ROWS]
    told = render_report(report_history([*rows, transfer]), as_of=AS_OF, tz="America/New_York")
    sentence = "<p>Not counted here, because they are not payments between people: 1 transfer.</p>\n"
    assert sentence in told
    assert told.replace(sentence, "") == html


def test_the_words_fit_statement_files() -> None:
    """Statements are not loaded, list no friends, and may be older than the last state of a request."""
    rows = [{**row, "source": "statement", "currency": "USD"} for row in PAYMENT_ROWS]
    history = report_history(rows)
    page = ParsedPage(render_report(dataclasses.replace(history, friends=history.friends.head(0)), as_of=AS_OF))
    assert "from statement files." in page.text
    assert "Statements until" in page.text
    assert "as its statement file shows it" in page.text
    assert "friend" not in page.text
    assert "Loaded" not in page.text
    mixed = ParsedPage(render_report(report_history([*rows[1:], PAYMENT_ROWS[0]]), as_of=AS_OF))
    assert "Loaded" in mixed.text
    assert "Statements until" not in mixed.text
    assert "as its statement file shows it" not in mixed.text


def test_repeated_payments_are_refused() -> None:
    """A frame in which a payment was repeated after the history was built is refused by the report too."""
    history = report_history(PAYMENT_ROWS)
    object.__setattr__(history, "payments", pd.concat([history.payments] * 2, ignore_index=True))
    with pytest.raises(SchemaError, match=r"^render_report needs each payment once"):
        render_report(history, as_of=AS_OF)


def test_bad_settings() -> None:
    """An invalid zone, an invalid moment, and a frame instead of a history are each refused in one sentence."""
    with pytest.raises(ConfigurationError, match=r"^render_report needs a History, .* not DataFrame\.$"):
        render_report(report_history([]).payments, as_of=AS_OF)
    with pytest.raises(ConfigurationError, match="tz must be a zone name"):
        render_report(report_history([]), as_of=AS_OF, tz="Mars/Olympus")
    with pytest.raises(ConfigurationError, match="is not an instant: give a datetime"):
        render_report(report_history([]), as_of="someday")


def test_ages_before_the_payments_are_announced() -> None:
    """Requests that are later than the moment to which ages are counted look new; the top of the page says so."""
    head, _, _ = render_report(report_history(PAYMENT_ROWS), as_of="2001-01-01", only=["categories"]).partition(
        "<main>"
    )
    assert "2 pending payments are later" in head
    assert "later than 2001-01-01 00:00 UTC, to which ages are counted" in head
    assert "to which ages are counted" not in render_report(
        report_history(PAYMENT_ROWS), as_of=AS_OF, only=["recurring"]
    )


def test_the_days_of_payments() -> None:
    """Payments of one day are of that day; of several, from the first to the last."""
    rows = [payment_row(at, f"2024-05-05T{at:02}:00:00Z", flow_cents=-500, direction="out") for at in (1, 23)]
    for zone, words in (
        ("UTC", "2 payments of 5 May 2024, 1 friend."),
        ("Pacific/Kiritimati", "2 payments from 5 May 2024 to 6 May 2024, 1 friend."),
    ):
        assert words in ParsedPage(render_report(report_history(rows), as_of=AS_OF, tz=zone)).text
