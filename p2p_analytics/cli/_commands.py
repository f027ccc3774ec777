"""The commands and their options: everything that ``--help`` prints and shell completion offers.

A command is the name of a module of this package and of its function that runs it, so that ``--help`` loads none of the
modules and none of their libraries.
"""

from __future__ import annotations

import argparse
import os
import sys

from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.cli import _arguments
from p2p_analytics.errors import P2PAnalyticsError

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, Final, NoReturn, TypeVar

    Value = TypeVar("Value")

PROGRAM: Final = "p2p-analytics"
_EXIT_CODES: Final = (
    "Exit codes: 0 for success; 1 for a failure, with one line on standard error, or for a difference that verify "
    "found; 2 for wrong use of the command line; 3 if import refused files and imported the rest; 130 after Ctrl-C."
)
_YEARS: Final = (1970, 2199)
RATE_LIMIT_STATUSES: Final = {"documented": (429,), "observed": (429, 400)}
GENERATIONS: Final = ("A", "B", "C", "D", "D2025", "E", "E-full", "JSON")  # of statement files
DEFAULT_GENERATION: Final = "D"

# ---- what export writes

FRAMES: Final = ("payments", "people", "friends", "problems")
RECONCILIATION: Final = "reconciliation"
WORKBOOK: Final = ".xlsx"
DATABASES: Final = (".sqlite", ".db")
FILES_OF_ALL_TABLES: Final = (WORKBOOK, *DATABASES)
LEDGERS: Final = (".beancount", ".journal", ".hledger")
_SUFFIXES: Final = (".csv", ".parquet", ".jsonl", *FILES_OF_ALL_TABLES, *LEDGERS)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog=PROGRAM,
        description="See through years of peer-to-peer payments.",
        epilog=_EXIT_CODES,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (
        add_demo, add_sandbox, add_sandbox_archive, add_sign_in, add_sync, add_import, add_describe, add_undo,
        add_people, add_export, add_report, add_reminders, add_completion,
    ):  # fmt: skip
        add(commands.add_parser)
    return parser


class _Version(argparse.Action):
    """Option ``--version``, which looks the version up on use: that takes as long as the rest of ``--help``."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"{PROGRAM} {version('p2p_analytics')}\n")
        parser.exit()


def add_demo(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``demo`` to a command line."""
    demo = add_parser(
        "demo",
        help="load a town of invented people from a sandbox and report on one of them",
        description="Start a sandbox, sign in as one of its invented people, load their payments and friends, and "
        "write a report, CSV files and plots. Nothing to configure, nothing leaves this machine.",
        allow_abbrev=False,
    )
    demo.add_argument(
        "--out", metavar="DIR", type=_arguments.parse_folder, default="out", help="where the files go (out)"
    )
    demo.add_argument(
        "--statements",
        action="store_true",
        help="work from statement files, which are written into DIR/statements, instead of signing in",
    )
    demo.add_argument("--person", metavar="USERNAME", help="the person to report on, by username")
    _arguments.add_privacy(
        demo,
        "invent names, notes, ids and amounts in all that is written and show days only, as P2P_PRIVACY=1 does; "
        "strict shows months only",
    )
    _arguments.add_town(demo)
    _arguments.add_progress(demo)
    demo.set_defaults(command="_demo:run_command")


