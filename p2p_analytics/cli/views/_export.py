"""The command ``export``: write a table of an archive, or its payments as a workbook, database or ledger."""

from __future__ import annotations

import argparse
import sys
from typing import Final

import pandas as pd

from p2p_analytics.analyses.build import build_table, takes
from p2p_analytics.archive import open_archive
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.cli import _arguments, _output
from p2p_analytics.cli._commands import (
    DATABASES,
    FILES_OF_ALL_TABLES,
    FRAMES,
    LEDGERS,
    RECONCILIATION,
    WORKBOOK,
)
from p2p_analytics.cli.views._history import (
    build_currencies_error,
    list_archives,
    read_archives,
    select_range,
    warn_of_people,
)
from p2p_analytics.errors import SchemaError
from p2p_analytics.export import (
    to_beancount,
    to_csv,
    to_excel,
    to_hledger,
    to_jsonl,
    to_parquet,
    to_sqlite,
    write_csv,
    write_database,
    write_workbook,
)
from p2p_analytics.frames.row_currencies import count_currencies
from p2p_analytics.history import History
from p2p_analytics.report import Range

_OF_ARCHIVE: Final = ("people", "friends", RECONCILIATION)  # tables of other things than payments


def run_command(options: argparse.Namespace) -> None:
    """Write a table of an archive to a file or standard output, or its payments as a workbook, database or ledger."""
    _arguments.refuse_json(options, "table")
    if options.out.endswith(LEDGERS) and options.table not in {None, "payments"}:
        raise _arguments.WrongUseError(f"A ledger is made of payments, not of {options.table}: leave out --table.")
    progress = _output.Progress(options.progress)
    progress.log(f"Reading {options.archive} ...")
    history = read_archives(options, options.privacy)
    warn_of_people(history, progress, private=history.private)
    if options.currency:
        history = history.select_currency(options.currency)
    chosen = select_range(history, options, _find_zone(history, options), progress)
    history = chosen.history
    if options.out.endswith(LEDGERS) or (options.table is None and options.out.endswith(FILES_OF_ALL_TABLES)):
        _write_payments(chosen, options)
        name, rows = "payments", len(history.payments)
    else:
        name = options.table or "payments"
        table = _read_reconciliation(options) if name == RECONCILIATION else _build_table(name, chosen, options)
        rows = len(table)
        for line in _describe_unused(name, options, history):
            progress.note(line)
        progress.log(f"Writing {rows:,} rows of {name} ...")
        _write_table(name, table, history, options)
    if options.out == _arguments.STANDARD_OUTPUT:
        if not rows:  # else a header alone looks like a failure
            progress.note(f"The table {name} has no rows.")
        return
    part = "the settled ones of " if options.out.endswith(LEDGERS) else ""
    _output.print_summary(
        options,
        f"{part}{rows:,} rows of {name}, in {options.out}{_output.describe_privacy(history)}",
        **list_archives(options),
        file=options.out,
        table=name,
        rows=rows,
        privacy=_output.privacy_mode(history),
    )


def _read_reconciliation(options: argparse.Namespace) -> pd.DataFrame:
    """Return whether the balances of the files of all archives agree with their rows."""
    tables = [open_archive(path).reconciliation(privacy=options.privacy) for path in options.archives]
    return pd.concat(tables, ignore_index=True)


def _write_payments(chosen: Range, options: argparse.Namespace) -> None:
    """Write the payments of a range as a workbook or database with all analyses, or as a ledger."""
    history = chosen.history
    zone = _find_zone(history, options)
    if options.out.endswith(FILES_OF_ALL_TABLES):
        write = to_excel if options.out.endswith(WORKBOOK) else to_sqlite
        write(history, options.out, as_of=options.as_of, end=chosen.end, tz=zone)
    else:
        (to_beancount if options.out.endswith(".beancount") else to_hledger)(history, options.out, tz=zone)


def _find_zone(history: History, options: argparse.Namespace) -> str:
    """Return the zone that is given, UTC without one; private dates are UTC."""
    return "UTC" if history.private else options.tz or "UTC"


def _write_table(name: str, table: pd.DataFrame, history: History, options: argparse.Namespace) -> None:
    """Write one table to a file of the kind that its ending names, or to standard output."""
    if options.out == _arguments.STANDARD_OUTPUT:
        write_csv(table, sys.stdout.buffer)
    elif options.out.endswith(WORKBOOK):
        write_workbook({name: table}, options.out, tz=_find_zone(history, options))
    elif options.out.endswith(DATABASES):
        write_database({name: table}, options.out)
    else:
        {".csv": to_csv, ".parquet": to_parquet, ".jsonl": to_jsonl}[f".{options.out.rpartition('.')[2]}"](
            table, options.out
        )


def _describe_unused(name: str, options: argparse.Namespace, history: History) -> list[str]:
    """Return a line for each given option that has no effect on the table."""
    lines = []
    has_days = options.since is not None or options.until is not None
    if name in _OF_ARCHIVE and (has_days or options.currency):
        given = "--since and --until have" if has_days else "--currency has"
        lines.append(f"{given} no effect on {name}: only payments, problems and analyses are selected.")
    if options.tz is not None and not (_takes(name, "tz") or has_days or options.out.endswith(WORKBOOK)):
        lines.append(f"--tz has no effect on {name}: instants are in UTC; {_list_takers('tz')} use it.")
    elif options.tz is not None and history.private:
        lines.append("--tz has no effect in privacy mode: its days and months are in UTC.")
    if options.as_of is not None and not _takes(name, "as_of"):
        lines.append(f"--as-of has no effect on {name}: {_list_takers('as_of')} use it.")
    return lines


def _takes(table: str, argument: str) -> bool:
    return table in ANALYSES and takes(table, argument)


def _list_takers(argument: str) -> str:
    *most, last = (name for name in ANALYSES if _takes(name, argument))
    return f"{', '.join(most)} and {last}"


def _build_table(name: str, chosen: Range, options: argparse.Namespace) -> pd.DataFrame:
    """Return the table that ``--table`` names: a frame of the history or the result of an analysis."""
    history = chosen.history
    if name in FRAMES:
        frame: pd.DataFrame = getattr(history, name)
        return frame
    zone = _find_zone(history, options)
    as_of = options.as_of or history.fetched_at
    try:
        return build_table(name, history.payments, history, as_of=as_of, tz=zone, end=chosen.end)
    except SchemaError:
        if len(count_currencies(history.payments)) > 1:
            raise build_currencies_error(history, options, what=name) from None
        raise
