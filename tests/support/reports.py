"""Histories of literal payments for reports, the report's page as a browser reads it, and its findings."""

import base64
import hashlib
import html
import re
from datetime import UTC, datetime, timedelta
from functools import partial
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

from p2p_analytics.analyses.build import build_table
from p2p_analytics.display import format_money
from p2p_analytics.frames.schema import FRIENDS, PAYMENTS, PEOPLE, PROBLEMS
from p2p_analytics.history import History
from p2p_analytics.records import Me, User
from p2p_analytics.report import _findings, render_report, render_year
from p2p_analytics.times import parse_instant
from support.frames import frame_from_rows

AS_OF = "2024-06-30T12:00:00Z"
UNNAMED = "an unknown person"


def payment_row(number: int, created: str, **fields: Any) -> dict[str, Any]:
    """Return a settled payment that the viewer made at an instant; the flow gives its amount and direction."""
    instant = parse_instant(created)
    return {
        "payment_id": f"{number}", "status": "settled", "action": "pay", "date_created": instant,
        "amount_cents": abs(fields["flow_cents"]), "direction": "in" if fields["flow_cents"] > 0 else "out", **fields,
    }  # fmt: skip


def report_history(
    rows: list[dict[str, Any]],
    problems: list[dict[str, Any]] | None = None,
    people: list[dict[str, Any]] | None = None,
    **user: str | None,
) -> History:
    """Return the history of Rosa Vale with these payments and one friend; its people are given or those of payments."""
    known = {} if people is None else {"people": frame_from_rows(people, PEOPLE)}
    user = {"id": "1", "display_name": "Rosa <Vale>", "username": "rosa-vale", **user}
    return History(
        me=Me(user=User(**user), balance_cents=-5),
        payments=frame_from_rows(rows, PAYMENTS),
        friends=frame_from_rows([{"user_id": "2"}], FRIENDS),
        fetched_at=datetime(2024, 6, 30, 12, 5, tzinfo=UTC),
        problems=frame_from_rows(problems or [], PROBLEMS),
        **known,
    )


class ParsedPage(HTMLParser):
    """The tags of a page with their attributes, and its text, as a browser would see them."""

    def __init__(self, html: str) -> None:
        """Read a page."""
        super().__init__()
        self.html = html
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a tag with its attributes."""
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Check that the innermost open element is closed."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep text, except of style sheets and scripts."""
        if not {"style", "script"}.intersection(self.open):
            self.words.append(data)


def check_page_is_closed(page: ParsedPage, *programs: str) -> None:
    """Check that a page loads nothing, and that its policy permits only its own figures, style and script."""
    kept = {"style": "style-src", "script": "script-src"}
    texts = {tag: re.findall(f"<{tag}>(.*?)</{tag}>", page.html, re.DOTALL) for tag in programs}
    sources = [
        f"{kept[tag]} 'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for tag, (text,) in texts.items()
    ]
    (policy,) = [attributes["content"] for _, attributes in page.tags if "http-equiv" in attributes]
    assert policy == "; ".join(
        ["default-src 'none'", "img-src data:", *sources, "base-uri 'none'", "form-action 'none'"]
    )
    assert page.open == []
    assert [tag for tag, _ in page.tags if tag in kept] == [*programs]
    assert {tag for tag, _ in page.tags}.isdisjoint({"link", "iframe", "object", "form", "base"})
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.tags for name in attributes)
    assert {(attributes["href"] or "")[:1] for tag, attributes in page.tags if tag == "a"} == {"#"}
    assert re.findall(r"(?:https?:)?//[\w.]+|url\(|@import", re.sub(r"base64,[\w+/=]+", "", page.html)) == []


def read_report(source: History | list[dict[str, Any]], **options: Any) -> ParsedPage:
    """Return the report of a history or of payments."""
    return ParsedPage(render_report(_to_history(source), **{"as_of": AS_OF, **options}))


