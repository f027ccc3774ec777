"""The command ``sandbox``: serve the sandbox on this machine until Ctrl-C, or write statement files of its people."""

from __future__ import annotations

import argparse
import sys
from typing import TypeVar

from p2p_analytics.cli import _arguments, _statement_files
from p2p_analytics.cli._commands import DEFAULT_GENERATION, RATE_LIMIT_STATUSES
from p2p_analytics.files import refuse_archive
from p2p_analytics.sandbox import SandboxServer, serve

Value = TypeVar("Value")


def run_command(options: argparse.Namespace) -> None:
    if options.db is not None:
        refuse_archive(options.db.parent)
    if options.statements is not None:
        generation = options.generation or DEFAULT_GENERATION
        with SandboxServer(options.seed, people=options.people, years=options.years, db=options.db) as server:
            for username in dict.fromkeys(name.removeprefix("@") for name in options.person or [server.viewer]):
                paths = _statement_files.write_statement_files(server, options.statements, username, generation)
                sys.stdout.write(f"{len(paths)} statement files of {username} in {options.statements}\n")
        return
    for name in ("person", "generation"):
        if getattr(options, name) is not None:
            raise _arguments.WrongUseError(f"--{name} is for statement files: name their folder with --statements.")
    if options.rate_limit_status not in RATE_LIMIT_STATUSES[options.dialect]:
        raise _arguments.WrongUseError(
            f"--rate-limit-status {options.rate_limit_status} needs --dialect observed: leave it out, or add that."
        )

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
