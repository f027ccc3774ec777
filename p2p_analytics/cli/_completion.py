"""The command ``completion``: print a script with which a shell completes commands, options, choices and paths."""

from __future__ import annotations

import argparse
import sys
from typing import Final

import shtab

_FOLDERS: Final = {"ARCHIVE", "DIR"}  # metavars of arguments that are paths
_FILES: Final = {"FILE", "FILES", "OUT"}


def print_script(options: argparse.Namespace) -> None:
    (commands,) = (action.choices for action in options.parser._actions if isinstance(action.choices, dict))  # noqa: SLF001 - as below
    for command in commands.values():
        for action in command._actions:  # noqa: SLF001 - argparse has no public list of them
            # shtab reads this attribute.
            if action.metavar in _FOLDERS:
                action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
            elif action.metavar in _FILES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    sys.stdout.write(shtab.complete(options.parser, shell=options.shell))
