"""The command ``export``: write a table of an archive to a CSV or Parquet file, or to standard output."""

from __future__ import annotations

import argparse
import sys

from p2p_analytics.cli import _arguments, _output

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

    import pandas as pd

    from p2p_analytics.history import History

_FRAMES: Final = ("payments", "people", "friends", "problems")
# Those of the catalogue, which is not imported here because it would slow --help down.
_ANALYSES: Final = (
    "spend_by_friend",
    "categories",
    "monthly_flow",
    "spending_over_time",
    "people_by_year",
    "status_mix",
    "request_outcomes",
    "time_to_settle",
    "pending_ageing",
    "pending_requests",
    "split_bills",
    "activity",
    "recurring",
    "unusual",
    "exposure",
    "sensitive_notes",
)
_SUFFIXES: Final = (".csv", ".parquet")
_STANDARD_OUTPUT: Final = "-"


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``export`` to a command line."""
    export = _arguments.add_archive_command(
        add_parser,
        "export",
        "write a table of an archive as a CSV or Parquet file",
        "Write the payments of an archive, or another table, as a CSV or Parquet file, or as CSV to standard output. "
        "Needs no token.",
    )
    export.add_argument(
        "out",
        metavar="OUT",
        type=_parse_table_path,
        help="the file, which ends in .csv or .parquet, or - for CSV on standard output",
    )
    export.add_argument(
        "--table",
        metavar="NAME",
        choices=_FRAMES + _ANALYSES,
        default="payments",
        help=f"{', '.join(_FRAMES)}, or the result of an analysis: {', '.join(_ANALYSES)} (payments)",
    )
    _arguments.add_view(export)
    _arguments.add_progress(export)
    _arguments.add_json(export)
    export.set_defaults(command=_export, tz=None)  # None: not given


def _parse_table_path(text: str) -> str:
    """Return the path of a table file, which ends in .csv or .parquet, or the name of standard output."""
    if text != _STANDARD_OUTPUT and not text.endswith(_SUFFIXES):
        raise argparse.ArgumentTypeError(f"{text} ends neither in .csv nor in .parquet, and is not -")
    return text


def _export(options: argparse.Namespace) -> None:
    """Write a table of an archive to a CSV or Parquet file, or to standard output."""
    if options.out == _STANDARD_OUTPUT and options.json:
        raise _arguments.WrongUseError("With - the table goes to standard output: leave out --json, or name a file.")
    from p2p_analytics.archive import open_archive
    from p2p_analytics.export import to_csv, to_parquet, write_csv

    progress = _output.Progress(options.progress)
    progress.log(f"Reading {options.archive} ...")
    history = open_archive(options.archive).history(privacy=options.privacy)
    table = _build_table(history, options)
    for line in _describe_unused(options, history):
        progress.note(line)
    progress.log(f"Writing {len(table):,} rows of {options.table} ...")
    if options.out == _STANDARD_OUTPUT:
        write_csv(table, sys.stdout.buffer)
        return
    (to_csv if options.out.endswith(".csv") else to_parquet)(table, options.out)
    _output.print_summary(
        options,
        f"{len(table):,} rows of {options.table}, in {options.out}{_output.describe_privacy(history)}",
        archive=options.archive,
        file=options.out,
        table=options.table,
        rows=len(table),
        privacy=_output.privacy_mode(history),
    )


def _describe_unused(options: argparse.Namespace, history: History) -> list[str]:
    """Return a line for each given option that has no effect on the table."""
    lines = []
    if options.tz is not None and not _takes(options.table, "tz"):
        lines.append(f"--tz has no effect on {options.table}: instants are in UTC; {_list_takers('tz')} use it.")
    elif options.tz is not None and history.private:
        lines.append("--tz has no effect in privacy mode: its days and months are in UTC.")
    if options.as_of is not None and not _takes(options.table, "as_of"):
        lines.append(f"--as-of has no effect on {options.table}: {_list_takers('as_of')} use it.")
    return lines


def _takes(table: str, argument: str) -> bool:
    from p2p_analytics.analyses.catalogue import takes

    return table in _ANALYSES and takes(table, argument)


def _list_takers(argument: str) -> str:
    *most, last = (name for name in _ANALYSES if _takes(name, argument))
    return f"{', '.join(most)} and {last}"


def _build_table(history: History, options: argparse.Namespace) -> pd.DataFrame:
    """Return the table that ``--table`` names: a frame of the history or the result of an analysis."""
    from p2p_analytics.analyses import catalogue

    if options.table in _FRAMES:
        frame: pd.DataFrame = getattr(history, options.table)
        return frame
    zone = "UTC" if history.private else options.tz or "UTC"  # private dates are UTC
    as_of = options.as_of or history.fetched_at
    return catalogue.build_table(options.table, history.payments, history, as_of=as_of, tz=zone)
