"""Parser of the command line: suggests the command, option or value that was meant, and wraps help to the terminal."""

from __future__ import annotations

import argparse
import os

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NoReturn


class Parser(argparse.ArgumentParser):
    """Parser of the program or of one command, which reports wrong use under its own name."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the words of this parser; unlike argparse, end with an error for words that it does not know.

        argparse lets the parser of the program report them, with a usage that does not name the command's options.
        """
        self._require_known_options(args or ())
        options, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(_without_value(word) for word in rest)}")
        return options, rest

    def _require_known_options(self, words: Sequence[str]) -> None:
        """End with an error for an unknown option, before its value is taken for an argument."""
        known = self._option_string_actions
        for word in words:
            if word == "--" or (self._subparsers is not None and not word.startswith("-")):
                return  # arguments, or the words of a command, follow
            name = _without_value(word)
            if name.startswith("--") and name not in known:
                self.error(f"unrecognized arguments: {name}{suggest(name, known)}")

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401 - as argparse declares it
        """End with an error for a value that is no choice, and suggest the nearest one."""
        if action.choices is None or value in action.choices:
            return
        names = [str(choice) for choice in action.choices]
        meant = suggest(str(value), names) or f": choose from {', '.join(names)}"
        if isinstance(action.choices, dict):
            raise argparse.ArgumentError(None, f"there is no command {value!r}{meant}")
        raise argparse.ArgumentError(action, f"{value!r} is not one of its values{meant}")

    def error(self, message: str) -> NoReturn:
        """End with the message first, then where the help is; argparse begins with many lines of usage."""
        self.exit(2, f"{self.prog}: {message}\nSee: {self.prog} --help\n")

    def _get_formatter(self) -> argparse.HelpFormatter:
        """Return a formatter as wide as the terminal; argparse would import shutil with all compressions."""
        try:
            columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
        except (ValueError, OSError):  # no terminal
            columns = 80
        return _Formatter(self.prog, width=columns - 2)


class _Formatter(argparse.HelpFormatter):
    """Formatter that leaves room for the indentation of commands, which argparse does not count."""

    def add_argument(self, action: argparse.Action) -> None:
        """Add an argument, and count the indentation of the commands."""
        super().add_argument(action)
        if isinstance(action.choices, dict):
            self._action_max_length += self._indent_increment


def _without_value(word: str) -> str:
    """Return an option without its value, which may be a secret in the wrong place."""
    return word.partition("=")[0] if word.startswith("--") else word


def suggest(word: str, names: Iterable[str]) -> str:
    """Return the end of a message that suggests the name most similar to a word; empty if none is similar."""
    import difflib

    found = difflib.get_close_matches(word.lstrip("-"), [name.lstrip("-") for name in names], n=1, cutoff=0.7)
    dashes = word[: len(word) - len(word.lstrip("-"))]
    return f": did you mean {dashes}{found[0]}?" if found else ""
