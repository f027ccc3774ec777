"""The command ``export``: write a table of an archive to a CSV or Parquet file."""

from __future__ import annotations

import argparse
import sys

from p2p_analytics.cli import _arguments

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    import pandas as pd

    from p2p_analytics.history import History

_FRAMES: Final = ("payments", "friends", "problems")
_ANALYSES: Final = ("spend_by_friend", "monthly_flow", "status_mix", "pending_ageing", "pending_requests")
_SUFFIXES: Final = (".csv", ".parquet")


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``export`` to a command line."""
    export = _arguments.add_archive_command(
        add_parser,
        "export",
        "write a table of an archive as a CSV or Parquet file",
        "Write the payments of an archive, or another table, as a CSV or Parquet file. Needs no token.",
    )
    export.add_argument("out", metavar="OUT", type=_parse_table_path, help="the file, which ends in .csv or .parquet")
    export.add_argument("--table", choices=_FRAMES + _ANALYSES, default="payments", help="which table (payments)")
    _arguments.add_view(export)
    export.set_defaults(command=_export)


def _parse_table_path(text: str) -> str:
    """Return the path of a table file, which ends in .csv or .parquet."""
    if not text.endswith(_SUFFIXES):
        raise argparse.ArgumentTypeError(f"{text} ends neither in .csv nor in .parquet")
    return text


def _export(options: argparse.Namespace) -> None:
    """Write a table of an archive to a CSV or Parquet file."""
    from p2p_analytics.archive import open_archive
    from p2p_analytics.export import to_csv, to_parquet

    history = open_archive(options.archive).history(privacy=options.privacy)
    table = _build_table(history, options)
    (to_csv if options.out.endswith(".csv") else to_parquet)(table, options.out)
    sys.stdout.write(f"{len(table):,} rows of {options.table}, in {options.out}\n")


def _build_table(history: History, options: argparse.Namespace) -> pd.DataFrame:
    """Return the table that ``--table`` names: a frame of the history or the result of an analysis."""
    from p2p_analytics import analyses
    from p2p_analytics.analyses.pending import EDGES, MONTH_EDGES

    if options.table in _FRAMES:
        frame: pd.DataFrame = getattr(history, options.table)
        return frame
    payments, as_of = history.payments, options.as_of or history.fetched_at
    if options.table == "spend_by_friend":
        return analyses.spend_by_friend(payments, history.friends)
    if options.table == "monthly_flow":
        return analyses.monthly_flow(payments, tz="UTC" if history.private else options.tz)  # private dates are UTC
    if options.table == "status_mix":
        return analyses.status_mix(payments)
    if options.table == "pending_ageing":
        edges = MONTH_EDGES if history.strict else EDGES
        return analyses.pending_ageing(payments, as_of=as_of, edges=edges)
    return analyses.pending_requests(payments, as_of=as_of)
