"""The command ``sandbox``: serve the sandbox on this machine until Ctrl-C, or write statement files of its people."""

from __future__ import annotations

import argparse
import sys

from p2p_analytics.cli import _arguments, _statement_files
from p2p_analytics.errors import P2PAnalyticsError

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final, TypeVar

    Value = TypeVar("Value")

_RATE_LIMIT_STATUSES: Final = {"documented": (429,), "observed": (429, 400)}


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``sandbox`` to a command line."""
    sandbox = add_parser(
        "sandbox",
        help="serve the sandbox on this machine until Ctrl-C",
        description="Serve a local simulation of the payments service, with a town of invented people, until Ctrl-C. "
        "With --statements, write statement files of its people instead.",
        allow_abbrev=False,
    )
    number = _arguments.number_between
    sandbox.add_argument(
        "--port", type=number(int, 0, 65535), default=8400, help="port on 127.0.0.1, 0 for a free one (8400)"
    )
    sandbox.add_argument(
        "--db", metavar="FILE", type=_arguments.parse_path, help="keep the data in this file (a temporary one)"
    )
    sandbox.add_argument(
        "--latency", metavar="MS", type=number(float, 0, 60_000), default=0, help="wait this long before each answer"
    )
    sandbox.add_argument(
        "--dialect",
        choices=tuple(_RATE_LIMIT_STATUSES),
        default="documented",
        help="write answers as the document says, or as real ones were seen (documented)",
    )
    sandbox.add_argument(
        "--strict-redirect",
        action="store_true",
        help="take a redirect_uri only when it is the redirect URL on file, to the letter",
    )
    sandbox.add_argument(
        "--rate-limit",
        metavar="N/SECONDS",
        type=_parse_rate,
        help="serve at most N requests in SECONDS to each user and application, then answer 429 (no limit)",
    )
    sandbox.add_argument(
        "--rate-limit-status",
        type=int,
        choices=_RATE_LIMIT_STATUSES["observed"],
        default=429,
        help="HTTP status above the rate limit; 400 in the observed dialect only (429)",
    )
    sandbox.add_argument(
        "--faults",
        metavar="SPEC",
        type=_parse_faults,
        default="",
        help="have faults: rates such as 503:0.1,reset:0.05, or a script such as 'ok*3 503 reset' (none)",
    )
    _add_statement_options(sandbox)
    _arguments.add_town(sandbox)
    sandbox.set_defaults(command=_serve)


def _add_statement_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--statements",
        metavar="DIR",
        type=_arguments.parse_folder,
        help="write statement files of the town into this folder, and stop instead of serving",
    )
    parser.add_argument(
        "--person",
        metavar="USERNAME",
        action="append",
        help="write the statements of this person, can be repeated (the main person of the town)",
    )
    parser.add_argument(
        "--generation",
        choices=_statement_files.GENERATIONS,
        help=f"form of the statements ({_statement_files.DEFAULT_GENERATION}, the CSV files from 2022 on)",
    )


def _parse_rate(text: str) -> tuple[int, float]:
    """Return a rate limit of the sandbox: a number of requests, and a number of seconds."""
    from p2p_analytics.sandbox.faults.rate_limit import read_rate

    return _parse_setting(read_rate, text)


def _parse_faults(text: str) -> str:
    """Return a fault specification that the sandbox accepts."""
    from p2p_analytics.sandbox.faults.specification import Faults

    return _parse_setting(Faults, text).spec


def _parse_setting(parse: Callable[[str], Value], text: str) -> Value:
    try:
        return parse(text)
    except P2PAnalyticsError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _serve(options: argparse.Namespace) -> None:
    if options.db is not None:
        from p2p_analytics.files import refuse_archive

        refuse_archive(options.db.parent)
    if options.statements is not None:
        _write_statements(options)
        return
    for name in ("person", "generation"):
        if getattr(options, name) is not None:
            raise _arguments.WrongUseError(f"--{name} is for statement files: name their folder with --statements.")
    if options.rate_limit_status not in _RATE_LIMIT_STATUSES[options.dialect]:
        raise _arguments.WrongUseError(
            f"--rate-limit-status {options.rate_limit_status} needs --dialect observed: leave it out, or add that."
        )
    from p2p_analytics.sandbox import serve

    serve(
        port=options.port,
        db=options.db,
        seed=options.seed,
        people=options.people,
        years=options.years,
        latency=options.latency / 1000,
        dialect=options.dialect,
        strict_redirect=options.strict_redirect,
        rate_limit=options.rate_limit,
        faults=options.faults,
        rate_limit_status=options.rate_limit_status,
    )


def _write_statements(options: argparse.Namespace) -> None:
    from p2p_analytics.sandbox import SandboxServer

    generation = options.generation or _statement_files.DEFAULT_GENERATION
    with SandboxServer(options.seed, people=options.people, years=options.years, db=options.db) as server:
        for username in dict.fromkeys(name.removeprefix("@") for name in options.person or [server.viewer]):
            paths = _statement_files.write_statement_files(server, options.statements, username, generation)
            sys.stdout.write(f"{len(paths)} statement files of {username} in {options.statements}\n")
