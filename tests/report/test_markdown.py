"""The report as Markdown: the findings and tables of the page, and no markup from names and notes."""

import html
import re
from typing import Any

import pytest
from markdown_it import MarkdownIt

from p2p_analytics.display import clean_line
from p2p_analytics.report import render_report
from support.reports import payment_row, report_history

pytestmark = pytest.mark.usefixtures("draw_nothing")
AS_OF = "2024-06-30T12:00:00Z"
HOSTILE = [
    "<img src=x onerror=alert(1)> &amp; &lt;",
    "[a](https://evil.example) ![b](c.png) <https://evil.example>",
    "a | b \\| c \n| d |\n\n# e",
    "# heading",
    "- item",
    "1. item",
    "2) item",
    "+ **bold** _em_ `code` ~~gone~~ $x$",
    "> quote",
    "```\nfence",
    "=====",
    ": term \u202eabc\x1b[2J",
    "https://evil.example www.evil.example mailto:eve@evil.example \\",
    "    indented",
]


def read_tables(page: str) -> list[list[list[str]]]:
    """Return the tables of a page as rows of texts, without blanks and the dots between lines."""

    def read(cell: str) -> str:
        return "".join(clean_line(html.unescape(re.sub("<[^>]*>", "", cell))).split()).replace("·", "")

    return [
        [[*map(read, re.findall(r"<t[hd](?: [^>]*)?>(.*?)</t[hd]>", row, re.DOTALL))] for row in table.split("<tr")[1:]]
        for table in re.findall("<table.*?</table>", page, re.DOTALL)
    ]


def _hostile_rows() -> list[dict[str, Any]]:
    """Return settled payments, and open requests with reminders, to people with hostile names and notes."""
    return [
        payment_row(
            100 * number + at, f"2024-0{number}-01T09:00:00Z", direction=direction, flow_cents=(at + 1) * 1001 * sign,
            counterparty_id=f"{at}", counterparty_name=text, note=text, action=action, status=status,
        )
        for at, text in enumerate(HOSTILE)
        for number, direction, sign, action, status in (
            (1, "out", -1, "pay", "settled"), (2, "out", -1, "pay", "settled"), (3, "in", 1, "charge", "pending"),
        )
    ]  # fmt: skip


def test_tables_and_findings_are_those_of_the_page() -> None:
    """Each table has the same cells, in the same order; each finding and reminder is there."""
    problems = [{"payment_id": "7", "field": "note", "value": text, "problem": "is odd"} for text in HOSTILE]
    history = report_history(_hostile_rows(), problems)
    text, page = (render_report(history, as_of=AS_OF, kind=kind) for kind in ("markdown", "html"))
    drawn = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text)
    assert read_tables(drawn) == read_tables(page)
    assert len(read_tables(drawn)) >= 6
    # What it was for, over time, and the hours of the week are figures only.
    assert (drawn.count("<h1>"), drawn.count("<h2>")) == (1, page.count("<h2>") - 2)
    assert drawn.count("<ul>") == page.count("<ul")  # the headline figures in place of the contents
    # Five headline figures, the findings and the reminders; the contents of the page are left out.
    contents = page.partition("<nav")[2].partition("</nav>")[0]
    assert drawn.count("<li>") == page.count("<li>") - contents.count("<li>") + 5
    assert "<li>\n<p>" not in drawn
    assert "\\.0%" not in text
    assert "You are still owed $1,051.05 in 14 requests that are 30 days old or older" in drawn


def test_names_and_notes_add_no_markup() -> None:
    """They are text: no HTML, link, image, emphasis, code, quote, list or table of their own."""
    history = report_history(_hostile_rows(), username=HOSTILE[3], display_name=HOSTILE[0])
    text = render_report(history, as_of=AS_OF, kind="markdown")
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(text)
    kinds = {token.type for token in tokens} | {child.type for token in tokens for child in token.children or []}
    blocks = ("heading", "paragraph", "bullet_list", "list_item", "table", "thead", "tbody", "tr", "th", "td")
    assert kinds == {"inline", "text", *(f"{block}_{end}" for block in blocks for end in ("open", "close"))}
    assert {token.level for token in tokens if token.type == "bullet_list_open"} == {0}
    assert not {"\x1b", "\u202e"} & set(text)
    assert "https\\://evil.example www\\.evil.example mailto\\:eve\\@evil.example" in text


def test_a_report_without_payments() -> None:
    """An empty report says so in each section."""
    text = render_report(report_history([]), as_of=AS_OF, kind="markdown")
    assert text.startswith("# Payments of Rosa \\<Vale\\>\n\n0 payments, 1 friend.\n")
    assert "## Where it went\n\nNo settled payments.\n" in text
    assert "|" not in text


def test_a_caveat_alone_makes_no_section() -> None:
    """The hours of the week are only a figure: in Markdown there is no section of what its counts lack."""
    request = {"action": "charge", "direction": "in", "source": "statement", "kind": "payment", "flow_cents": 500}
    history = report_history([payment_row(1, "2024-01-01T09:00:00Z", **request)])
    only = ["activity", "status_mix"]
    assert "these count at the hour" in render_report(history, as_of=AS_OF, only=only)
    text = render_report(history, as_of=AS_OF, only=only, kind="markdown")
    assert not [words for words in ("Hours of the week", "these count at the hour") if words in text]
