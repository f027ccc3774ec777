"""Options of the commands that work with an archive: ``sync``, ``verify``, ``export`` and ``report``."""

from __future__ import annotations

from p2p_analytics.cli import _arguments

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Final

_FRAMES: Final = ("payments", "friends", "problems")
_ANALYSES: Final = ("spend_by_friend", "monthly_flow", "status_mix", "pending_ageing", "pending_requests")


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``sync``, ``verify``, ``export`` and ``report`` to a command line."""
    sync = _add_command(
        add_parser,
        "sync",
        "load new and changed payments into an archive",
        "Load what may have changed since the last time into an archive, a folder that is made where there is none. "
        "Needs a token: see login.",
    )
    _add_service(sync)
    sync.add_argument(
        "--refresh", action="store_true", help="reload everything and replace what the archive holds: see verify"
    )
    sync.set_defaults(command=_run_sync)

    verify = _add_command(
        add_parser,
        "verify",
        "compare an archive with the service",
        "List every payment from the service and print, month by month, what the archive lacks, has beside, or holds "
        "otherwise. Changes nothing. Sync first: a payment made since the last sync is missing too. Exit code 1 where "
        "something differs. Needs a token: see login.",
    )
    _add_service(verify)
    verify.set_defaults(command=_run_verify)

    export = _add_command(
        add_parser,
        "export",
        "write a table of an archive as a CSV or Parquet file",
        "Write the payments of an archive, or another table, as a CSV or Parquet file. Needs no token.",
    )
    export.add_argument(
        "out", metavar="OUT", type=_arguments.parse_table_path, help="the file, which ends in .csv or .parquet"
    )
    export.add_argument("--table", choices=_FRAMES + _ANALYSES, default="payments", help="which table (payments)")
    _add_view(export)
    export.set_defaults(command=_run_export)

    report = _add_command(
        add_parser,
        "report",
        "write the report of an archive as an HTML file",
        "Write the report of an archive as one HTML file. Needs no token.",
    )
    report.add_argument("--out", metavar="FILE", default="report.html", help="the file (report.html)")
    _add_view(report)
    report.set_defaults(command=_run_report)


def _add_command(
    add_parser: Callable[..., argparse.ArgumentParser], name: str, summary: str, description: str
) -> argparse.ArgumentParser:
    parser = add_parser(name, help=summary, description=description, allow_abbrev=False)
    parser.add_argument("archive", metavar="ARCHIVE", help="the archive's folder")
    return parser


def _add_service(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--base-url", metavar="URL", help="the service (P2P_BASE_URL, or that of the last login)")


def _add_view(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tz", metavar="ZONE", type=_arguments.parse_zone, default="UTC", help="the zone of months and dates (UTC)"
    )
    parser.add_argument(
        "--as-of",
        metavar="DATE",
        type=_arguments.parse_date,
        help="the moment to which ages are counted (the last sync)",
    )
    _arguments.add_privacy(
        parser, "invent names and amounts and show days only, as P2P_PRIVACY=1 does; strict shows months only"
    )


def _run_sync(options: argparse.Namespace) -> None:
    from p2p_analytics.cli import _archive_commands

    _archive_commands.sync(options)


def _run_verify(options: argparse.Namespace) -> int:
    from p2p_analytics.cli import _archive_commands

    return _archive_commands.verify(options)


def _run_export(options: argparse.Namespace) -> None:
    from p2p_analytics.cli import _archive_commands

    _archive_commands.export(options)


def _run_report(options: argparse.Namespace) -> None:
    from p2p_analytics.cli import _archive_commands

    _archive_commands.report(options)
