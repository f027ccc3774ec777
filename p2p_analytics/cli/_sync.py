"""The commands ``sync`` and ``verify``: load payments into an archive, and compare an archive with the service."""

from __future__ import annotations

import sys

from p2p_analytics.cli import _arguments

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Final

_DIFFERENCES: Final = {
    "missing": "missing from the archive", "extra": "only in the archive", "changed": "changed",
}  # fmt: skip


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``sync`` and ``verify`` to a command line."""
    sync = _arguments.add_archive_command(
        add_parser,
        "sync",
        "load new and changed payments into an archive",
        "Load what may have changed since the last time into an archive, a folder that is made where there is none. "
        "Needs a token: see login.",
    )
    _arguments.add_service(sync)
    sync.add_argument(
        "--refresh", action="store_true", help="reload everything and replace what the archive holds: see verify"
    )
    sync.set_defaults(command=_sync)

    verify = _arguments.add_archive_command(
        add_parser,
        "verify",
        "compare an archive with the service",
        "List every payment from the service and print, month by month, what the archive lacks, has beside, or holds "
        "otherwise. Changes nothing. Sync first: a payment made since the last sync is missing too. Exit code 1 where "
        "something differs. Needs a token: see login.",
    )
    _arguments.add_service(verify)
    verify.set_defaults(command=_verify)


def _sync(options: argparse.Namespace) -> None:
    """Load what may have changed into an archive, and print how much did."""
    from p2p_analytics.archive import open_archive
    from p2p_analytics.auth import find_base_url
    from p2p_analytics.client import Client

    archive = open_archive(options.archive)
    with Client(base_url=find_base_url(options.base_url)) as client:
        changes = archive.sync(client, refresh=options.refresh)
    for name in changes.set_aside:
        sys.stderr.write(f"{name} was broken: it is set aside, and its payments are loaded again.\n")
    sys.stdout.write(f"{changes.added:,} new payments, {changes.changed:,} with another status, in {archive.path}\n")


def _verify(options: argparse.Namespace) -> int:
    """Print how an archive differs from the service, by month; return the exit code."""
    import pandas as pd

    from p2p_analytics.archive import open_archive
    from p2p_analytics.auth import find_base_url
    from p2p_analytics.client import Client
    from p2p_analytics.display import format_count

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
