"""Amounts, dates, counts and foreign text in the form that is displayed to people."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from p2p_analytics.currencies import US_DOLLARS, count_decimals, find_prefix

PRIVATE: Final = "Privacy mode: names and amounts are invented"
STRICT: Final = "Strict privacy mode: names and amounts are invented, dates are months"
HIDDEN_NAME: Final = "(name hidden by privacy mode)"
NO_NAME: Final = "(no name)"
MONTH_NAMES: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MOST_MONTHS: Final = 240  # a longer series of months is mostly empty: one wrong date extends it to that date
_KIND_NAMES: Final = {
    "payment": ("payment", "payments"),
    "transfer": ("transfer", "transfers"),
    "merchant": ("merchant transaction", "merchant transactions"),
    "card": ("card payment", "card payments"),
    "reward": ("reward", "rewards"),
    "deposit": ("deposit", "deposits"),
    "fee": ("fee", "fees"),
    "asset": ("exchange of assets", "exchanges of assets"),
    "hold": ("hold", "holds"),
    "unknown": ("of an unknown kind", "of an unknown kind"),
}
_SHORTEST_SUFFIX: Final = 4
_US_PHONE: Final = re.compile(r"(\+?1)?([2-9]\d\d)(\d{3})(\d{4})", re.ASCII)
_DIRECTION_CONTROLS: Final = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def format_money(
    units: float | Decimal | None, *, currency: str | None = US_DOLLARS, decimals: int | None = None
) -> str:
    """Return an amount in units of a currency, such as "$1,234.50", "£12.00", "¥1,200" or "CHF 12.00".

    By default with the decimals of the currency. An amount that is not whole, in a currency without decimals, has two,
    so that nothing is rounded. A currency of None is not known: "¤1.00".
    """
    if units is None:
        return "not known"
    if decimals is None:
        decimals = count_decimals(currency) or (0 if f"{units:.2f}".endswith(".00") else 2)
    sign = "−" if units < 0 else ""  # noqa: RUF001 - a minus sign, as wide as a plus
    return f"{sign}{find_prefix(currency)}{abs(units):,.{decimals}f}"


def format_day(instant: datetime | None, zone: ZoneInfo) -> str:
    """Return the date of an instant in a zone, such as "31 May 2024"; the machine's language has no influence."""
    if instant is None:
        return "no date"
    there = to_zone(instant, zone)
    return f"{there.day} {MONTH_NAMES[there.month - 1]} {there.year}"


def format_month(instant: datetime | None, zone: ZoneInfo) -> str:
    """Return the month of an instant in a zone, such as "May 2024"."""
    day = format_day(instant, zone)
    return day if instant is None else day.partition(" ")[2]


def format_moment(instant: datetime, zone: ZoneInfo) -> str:
    """Return the date and time of an instant in a zone, such as "31 May 2024, 18:30"."""
    return f"{format_day(instant, zone)}, {to_zone(instant, zone):%H:%M}"


def describe_start(since: datetime, *, has_older: bool = True) -> str:
    """Return a sentence about the date from which a history holds all payments; of older ones, pending ones at most."""
    moment = f"{since:%Y-%m-%dT%H:%M:%SZ}".removesuffix("T00:00:00Z")
    return f"Payments made before {moment} are not loaded{', except pending ones' if has_older else ''}."


def to_zone(instant: datetime, zone: ZoneInfo) -> datetime:
    """Return an instant in a zone, unchanged if the zone's date is outside the range of datetime."""
    try:
        return instant.astimezone(zone)
    except (OverflowError, ValueError):
        return instant


