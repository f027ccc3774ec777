"""The command ``export``: write a table of an archive, or its payments as a workbook, database or ledger."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import Final

import pandas as pd

from p2p_analytics import export
from p2p_analytics.analyses.build import build_table, takes
from p2p_analytics.archive import open_archive
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.cli import _options, _output
from p2p_analytics.cli._history import list_archives, read_history, require_currency, select_range
from p2p_analytics.cli._options import DATABASES, FILES_OF_ALL_TABLES, FRAMES, LEDGERS, RECONCILIATION, WORKBOOK
from p2p_analytics.errors import SchemaError
from p2p_analytics.history import History
from p2p_analytics.report import Range

_OF_ARCHIVE: Final = ("people", "friends", RECONCILIATION)  # tables of other things than payments


def run_command(options: argparse.Namespace) -> None:
    """Write a table of an archive to a file or standard output, or its payments as a workbook, database or ledger."""
    _options.refuse_json(options, "table")
    is_ledger = options.out.endswith(LEDGERS)
    if is_ledger and options.table not in {None, "payments"}:
        raise _options.WrongUseError(f"A ledger is made of payments, not of {options.table}: leave out --table.")
    progress = _output.Progress(options.progress)
    progress.log(f"Reading {options.archive} ...")
    history = read_history(options, progress, privacy=options.privacy)
    zone = "UTC" if history.private else options.tz or "UTC"  # private dates are UTC
    chosen = select_range(history, options, zone, progress)
    history = chosen.history
    name = options.table or "payments"
    if is_ledger:
        rows = len(history.payments)
        (export.to_beancount if options.out.endswith(".beancount") else export.to_hledger)(
            history, options.out, tz=zone
        )
    elif options.table is None and options.out.endswith(FILES_OF_ALL_TABLES):
        rows = len(history.payments)
        write = export.to_excel if options.out.endswith(WORKBOOK) else export.to_sqlite
        write(history, options.out, as_of=options.as_of, end=chosen.end, tz=zone)
    else:
        table = _build_table(name, chosen, options, zone)
        rows = len(table)
        for line in _describe_unused(name, options, history):
            progress.note(line)
        progress.log(f"Writing {rows:,} rows of {name} ...")
        _write_table(name, table, options.out, zone)
    if options.out == _options.STANDARD_OUTPUT:
        if not rows:  # else a header alone looks like a failure
            progress.note(f"The table {name} has no rows.")
        return
    part = "the settled ones of " if is_ledger else ""
    _output.print_summary(
        options,
        f"{part}{rows:,} rows of {name}, in {options.out}{_output.describe_privacy(history)}",
        **list_archives(options),
        file=options.out,
        table=name,
        rows=rows,
        privacy=_output.privacy_mode(history),
    )


def _build_table(name: str, chosen: Range, options: argparse.Namespace, zone: str) -> pd.DataFrame:
    """Return the table that ``--table`` names: a frame of the history or the result of an analysis."""
    history = chosen.history
    if name == RECONCILIATION:  # of the files of all archives
        tables = [open_archive(path).reconciliation(privacy=options.privacy) for path in options.archives]
        return pd.concat(tables, ignore_index=True)
    if name in FRAMES:
        frame: pd.DataFrame = getattr(history, name)
        return frame
    as_of = options.as_of or history.fetched_at
    try:
        return build_table(name, history.payments, history, as_of=as_of, tz=zone, end=chosen.end)
    except SchemaError:
        require_currency(history, options, what=name)
        raise


def _write_table(name: str, table: pd.DataFrame, out: str, zone: str) -> None:
    """Write one table to a file of the kind that its ending names, or to standard output."""
    if out == _options.STANDARD_OUTPUT:
        export.write_csv(table, sys.stdout.buffer)
    elif out.endswith(WORKBOOK):
        export.write_workbook({name: table}, out, tz=zone)
    elif out.endswith(DATABASES):
        export.write_database({name: table}, out)
    else:
        writers = {"csv": export.to_csv, "parquet": export.to_parquet, "jsonl": export.to_jsonl}
        writers[out.rpartition(".")[2]](table, out)


def _describe_unused(name: str, options: argparse.Namespace, history: History) -> Iterator[str]:
    """Yield a line for each given option that has no effect on the table."""
    has_days = options.since is not None or options.until is not None
    if name in _OF_ARCHIVE and (has_days or options.currency):
        given = "--since and --until have" if has_days else "--currency has"
        yield f"{given} no effect on {name}: only payments, problems and analyses are selected."
    if options.tz is not None and not (_takes(name, "tz") or has_days or options.out.endswith(WORKBOOK)):
        yield f"--tz has no effect on {name}: instants are in UTC; {_list_takers('tz')} use it."
    elif options.tz is not None and history.private:
        yield "--tz has no effect in privacy mode: its days and months are in UTC."
    if options.as_of is not None and not _takes(name, "as_of"):
        yield f"--as-of has no effect on {name}: {_list_takers('as_of')} use it."


def _takes(table: str, argument: str) -> bool:
    return table in ANALYSES and takes(table, argument)


def _list_takers(argument: str) -> str:
    *most, last = (name for name in ANALYSES if _takes(name, argument))
    return f"{', '.join(most)} and {last}"
