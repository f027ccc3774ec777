"""The commands and their options: everything that ``--help`` prints and shell completion offers.

A command is the name of a module of this package and of its function that runs it, so that ``--help`` loads none of the
modules and none of their libraries.
"""

from __future__ import annotations

import argparse
import os
import sys

from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.cli import _options
from p2p_analytics.cli._options import ENDINGS, FILES_OF_ALL_TABLES, FRAMES, RECONCILIATION, parse_with, suggest
from p2p_analytics.cli._options import number_between as number

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Final, NoReturn

PROGRAM: Final = "p2p-analytics"
_EXIT_CODES: Final = (
    "Exit codes: 0 for success; 1 for a failure, with one line on standard error, or for a difference that verify "
    "found; 2 for wrong use of the command line; 3 if import refused files and imported the rest; 130 after Ctrl-C."
)
RATE_LIMIT_STATUSES: Final = {"documented": (429,), "observed": (429, 400)}
GENERATIONS: Final = ("A", "B", "C", "D", "D2025", "E", "E-full", "JSON")  # of statement files
DEFAULT_GENERATION: Final = "D"

_COMMANDS: Final = {  # where it runs, its line in the help of the program, and its own description
    "demo": (
        "_demo:run_command",
        "load a town of invented people from a sandbox and report on one of them",
        (
            "Start a sandbox, sign in as one of its invented people, load their payments and friends, and write a "
            "report, CSV files and plots. Nothing to configure, nothing leaves this machine."
        ),
    ),
    "sandbox": (
        "_sandbox:run_command",
        "serve the sandbox on this machine until Ctrl-C",
        (
            "Serve a local simulation of the payments service, with a town of invented people, until Ctrl-C. With "
            "--statements, write statement files of its people instead."
        ),
    ),
    "sandbox-archive": (
        "_sandbox_archive:run_command",
        "write archives of a large town of invented people, to try things at scale",
        (
            "Write one archive for each account of a large town of invented people into a new or empty folder, which "
            "p2p_analytics.open_archives reads. The same numbers give the same bytes. A payment between two accounts "
            "is in both archives."
        ),
    ),
    "login": (
        "_sign_in:login",
        "sign in with the browser, and keep the token for the other commands",
        (
            "Sign in to the payments service. The address to sign in at is printed and opened in the browser; the "
            "token is caught on this machine, or pasted. It is kept in a file that only you can read."
        ),
    ),
    "whoami": (
        "_sign_in:whoami",
        "say who is signed in, for how long, with which scopes",
        (
            "Say who is signed in, until when, with which scopes, and where the token comes from. The service is "
            "asked; if it cannot be reached, what the sign-in left is printed, and the exit code is 1."
        ),
    ),
    "logout": (
        "_sign_in:logout",
        "delete the token that is kept",
        "Delete what login has kept in the state file and in the keyring.",
    ),
    "sync": (
        "_sync:sync",
        "load new and changed payments into an archive",
        (
            "Load what may have changed since the last time into an archive, a folder that is made where there is "
            "none. Needs a token: see login."
        ),
    ),
    "verify": (
        "_sync:verify",
        "compare an archive with the service",
        (
            "List every payment from the service and print, month by month, what the archive lacks, has beside, or "
            "holds otherwise. Changes nothing. Sync first: a payment made since the last sync is missing too. Exit "
            "code 1 where something differs. Needs a token: see login."
        ),
    ),
    "import": (
        "_import:run_command",
        "add statement files to an archive",
        (
            "Read statement files, as services let you download them, and add their payments to an archive, a folder "
            "that is made where there is none. Files may overlap and may be imported again. A file that is damaged is "
            "refused, and the others are imported. Needs no token."
        ),
    ),
    "describe": (
        "_describe:run_command",
        "show the columns of a CSV file, and a draft of a format for it",
        (
            "Print the columns of a CSV file, its first three rows, and the draft of a format as TOML. Save the draft "
            "as a file, correct it, and give it to import --format. Nothing is changed."
        ),
    ),
    "undo": (
        "_undo:run_command",
        "take the last import back",
        (
            "Take the last import of statement files back, after a question that shows what goes. What a sync has "
            "loaded stays."
        ),
    ),
    "people": (
        "_people:run_command",
        "list the people behind the names in statements",
        (
            "Print which names in statements are which people, and write suggestions for the others into people.csv "
            "in the archive's folder. Nothing is united without you: remove the ? before a person to accept a "
            "suggestion."
        ),
    ),
    "export": (
        "_export:run_command",
        "write a table of an archive as a file, or its payments as a workbook, database or ledger",
        (
            "Write the payments of an archive, or another table, as a file; its ending decides the kind: .csv, "
            ".parquet, .jsonl (one object per row), .xlsx (an Excel workbook, with a sheet for each analysis), "
            ".sqlite or .db (an SQLite database, with a table for each analysis), .beancount (a ledger for "
            "beancount), .journal or .hledger (one for hledger). - is CSV on standard output. Needs no token."
        ),
    ),
    "report": (
        "_report:run_command",
        "write the report of an archive as an HTML or Markdown file",
        "Write the report of an archive as one HTML file, or as Markdown if its name ends in .md. Needs no token.",
    ),
    "reminders": (
        "_reminders:run_command",
        "print a polite text to copy for each of your requests that is still open",
        (
            "Print a polite text for each of your requests that is still open, the oldest first; those after --as-of "
            "are left out. Nothing is sent: copy the texts that you want to send. Needs no token."
        ),
    ),
    "completion": (
        "_completion:print_script",
        "print a script that completes commands and options in a shell",
        (
            "Print a script that completes commands, options and paths in a shell. For bash: p2p-analytics completion "
            "bash > FILE, and in ~/.bashrc: source FILE. The script itself says where zsh and fish expect it."
        ),
    ),
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = Parser(prog=PROGRAM, description="See through years of peer-to-peer payments.", epilog=_EXIT_CODES)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    parsers = {
        name: commands.add_parser(name, help=summary, description=description)
        for name, (_, summary, description) in _COMMANDS.items()
    }
    for name, command in parsers.items():
        command.set_defaults(command=_COMMANDS[name][0])
    for name in ("sync", "verify", "import", "undo", "people"):
        parsers[name].add_argument("archive", metavar="ARCHIVE", help="the archive's folder")
    several = "the archive's folder; several, such as those of two services, are shown together"
    for name in ("export", "report", "reminders"):
        parsers[name].add_argument("archives", metavar="ARCHIVE", nargs="+", help=several)
    _add_sandbox_options(parsers)
    _add_service_options(parsers)
    _add_import_options(parsers["import"])
    parsers["describe"].add_argument("file", metavar="FILE", help="the CSV file")
    question = "undo without a question, as in a script or with --json"
    parsers["undo"].add_argument("--yes", action="store_true", help=question)
    _add_view_options(parsers)
    parsers["completion"].add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    for name in ("demo", "sandbox-archive", "sync", "verify", "import", "export", "report"):
        _options.add_progress(parsers[name])
    for name in (
        "sandbox-archive", "whoami", "sync", "verify", "import", "describe", "undo", "people", "export", "report",
        "reminders",
    ):  # fmt: skip
        _options.add_json(parsers[name])
    return parser


class _Version(argparse.Action):
    """Option ``--version``, which looks the version up on use: that takes as long as the rest of ``--help``."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        sys.stdout.write(f"{PROGRAM} {version('p2p_analytics')}\n")
        parser.exit()


def _add_sandbox_options(parsers: dict[str, Parser]) -> None:
    """Add the options of the commands with invented people: ``demo``, ``sandbox`` and ``sandbox-archive``."""
    demo = parsers["demo"]
    folder = _options.parse_folder
    demo.add_argument("--out", metavar="DIR", type=folder, default="out", help="where the files go (out)")
    demo.add_argument(
        "--statements",
        action="store_true",
        help="work from statement files, which are written into DIR/statements, instead of signing in",
    )
    demo.add_argument("--person", metavar="USERNAME", help="the person to report on, by username")
    _options.add_privacy(
        demo,
        "invent names, notes, ids and amounts in all that is written and show days only, as P2P_PRIVACY=1 does; "
        "strict shows months only",
    )
    _options.add_town(demo)

    sandbox = parsers["sandbox"]
    add = sandbox.add_argument
    add("--port", type=number(int, 0, 65535), default=8400, help="port on 127.0.0.1, 0 for a free one (8400)")
    add("--db", metavar="FILE", help="keep the data in this file (a temporary one)")
    add("--latency", metavar="MS", type=number(float, 0, 60_000), default=0, help="wait this long before each answer")
    dialect = "write answers as the document says, or as real ones were seen (documented)"
    add("--dialect", choices=tuple(RATE_LIMIT_STATUSES), default="documented", help=dialect)
    redirect = "take a redirect_uri only when it is the redirect URL on file, to the letter"
    add("--strict-redirect", action="store_true", help=redirect)
    add(
        "--rate-limit",
        metavar="N/SECONDS",
        type=parse_with("p2p_analytics.sandbox.faults.rate_limit", "read_rate"),
        help="serve at most N requests in SECONDS to each user and application, then answer 429 (no limit)",
    )
    add(
        "--rate-limit-status",
        type=int,
        choices=RATE_LIMIT_STATUSES["observed"],
        default=429,
        help="HTTP status above the rate limit; 400 in the observed dialect only (429)",
    )
    add(
        "--faults",
        metavar="SPEC",
        type=parse_with("p2p_analytics.sandbox.faults.specification", "Faults"),
        default="",
        help="have faults: rates such as 503:0.1,reset:0.05, or a script such as 'ok*3 503 reset' (none)",
    )
    files = "write statement files of the town into this folder, and stop instead of serving"
    add("--statements", metavar="DIR", type=folder, help=files)
    person = "write the statements of this person, can be repeated (the main person of the town)"
    add("--person", metavar="USERNAME", action="append", help=person)
    form = f"form of the statements ({DEFAULT_GENERATION}, the CSV files from 2022 on)"
    add("--generation", choices=GENERATIONS, help=form)
    _options.add_town(sandbox)

    archive = parsers["sandbox-archive"]
    archive.add_argument("folder", metavar="DIR", type=folder, help="the folder of the archives")
    for name, low, high, default, what in (
        ("accounts", 2, 100_000, 100, "how many accounts"),
        ("payments", 1, 10**9, 100_000, "how many payments"),
        ("years", 1, 20, 4, "how many years they have been paying"),
        ("seed", 0, 2**63 - 1, 7, "another number, another town"),
    ):
        kind = number(int, low, high)
        archive.add_argument(f"--{name}", metavar="N", type=kind, default=default, help=f"{what} ({default})")


def _add_service_options(parsers: dict[str, Parser]) -> None:
    """Add the options of the commands of the service: ``login``, ``whoami``, ``sync`` and ``verify``."""
    login = parsers["login"]
    _options.add_service(login, "P2P_BASE_URL")
    add = login.add_argument
    add("--client-id", metavar="ID", help="the application (P2P_CLIENT_ID)")
    scopes = "what to ask for, once for each scope (access_profile and access_friends)"
    add("--scope", metavar="SCOPE", action="append", help=scopes)
    add("--no-browser", action="store_true", help="print the address and do not open it")
    way = login.add_mutually_exclusive_group()
    way.add_argument("--paste", action="store_true", help="wait for a pasted address alone, and do not listen for it")
    way.add_argument(
        "--token-stdin", action="store_true", help="read a token, or the address with it, from standard input"
    )
    add("--keyring", action="store_true", help="keep the token in the system's keyring")
    flow = "get a token of 60 days that renews itself; needs the application's secret (P2P_CLIENT_SECRET)"
    add("--server-flow", action="store_true", help=flow)

    whoami = parsers["whoami"]
    _options.add_service(whoami)

    sync = parsers["sync"]
    _options.add_service(sync)
    sync.add_argument(
        "--since",
        metavar="DATE",
        type=_options.parse_date,
        help="load only payments made since this date, and pending ones; later, an earlier date or none loads the rest",
    )
    sync.add_argument(
        "--refresh", action="store_true", help="reload everything and replace what the archive holds: see verify"
    )

    verify = parsers["verify"]
    _options.add_service(verify)


def _add_import_options(command: Parser) -> None:
    """Add the options of ``import``."""
    add, account = command.add_argument, _options.parse_account
    add("files", metavar="FILES", nargs="+", help="statement files, folders, zip archives, or patterns in quotes")
    dry_run = "change nothing, and print what would come: by month and person, and rows"
    add("--dry-run", action="store_true", help=dry_run)
    add("--rows", metavar="N", type=number(int, 0, 1_000_000), default=20, help="rows that --dry-run prints (20)")
    zone = "the zone of dates that name none (UTC); refused for files in a zone that is known"
    add("--tz", metavar="ZONE", type=_options.parse_zone, help=zone)
    exclude = "leave these files out, such as '*statement_2021*'; can be repeated"
    add("--exclude", metavar="PATTERN", action="append", default=[], help=exclude)
    member = "your name among the members of a shared group, such as one of Splitwise; a terminal asks for it"
    add("--member", metavar="NAME", type=account, help=member)
    own_format = "a format of your own, as a TOML file, which the archive keeps; describe writes a draft"
    add("--format", metavar="FILE", action="append", default=[], help=own_format)
    accounts = command.add_mutually_exclusive_group()
    accounts.add_argument(
        "--account",
        metavar="NAME",
        type=account,
        help="your username, as that of all files; files that name another account are added, and listed",
    )
    only = "import only the files of this account, and list those of others"
    accounts.add_argument("--only-account", metavar="NAME", type=account, help=only)
    add("--repair", action="store_true", help="set damaged files of earlier imports aside: their rows are lost")
    add("--verbose", action="store_true", help="list every file that is skipped, with the reason")


def _add_view_options(parsers: dict[str, Parser]) -> None:
    """Add the options of the commands that show the payments of archives: ``export``, ``report`` and ``reminders``."""
    export = parsers["export"]
    out = f"the file, which ends in {ENDINGS}, or - for CSV on standard output"
    export.add_argument("out", metavar="OUT", type=_options.parse_table_path, help=out)
    export.add_argument(
        "--table",
        metavar="NAME",
        choices=(*FRAMES, RECONCILIATION, *ANALYSES),
        help=f"{', '.join((*FRAMES, RECONCILIATION))}, or the result of an analysis: {', '.join(ANALYSES)} "
        f"(payments; {', '.join(FILES_OF_ALL_TABLES)}: all)",
    )
    _options.add_currency(export)
    _options.add_days(export)
    _options.add_view(export)
    export.set_defaults(tz=None)  # None: not given

    report = parsers["report"]
    _options.add_currency(report)
    add = report.add_argument
    out = "the file (report.html, or year.html), Markdown if it ends in .md; or - for HTML on standard output"
    add("--out", metavar="FILE", help=out)
    template = "all analyses (full), or one year in review to share, in privacy mode (year)"
    add("--template", choices=("full", "year"), default="full", help=template)
    year = number(int, 1970, 2199)
    add("--year", metavar="YEAR", type=year, help="of --template year: 2024 (the last with payments)")
    add("--only", metavar="NAMES", type=_options.parse_names, help="only these analyses: spend_by_friend,recurring")
    _options.add_days(report)
    _options.add_view(report)
    add("--no-privacy", action="store_true", help="show real names and amounts")

    reminders = parsers["reminders"]
    _options.add_currency(reminders)
    _options.add_view(reminders)


# ---- the parser


class Parser(argparse.ArgumentParser):
    """Parser of the program or of one command, which reports wrong use under its own name."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - argparse's
        super().__init__(**settings, allow_abbrev=False)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the words of this parser; unlike argparse, end with an error for unknown words.

        argparse lets the parser of the program report them, with a usage that does not name the command's options. It
        would take the value of an unknown option for an argument.
        """
        known = self._option_string_actions
        for word in args or ():
            if word == "--" or (self._subparsers is not None and not word.startswith("-")):
                break  # arguments, or the words of a command, follow
            name = _without_value(word)
            if name.startswith("--") and name not in known:
                self.error(f"unrecognized arguments: {name}{suggest(name, known)}")
        options, rest = super().parse_known_args(args, namespace)
        if rest:
            self.error(f"unrecognized arguments: {' '.join(_without_value(word) for word in rest)}")
        return options, rest

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
