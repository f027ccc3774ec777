"""The command ``report``: write the report of an archive to an HTML or Markdown file."""

from __future__ import annotations

from p2p_analytics.cli import _arguments, _output
from p2p_analytics.cli.views._history import add_currency, add_days, read_history, select_range

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Final, Literal

    from p2p_analytics.history import History

_YEARS: Final = (1970, 2199)


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``report`` to a command line."""
    report = _arguments.add_archive_command(
        add_parser,
        "report",
        "write the report of an archive as an HTML or Markdown file",
        "Write the report of an archive as one HTML file, or as Markdown if its name ends in .md. Needs no token.",
    )
    add_currency(report)
    report.add_argument(
        "--out", metavar="FILE", help="the file (report.html, or year.html); Markdown if it ends in .md"
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
    report.add_argument(
        "--no-privacy", dest="privacy", action="store_const", const=False, help="show real names and amounts"
    )
    _arguments.add_progress(report)
    _arguments.add_json(report)
    report.set_defaults(command=_report)


def _parse_names(text: str) -> list[str]:
    """Return the names of analyses."""
    import argparse

    from p2p_analytics.analyses.catalogue import CATALOGUE

    names = text.split(",")
    unknown = next((name for name in names if name not in CATALOGUE), None)
    if unknown is not None:
        raise argparse.ArgumentTypeError(f"{unknown!r} is no analysis: choose from {', '.join(CATALOGUE)}")
    return names


def _report(options: argparse.Namespace) -> None:
    """Write the report of an archive to a file."""
    from p2p_analytics.display import format_count
    from p2p_analytics.files import atomic_file
    from p2p_analytics.frames.schema import select_payments
    from p2p_analytics.report import choose_privacy

    is_year = options.template == "year"
    _refuse_options(options, is_year=is_year)
    if is_year:
        options.privacy = choose_privacy(options.privacy)
    progress = _output.Progress(options.progress)
    progress.log(f"Reading {options.archive} ...")
    history = read_history(options, what="a report")
    render = _render_year if is_year else _render_report
    chosen, about, page = render(options, history, progress)
    file = options.out or f"{'year' if is_year else 'report'}.html"
    with atomic_file(file) as opened:
        opened.write(page.encode())
    count = len(select_payments(chosen.payments))
    _output.print_summary(
        options,
        f"{about} of {format_count(count, 'payment', 'payments')}, in {file}{_output.describe_privacy(history)}",
        archive=options.archive,
        file=file,
        payments=count,
        friends=len(history.friends),
        problems=len(chosen.problems),
        privacy=_output.privacy_mode(history),
    )


def _refuse_options(options: argparse.Namespace, *, is_year: bool) -> None:
    """Raise a WrongUseError for options of the other template."""
    if not is_year and options.year is not None:
        raise _arguments.WrongUseError("--year is for the year in review: add --template year.")
    given = [name for name in ("only", "since", "until") if getattr(options, name) is not None]
    if is_year and given:
        raise _arguments.WrongUseError(f"--template year shows one year: choose it with --year, not --{given[0]}.")


def _render_report(
    options: argparse.Namespace, history: History, progress: _output.Progress
) -> tuple[History, str, str]:
    """Return the payments of the report, its name and its text."""
    from p2p_analytics.report import render_report

    chosen = select_range(history, options, "UTC" if history.private else options.tz, progress)
    progress.log("Drawing the report ...")
    page = render_report(
        history,
        as_of=options.as_of or history.fetched_at,
        tz=options.tz,
        only=options.only,
        since=options.since,
        until=options.until,
        kind=_find_kind(options),
    )
    return chosen, "The report", page


def _render_year(options: argparse.Namespace, history: History, progress: _output.Progress) -> tuple[History, str, str]:
    """Return the payments of the year, the name of its review and the text."""
    from p2p_analytics.report import render_year, select_year
    from p2p_analytics.times import find_zone

    as_of = options.as_of or history.fetched_at
    zone = find_zone("UTC" if history.private else options.tz)
    chosen = select_year(history, options.year, as_of, zone)
    progress.log(f"Drawing the year {chosen.number} ...")
    page = render_year(
        history, as_of=as_of, year=chosen.number, tz=options.tz, privacy=history.private, kind=_find_kind(options)
    )
    return chosen.history, f"The year {chosen.number} in review", page


def _find_kind(options: argparse.Namespace) -> Literal["html", "markdown"]:
    return "markdown" if (options.out or "").lower().endswith(".md") else "html"
