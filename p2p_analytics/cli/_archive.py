"""The commands that work with an archive: sync it, verify it, export from it, report on it."""

from __future__ import annotations

import argparse
import sys

TYPE_CHECKING = False  # as in the root, for a light start
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Final

    import pandas as pd

    from p2p_analytics.history import History
    from p2p_analytics.settings import Privacy

_PRIVACY: Final = "--privacy"
_STRICT: Final = "strict"  # as in settings, which takes long to load
_PLAIN: Final = ("payments", "friends", "problems")
_ANALYSES: Final = ("spend_by_friend", "monthly_flow", "status_mix", "pending_ageing", "pending_requests")
_DIFFERENCES: Final = {
    "missing": "missing from the archive", "extra": "only in the archive", "changed": "changed",
}  # fmt: skip
_ENDINGS: Final = (".csv", ".parquet")


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``sync``, ``verify``, ``export`` and ``report`` to a command line."""
    sync = _command(
        add_parser,
        "sync",
        "load what is new into an archive",
        "Load what may have changed since the last time into an archive, a folder that is made where there is none. "
        "Needs a token: see login.",
    )
    _add_service(sync)
    sync.add_argument(
        "--refresh", action="store_true", help="reload everything and replace what the archive holds: see verify"
    )
    sync.set_defaults(command=_sync)

    verify = _command(
        add_parser,
        "verify",
        "compare an archive with the service",
        "List every payment from the service and print, month by month, what the archive lacks, has beside, or holds "
        "otherwise. Changes nothing. Sync first: a payment made since the last sync is missing too. Exit code 1 where "
        "something differs. Needs a token: see login.",
    )
    _add_service(verify)
    verify.set_defaults(command=_verify)

    export = _command(
        add_parser,
        "export",
        "write a table of an archive as a CSV or Parquet file",
        "Write the payments of an archive, or another table, as a CSV or Parquet file. Needs no token.",
    )
    export.add_argument("out", metavar="OUT", type=_table_file, help="the file, which ends in .csv or .parquet")
    export.add_argument("--table", choices=_PLAIN + _ANALYSES, default="payments", help="which table (payments)")
    _add_view(export)
    export.set_defaults(command=_export)

    report = _command(
        add_parser,
        "report",
        "write the report of an archive as an HTML file",
        "Write the report of an archive as one HTML file. Needs no token.",
    )
    report.add_argument("--out", metavar="FILE", default="report.html", help="the file (report.html)")
    _add_view(report)
    report.set_defaults(command=_report)


def _command(
    add_parser: Callable[..., argparse.ArgumentParser], name: str, summary: str, description: str
) -> argparse.ArgumentParser:
    parser = add_parser(name, help=summary, description=description, allow_abbrev=False)
    parser.add_argument("archive", metavar="ARCHIVE", help="the archive's folder")
    return parser


def _add_service(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base-url", metavar="URL", help="the service (P2P_BASE_URL, or that of the last login)")


def _add_view(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tz", metavar="ZONE", type=_zone, default="UTC", help="the zone of months and dates (UTC)")
    parser.add_argument(
        "--as-of", metavar="DATE", type=_date, help="the moment to which ages are counted (the last sync)"
    )
    add_privacy(parser, "invent names and amounts and show days only, as P2P_PRIVACY=1 does; strict shows months only")


def add_privacy(parser: argparse.ArgumentParser, summary: str) -> None:
    """Add ``--privacy`` and ``--privacy strict`` to a command."""
    parser.add_argument(_PRIVACY, metavar="strict", nargs="?", type=_privacy, const=True, help=summary)


def join_privacy(words: Sequence[str]) -> list[str]:
    """Return a command line in which ``--privacy`` takes no word but ``strict`` with it.

    argparse gives an option with an optional value any word that follows, such as the archive's name.
    """
    joined: list[str] = []
    for word in words:
        if not joined or joined[-1] != _PRIVACY:
            joined.append(word)
        elif word == _STRICT:
            joined[-1] = f"{_PRIVACY}={word}"
        else:
            joined[-1:] = [f"{_PRIVACY}=1", word]
    return joined


def _privacy(text: str) -> Privacy:
    if text == _STRICT:
        return _STRICT
    if text != "1":
        raise argparse.ArgumentTypeError(f"{text} is no privacy mode: write --privacy or --privacy strict")
    return True


def _table_file(text: str) -> str:
    if not text.endswith(_ENDINGS):
        raise argparse.ArgumentTypeError(f"{text} ends neither in .csv nor in .parquet")
    return text


def _zone(text: str) -> str:
    from p2p_analytics.errors import ConfigurationError
    from p2p_analytics.times import find_zone

    try:
        find_zone(text)
    except ConfigurationError:
        raise argparse.ArgumentTypeError(f"{text} is no zone name, such as America/New_York or UTC") from None
    return text


def _date(text: str) -> str:
    from p2p_analytics.times import as_instant

    try:
        as_instant(text)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text} is no date, such as 2024-05-31 or 2024-05-31T18:30:00Z") from None
    return text


def _sync(options: argparse.Namespace) -> None:
    from p2p_analytics.archive import open_archive
    from p2p_analytics.auth import service_url
    from p2p_analytics.client import Client

    archive = open_archive(options.archive)
    with Client(base_url=service_url(options.base_url)) as client:
        changes = archive.sync(client, refresh=options.refresh)
    for name in changes.set_aside:
        sys.stderr.write(f"{name} was broken: it is set aside, and its payments are loaded again.\n")
    sys.stdout.write(f"{changes.added:,} new payments, {changes.changed:,} with another status, in {archive.path}\n")


def _verify(options: argparse.Namespace) -> int:
    """Print what differs; return the exit code."""
    import pandas as pd

    from p2p_analytics.archive import open_archive
    from p2p_analytics.auth import service_url
    from p2p_analytics.client import Client
    from p2p_analytics.display import format_count

    archive = open_archive(options.archive)
    with Client(base_url=service_url(options.base_url)) as client:
        found = archive.verify(client)
    if found.empty:
        sys.stdout.write(f"{archive.path} and the service agree.\n")
        return 0
    counts = pd.crosstab(found["month"].fillna("no date"), found["difference"])
    for month, row in counts.iterrows():
        said = [f"{row[kind]:,} {words}" for kind, words in _DIFFERENCES.items() if row.get(kind)]
        sys.stdout.write(f"{month}: {', '.join(said)}\n")
    only_extra = found["difference"].eq("extra").all()
    advice = (
        "the archive keeps what the service does not list any more"
        if only_extra
        else f"run p2p-analytics sync --refresh {options.archive}"
    )
    differ = format_count(len(found), "payment differs", "payments differ")
    sys.stdout.write(f"{differ} in {format_count(len(counts), 'month', 'months')}: {advice}.\n")
    return 1


def _export(options: argparse.Namespace) -> None:
    from p2p_analytics.export import to_csv, to_parquet

    table = _table(_history(options), options)
    (to_csv if options.out.endswith(".csv") else to_parquet)(table, options.out)
    sys.stdout.write(f"{len(table):,} rows of {options.table}, in {options.out}\n")


def _report(options: argparse.Namespace) -> None:
    from p2p_analytics.files import atomic_file
    from p2p_analytics.report import render_report

    history = _history(options)
    page = render_report(history, as_of=options.as_of or history.fetched_at, tz=options.tz).encode()
    with atomic_file(options.out) as file:
        file.write(page)
    sys.stdout.write(f"The report of {len(history.payments):,} payments, in {options.out}\n")


def _history(options: argparse.Namespace) -> History:
    from p2p_analytics.archive import open_archive

    return open_archive(options.archive).history(privacy=options.privacy)


def _table(history: History, options: argparse.Namespace) -> pd.DataFrame:
    """Return a part of a history, or what an analysis makes of it."""
    from p2p_analytics import analyses
    from p2p_analytics.analyses.pending import EDGES, MONTH_EDGES

    if options.table in _PLAIN:
        frame: pd.DataFrame = getattr(history, options.table)
        return frame
    payments, as_of = history.payments, options.as_of or history.fetched_at
    if options.table == "spend_by_friend":
        return analyses.spend_by_friend(payments, history.friends)
    if options.table == "monthly_flow":
        return analyses.monthly_flow(payments, tz="UTC" if history.private else options.tz)  # its days are UTC's
    if options.table == "status_mix":
        return analyses.status_mix(payments)
    if options.table == "pending_ageing":
        edges = MONTH_EDGES if history.strict else EDGES
        return analyses.pending_ageing(payments, as_of=as_of, edges=edges)
    return analyses.pending_requests(payments, as_of=as_of)
