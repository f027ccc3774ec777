"""The history of an archive in the currency, days and privacy mode that a command shows."""

from __future__ import annotations

from p2p_analytics.cli._arguments import parse_day

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse

    from p2p_analytics.cli._output import Progress
    from p2p_analytics.errors import ConfigurationError
    from p2p_analytics.history import History
    from p2p_analytics.report import Range
    from p2p_analytics.settings import Privacy


def add_currency(parser: argparse.ArgumentParser) -> None:
    """Add ``--currency`` to a command."""
    parser.add_argument(
        "--currency",
        metavar="CODE",
        type=str.upper,
        help="of payments in several currencies, only those in this one: GBP",
    )


def add_days(parser: argparse.ArgumentParser) -> None:
    """Add ``--since`` and ``--until`` to a command."""
    parser.add_argument("--since", metavar="DAY", type=parse_day, help="only payments from this day on: 2024-01-01")
    parser.add_argument("--until", metavar="DAY", type=parse_day, help="only payments until the end of this day")


def read_history(options: argparse.Namespace, *, what: str) -> History:
    """Return the rows in the chosen currency; without a choice, the payments between people need to be in one.

    ``what`` is the thing that is in one currency, such as "a report".
    """
    from p2p_analytics.archive import open_archive

    history = open_archive(options.archive).history(privacy=options.privacy)
    if options.currency:
        return history.select_currency(options.currency)
    require_currency(history, options, what=what)
    return history


def read_original(options: argparse.Namespace, privacy: Privacy) -> History:
    """Return the rows in the chosen currency, not masked, for a page that masks them itself.

    In privacy mode, the error of an archive that cannot be read is that of the mode, which quotes nothing.
    """
    from p2p_analytics.archive import open_archive
    from p2p_analytics.errors import ArchiveError

    archive = open_archive(options.archive)
    history = None
    try:
        history = archive.history(privacy=False)
    except ArchiveError:
        if not privacy:
            raise
    if history is None:  # outside of the except block, so that the error that quotes is not the context
        history = archive.history(privacy=privacy)
    return history.select_currency(options.currency) if options.currency else history


def require_currency(history: History, options: argparse.Namespace, *, what: str) -> None:
    """Raise a ConfigurationError if the payments between people are in several currencies."""
    from p2p_analytics.frames.row_currencies import count_currencies

    if len(count_currencies(history.payments)) > 1:
        raise build_currencies_error(history, options, what=what)


def build_currencies_error(history: History, options: argparse.Namespace, *, what: str) -> ConfigurationError:
    """Return the error of payments in several currencies, which names the option that chooses one."""
    from p2p_analytics.errors import ConfigurationError
    from p2p_analytics.frames.row_currencies import choose_currency, count_currencies, describe_currencies

    counts = count_currencies(history.payments)
    return ConfigurationError(
        f"The payments of {options.archive} are in {describe_currencies(counts)}, which {what} does not add: "
        f"choose one, like --currency {choose_currency(counts)}."
    )


def select_range(history: History, options: argparse.Namespace, zone: str, progress: Progress) -> Range:
    """Return the payments of the chosen days; a line says between which days there are some, if these have none."""
    from p2p_analytics.display import to_zone
    from p2p_analytics.report import select_days
    from p2p_analytics.times import find_zone

    chosen = select_days(history, options.since, options.until, find_zone(zone))
    created = history.payments["date_created"].dropna()
    if chosen.sentence and chosen.history.payments.empty and len(created):
        ends = created.min().to_pydatetime(), created.max().to_pydatetime()
        first, last = (to_zone(instant, find_zone(zone)).date() for instant in ends)
        progress.note(f"No payment is in these days: those of {options.archive} are from {first} to {last}.")
    return chosen
