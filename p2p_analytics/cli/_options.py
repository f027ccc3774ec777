"""Options and argument types that several commands share.

Only argparse is imported with this module; each type imports its parser when a value needs one, so that ``--help``
loads nothing heavy.
"""

from __future__ import annotations

import argparse
import re
from importlib import import_module

from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.errors import P2PAnalyticsError

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import date
    from pathlib import Path
    from typing import Any, Final

    from p2p_analytics.settings import Privacy

STANDARD_OUTPUT: Final = "-"  # as the name of a file
_PRIVACY: Final = "--privacy"
_ON: Final = "1"  # --privacy without a value; argparse parses it like a given one
_STRICT: Final = "strict"  # the value of settings.STRICT; importing settings would slow --help down


# ---- what export writes

FRAMES: Final = ("payments", "people", "friends", "problems")
RECONCILIATION: Final = "reconciliation"
WORKBOOK: Final = ".xlsx"
DATABASES: Final = (".sqlite", ".db")
FILES_OF_ALL_TABLES: Final = (WORKBOOK, *DATABASES)
LEDGERS: Final = (".beancount", ".journal", ".hledger")
_SUFFIXES: Final = (".csv", ".parquet", ".jsonl", *FILES_OF_ALL_TABLES, *LEDGERS)
ENDINGS: Final = f"{', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}"


class WrongUseError(P2PAnalyticsError):
    """Options that do not go together, with the exit code of wrong use."""


# ---- options


def add_service(parser: argparse.ArgumentParser, default: str = "P2P_BASE_URL, or that of the last login") -> None:
    """Add ``--base-url`` to a command that sends requests to the service."""
    kind = parse_with("p2p_analytics.settings", "base_url")
    parser.add_argument("--base-url", metavar="URL", type=kind, help=f"the service ({default})")


