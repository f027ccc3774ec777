"""The history of an archive in the one currency and the privacy mode that a command shows."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse

    from p2p_analytics.history import History


def add_currency(parser: argparse.ArgumentParser) -> None:
    """Add ``--currency`` to a command."""
    parser.add_argument(
        "--currency",
        metavar="CODE",
        type=str.upper,
        help="of payments in several currencies, only those in this one: GBP",
    )


def read_history(options: argparse.Namespace, *, what: str) -> History:
    """Return the rows in the chosen currency; without a choice, the payments between people need to be in one.

    ``what`` is the thing that is in one currency, such as "a report".
    """
    from p2p_analytics.archive import open_archive
    from p2p_analytics.errors import ConfigurationError
    from p2p_analytics.frames.row_currencies import choose_currency, count_currencies, describe_currencies

    history = open_archive(options.archive).history(privacy=options.privacy)
    if options.currency:
        return history.select_currency(options.currency)
    counts = count_currencies(history.payments)
    if len(counts) > 1:
        raise ConfigurationError(
            f"The payments of {options.archive} are in {describe_currencies(counts)}, which {what} does not add: "
            f"choose one, like --currency {choose_currency(counts)}."
        )
    return history
