"""The command ``describe``: the columns of a file that no format knows, and the draft of a format."""

from __future__ import annotations

from p2p_analytics.cli import _arguments, _output

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``describe`` to a command line."""
    describe = add_parser(
        "describe",
        help="show the columns of a CSV file, and a draft of a format for it",
        description="Print the columns of a CSV file, its first three rows, and the draft of a format as TOML. Save "
        "the draft as a file, correct it, and give it to import --format. Nothing is changed.",
        allow_abbrev=False,
    )
    describe.add_argument("file", metavar="FILE", help="the CSV file")
    _arguments.add_json(describe)
    describe.set_defaults(command=_describe)


def _describe(options: argparse.Namespace) -> None:
    """Print the columns and first rows of a file, and the draft of a format."""
    import shlex

    from p2p_analytics.statements import describe_file

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
