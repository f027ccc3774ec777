"""The commands ``sync`` and ``verify``: load payments into an archive, and compare an archive with the service."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final

import pandas as pd

from p2p_analytics.archive import Archive, open_archive
from p2p_analytics.auth import find_base_url
from p2p_analytics.cli import _options, _output
from p2p_analytics.client import Client
from p2p_analytics.display import describe_start, format_count

_NO_DATE: Final = "no date"
_DIFFERENCES: Final = {
    "missing": "missing from the archive", "extra": "only in the archive", "changed": "changed",
}  # fmt: skip


def sync(options: argparse.Namespace) -> None:
    """Load what may have changed into an archive, and print how much did."""
    if options.refresh and options.since:
        raise _options.WrongUseError("--refresh reloads everything: leave out --since, or --refresh.")

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
    text = f"{reloaded}{changes.added:,} new payments, {changes.changed:,} with another status, in {options.archive}"
    counts = {name: getattr(changes, name) for name in ("loaded", "added", "changed")}
    _print_summary(options, archive, text, refresh=options.refresh, **counts, set_aside=list(changes.set_aside))


def verify(options: argparse.Namespace) -> int:
    """Print how an archive differs from the service, by month; return the exit code."""
    archive = open_archive(options.archive)
    progress = _output.Progress(options.progress)
    with Client(base_url=find_base_url(options.base_url)) as client:
        progress.log(f"Comparing {options.archive} with the service ...")
        found = archive.verify(client, progress=progress.callback)
    counts = pd.crosstab(found["month"].fillna(_NO_DATE), found["difference"]).reindex(
        columns=[*_DIFFERENCES], fill_value=0
    )
    lines = [f"{options.archive} and the service agree."]
    if not found.empty:
        lines = [
            f"{month}: {', '.join(f'{row[kind]:,} {words}' for kind, words in _DIFFERENCES.items() if row[kind])}"
            for month, row in counts.iterrows()
        ]
        is_in_archive = (found["difference"] == "extra").all()
        kept, refresh = "the archive keeps what the service does not list any more", "run p2p-analytics sync --refresh"
        differ = format_count(len(found), "payment differs", "payments differ")
        months = format_count(len(counts), "month", "months")
        lines.append(f"{differ} in {months}: {kept if is_in_archive else f'{refresh} {options.archive}'}.")
    _print_summary(
        options,
        archive,
        "\n".join(lines),
        agrees=found.empty,
        **{kind: int(counts[kind].sum()) for kind in _DIFFERENCES},
        months=[
            {"month": None if month == _NO_DATE else month} | {kind: int(row[kind]) for kind in _DIFFERENCES}
            for month, row in counts.iterrows()
        ],
    )
    return 0 if found.empty else 1


def _print_summary(options: argparse.Namespace, archive: Archive, text: str, **values: Any) -> None:  # noqa: ANN401 - JSON
    """Print a summary, and from which date on payments are loaded."""
    since = archive.since
    start = "" if since is None else f"\n{describe_start(since)}"
    day = None if since is None else f"{since:%Y-%m-%dT%H:%M:%SZ}"
    _output.print_summary(options, text + start, archive=options.archive, since=day, **values)
