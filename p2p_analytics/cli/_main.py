"""The command line: one command per wish, one line per error.

Exit codes: 0, 1 for a failure, 2 for wrong use, 130 after Ctrl-C. Heavy libraries load in the
commands that need them, so that ``--help`` answers at once. No command takes a token as an argument:
arguments show in process lists and shell histories.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import signal
import sys
import threading

from p2p_analytics.cli import _archive, _sign_in
from p2p_analytics.errors import P2PAnalyticsError

TYPE_CHECKING = False  # as in the root, for a light start
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import Final, TypeVar

    _Read = TypeVar("_Read")

_PROGRAM: Final = "p2p-analytics"
_INTERRUPTED: Final = 130  # 128 + SIGINT, as shells count


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words after the program's name; those of this process by default.
    """
    words = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(_archive.join_privacy(words))
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot show must not end the work
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with _interrupts() as options.interrupted:
        try:
            return _run(options)
        except KeyboardInterrupt as interrupt:
            # A load notes what is kept.
            said = " ".join(["stopped.", *getattr(interrupt, "__notes__", ())])
            sys.stderr.write(f"\n{_PROGRAM}: {said}\n")
            return _INTERRUPTED


@contextlib.contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether Ctrl-C was pressed, even where Python swallowed the exception of it."""
    pressed: list[int] = []

    def note(number: int, _frame: object) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _run(options: argparse.Namespace) -> int:
    try:
        code: int = options.command(options) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # such as a full disk behind the output
        sys.stderr.write(f"{_PROGRAM}: cannot write the output: {(error.strerror or str(error)).lower()}.\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left must not fail again at exit
        return 1
    except P2PAnalyticsError as error:
        sys.stderr.write(f"{_PROGRAM}: {error}\n")
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog=_PROGRAM, description="See through years of peer-to-peer payments.", allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    demo = commands.add_parser(
        "demo",
        help="load a town of invented people from a sandbox and report on one of them",
        description="Start a sandbox, sign in as one of its invented people, load their payments and friends, and "
        "write a report, CSV files and plots. Nothing to configure, nothing leaves this machine.",
        allow_abbrev=False,
    )
    demo.add_argument("--out", metavar="DIR", type=_folder, default="out", help="where the files go (out)")
    demo.add_argument("--person", metavar="USERNAME", help="whose history: a username of the town")
    _archive.add_privacy(
        demo,
        "invent names, notes, ids and amounts in all that is written and show days only, as P2P_PRIVACY=1 does; "
        "strict shows months only",
    )
    _add_town(demo)
    demo.set_defaults(command=_demo)

    sandbox = commands.add_parser(
        "sandbox",
        help="serve the sandbox on this machine until Ctrl-C",
        description="Serve a local stand-in for the payments service, with a town of invented people, until Ctrl-C.",
        allow_abbrev=False,
    )
    sandbox.add_argument(
        "--port", type=_number(int, 0, 65535), default=8400, help="port on 127.0.0.1, 0 for a free one (8400)"
    )
    sandbox.add_argument("--db", metavar="FILE", type=_file, help="keep the data in this file (a temporary one)")
    sandbox.add_argument(
        "--latency", metavar="MS", type=_number(float, 0, 60_000), default=0, help="wait this long before each answer"
    )
    sandbox.add_argument(
        "--dialect",
        choices=("documented", "observed"),
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
        type=_rate,
        help="serve so many requests in so many seconds to each user and application, then answer 429 (no limit)",
    )
    sandbox.add_argument(
        "--rate-limit-status",
        type=int,
        choices=(429, 400),
        default=429,
        help="HTTP status above the rate limit; 400 in the observed dialect only (429)",
    )
    sandbox.add_argument(
        "--faults",
        metavar="SPEC",
        type=_faults,
        default="",
        help="have faults: rates such as 503:0.1,reset:0.05, or a script such as 'ok*3 503 reset' (none)",
    )
    _add_town(sandbox)
    sandbox.set_defaults(command=_sandbox)

    _sign_in.add_commands(commands.add_parser)
    _archive.add_commands(commands.add_parser)
    return parser


class _Parser(argparse.ArgumentParser):
    """Ask the system for the terminal's width: argparse asks shutil, which loads every compression there is."""

    def _get_formatter(self) -> argparse.HelpFormatter:
        try:
            columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
        except (ValueError, OSError):  # no terminal
            columns = 80
        return argparse.HelpFormatter(self.prog, width=columns - 2)


def _folder(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("name a folder")
    return _file(text)


def _file(text: str) -> Path:
    from pathlib import Path

    return Path(text)


class _Version(argparse.Action):
    """Look the version up only when it is asked for: that costs as much as all the rest of ``--help``."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"{_PROGRAM} {version('p2p_analytics')}\n")
        parser.exit()


def _add_town(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--people", metavar="N", type=_number(int, 3, 2_000), help="how many live in the town (12)")
    parser.add_argument(
        "--years", metavar="N", type=_number(int, 1, 20), help="how many years they have been paying (4)"
    )
    parser.add_argument(
        "--seed", metavar="N", type=_number(int, 0, 2**63 - 1), default=7, help="another number, another town (7)"
    )


def _number(kind: type[int | float], low: float, high: float) -> Callable[[str], float]:
    """Return an argparse type that takes numbers of a range, both ends included."""

    def number(text: str) -> float:
        value = kind(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text} is not between {low} and {high}")
        return value

    return number


def _rate(text: str) -> tuple[int, float]:
    from p2p_analytics.sandbox.faults.rate_limit import read_rate

    return _or_wrong_use(read_rate, text)


def _faults(text: str) -> str:
    from p2p_analytics.sandbox.faults.faults import Faults

    return _or_wrong_use(Faults, text).spec


def _or_wrong_use(read: Callable[[str], _Read], text: str) -> _Read:
    try:
        return read(text)
    except P2PAnalyticsError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _demo(options: argparse.Namespace) -> None:
    from p2p_analytics.cli import _demo as demo

    demo.run(
        options.out,
        people=options.people,
        years=options.years,
        seed=options.seed,
        person=options.person,
        privacy=options.privacy,
        interrupted=options.interrupted,
    )


def _sandbox(options: argparse.Namespace) -> None:
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
