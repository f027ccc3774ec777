"""The commands ``sync`` and ``verify``: load payments into an archive, and compare an archive with the service."""

from __future__ import annotations

import sys

from p2p_analytics.cli import _arguments, _output

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Final

    import pandas as pd

    from p2p_analytics.archive import Archive

_NO_DATE: Final = "no date"
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
        "--since",
        metavar="DATE",
        type=_arguments.parse_date,
        help="load only payments made since this date, and pending ones; later, an earlier date or none loads the rest",
    )
    sync.add_argument(
        "--refresh", action="store_true", help="reload everything and replace what the archive holds: see verify"
    )
    _arguments.add_progress(sync)
    _arguments.add_json(sync)
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
    _arguments.add_progress(verify)
    _arguments.add_json(verify)
    verify.set_defaults(command=_verify)


def _sync(options: argparse.Namespace) -> None:
    """Load what may have changed into an archive, and print how much did."""
    if options.refresh and options.since:
        raise _arguments.WrongUseError("--refresh reloads everything: leave out --since, or --refresh.")
    from p2p_analytics.archive import open_archive
    from p2p_analytics.auth import find_base_url
    from p2p_analytics.client import Client

    archive = open_archive(options.archive)
    progress = _output.Progress(options.progress)
    with Client(base_url=find_base_url(options.base_url)) as client:
        if archive.is_new:  # a mistyped name looks like a first sync
            progress.note(f"There is no archive in {options.archive} yet: this sync starts a new one there.")
        progress.log(f"Loading payments into {options.archive} ...")
        changes = archive.sync(client, refresh=options.refresh, since=options.since, progress=progress.callback)
    for name in changes.set_aside:
        loaded = (
            "all payments are loaded again; the earlier names of people (also_named) are lost"
            if name.startswith("people-")
            else "its payments are loaded again"
        )
        sys.stderr.write(f"{name} was broken: it is set aside, and {loaded}.\n")
    reloaded = f"{changes.loaded:,} payments reloaded: " if options.refresh else ""
    _output.print_summary(
        options,
        f"{reloaded}{changes.added:,} new payments, {changes.changed:,} with another status, in {options.archive}"
        f"{_describe_start(archive)}",
        archive=options.archive,
        refresh=options.refresh,
        since=_format_start(archive),
        loaded=changes.loaded,
        added=changes.added,
        changed=changes.changed,
        set_aside=list(changes.set_aside),
    )


def _verify(options: argparse.Namespace) -> int:
    """Print how an archive differs from the service, by month; return the exit code."""
    import pandas as pd

    from p2p_analytics.archive import open_archive
    from p2p_analytics.auth import find_base_url
    from p2p_analytics.client import Client

    archive = open_archive(options.archive)
    progress = _output.Progress(options.progress)
    with Client(base_url=find_base_url(options.base_url)) as client:
        progress.log(f"Comparing {options.archive} with the service ...")
        found = archive.verify(client, progress=progress.callback)
    counts = pd.crosstab(found["month"].fillna(_NO_DATE), found["difference"]).reindex(
        columns=[*_DIFFERENCES], fill_value=0
    )
    _output.print_summary(
        options,
        _describe_differences(counts, options.archive) + _describe_start(archive),
        archive=options.archive,
        agrees=found.empty,
        since=_format_start(archive),
        **{kind: int(counts[kind].sum()) for kind in _DIFFERENCES},
        months=[
            {"month": None if month == _NO_DATE else month} | {kind: int(row[kind]) for kind in _DIFFERENCES}
            for month, row in counts.iterrows()
        ],
    )
    return 0 if found.empty else 1


def _format_start(archive: Archive) -> str | None:
    """Return the date before which payments are not loaded, as text; None without one."""
    return None if archive.since is None else f"{archive.since:%Y-%m-%dT%H:%M:%SZ}"


def _describe_start(archive: Archive) -> str:
    """Return a line, after a line break, that says which payments are not loaded; empty if all are."""
    from p2p_analytics.display import describe_start

    return "" if archive.since is None else f"\n{describe_start(archive.since)}"


def _describe_differences(counts: pd.DataFrame, archive: str) -> str:
    """Return a line for each month with its differences, and one with advice."""
    from p2p_analytics.display import format_count

    if counts.empty:
        return f"{archive} and the service agree."
    lines = []
    for month, row in counts.iterrows():
        parts = [f"{row[kind]:,} {words}" for kind, words in _DIFFERENCES.items() if row[kind]]
        lines.append(f"{month}: {', '.join(parts)}")
    total = int(counts.to_numpy().sum())
    advice = (
        "the archive keeps what the service does not list any more"
        if counts["extra"].sum() == total
        else f"run p2p-analytics sync --refresh {archive}"
    )
    differ = format_count(total, "payment differs", "payments differ")
    lines.append(f"{differ} in {format_count(len(counts), 'month', 'months')}: {advice}.")
    return "\n".join(lines)
