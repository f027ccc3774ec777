"""Options and argument types that several commands share.

Only argparse is imported with this module; each type imports its parser when a value needs one, so that ``--help``
loads nothing heavy.
"""

from __future__ import annotations

import argparse
import re

from p2p_analytics.errors import P2PAnalyticsError

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import date
    from pathlib import Path
    from typing import Any, Final

    from p2p_analytics.settings import Privacy

STANDARD_OUTPUT: Final = "-"  # as the name of a file
_PRIVACY: Final = "--privacy"
_ON: Final = "1"  # --privacy without a value; argparse parses it like a given one
_STRICT: Final = "strict"  # the value of settings.STRICT; importing settings would slow --help down


class WrongUseError(P2PAnalyticsError):
    """Options that do not go together, with the exit code of wrong use."""


def add_archive_command(
    add_parser: Callable[..., argparse.ArgumentParser], name: str, summary: str, description: str
) -> argparse.ArgumentParser:
    """Add a command that works with an archive, and return its parser."""
    parser = add_parser(name, help=summary, description=description, allow_abbrev=False)
    parser.add_argument("archive", metavar="ARCHIVE", help="the archive's folder")
    return parser


def add_archives_command(
    add_parser: Callable[..., argparse.ArgumentParser], name: str, summary: str, description: str
) -> argparse.ArgumentParser:
    """Add a command that shows one or more archives of one person together, and return its parser."""
    parser = add_parser(name, help=summary, description=description, allow_abbrev=False)
    parser.add_argument(
        "archives",
        metavar="ARCHIVE",
        nargs="+",
        action=_StoreArchives,
        help="the archive's folder; several, such as those of two services, are shown together",
    )
    return parser


class _StoreArchives(argparse.Action):
    """Argument of one or more archives: ``archives``, and ``archive``, their names for messages."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,  # noqa: ANN401 - as argparse has it
        _option: object = None,
    ) -> None:
        """Store the folders, and their names as one text."""
        namespace.archives, namespace.archive = values, ", ".join(values)


def add_service(parser: argparse.ArgumentParser, default: str = "P2P_BASE_URL, or that of the last login") -> None:
    """Add ``--base-url`` to a command that sends requests to the service."""
    parser.add_argument("--base-url", metavar="URL", type=_parse_base_url, help=f"the service ({default})")


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


def add_view(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that shows an archive: ``--tz``, ``--as-of`` and ``--privacy``."""
    parser.add_argument(
        "--tz", metavar="ZONE", type=parse_zone, default="UTC", help="the zone of months and dates (UTC)"
    )
    parser.add_argument(
        "--as-of",
        metavar="DATE",
        type=parse_date,
        help="the moment to which ages are counted (the last sync, or the last row of statements)",
    )
    add_privacy(parser, "invent names and amounts and show days only, as P2P_PRIVACY=1 does; strict shows months only")


def refuse_json(options: argparse.Namespace, what: str) -> None:
    """Raise a WrongUseError if both the output of a command, such as a table, and its summary go to standard output."""
    if options.out == STANDARD_OUTPUT and options.json:
        raise WrongUseError(f"With - the {what} goes to standard output: leave out --json, or name a file.")


def name_options(message: str) -> str:
    """Return a message with options as they are typed: ``account="ada" (--account ada)`` is ``--account ada``."""
    return re.sub(r"""\b[a-z_]+=(?:"[^"]*"|'[^']*'|[\w.]+) \((--[^()]+)\)""", r"\1", message)


def add_town(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that builds a town: ``--people``, ``--years`` and ``--seed``."""
    number = number_between
    parser.add_argument("--people", metavar="N", type=number(int, 3, 2_000), help="how many live in the town (12)")
    parser.add_argument(
        "--years", metavar="N", type=number(int, 1, 20), help="how many years they have been paying (4)"
    )
    parser.add_argument(
        "--seed", metavar="N", type=number(int, 0, 2**63 - 1), default=7, help="another number, another town (7)"
    )


def add_privacy(parser: argparse.ArgumentParser, summary: str) -> None:
    """Add ``--privacy`` and ``--privacy strict`` to a command."""
    parser.add_argument(_PRIVACY, metavar=_STRICT, nargs="?", type=parse_privacy, const=_ON, help=summary)


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


def parse_privacy(text: str) -> Privacy:
    """Return the privacy mode of a ``--privacy`` value, which does not weaken the strict mode of ``P2P_PRIVACY``."""
    from p2p_analytics import settings
    from p2p_analytics.errors import ConfigurationError

    if text not in {_ON, _STRICT}:
        raise argparse.ArgumentTypeError(f"{text} is no privacy mode: write --privacy or --privacy strict")
    try:
        is_strict = text == _STRICT or settings.privacy() == settings.STRICT
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return _STRICT if is_strict else True


def _parse_base_url(text: str) -> str:
    """Return the base URL of a service; the message of an invalid one does not quote it."""
    from p2p_analytics import settings
    from p2p_analytics.errors import ConfigurationError

    try:
        return settings.base_url(text)
    except ConfigurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse_folder(text: str) -> Path:
    """Return the path of a folder; an empty value is an error."""
    if not text.strip():
        raise argparse.ArgumentTypeError("name a folder")
    return parse_path(text)


def parse_path(text: str) -> Path:
    """Return a value as a path."""
    from pathlib import Path

    return Path(text)


def parse_zone(text: str) -> str:
    """Return the name of a time zone that exists."""
    from p2p_analytics.errors import ConfigurationError
    from p2p_analytics.times import find_zone

    try:
        find_zone(text)
    except ConfigurationError:
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


def number_between(kind: type[int | float], low: float, high: float) -> Callable[[str], float]:
    """Return an argparse type for numbers from ``low`` to ``high``, both included."""

    def number(text: str) -> float:  # argparse shows the function's name for text that is not a number
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not between {low} and {high}")
        return value

    return number
