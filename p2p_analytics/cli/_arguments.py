"""Argument types and shared options of the commands.

Only argparse is imported with this module; each type imports its parser when a value needs one, so that ``--help``
loads nothing heavy.
"""

from __future__ import annotations

import argparse

from p2p_analytics.errors import P2PAnalyticsError

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Final, TypeVar

    from p2p_analytics.settings import Privacy

    Value = TypeVar("Value")

_PRIVACY: Final = "--privacy"
_STRICT: Final = "strict"  # the value of settings.STRICT; importing settings would slow --help down
_TABLE_SUFFIXES: Final = (".csv", ".parquet")


def add_privacy(parser: argparse.ArgumentParser, summary: str) -> None:
    """Add ``--privacy`` and ``--privacy strict`` to a command."""
    parser.add_argument(_PRIVACY, metavar=_STRICT, nargs="?", type=parse_privacy, const=True, help=summary)


def join_privacy(words: Sequence[str]) -> list[str]:
    """Return the command line with each ``--privacy`` joined to its value: ``strict``, or 1 where it has none.

    argparse would take any following word as the optional value, for example the path of the archive.
    """
    joined: list[str] = []
    for word in words:
        if not joined or joined[-1] != _PRIVACY:
            joined.append(word)
        elif word == _STRICT:
            joined[-1] = f"{_PRIVACY}={word}"
        else:
            joined[-1:] = [f"{_PRIVACY}=1", word]
    return joined


def parse_privacy(text: str) -> Privacy:
    """Return the privacy mode of a ``--privacy`` value."""
    if text == _STRICT:
        return _STRICT
    if text != "1":
        raise argparse.ArgumentTypeError(f"{text} is no privacy mode: write --privacy or --privacy strict")
    return True


def parse_folder(text: str) -> Path:
    """Return the path of a folder; an empty value is an error."""
    if not text.strip():
        raise argparse.ArgumentTypeError("name a folder")
    return parse_path(text)


def parse_path(text: str) -> Path:
    """Return a value as a path."""
    from pathlib import Path

    return Path(text)


def parse_table_path(text: str) -> str:
    """Return the path of a table file, which ends in .csv or .parquet."""
    if not text.endswith(_TABLE_SUFFIXES):
        raise argparse.ArgumentTypeError(f"{text} ends neither in .csv nor in .parquet")
    return text


def parse_zone(text: str) -> str:
    """Return the name of a time zone that exists."""
    from p2p_analytics.errors import ConfigurationError
    from p2p_analytics.times import find_zone

    try:
        find_zone(text)
    except ConfigurationError:
        raise argparse.ArgumentTypeError(f"{text} is no zone name, such as America/New_York or UTC") from None
    return text


def parse_date(text: str) -> str:
    """Return a date or datetime that can be parsed, as text."""
    from p2p_analytics.times import as_instant

    try:
        as_instant(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text} is no date, such as 2024-05-31 or 2024-05-31T18:30:00Z") from None
    return text


def number_between(kind: type[int | float], low: float, high: float) -> Callable[[str], float]:
    """Return an argparse type for numbers from ``low`` to ``high``, both included."""

    def number(text: str) -> float:  # argparse shows the function's name for text that is no number
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not between {low} and {high}")
        return value

    return number


def parse_rate(text: str) -> tuple[int, float]:
    """Return a rate limit of the sandbox: a number of requests, and a number of seconds."""
    from p2p_analytics.sandbox.faults.rate_limit import read_rate

    return _parse_setting(read_rate, text)


def parse_faults(text: str) -> str:
    """Return a fault specification that the sandbox accepts."""
    from p2p_analytics.sandbox.faults.specification import Faults

    return _parse_setting(Faults, text).spec


def _parse_setting(parse: Callable[[str], Value], text: str) -> Value:
    try:
        return parse(text)
    except P2PAnalyticsError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