def add_progress(parser: argparse.ArgumentParser) -> None:
    """Add ``--progress`` to a command that may take long."""
    parser.add_argument(
        "--progress",
        choices=("bar", "log", "none"),
        default="bar",
        help="show progress on standard error as a bar, only on a terminal (bar), as lines for a log file, or not",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json`` to a command that prints a summary."""
    parser.add_argument("--json", action="store_true", help="print the summary as one line of JSON")


def add_privacy(parser: argparse.ArgumentParser, summary: str) -> None:
    """Add ``--privacy`` and ``--privacy strict`` to a command."""
    parser.add_argument(_PRIVACY, metavar=_STRICT, nargs="?", type=parse_privacy, const=_ON, help=summary)


def add_view(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that shows an archive: ``--tz``, ``--as-of`` and ``--privacy``."""
    add = parser.add_argument
    add("--tz", metavar="ZONE", type=parse_zone, default="UTC", help="the zone of months and dates (UTC)")
    ages = "the moment to which ages are counted (the last sync, or the last row of statements)"
    add("--as-of", metavar="DATE", type=parse_date, help=ages)
    add_privacy(parser, "invent names and amounts and show days only, as P2P_PRIVACY=1 does; strict shows months only")


def add_currency(parser: argparse.ArgumentParser) -> None:
    """Add ``--currency`` to a command."""
    one = "of payments in several currencies, only those in this one: GBP"
    parser.add_argument("--currency", metavar="CODE", type=str.upper, help=one)


def add_days(parser: argparse.ArgumentParser) -> None:
    """Add ``--since`` and ``--until`` to a command."""
    add = parser.add_argument
    add("--since", metavar="DAY", type=parse_day, help="only payments from this day on: 2024-01-01")
    add("--until", metavar="DAY", type=parse_day, help="only payments until the end of this day")


def add_town(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that builds a town: ``--people``, ``--years`` and ``--seed``."""
    add, number = parser.add_argument, number_between
    add("--people", metavar="N", type=number(int, 3, 2_000), help="how many live in the town (12)")
    add("--years", metavar="N", type=number(int, 1, 20), help="how many years they have been paying (4)")
    add("--seed", metavar="N", type=number(int, 0, 2**63 - 1), default=7, help="another number, another town (7)")


# ---- words of the command line, and of messages


def refuse_json(options: argparse.Namespace, what: str) -> None:
    """Raise a WrongUseError if both the output of a command, such as a table, and its summary go to standard output."""
    if options.out == STANDARD_OUTPUT and options.json:
        raise WrongUseError(f"With - the {what} goes to standard output: leave out --json, or name a file.")


def name_options(message: str) -> str:
    """Return a message with options as they are typed: ``account="ada" (--account ada)`` is ``--account ada``."""
    return re.sub(r"""\b[a-z_]+=(?:"[^"]*"|'[^']*'|[\w.]+) \((--[^()]+)\)""", r"\1", message)


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
            joined[-1:] = [f"{_PRIVACY}={_ON}", word]
    return joined


# ---- types of arguments


def parse_with(module: str, function: str) -> Callable[[str], Any]:
    """Return an argparse type that imports a function for the first value; its error is the message."""

    def parse(text: str) -> Any:  # noqa: ANN401 - as the function returns it
        try:
            return getattr(import_module(module), function)(text)
        except P2PAnalyticsError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse


def number_between(kind: type[int | float], low: float, high: float) -> Callable[[str], float]:
    """Return an argparse type for numbers from ``low`` to ``high``, both included."""

    def number(text: str) -> float:  # argparse shows the function's name for text that is not a number
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not between {low} and {high}")
        return value

    return number


def parse_privacy(text: str) -> Privacy:
    """Return the privacy mode of a ``--privacy`` value, which does not weaken the strict mode of ``P2P_PRIVACY``."""
    from p2p_analytics import settings

    if text not in {_ON, _STRICT}:
        raise argparse.ArgumentTypeError(f"{text} is no privacy mode: write --privacy or --privacy strict")
    try:
        is_strict = text == _STRICT or settings.privacy() == settings.STRICT
    except P2PAnalyticsError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return _STRICT if is_strict else True


def parse_table_path(text: str) -> str:
    """Return the path of a file with a known ending, or the name of standard output."""
    if text != STANDARD_OUTPUT and not text.endswith(_SUFFIXES):
        raise argparse.ArgumentTypeError(f"{text} does not end in {ENDINGS}, and is not -")
    return text


def parse_names(text: str) -> list[str]:
    """Return the names of analyses."""
    names = [name.strip() for name in text.split(",")]
    unknown = next((name for name in names if name not in ANALYSES), None)
    if unknown is not None:
        meant = suggest(unknown, ANALYSES) or f": choose from {', '.join(ANALYSES)}"
        raise argparse.ArgumentTypeError(f"{unknown!r} is no analysis{meant}")
    return names


def parse_folder(text: str) -> Path:
    """Return the path of a folder; an empty value is an error."""
    from pathlib import Path

    if not text.strip():
        raise argparse.ArgumentTypeError("name a folder")
    return Path(text)


def parse_zone(text: str) -> str:
    """Return the name of a time zone that exists."""
    from p2p_analytics.times import find_zone

    try:
        find_zone(text)
    except P2PAnalyticsError:
        raise argparse.ArgumentTypeError(f"{text} is no zone name, such as America/New_York or UTC") from None
    return text


def parse_account(text: str) -> str:
    """Return the name of an account, which is not empty."""
    if not text.strip().removeprefix("@"):
        raise argparse.ArgumentTypeError("it is empty: give the name of an account")
    return text


def parse_date(text: str) -> str:
    """Return a date or datetime that can be parsed, as text."""
    from p2p_analytics.times import as_instant

    try:
        as_instant(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text} is no date, such as 2024-05-31 or 2024-05-31T18:30:00Z") from None
    return text


def parse_day(text: str) -> date:
    """Return a day."""
    from datetime import date

    try:
        return date.fromisoformat(text)
    except ValueError:
        is_year = len(text) == len("2024") and text.isdecimal()
        advice = f": write {text}-01-01 or {text}-12-31" if is_year else ", such as 2024-05-31"
        raise argparse.ArgumentTypeError(f"{text} is no day{advice}") from None


def suggest(word: str, names: Iterable[str]) -> str:
    """Return the end of a message that suggests the name most similar to a word; empty if none is similar."""
    import difflib

    found = difflib.get_close_matches(word.lstrip("-"), [name.lstrip("-") for name in names], n=1, cutoff=0.7)
    dashes = word[: len(word) - len(word.lstrip("-"))]
    return f": did you mean {dashes}{found[0]}?" if found else ""
