"""The history of an archive in the currency, days and privacy mode that a command shows."""

from __future__ import annotations

import argparse
from dataclasses import replace

from p2p_analytics import settings
from p2p_analytics.archive import PEOPLE_LINE, open_archive
from p2p_analytics.cli._output import Progress
from p2p_analytics.display import clean_line, to_zone
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.row_currencies import choose_currency, count_currencies, describe_currencies
from p2p_analytics.history import History, household
from p2p_analytics.report import Range, select_days
from p2p_analytics.settings import Privacy
from p2p_analytics.times import find_zone


def read_history(options: argparse.Namespace, *, what: str) -> History:
    """Return the rows in the chosen currency; without a choice, the payments between people need to be in one.

    ``what`` is the thing that is in one currency, such as "a report".
    """
    history = read_archives(options, options.privacy)
    if options.currency:
        return history.select_currency(options.currency)
    require_currency(history, options, what=what)
    return history


def read_original(options: argparse.Namespace) -> History:
    """Return the rows in the chosen currency, not masked, for a page that masks them itself."""
    history = read_archives(options, privacy=False)
    return history.select_currency(options.currency) if options.currency else history


def read_archives(options: argparse.Namespace, privacy: Privacy | None) -> History:
    """Return the rows of the archives as one history.

    The data of several is as of the latest one: the payments of a service that is still in use must not lie after the
    date up to which they are counted.
    """
    archives = [open_archive(path) for path in options.archives]
    if len(archives) == 1:
        return archives[0].history(privacy=privacy)
    mode = settings.privacy(privacy)
    histories = [archive.history(privacy=False) for archive in archives]
    united = replace(household(histories), fetched_at=max(history.fetched_at for history in histories))
    return united.masked(strict=mode == settings.STRICT) if mode else united


def list_archives(options: argparse.Namespace) -> dict[str, object]:
    """Return the archives as ``--json`` prints them."""
    several = {"archives": options.archives} if len(options.archives) > 1 else {}
    return {"archive": options.archive, **several}


def warn_of_people(history: History, progress: Progress, *, private: Privacy) -> None:
    """Write a warning for each line of people.csv that is left out; privacy mode hides the reason, which quotes it."""
    wrong = history.problems.loc[history.problems["code"] == PEOPLE_LINE, ["line", "problem"]]
    wrong = wrong.astype(object).where(wrong.notna(), None)
    for line, problem in wrong.itertuples(index=False, name=None):
        place = "people.csv" if line is None else f"people.csv, line {line}"
        progress.note(f"{place}: {'it is left out; privacy mode hides why' if private else clean_line(problem)}")


def require_currency(history: History, options: argparse.Namespace, *, what: str) -> None:
    """Raise a ConfigurationError if the payments between people are in several currencies."""
    if len(count_currencies(history.payments)) > 1:
        raise build_currencies_error(history, options, what=what)


def build_currencies_error(history: History, options: argparse.Namespace, *, what: str) -> ConfigurationError:
    """Return the error of payments in several currencies, which names the option that chooses one."""
    counts = count_currencies(history.payments)
    return ConfigurationError(
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
