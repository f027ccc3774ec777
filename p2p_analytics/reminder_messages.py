"""Reminders: a polite text for each request that is still open."""

from __future__ import annotations

from collections.abc import Hashable
from datetime import date, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

import pandas as pd

from p2p_analytics import display
from p2p_analytics.analyses import pending_requests
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.frames.perspective import UNREGISTERED
from p2p_analytics.frames.row_currencies import find_currency
from p2p_analytics.frames.schema import are_open_requests
from p2p_analytics.history import History, require_history
from p2p_analytics.times import as_instant, find_zone

_LONGEST_NAME: Final = 60
_LONGEST_NOTE: Final = 200
_FEWEST_DIGITS: Final = 7  # of a phone number
_END: Final = "Could you pay it when you have a moment? Thank you!"


def reminders(history: History, *, as_of: datetime | date | str, tz: str | ZoneInfo = "UTC") -> pd.DataFrame:
    """Return a polite text to copy for each request of the user that is not paid yet; nothing is sent.

    One row per pending request that the user made; requests later than ``as_of`` are left out. The texts have
    no control characters and no line breaks.

    Columns
    -------
    payment_id, counterparty_id, counterparty_username, counterparty_name, note : text
    amount : currency units
        Null where it is unknown. A currency other than US dollars is in a further column, ``currency``.
    date_created : instant
    age_days : whole days
        Rounded down; null without date_created, and in strict privacy mode, which hides days.
    text : text
        In privacy mode with invented names and amounts.

    Parameters
    ----------
    history : History
    as_of : datetime, date or str
        The instant at which ages end, and until which requests count; a date means its first instant, a missing zone
        means UTC.
    tz : str or ZoneInfo
        The zone of dates in the texts; in privacy mode it is UTC.

    Returns
    -------
    DataFrame
        Oldest first, then by id; rows without a date last.

    Raises
    ------
    ConfigurationError
        ``history`` is not a History, ``as_of`` is not an instant, or the zone does not exist.
    SchemaError
        A frame of the history lacks a column, or payments between people are in several currencies.
    """
    require_history(history, what="reminders")
    zone = find_zone("UTC") if history.private else find_zone(tz)
    find_currency(history.payments, what="reminders", advice="choose one, like history.select_currency({})")
    return write_reminders(pending_requests(history.payments, as_of), history, zone, as_instant(as_of))


def write_reminders(requests: pd.DataFrame, history: History, zone: ZoneInfo, as_of: datetime) -> pd.DataFrame:
    """Return the table of `reminders` for the result of `pending_requests` for payments of the history."""
    is_later = requests["date_created"] > as_of
    is_own = (requests["direction"] == "in") & are_open_requests(requests["payment_id"], history.payments)
    rows = requests[is_own & ~is_later].reset_index(drop=True)
    people = history.people.drop_duplicates("user_id").set_index("user_id")["first_name"]
    first_names = rows["counterparty_id"].map(people)
    if history.strict:
        rows = rows.assign(age_days=rows["age_days"].mask(rows["age_days"].notna()))
    plain = rows.assign(first_name=first_names).astype(object)
    records = plain.where(plain.notna(), None).to_dict("records")
    texts = [_write_reminder(record, zone, strict=history.strict) for record in records]
    return rows.drop(columns="direction").assign(text=pd.Series(texts, index=rows.index, dtype="str"))


def _write_reminder(request: dict[Hashable, Any], zone: ZoneInfo, *, strict: bool) -> str:
    """Return the text of one reminder."""
    names = (display.clean_line(request[column]) for column in ("first_name", "counterparty_name"))
    name = _cut(next((name for name in names if name and not _is_address(name)), ""), _LONGEST_NAME)
    note = _cut(display.clean_line(request["note"]), _LONGEST_NOTE)
    amount, created, days = request["amount"], request["date_created"], request["age_days"]
    currency = request.get("currency", US_DOLLARS)
    format_date = display.format_month if strict else display.format_day
    words = [
        f"Hi {name}," if name else "Hi,",
        "a friendly reminder: my request",
        *([] if amount is None else [f"for {display.format_money(amount, currency=currency)}"]),
        *([f"(“{note}”)"] if note else []),
        *([] if created is None else [f"of {format_date(created, zone)}"]),
        f"has been open for {display.format_count(int(days), 'day', 'days')}." if days else "is still open.",
        _END,
    ]
    return " ".join(words)


def _is_address(name: str) -> bool:
    """Return whether a name is an email address, a phone number in any form, or the words for an unknown person."""
    is_phone = sum(map(str.isdigit, name)) >= _FEWEST_DIGITS and not any(map(str.isalpha, name))
    return is_phone or "@" in name or name in UNREGISTERED.values()


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest].rstrip()}…"
