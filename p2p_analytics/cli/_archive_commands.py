"""The commands ``sync``, ``verify``, ``export`` and ``report``, which work with an archive."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import pandas as pd

from p2p_analytics import analyses
from p2p_analytics.archive import open_archive
from p2p_analytics.display import format_count

if TYPE_CHECKING:
    import argparse

    from p2p_analytics.history import History

_FRAMES: Final = ("payments", "friends", "problems")
_DIFFERENCES: Final = {
    "missing": "missing from the archive", "extra": "only in the archive", "changed": "changed",
}  # fmt: skip


def sync(options: argparse.Namespace) -> None:
    """Load what may have changed into an archive, and print how much did."""
    from p2p_analytics.auth import find_base_url
    from p2p_analytics.client import Client

    archive = open_archive(options.archive)
    with Client(base_url=find_base_url(options.base_url)) as client:
        changes = archive.sync(client, refresh=options.refresh)
    for name in changes.set_aside:
        sys.stderr.write(f"{name} was broken: it is set aside, and its payments are loaded again.\n")
    sys.stdout.write(f"{changes.added:,} new payments, {changes.changed:,} with another status, in {archive.path}\n")


def verify(options: argparse.Namespace) -> int:
    """Print how an archive differs from the service, by month; return the exit code."""
    from p2p_analytics.auth import find_base_url
    from p2p_analytics.client import Client

    archive = open_archive(options.archive)
    with Client(base_url=find_base_url(options.base_url)) as client:
        found = archive.verify(client)
    if found.empty:
        sys.stdout.write(f"{archive.path} and the service agree.\n")
        return 0
    counts = pd.crosstab(found["month"].fillna("no date"), found["difference"])
    for month, row in counts.iterrows():
        parts = [f"{row[kind]:,} {words}" for kind, words in _DIFFERENCES.items() if row.get(kind)]
        sys.stdout.write(f"{month}: {', '.join(parts)}\n")
    only_extra = found["difference"].eq("extra").all()
    advice = (
        "the archive keeps what the service does not list any more"
        if only_extra
        else f"run p2p-analytics sync --refresh {options.archive}"
    )
    differ = format_count(len(found), "payment differs", "payments differ")
    sys.stdout.write(f"{differ} in {format_count(len(counts), 'month', 'months')}: {advice}.\n")
    return 1


def export(options: argparse.Namespace) -> None:
    """Write a table of an archive to a CSV or Parquet file."""
    from p2p_analytics.export import to_csv, to_parquet

    table = _build_table(_read_history(options), options)
    (to_csv if options.out.endswith(".csv") else to_parquet)(table, options.out)
    sys.stdout.write(f"{len(table):,} rows of {options.table}, in {options.out}\n")


def report(options: argparse.Namespace) -> None:
    """Write the report of an archive to an HTML file."""
    from p2p_analytics.files import atomic_file
    from p2p_analytics.report import render_report

    history = _read_history(options)
    page = render_report(history, as_of=options.as_of or history.fetched_at, tz=options.tz).encode()
    with atomic_file(options.out) as file:
        file.write(page)
    sys.stdout.write(f"The report of {len(history.payments):,} payments, in {options.out}\n")


def _read_history(options: argparse.Namespace) -> History:
    return open_archive(options.archive).history(privacy=options.privacy)


def _build_table(history: History, options: argparse.Namespace) -> pd.DataFrame:
    """Return the table that ``--table`` names: a frame of the history or the result of an analysis."""
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
