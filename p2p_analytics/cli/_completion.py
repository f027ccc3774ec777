"""The command ``completion``: print a script with which a shell completes commands, options, choices and paths."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Final

_FOLDERS: Final = {"ARCHIVE", "DIR"}  # metavars of arguments that are paths
_FILES: Final = {"FILE", "FILES", "OUT"}


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``completion`` to a command line."""
    completion = add_parser(
        "completion",
        help="print a script that completes commands and options in a shell",
        description="Print a script that completes commands, options and paths in a shell. For bash: p2p-analytics "
        "completion bash > FILE, and in ~/.bashrc: source FILE. The script itself says where zsh and fish expect it.",
        allow_abbrev=False,
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    completion.set_defaults(command=_print_script)


def _print_script(options: argparse.Namespace) -> None:
    import shtab

    for command in _list_parsers(options.parser):
        for action in command._actions:  # noqa: SLF001 - argparse has no public list of them
            # shtab reads this attribute.
            if action.metavar in _FOLDERS:
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
            elif action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(options.parser, shell=options.shell))


def _list_parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    """Return the parsers of all commands."""
    (commands,) = (action.choices for action in parser._actions if isinstance(action.choices, dict))  # noqa: SLF001 - as above
    return list(commands.values())
