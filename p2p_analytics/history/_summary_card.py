"""The summary card of a history in a notebook, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import Any, Final
from zoneinfo import ZoneInfo

import pandas as pd

from p2p_analytics.display import (
    PRIVATE,
    STRICT,
    clean_text,
    describe_kinds,
    format_count,
    format_day,
    format_money,
    format_month,
)
from p2p_analytics.frames.row_currencies import choose_currency, count_currencies, describe_currencies, find_currency
from p2p_analytics.frames.schema import count_other_kinds, is_from_statements, select_payments
from p2p_analytics.records import Me
from p2p_analytics.vocabulary import Status

_UTC: Final = ZoneInfo("UTC")
_EXACT: Final = 2**53
_PENDING: Final = ("pending payment", "pending payments")

# Inline styles, because a notebook that is not trusted loses its style sheets. No background colour, so that the card
# fits light and dark pages.
_QUIET: Final = "color:var(--jp-content-font-color2,inherit);font-size:.85em"
_LINE: Final = "var(--jp-border-color1,rgba(128,128,128,.5))"
_CARD: Final = (
    f"box-sizing:border-box;max-width:46rem;padding:.8em 1em;border:1px solid {_LINE};border-radius:.4em;"
    "color:var(--jp-content-font-color1,inherit);line-height:1.45;overflow-wrap:anywhere"
)
_FIGURES: Final = (
    "display:grid;grid-template-columns:repeat(auto-fit,minmax(max(8em,28%),1fr));gap:.6em 1em;margin:.7em 0;"
    f"padding:.6em 0;border-top:1px solid {_LINE};border-bottom:1px solid {_LINE}"
)
_AMOUNT: Final = "font-size:1.2em;font-weight:600;font-variant-numeric:tabular-nums;white-space:nowrap"


def render_card(  # noqa: PLR0913 - the parts of a History, which imports this module
    me: Me,
    payments: pd.DataFrame,
    *,
    friends: int,
    problems: int,
    fetched_at: datetime,
    private: bool,
    strict: bool,
    remarks: Sequence[str],
) -> str:
    """Return the card as HTML: the user, counts, settled sums of one currency, open amounts, problems, "data as of".

    All user text is escaped; the card has no scripts and loads nothing from outside.
    """
    user = me.user
    others, is_statement = describe_kinds(count_other_kinds(payments)), is_from_statements(payments)
    counts = count_currencies(payments)
    currency = find_currency(payments, what="The card", advice="") if len(counts) <= 1 else None
    payments = select_payments(payments)
    if currency:
        sums = "".join(_figures(payments, currency))
    else:
        found = _escape(describe_currencies(counts))
        selection = _escape(f"history.select_currency({choose_currency(counts)!r})")
        sums = (
            f'<div style="grid-column:1/-1">No sums: the payments are in {found}. For one currency, '
            f"<code>{selection}</code>.</div>"
        )
    handle = (
        f' <span style="{_QUIET}">@<bdi>{_escape(user.username)}</bdi></span>'
        if user.username and user.username != user.display_name
        else ""
    )
    about = [
        format_count(len(payments), "payment", "payments") + _period(payments, strict=strict),
        "from statement files" if is_statement and not friends else format_count(friends, "friend", "friends"),
    ]
    if me.balance_cents is not None and currency:
        about.append(f"balance {format_money(me.balance_cents / 100, currency=currency)}")
    notes = [f"{'statements until' if is_statement else 'data as of'} {fetched_at:%Y-%m-%d %H:%M} UTC"]
    if problems:
        place = "files" if is_statement else "records"
        notes.insert(0, f"{format_count(problems, 'problem', 'problems')} in {place}, listed in .problems")
    below = [f"Not counted: {_escape(others)}" if others else "", *map(escape, remarks)]
    below.append((STRICT if strict else PRIVATE) if private else "")
    lines = "".join(f'<div style="{_QUIET}">{line}</div>' for line in below if line)
    name = _escape(user.display_name or user.username or user.id)
    return (
        f'<div style="{_CARD}"><div><strong style="font-size:1.2em"><bdi>{name}</bdi></strong>{handle}</div>'
        f'<div style="{_QUIET}">{" · ".join(about)}</div>'
        f'<div style="{_FIGURES}">{sums}</div>'
        f'<div style="{_QUIET}">{" · ".join(notes)}</div>{lines}</div>'
    )


def _figures(payments: pd.DataFrame, currency: str) -> list[str]:
    settled = payments[payments["status"] == Status.SETTLED]
    pending = payments[payments["status"] == Status.PENDING]
    sent, received = _side(settled, "out"), _side(settled, "in")
    moved = format_count(len(sent) + len(received), "settled payment", "settled payments")
    return [
        _figure("Sent", _size(sent), "to others", currency),
        _figure("Received", _size(received), "from others", currency),
        _figure("Net", _size(received) - _size(sent), f"in {moved}", currency),
        *(
            _figure(f"Open, {words}", _size(flows), f"in {format_count(len(flows), *_PENDING)}", currency)
            for words, flows in (("to receive", _side(pending, "in")), ("to pay", _side(pending, "out")))
        ),
    ]


def _figure(label: str, cents: int, detail: str, currency: str) -> str:
    amount = _escape(format_money(cents / 100, currency=currency))
    return (
        f'<div><div style="{_QUIET}">{label}</div><div style="{_AMOUNT}">{amount}</div>'
        f'<div style="{_QUIET}">{detail}</div></div>'
    )


def _side(payments: pd.DataFrame, direction: str) -> pd.Series[Any]:
    return payments.loc[payments["direction"] == direction, "flow_cents"]


def _size(flows: pd.Series[Any]) -> int:
    """Return the sum without sign; 64-bit integers would wrap for amounts that no person has."""
    known = flows.dropna()
    is_exact = known.astype("float64").abs().sum() < _EXACT
    return abs(int(known.sum()) if is_exact else sum(map(int, known)))


def _period(payments: pd.DataFrame, *, strict: bool) -> str:
    created = payments["date_created"].dropna()
    format_date = format_month if strict else format_day
    return f" from {format_date(created.min(), _UTC)} to {format_date(created.max(), _UTC)}" if len(created) else ""


def _escape(value: object) -> str:
    return escape(clean_text(value))