def format_count(number: int, singular: str, plural: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {singular if number == 1 else plural}"


def format_duration(days: float) -> str:
    """Return a time in the largest unit that gives at least 2, or else in minutes."""
    for unit, length in (("days", 1.0), ("hours", 1 / 24)):
        if days >= 2 * length:
            return f"{days / length:,.0f} {unit}"
    minutes = round(days * 1440)
    return format_count(minutes, "minute", "minutes") if minutes else "under a minute"


def format_share(fraction: float, decimals: int = 1) -> str:
    """Return a fraction as a percentage; only nothing is "0.0%", and of parts only the whole is "100.0%"."""
    text, nothing, whole = (f"{value:,.{decimals}%}" for value in (fraction, 0, 1))
    step = 10.0**-decimals
    if text == nothing and fraction > 0:
        return f"<{step:.{decimals}f}%"
    if text == whole and fraction < 1:
        return f">{100 - step:.{decimals}f}%"
    return text


def format_days(days: float) -> str:
    """Return a number of days with one decimal; no duration above nothing is "0.0"."""
    text = f"{days:,.1f}"
    return "<0.1" if text == "0.0" and days > 0 else text.replace("-0.0", "0.0")


def join_first(names: Sequence[str], most: int = 3) -> str:
    """Return the first of many names on one line, such as "a.csv, b.csv, c.csv and 2 more"."""
    shown = ", ".join(map(clean_line, names[:most]))
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def join_short(names: Sequence[str], longest: int) -> str:
    """Return names on one line; of a longer text the first whole names, or the beginning of the only one, and "…"."""
    text = clean_line(", ".join(names))
    if len(text) <= longest:
        return text
    whole, comma, _ = text[: longest + len(", ")].rpartition(", ")
    return f"{whole}{comma}…" if whole else f"{text[:longest]}…"


def describe_kinds(counts: Mapping[str, int]) -> str:
    """Return transactions by kind in words, such as "12 transfers, 1 deposit"; a kind without words is quoted."""
    return ", ".join(
        format_count(count, *_KIND_NAMES.get(kind, (f"of the kind {clean_line(kind)}",) * 2))
        for kind, count in counts.items()
    )


def format_phone(text: str) -> str:
    """Return a US phone number with its digits in groups, such as "+1 415 555 0123"; other text is unchanged.

    The digits stay as they are: a number without its country code gets none.
    """
    number = _US_PHONE.fullmatch(text)
    if number is None:
        return text
    country, *groups = number.groups()
    return " ".join(["+1", *groups] if country else groups)


def is_phone(text: str) -> bool:
    """Return whether a text is a US phone number, with or without its country code."""
    return _US_PHONE.fullmatch(text) is not None


def clean_text(value: object) -> str:
    """Return foreign text that a UTF-8 file can hold, without control characters other than newline and tab."""
    if value is None:
        return "not known"
    encodable = str(value).encode("utf-8", "replace").decode("utf-8")
    return "".join(
        character for character in encodable if unicodedata.category(character) != "Cc" or character in "\n\t"
    )


def clean_line(text: str | None) -> str:
    """Return foreign text on one line, without control, surrogate and direction characters; empty for None."""
    kept = [
        character
        for character in text or ""
        if character.isspace()
        or (
            unicodedata.category(character) not in {"Cc", "Cs"}
            and unicodedata.bidirectional(character) not in _DIRECTION_CONTROLS
        )
    ]
    return " ".join("".join(kept).split())


def keep_printable(text: str, longest: int | None = None) -> str:
    """Return the printable characters of foreign text for a message or a terminal, at most ``longest`` of them."""
    return "".join(character for character in text if character.isprintable())[:longest]


def name_suffixes(
    names: Sequence[str],
    usernames: Sequence[str | None],
    keys: Sequence[str | None],
    *,
    clean: Callable[[str], str] = clean_line,
) -> list[str]:
    """Return for each displayed name the suffix that distinguishes it from the same name of another person.

    The suffix is the username after an at sign. It is the end of the key in brackets, four characters or as many as
    make it unique, for a person without a username, with one that cannot be displayed unchanged, and with one that
    does not identify them among the displayed people. It is empty for a name that only one person has, and for a
    person without a key.

    Parameters
    ----------
    names, usernames, keys : sequence of str or None
        Names as they are displayed, and of the person behind each the username and what identifies them, such as the
        user id.
    clean : callable
        Makes a username with its at sign, or the end of a key, displayable.
    """
    # A name that is its own key has no other: then the username identifies the person.
    own = [
        key if key and key != name else username or ""
        for name, username, key in zip(names, usernames, keys, strict=True)
    ]
    people = list(zip(names, usernames, own, strict=True))
    keys_of: dict[str, set[str]] = {}
    usernames_of: dict[tuple[str, str], str] = {}
    for name, username, key in people:
        keys_of.setdefault(name, set()).add(key)
        usernames_of[name, key] = max(username or "", usernames_of.get((name, key), ""))
    suffixes = {
        name: _distinguish({key: usernames_of[name, key] for key in same}, name, frozenset(names), clean)
        for name, same in keys_of.items()
        if len(same) > 1
    }
    return [suffixes[name][key] if name in suffixes else "" for name, _, key in people]


def _distinguish(
    usernames: dict[str, str], name: str, names: frozenset[str], clean: Callable[[str], str]
) -> dict[str, str]:
    """Return the suffix of each person of one name, by key; ``usernames`` has one for each, perhaps empty."""
    longest = max(map(len, usernames))
    width = next(
        (n for n in range(_SHORTEST_SUFFIX, longest) if len({clean(key[-n:]) for key in usernames}) == len(usernames)),
        longest,
    )
    frequency = Counter(username.casefold() for username in usernames.values())
    suffixes = {}
    for key, username in usernames.items():
        handle = f"@{username}"
        identifies = (
            username.isprintable()
            and not any(map(str.isspace, username))
            and clean(handle) == handle
            and frequency[username.casefold()] == 1
            and f"{name} {handle}" not in names
        )
        suffixes[key] = handle if username and identifies else f"(…{clean(key[-width:])})" if key else ""
    return suffixes
