"""Payments that make findings of a report, and the findings of its page."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from p2p_analytics.report import render_report
from support.reports import payment_row, report_history

if TYPE_CHECKING:
    import pandas as pd

AS_OF = "2024-06-30T12:00:00Z"


def list_findings(rows: list[dict[str, Any]], problems: pd.DataFrame | None = None) -> list[tuple[str, str]]:
    """Return the section and the sentence of each finding in the report of payments."""
    history = report_history(rows)
    if problems is not None:
        history = replace(history, problems=problems)
    return parse_findings(render_report(history, as_of=AS_OF))


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


def select_section(findings: list[tuple[str, str]], section: str) -> list[str]:
    """Return the sentences about one section."""
    return [text for name, text in findings if name == section]
