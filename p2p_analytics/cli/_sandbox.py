"""The command ``sandbox``: serve the sandbox on this machine until Ctrl-C, or write statement files of its people."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from p2p_analytics.cli import _options, _statement_files
from p2p_analytics.cli._commands import DEFAULT_GENERATION, RATE_LIMIT_STATUSES
from p2p_analytics.files import refuse_archive
from p2p_analytics.sandbox import SandboxServer, serve


def run_command(options: argparse.Namespace) -> None:
    if options.db is not None:
        refuse_archive(Path(options.db).parent)
    town = {name: getattr(options, name) for name in ("seed", "people", "years", "db")}
    if options.statements is not None:
        generation = options.generation or DEFAULT_GENERATION
        with SandboxServer(**town) as server:
            for username in dict.fromkeys(name.removeprefix("@") for name in options.person or [server.viewer]):
                paths = _statement_files.write_statement_files(server, options.statements, username, generation)
                sys.stdout.write(f"{len(paths)} statement files of {username} in {options.statements}\n")
        return
    for name in ("person", "generation"):
        if getattr(options, name) is not None:
            raise _options.WrongUseError(f"--{name} is for statement files: name their folder with --statements.")
    if options.rate_limit_status not in RATE_LIMIT_STATUSES[options.dialect]:
        raise _options.WrongUseError(
            f"--rate-limit-status {options.rate_limit_status} needs --dialect observed: leave it out, or add that."
        )
    names = ("port", "dialect", "strict_redirect", "rate_limit", "rate_limit_status")
    behaviour = {name: getattr(options, name) for name in names}
    serve(**town, **behaviour, latency=options.latency / 1000, faults=options.faults.spec)
