"""The command ``completion``: print a script with which a shell completes commands, options, choices and paths."""

from __future__ import annotations

import argparse
import sys
from typing import Final

import shtab

_FOLDERS: Final = {"ARCHIVE", "DIR"}  # metavars of arguments that are paths
_FILES: Final = {"FILE", "FILES", "OUT"}


def print_script(options: argparse.Namespace) -> None:
    actions = options.parser._actions  # noqa: SLF001 - argparse has no public list of them
    (commands,) = (action.choices for action in actions if isinstance(action.choices, dict))
    for command in commands.values():
        for action in command._actions:  # noqa: SLF001 - likewise
            # shtab reads this attribute.
            if action.metavar in _FOLDERS:
                action.complete = shtab.DIRECTORY
            elif action.metavar in _FILES:
                action.complete = shtab.FILE
    sys.stdout.write(shtab.complete(options.parser, shell=options.shell))
