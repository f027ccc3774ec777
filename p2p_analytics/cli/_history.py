"""The history of an archive in the currency, days and privacy mode that a command shows."""

from __future__ import annotations

import argparse
from dataclasses import replace

from p2p_analytics import settings
from p2p_analytics.archive import PEOPLE_LINE, open_archive
from p2p_analytics.cli._output import Progress, list_records
from p2p_analytics.display import clean_line, to_zone
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.row_currencies import choose_currency, count_currencies, describe_currencies
from p2p_analytics.history import History, household
from p2p_analytics.report import Range, select_days
from p2p_analytics.settings import Privacy
from p2p_analytics.times import find_zone


def read_history(
    options: argparse.Namespace, progress: Progress, *, privacy: Privacy | None, hides: bool | None = None
) -> History:
    """Return the rows of the archives as one history, in the chosen currency if there is one.

    The data of several archives is as of the latest one: the payments of a service that is still in use must not lie
    after the date up to which they are counted. Each line of people.csv that is left out has a warning, which does not
    quote it if the history is private, or ``hides`` is true because a page masks the history itself.
    """
    archives = [open_archive(path) for path in options.archives]
    if len(archives) == 1:
        history = archives[0].history(privacy=privacy)
    else:
        mode = settings.privacy(privacy)
        histories = [archive.history(privacy=False) for archive in archives]
        history = replace(household(histories), fetched_at=max(each.fetched_at for each in histories))
        history = history.masked(strict=mode == settings.STRICT) if mode else history
    hides = bool(history.private) if hides is None else hides
    for problem in list_records(history.problems[history.problems["code"] == PEOPLE_LINE]):
        place = "people.csv" if problem["line"] is None else f"people.csv, line {problem['line']}"
        why = "it is left out; privacy mode hides why" if hides else clean_line(problem["problem"])
        progress.note(f"{place}: {why}")
    return history.select_currency(options.currency) if options.currency else history


def list_archives(options: argparse.Namespace) -> dict[str, object]:
    """Return the archives as ``--json`` prints them."""
    several = {"archives": options.archives} if len(options.archives) > 1 else {}
    return {"archive": options.archive, **several}


def require_currency(history: History, options: argparse.Namespace, *, what: str) -> None:
    """Raise a ConfigurationError if the payments between people are in several currencies.

    It names the option that chooses one. ``what`` is the thing that is in one currency, such as "a report".
    """
    counts = count_currencies(history.payments)
    if len(counts) > 1:
        raise ConfigurationError(
            f"The payments of {options.archive} are in {describe_currencies(counts)}, which {what} does not add: "
            f"choose one, like --currency {choose_currency(counts)}."
        )


def select_range(history: History, options: argparse.Namespace, zone: str, progress: Progress) -> Range:
    """Return the payments of the chosen days; without any, write a line with the first and last day that have some."""
    chosen = select_days(history, options.since, options.until, find_zone(zone))
    created = history.payments["date_created"].dropna()
    if chosen.sentence and chosen.history.payments.empty and len(created):
        ends = created.min().to_pydatetime(), created.max().to_pydatetime()
        first, last = (to_zone(instant, find_zone(zone)).date() for instant in ends)
        progress.note(f"No payment is in these days: those of {options.archive} are from {first} to {last}.")
    return chosen
