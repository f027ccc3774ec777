"""The command ``report``: write the report of an archive to an HTML or Markdown file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import PurePath
from typing import Final, Literal

from p2p_analytics.cli import _options, _output
from p2p_analytics.cli._history import list_archives, read_history, require_currency, select_range
from p2p_analytics.display import format_count
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.files import atomic_file
from p2p_analytics.frames.schema import select_payments
from p2p_analytics.history import History
from p2p_analytics.report import choose_privacy, draw_year, render_report, select_year

Kind = Literal["html", "markdown"]

_KINDS: Final[Mapping[str, Kind]] = {"": "html", ".html": "html", ".htm": "html", ".md": "markdown"}


def run_command(options: argparse.Namespace) -> None:
    """Write the report of an archive to a file or standard output."""
    is_year = options.template == "year"
    day = "since" if options.since is not None else "until"
    one_year = f"--template year shows one year: choose it with --year, not --{day}."
    ending = PurePath(options.out or "").suffix.lower()
    both = options.no_privacy and options.privacy
    for is_wrong, sentence in (
        (both, "--privacy and --no-privacy exclude each other: leave one of them out."),
        (options.out == "", "--out needs the name of a file, or - for standard output."),
        (not is_year and options.year is not None, "--year is for the year in review: add --template year."),
        (is_year and options.only is not None, "--template year has its own analyses: leave out --only."),
        (is_year and getattr(options, day) is not None, one_year),
        (ending not in _KINDS, f"A report is HTML or Markdown, not {ending}: end --out in .html or .md."),
    ):
        if is_wrong:
            raise _options.WrongUseError(sentence)
    _options.refuse_json(options, "page")
    options.kind = _KINDS[ending]
    options.privacy = False if options.no_privacy else options.privacy
    progress = _output.Progress(options.progress)
    progress.log(f"Reading {options.archive} ...")
    shown, count, about, page = (_render_year if is_year else _render_report)(options, progress)
    mode = _output.describe_privacy(shown) or "\nNames and amounts are real." * is_year
    if options.out == _options.STANDARD_OUTPUT:
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


def _render_report(options: argparse.Namespace, progress: _output.Progress) -> tuple[History, int, str, str]:
    """Return the history that the report shows, the number of its payments, a description and the text."""
    history = read_history(options, progress, privacy=options.privacy)
    require_currency(history, options, what="a report")
    chosen = select_range(history, options, "UTC" if history.private else options.tz, progress).history
    if chosen.payments.empty and len(history.payments):  # an empty page would replace one with payments
        raise ConfigurationError("No page is written: choose other days with --since and --until.")
    progress.log("Drawing the report ...")
    given = {name: getattr(options, name) for name in ("tz", "only", "since", "until", "kind")}
    page = render_report(history, as_of=options.as_of or history.fetched_at, **given)
    count = len(select_payments(chosen.payments))
    return chosen, count, f"The report of {format_count(count, 'payment', 'payments')}", page


def _render_year(options: argparse.Namespace, progress: _output.Progress) -> tuple[History, int, str, str]:
    """Return the history that the year shows, the number of its settled payments, a description and the text."""
    privacy = choose_privacy(options.privacy)
    history = read_history(options, progress, privacy=False, hides=bool(privacy))
    year = select_year(history, options.year, options.as_of or history.fetched_at, options.tz, privacy)
    require_currency(year.history, options, what="a year in review")
    if empty := year.describe_empty():  # a page without payments would replace one of another year
        raise ConfigurationError(f"{empty} No page is written: choose a year with payments with --year.")
    progress.log(f"Drawing the year {year.number} ...")
    payments = format_count(year.settled_count, "settled payment", "settled payments")
    page = draw_year(year, kind=options.kind)
    return year.history, year.settled_count, f"The year {year.number} in review of {payments}", page
