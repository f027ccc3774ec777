"""The command ``report``: write the report of an archive to an HTML or Markdown file."""

from __future__ import annotations

from p2p_analytics.cli import _arguments, _output
from p2p_analytics.cli.views._history import add_currency, add_days, read_history, select_range

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


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
        "--out", metavar="FILE", default="report.html", help="the file (report.html); Markdown if it ends in .md"
    )
    report.add_argument(
        "--only", metavar="NAMES", type=_parse_names, help="only these analyses: spend_by_friend,recurring"
    )
    add_days(report)
    _arguments.add_view(report)
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
    from p2p_analytics.report import render_report

    progress = _output.Progress(options.progress)
    progress.log(f"Reading {options.archive} ...")
    history = read_history(options, what="a report")
    zone = "UTC" if history.private else options.tz
    chosen = select_range(history, options, zone, progress)
    count = len(select_payments(chosen.payments))
    counted = format_count(count, "payment", "payments")
    progress.log(f"Drawing the report of {counted} ...")
    page = render_report(
        history,
        as_of=options.as_of or history.fetched_at,
        tz=options.tz,
        only=options.only,
        since=options.since,
        until=options.until,
        kind="markdown" if options.out.lower().endswith(".md") else "html",
    ).encode()
    with atomic_file(options.out) as file:
        file.write(page)
    _output.print_summary(
        options,
        f"The report of {counted}, in {options.out}{_output.describe_privacy(history)}",
        archive=options.archive,
        file=options.out,
        payments=count,
        friends=len(history.friends),
        problems=len(chosen.problems),
        privacy=_output.privacy_mode(history),
    )
