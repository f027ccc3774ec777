"""Entry point of the command line: runs one command, and prints one line for an error.

Exit codes: 0, 1 for a failure or a difference that verify found, 2 for wrong use, 3 if import refused some files and
imported the rest, 130 after Ctrl-C. The module of a command and its libraries load when the command runs, so that
``--help`` is fast. No command takes a token as an argument, because arguments are visible in process lists and shell
histories.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from importlib import import_module

from p2p_analytics.cli import _options
from p2p_analytics.cli._commands import PROGRAM, build_parser
from p2p_analytics.errors import P2PAnalyticsError, describe_os_error

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence
    from typing import Final

_INTERRUPTED: Final = 130  # 128 + SIGINT, as shells count


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default the one in the arguments of this process, and return its exit code."""
    words = sys.argv[1:] if arguments is None else arguments
    if sys.stderr is None:  # closed, as by 2>&-
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - until the process ends
    if sys.stdout is None:
        sys.stderr.write(f"{PROGRAM}: standard output is closed: send it to a file, or to {os.devnull}.\n")
        return 1
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot show must not fail
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with _catch_interrupts() as interrupted:
        try:
            parser = build_parser()
            options = parser.parse_args(_options.join_privacy(words))
            options.parser, options.interrupted = parser, interrupted
            if "archives" in options:  # for messages
                options.archive = ", ".join(options.archives)
            return _run(options)
        except KeyboardInterrupt as interrupt:
            # A load adds a note on the data that it keeps.
            message = " ".join(["stopped.", *getattr(interrupt, "__notes__", ())])
            sys.stderr.write(f"\n{PROGRAM}: {message}\n")
            return _INTERRUPTED


@contextlib.contextmanager
def _catch_interrupts() -> Iterator[Callable[[], bool]]:
    """Give a function that returns whether Ctrl-C was pressed, even if Python swallowed its exception."""
    pressed: list[int] = []

    def note(number: int, _frame: object) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        with contextlib.suppress(ValueError):  # only the main thread may handle signals
            signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _run(options: argparse.Namespace) -> int:
    try:
        module, _, function = options.command.partition(":")
        code: int = getattr(import_module(f"p2p_analytics.cli.{module}"), function)(options) or 0
        sys.stdout.flush()
    except OSError as error:  # such as a full disk behind the output
        if not isinstance(error, BrokenPipeError):  # the reader closed the pipe, as `| head` does
            sys.stderr.write(f"{PROGRAM}: cannot write the output: {describe_os_error(error)}.\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # flushing the rest at exit must not fail again
        return 1
    except P2PAnalyticsError as error:
        from p2p_analytics.display import clean_line

        message = clean_line(_options.name_options(str(error)))  # which may quote names of files and people
        sys.stderr.write(f"{PROGRAM}: {message}\n")
        return 2 if isinstance(error, _options.WrongUseError) else 1
    return code
