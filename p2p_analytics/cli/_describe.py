"""The command ``describe``: the columns of a file of unknown format, and the draft of a format."""

from __future__ import annotations

import argparse
import shlex

from p2p_analytics.cli import _output
from p2p_analytics.statements import describe_file


def run_command(options: argparse.Namespace) -> None:
    """Print the columns and first rows of a file, and the draft of a format."""
    found = describe_file(options.file)
    command = f"p2p-analytics import ARCHIVE {shlex.quote(options.file)}"
    advice = (
        f"Then: {command} --format mybank.toml --account YOUR-NAME" if found.format is None else f"Import it: {command}"
    )
    _output.print_summary(
        options,
        f"{found}\n{advice}",
        file=options.file,
        format=found.format,
        columns=list(found.columns),
        rows=[list(row) for row in found.rows],
        toml=found.toml,
    )