def add_sandbox(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``sandbox`` to a command line."""
    sandbox = add_parser(
        "sandbox",
        help="serve the sandbox on this machine until Ctrl-C",
        description="Serve a local simulation of the payments service, with a town of invented people, until Ctrl-C. "
        "With --statements, write statement files of its people instead.",
        allow_abbrev=False,
    )
    number = _arguments.number_between
    sandbox.add_argument(
        "--port", type=number(int, 0, 65535), default=8400, help="port on 127.0.0.1, 0 for a free one (8400)"
    )
    sandbox.add_argument(
        "--db", metavar="FILE", type=_arguments.parse_path, help="keep the data in this file (a temporary one)"
    )
    sandbox.add_argument(
        "--latency", metavar="MS", type=number(float, 0, 60_000), default=0, help="wait this long before each answer"
    )
    sandbox.add_argument(
        "--dialect",
        choices=tuple(RATE_LIMIT_STATUSES),
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
        type=_parse_rate,
        help="serve at most N requests in SECONDS to each user and application, then answer 429 (no limit)",
    )
    sandbox.add_argument(
        "--rate-limit-status",
        type=int,
        choices=RATE_LIMIT_STATUSES["observed"],
        default=429,
        help="HTTP status above the rate limit; 400 in the observed dialect only (429)",
    )
    sandbox.add_argument(
        "--faults",
        metavar="SPEC",
        type=_parse_faults,
        default="",
        help="have faults: rates such as 503:0.1,reset:0.05, or a script such as 'ok*3 503 reset' (none)",
    )
    add_statement_options(sandbox)
    _arguments.add_town(sandbox)
    sandbox.set_defaults(command="_sandbox:run_command")


def add_statement_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--statements",
        metavar="DIR",
        type=_arguments.parse_folder,
        help="write statement files of the town into this folder, and stop instead of serving",
    )
    parser.add_argument(
        "--person",
        metavar="USERNAME",
        action="append",
        help="write the statements of this person, can be repeated (the main person of the town)",
    )
    parser.add_argument(
        "--generation",
        choices=GENERATIONS,
        help=f"form of the statements ({DEFAULT_GENERATION}, the CSV files from 2022 on)",
    )


def _parse_rate(text: str) -> tuple[int, float]:
    """Return a rate limit of the sandbox: a number of requests, and a number of seconds."""
    from p2p_analytics.sandbox.faults.rate_limit import read_rate

    return _parse_setting(read_rate, text)


def _parse_faults(text: str) -> str:
    """Return a fault specification that the sandbox accepts."""
    from p2p_analytics.sandbox.faults.specification import Faults

    return _parse_setting(Faults, text).spec


def _parse_setting(parse: Callable[[str], Value], text: str) -> Value:
    try:
        return parse(text)
    except P2PAnalyticsError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_sandbox_archive(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``sandbox-archive`` to a command line."""
    parser = add_parser(
        "sandbox-archive",
        help="write archives of a large town of invented people, to try things at scale",
        description="Write one archive for each account of a large town of invented people into a new or empty folder, "
        "which p2p_analytics.open_archives reads. The same numbers give the same bytes. A payment between two accounts "
        "is in both archives.",
        allow_abbrev=False,
    )
    number = _arguments.number_between
    parser.add_argument("folder", metavar="DIR", type=_arguments.parse_folder, help="the folder of the archives")
    for name, low, high, default, what in (
        ("accounts", 2, 100_000, 100, "how many accounts"),
        ("payments", 1, 10**9, 100_000, "how many payments"),
        ("years", 1, 20, 4, "how many years they have been paying"),
        ("seed", 0, 2**63 - 1, 7, "another number, another town"),
    ):
        kind = number(int, low, high)
        parser.add_argument(f"--{name}", metavar="N", type=kind, default=default, help=f"{what} ({default})")
    _arguments.add_json(parser)
    _arguments.add_progress(parser)
    parser.set_defaults(command="_sandbox_archive:run_command")


def add_sign_in(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``login``, ``whoami`` and ``logout`` to a command line."""
    login = add_parser(
        "login",
        help="sign in with the browser, and keep the token for the other commands",
        description="Sign in to the payments service. The address to sign in at is printed and opened in the browser; "
        "the token is caught on this machine, or pasted. It is kept in a file that only you can read.",
        allow_abbrev=False,
    )
    _arguments.add_service(login, "P2P_BASE_URL")
    login.add_argument("--client-id", metavar="ID", help="the application (P2P_CLIENT_ID)")
    login.add_argument(
        "--scope",
        metavar="SCOPE",
        action="append",
        help="what to ask for, once for each scope (access_profile and access_friends)",
    )
    login.add_argument("--no-browser", action="store_true", help="print the address and do not open it")
    way = login.add_mutually_exclusive_group()
    way.add_argument("--paste", action="store_true", help="wait for a pasted address alone, and do not listen for it")
    way.add_argument(
        "--token-stdin", action="store_true", help="read a token, or the address with it, from standard input"
    )
    login.add_argument("--keyring", action="store_true", help="keep the token in the system's keyring")
    login.add_argument(
        "--server-flow",
        action="store_true",
        help="get a token of 60 days that renews itself; needs the application's secret (P2P_CLIENT_SECRET)",
    )
    login.set_defaults(command="_sign_in:login")

    whoami = add_parser(
        "whoami",
        help="say who is signed in, for how long, with which scopes",
        description="Say who is signed in, until when, with which scopes, and where the token comes from. The service "
        "is asked; if it cannot be reached, what the sign-in left is printed, and the exit code is 1.",
        allow_abbrev=False,
    )
    _arguments.add_service(whoami)
    _arguments.add_json(whoami)
    whoami.set_defaults(command="_sign_in:whoami")

    logout = add_parser(
        "logout",
        help="delete the token that is kept",
        description="Delete what login has kept in the state file and in the keyring.",
        allow_abbrev=False,
    )
    logout.set_defaults(command="_sign_in:logout")


def add_sync(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``sync`` and ``verify`` to a command line."""
    sync = _arguments.add_archive_command(
        add_parser,
        "sync",
        "load new and changed payments into an archive",
        "Load what may have changed since the last time into an archive, a folder that is made where there is none. "
        "Needs a token: see login.",
    )
    _arguments.add_service(sync)
    sync.add_argument(
        "--since",
        metavar="DATE",
        type=_arguments.parse_date,
        help="load only payments made since this date, and pending ones; later, an earlier date or none loads the rest",
    )
    sync.add_argument(
        "--refresh", action="store_true", help="reload everything and replace what the archive holds: see verify"
    )
    _arguments.add_progress(sync)
    _arguments.add_json(sync)
    sync.set_defaults(command="_sync:sync")

    verify = _arguments.add_archive_command(
        add_parser,
        "verify",
        "compare an archive with the service",
        "List every payment from the service and print, month by month, what the archive lacks, has beside, or holds "
        "otherwise. Changes nothing. Sync first: a payment made since the last sync is missing too. Exit code 1 where "
        "something differs. Needs a token: see login.",
    )
    _arguments.add_service(verify)
    _arguments.add_progress(verify)
    _arguments.add_json(verify)
    verify.set_defaults(command="_sync:verify")


def add_import(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``import`` to a command line."""
    command = _arguments.add_archive_command(
        add_parser,
        "import",
        "add statement files to an archive",
        "Read statement files, as services let you download them, and add their payments to an archive, a folder that "
        "is made where there is none. Files may overlap and may be imported again. A file that is damaged is refused, "
        "and the others are imported. Needs no token.",
    )
    command.add_argument(
        "files", metavar="FILES", nargs="+", help="statement files, folders, zip archives, or patterns in quotes"
    )
    command.add_argument(
        "--dry-run",
        action="store_true",
        help="change nothing, and print what would come: by month and person, and rows",
    )
    number = _arguments.number_between(int, 0, 1_000_000)
    command.add_argument("--rows", metavar="N", type=number, default=20, help="rows that --dry-run prints (20)")
    command.add_argument(
        "--tz",
        metavar="ZONE",
        type=_arguments.parse_zone,
        help="the zone of dates that name none (UTC); refused for files in a zone that is known",
    )
    command.add_argument(
        "--exclude",
        metavar="PATTERN",
        action="append",
        default=[],
        help="leave these files out, such as '*statement_2021*'; can be repeated",
    )
    command.add_argument(
        "--member",
        metavar="NAME",
        type=_arguments.parse_account,
        help="your name among the members of a shared group, such as one of Splitwise; a terminal asks for it",
    )
    command.add_argument(
        "--format",
        metavar="FILE",
        action="append",
        default=[],
        help="a format of your own, as a TOML file, which the archive keeps; describe writes a draft",
    )
    accounts = command.add_mutually_exclusive_group()
    accounts.add_argument(
        "--account",
        metavar="NAME",
        type=_arguments.parse_account,
        help="your username, as that of all files; files that name another account are added, and listed",
    )
    accounts.add_argument(
        "--only-account",
        metavar="NAME",
        type=_arguments.parse_account,
        help="import only the files of this account, and list those of others",
    )
    command.add_argument(
        "--repair", action="store_true", help="set damaged files of earlier imports aside: their rows are lost"
    )
    command.add_argument("--verbose", action="store_true", help="list every file that is skipped, with the reason")
    _arguments.add_progress(command)
    _arguments.add_json(command)
    command.set_defaults(command="statements._import:run_command")


def add_describe(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
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
    describe.set_defaults(command="statements._describe:run_command")


def add_undo(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``undo`` to a command line."""
    undo = _arguments.add_archive_command(
        add_parser,
        "undo",
        "take the last import back",
        "Take the last import of statement files back, after a question that shows what goes. What a sync has loaded "
        "stays.",
    )
    undo.add_argument("--yes", action="store_true", help="undo without a question, as in a script or with --json")
    _arguments.add_json(undo)
    undo.set_defaults(command="statements._undo:run_command")


def add_people(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``people`` to a command line."""
    people = _arguments.add_archive_command(
        add_parser,
        "people",
        "list the people behind the names in statements",
        "Print which names in statements are which people, and write suggestions for the others into people.csv in the "
        "archive's folder. Nothing is united without you: remove the ? before a person to accept a suggestion.",
    )
    _arguments.add_json(people)
    people.set_defaults(command="statements._people:run_command")


def add_export(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``export`` to a command line."""
    export = _arguments.add_archives_command(
        add_parser,
        "export",
        "write a table of an archive as a file, or its payments as a workbook, database or ledger",
        "Write the payments of an archive, or another table, as a file; its ending decides the kind: .csv, .parquet, "
        ".jsonl (one object per row), .xlsx (an Excel workbook, with a sheet for each analysis), .sqlite or .db (an "
        "SQLite database, with a table for each analysis), .beancount (a ledger for beancount), .journal or "
        ".hledger (one for hledger). - is CSV on standard output. Needs no token.",
    )
    export.add_argument(
        "out",
        metavar="OUT",
        type=_parse_table_path,
        help=f"the file, which ends in {_list_words(_SUFFIXES)}, or - for CSV on standard output",
    )
    export.add_argument(
        "--table",
        metavar="NAME",
        choices=(*FRAMES, RECONCILIATION, *ANALYSES),
        help=f"{', '.join((*FRAMES, RECONCILIATION))}, or the result of an analysis: {', '.join(ANALYSES)} "
        f"(payments; {', '.join(FILES_OF_ALL_TABLES)}: all)",
    )
    add_currency(export)
    add_days(export)
    _arguments.add_view(export)
    _arguments.add_progress(export)
    _arguments.add_json(export)
    export.set_defaults(command="views._export:run_command", tz=None)  # None: not given


def _list_words(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _parse_table_path(text: str) -> str:
    """Return the path of a file with a known ending, or the name of standard output."""
    if text != _arguments.STANDARD_OUTPUT and not text.endswith(_SUFFIXES):
        raise argparse.ArgumentTypeError(f"{text} does not end in {_list_words(_SUFFIXES)}, and is not -")
    return text


def add_report(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``report`` to a command line."""
    report = _arguments.add_archives_command(
        add_parser,
        "report",
        "write the report of an archive as an HTML or Markdown file",
        "Write the report of an archive as one HTML file, or as Markdown if its name ends in .md. Needs no token.",
    )
    add_currency(report)
    report.add_argument(
        "--out",
        metavar="FILE",
        help="the file (report.html, or year.html), Markdown if it ends in .md; or - for HTML on standard output",
    )
    report.add_argument(
        "--template",
        choices=("full", "year"),
        default="full",
        help="all analyses (full), or one year in review to share, in privacy mode (year)",
    )
    year = _arguments.number_between(int, *_YEARS)
    report.add_argument("--year", metavar="YEAR", type=year, help="of --template year: 2024 (the last with payments)")
    report.add_argument(
        "--only", metavar="NAMES", type=_parse_names, help="only these analyses: spend_by_friend,recurring"
    )
    add_days(report)
    _arguments.add_view(report)
    report.add_argument("--no-privacy", action="store_true", help="show real names and amounts")
    _arguments.add_progress(report)
    _arguments.add_json(report)
    report.set_defaults(command="views._report:run_command")


def _parse_names(text: str) -> list[str]:
    """Return the names of analyses."""
    names = [name.strip() for name in text.split(",")]
    unknown = next((name for name in names if name not in ANALYSES), None)
    if unknown is not None:
        meant = suggest(unknown, ANALYSES) or f": choose from {', '.join(ANALYSES)}"
        raise argparse.ArgumentTypeError(f"{unknown!r} is no analysis{meant}")
    return names


def add_reminders(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``reminders`` to a command line."""
    reminders = _arguments.add_archives_command(
        add_parser,
        "reminders",
        "print a polite text to copy for each of your requests that is still open",
        "Print a polite text for each of your requests that is still open, the oldest first; those after --as-of are "
        "left out. Nothing is sent: copy the texts that you want to send. Needs no token.",
    )
    add_currency(reminders)
    _arguments.add_view(reminders)
    _arguments.add_json(reminders)
    reminders.set_defaults(command="views._reminders:run_command")


def add_completion(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``completion`` to a command line."""
    completion = add_parser(
        "completion",
        help="print a script that completes commands and options in a shell",
        description="Print a script that completes commands, options and paths in a shell. For bash: p2p-analytics "
        "completion bash > FILE, and in ~/.bashrc: source FILE. The script itself says where zsh and fish expect it.",
        allow_abbrev=False,
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    completion.set_defaults(command="_completion:print_script")


def add_currency(parser: argparse.ArgumentParser) -> None:
    """Add ``--currency`` to a command."""
    parser.add_argument(
        "--currency",
        metavar="CODE",
        type=str.upper,
        help="of payments in several currencies, only those in this one: GBP",
    )


def add_days(parser: argparse.ArgumentParser) -> None:
    """Add ``--since`` and ``--until`` to a command."""
    parser.add_argument(
        "--since", metavar="DAY", type=_arguments.parse_day, help="only payments from this day on: 2024-01-01"
    )
    parser.add_argument(
        "--until", metavar="DAY", type=_arguments.parse_day, help="only payments until the end of this day"
    )


# ---- the parser


class Parser(argparse.ArgumentParser):
    """Parser of the program or of one command, which reports wrong use under its own name."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - argparse's
        try:  # once: argparse makes a formatter for each option
            self._columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
        except (ValueError, OSError):  # no terminal
            self._columns = 80
        super().__init__(**settings)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the words of this parser; unlike argparse, end with an error for unknown words.

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
        """End with an error for an unknown value, and suggest the nearest one."""
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
        return _Formatter(self.prog, width=self._columns - 2)


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
