"""The command ``report``: write the report of an archive to an HTML or Markdown file."""

from __future__ import annotations

import sys

from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.cli import _arguments, _output
from p2p_analytics.cli._parser import suggest
from p2p_analytics.cli.views._history import (
    add_currency,
    add_days,
    list_archives,
    read_history,
    read_original,
    require_currency,
    select_range,
    warn_of_people,
)

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from typing import Final, Literal

    from p2p_analytics.history import History

    Kind = Literal["html", "markdown"]

_YEARS: Final = (1970, 2199)
_KINDS: Final[Mapping[str, Kind]] = {"": "html", ".html": "html", ".htm": "html", ".md": "markdown"}


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``report`` to a command line."""
    report = _arguments.add_archives_command(
        add_parser,
        "report",
        "write the report of an archive as an HTML or Markdown file",
        "Write the report of an archive as one HTML file, or as Markdown if its name ends in .md. Needs no token.",
    )
    add_currency(report)
    report.add_argument(
        "--out",
        metavar="FILE",
        help="the file (report.html, or year.html), Markdown if it ends in .md; or - for HTML on standard output",
    )
    report.add_argument(
        "--template",
        choices=("full", "year"),
        default="full",
        help="all analyses (full), or one year in review to share, in privacy mode (year)",
    )
    year = _arguments.number_between(int, *_YEARS)
    report.add_argument("--year", metavar="YEAR", type=year, help="of --template year: 2024 (the last with payments)")
    report.add_argument(
        "--only", metavar="NAMES", type=_parse_names, help="only these analyses: spend_by_friend,recurring"
    )
    add_days(report)
    _arguments.add_view(report)
    report.add_argument("--no-privacy", action="store_true", help="show real names and amounts")
    _arguments.add_progress(report)
    _arguments.add_json(report)
    report.set_defaults(command=_report)


def _parse_names(text: str) -> list[str]:
    """Return the names of analyses."""
    import argparse

    names = [name.strip() for name in text.split(",")]
    unknown = next((name for name in names if name not in ANALYSES), None)
    if unknown is not None:
        meant = suggest(unknown, ANALYSES) or f": choose from {', '.join(ANALYSES)}"
        raise argparse.ArgumentTypeError(f"{unknown!r} is no analysis{meant}")
    return names


def _report(options: argparse.Namespace) -> None:
    """Write the report of an archive to a file or standard output."""
    from p2p_analytics.files import atomic_file

    is_year = options.template == "year"
    _refuse_options(options, is_year=is_year)
    options.kind = _find_kind(options.out)
    options.privacy = False if options.no_privacy else options.privacy
    progress = _output.Progress(options.progress)
    progress.log(f"Reading {options.archive} ...")
    shown, count, about, page = (_render_year if is_year else _render_report)(options, progress)
    mode = _output.describe_privacy(shown) or "\nNames and amounts are real." * is_year
    if options.out == _arguments.STANDARD_OUTPUT:
        if mode:
            progress.note(mode.strip())
        sys.stdout.buffer.write(page.encode())
        return
    file = options.out or f"{'year' if is_year else 'report'}.html"
    with atomic_file(file) as opened:
        opened.write(page.encode())
    _output.print_summary(
        options,
        f"{about}, in {file}{mode}",
        **list_archives(options),
        file=file,
        payments=count,
        friends=len(shown.friends),
        problems=len(shown.problems),
        privacy=_output.privacy_mode(shown),
    )


def _refuse_options(options: argparse.Namespace, *, is_year: bool) -> None:
    """Raise a WrongUseError for options of the other template, or that contradict each other."""
    if options.no_privacy and options.privacy:
        raise _arguments.WrongUseError("--privacy and --no-privacy exclude each other: leave one of them out.")
    if options.out == "":
        raise _arguments.WrongUseError("--out needs the name of a file, or - for standard output.")
    _arguments.refuse_json(options, "page")
    if not is_year and options.year is not None:
        raise _arguments.WrongUseError("--year is for the year in review: add --template year.")
    if is_year and options.only is not None:
        raise _arguments.WrongUseError("--template year has its own analyses: leave out --only.")
    given = [name for name in ("since", "until") if getattr(options, name) is not None]
    if is_year and given:
        raise _arguments.WrongUseError(f"--template year shows one year: choose it with --year, not --{given[0]}.")


def _render_report(options: argparse.Namespace, progress: _output.Progress) -> tuple[History, int, str, str]:
    """Return the history that the report shows, the number of its payments, a description and the text."""
    from p2p_analytics.display import format_count
    from p2p_analytics.errors import ConfigurationError
    from p2p_analytics.frames.schema import select_payments
    from p2p_analytics.report import render_report

    history = read_history(options, what="a report")
    warn_of_people(history, progress, private=history.private)
    chosen = select_range(history, options, "UTC" if history.private else options.tz, progress).history
    if chosen.payments.empty and len(history.payments):  # an empty page would replace one with payments
        raise ConfigurationError("No page is written: choose other days with --since and --until.")
    progress.log("Drawing the report ...")
    page = render_report(
        history,
        as_of=options.as_of or history.fetched_at,
        tz=options.tz,
        only=options.only,
        since=options.since,
        until=options.until,
        kind=options.kind,
    )
    count = len(select_payments(chosen.payments))
    return chosen, count, f"The report of {format_count(count, 'payment', 'payments')}", page


def _render_year(options: argparse.Namespace, progress: _output.Progress) -> tuple[History, int, str, str]:
    """Return the history that the year shows, the number of its settled payments, a description and the text."""
    from p2p_analytics.display import format_count
    from p2p_analytics.errors import ConfigurationError
    from p2p_analytics.report import choose_privacy, draw_year, select_year

    privacy = choose_privacy(options.privacy)
    history = read_original(options)
    warn_of_people(history, progress, private=privacy)
    year = select_year(history, options.year, options.as_of or history.fetched_at, options.tz, privacy)
    require_currency(year.history, options, what="a year in review")
    if empty := year.describe_empty():  # a page without payments would replace one of another year
        raise ConfigurationError(f"{empty} No page is written: choose a year with payments with --year.")
    progress.log(f"Drawing the year {year.number} ...")
    payments = format_count(year.settled_count, "settled payment", "settled payments")
    page = draw_year(year, kind=options.kind)
    return year.history, year.settled_count, f"The year {year.number} in review of {payments}", page


def _find_kind(out: str | None) -> Kind:
    """Return the kind of page that the ending of a file names, HTML without one; raise a WrongUseError for others."""
    from pathlib import PurePath

    ending = PurePath(out or "").suffix.lower()
    if ending not in _KINDS:
        raise _arguments.WrongUseError(f"A report is HTML or Markdown, not {ending}: end --out in .html or .md.")
    return _KINDS[ending]