def read_year(source: History | list[dict[str, Any]], **options: Any) -> ParsedPage:
    """Return the year in review of a history or of payments, with real names unless privacy mode is given."""
    return ParsedPage(render_year(_to_history(source), **{"as_of": AS_OF, "privacy": False, **options}))


def _to_history(source: History | list[dict[str, Any]]) -> History:
    return report_history(source) if isinstance(source, list) else source


def long_history(*, years: int = 15, payments: int = 20_000, people: int = 300) -> History:
    """Return a long history: one payment in a hundred is pending, and a few people have most of the payments."""
    end = datetime(2024, 6, 30, 12, tzinfo=UTC)
    step = timedelta(days=365.25 * years) / payments
    rows = []
    for at in range(payments):
        person = at * at % people if at % 3 else at % 7
        phone = f"1415555{person:04}" if person % 10 == 9 else None
        cents = at * 7919 % 30_000 + 1
        sign = 1 if at // 2 % 2 else -1
        rows.append(
            {
                "payment_id": f"{10**18 + at}", "status": "pending" if at % 100 == 50 else "settled", "action": "pay",
                "date_created": end - at * step, "amount_cents": cents, "flow_cents": sign * cents,
                "direction": "in" if sign > 0 else "out", "note": "Groceries for the whole house 🛒",
                "target_phone": phone, "counterparty_id": phone or f"{10**18 + person}",
                "counterparty_name": phone or f"Person {person}",
            }
        )  # fmt: skip
    return report_history(rows)


def list_findings(source: History | list[dict[str, Any]], *only: str) -> list[tuple[str, str]]:
    """Return the section and the sentence of each finding, of some analyses or all.

    The findings of a history, or of all analyses, are read from a report. Others are computed without a page.
    """
    if isinstance(source, History) or not only:
        return parse_findings(read_report(source, only=only or None).html)
    payments = frame_from_rows(source, PAYMENTS)
    parts = SimpleNamespace(friends=frame_from_rows([], FRIENDS), strict=False)
    build = partial(build_table, payments=payments, history=parts, as_of=AS_OF)
    found = _findings.list_findings(
        {name: build(name) for name in only},
        payments,
        _findings.Limits(None, parse_instant(AS_OF), _findings.list_unclear_months(payments, build)),
        partial(format_money, currency="USD"),
    )
    return [
        (section, "".join(part if isinstance(part, str) else part.counterparty_name or UNNAMED for part in parts))
        for section, parts in found
    ]


def find_sentences(source: History | list[dict[str, Any]], section: str) -> list[str]:
    """Return the sentences of the findings about one section."""
    return [text for _, text in list_findings(source, section)]


def parse_findings(page: str) -> list[tuple[str, str]]:
    """Return the section and the sentence of each finding of a page."""
    (found,) = re.findall(r'<ul class="findings">(.*?)</ul>', page, re.DOTALL) or [""]
    sentences = re.findall(r'<li><a href="#(\w+)">(.*?)</a></li>', found)
    assert all(f'<section id="{name}">' in page for name, _ in sentences)
    return [(name, html.unescape(re.sub("<[^>]+>", "", text))) for name, text in sentences]


def pay(number: int, day: str, cents: int, person: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a payment of the user to one of several people."""
    who = {"counterparty_id": f"10{person}", "counterparty_name": f"Friend {person}"}
    side = {"direction": "out", "flow_cents": -cents, "audience": "private"}
    return payment_row(number, f"{day}T12:00:00Z", **{**side, **who, **fields})


def ask(number: int, day: str, cents: int, **fields: Any) -> dict[str, Any]:
    """Return a request of the user."""
    return pay(number, day, cents, **{"direction": "in", "flow_cents": cents, "action": "charge", **fields})


def spread(number: int = 100, cents: int = 1000, people: int = 4) -> list[dict[str, Any]]:
    """Return payments of one amount to several people on one day of 2022."""
    return [pay(number + at, "2022-05-05", cents, at) for at in range(people)]
