"""The command ``import``: statement files into an archive."""

from __future__ import annotations

import os
import shlex

from p2p_analytics.cli import _arguments, _output
from p2p_analytics.cli.statements import _accounts, _preview, _reading

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Final

    import pandas as pd

    from p2p_analytics.archive import ImportPlan
    from p2p_analytics.statements import Statements

_MOST_LINES: Final = 20
_FEW_LINES: Final = 5  # of problems of rows, which a table of the archive lists
_FORMATS: Final = " The known formats are "  # the end of a reason, which would be in each line
_MOST_NAMED: Final = 3  # files in a command
_NOUNS: Final = ("transaction", "transactions")
_OUTCOMES: Final = ("new", "known", "changed", "refused")
_GONE: Final = "a newer export, or its file when it was read again, does not have it"  # of a removed transaction
_MOST_SKIPPED: Final = 3  # files with a line each
_SOME_REFUSED: Final = 3  # the exit code
_DOUBLES: Final = ("copy", "possible_double")  # codes of problems
_SERVICES: Final = {
    "statement": "Venmo", "cash_app": "Cash App", "paypal": "PayPal", "splitwise": "Splitwise", "revolut": "Revolut",
    "wise": "Wise", "monzo": "Monzo",
}  # fmt: skip


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
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
    command.set_defaults(command=_import)


def _import(options: argparse.Namespace) -> int:
    """Add statement files to an archive, or only say what that would do, and print the counts; return the exit code."""
    from p2p_analytics.archive import open_archive
    from p2p_analytics.display import format_count
    from p2p_analytics.frames.schema import list_files_after_gaps, list_wrong_files
    from p2p_analytics.statements import describe_balances, list_refused, list_skipped

    _refuse_file(options)
    archive = open_archive(options.archive)
    progress = _output.Progress(options.progress)
    own_formats = _reading.register_formats(archive, options)
    progress.log(f"Reading {format_count(len(options.files), 'path', 'paths')} ...")
    statements = _reading.read_files(archive, options, progress)
    _reading.refuse_zone(statements, options)
    skipped, refused = list_skipped(statements.problems), list_refused(statements.problems)
    unnamed = statements.unnamed_accounts
    statements, left_out = _accounts.choose_account(statements, options)
    progress.log(f"Comparing {format_count(len(statements.payments), *_NOUNS)} with {options.archive} ...")
    plan = archive.import_(statements, dry_run=options.dry_run, repair=options.repair)
    if not options.dry_run:
        for path, name in own_formats.items():
            archive.keep_format(path, name)
    services, found = _count_services(statements), len(plan.problems)
    lines = [
        _describe_counts(plan, options),
        ", ".join(
            [
                *(format_count(count, *_name_files(service)) for service, count in services.items()),
                describe_balances(statements.reconciliation),
                format_count(found, "problem", "problems"),
            ]
        ),
        *_describe_refused(refused),
        *_describe_skipped(skipped, options),
        *_list_wrong_balances(statements),
        *_list_gaps(plan.problems),
        *_accounts.describe_others(plan, statements, options.account),
        *_accounts.describe_left_out(left_out, unnamed),
        *_describe_services(plan),
        *_describe_details(plan, dry_run=options.dry_run),
        *_describe_problems(plan.problems, options),
        *(
            _preview.describe_payments(plan.payments, options.rows)
            if options.dry_run and plan.payments is not None
            else []
        ),
    ]
    checked = statements.reconciliation["reconciled"].dropna()
    _output.print_summary(
        options,
        "\n".join(lines),
        archive=options.archive,
        dry_run=options.dry_run,
        files=int(statements.files["file"].nunique()),
        services=services,
        **{name: getattr(plan, name) for name in (*_OUTCOMES, "removed")},
        kinds=plan.kinds.set_index("kind").to_dict("index"),
        reconciled=int(checked.sum()),
        balances=len(checked),
        not_adding_up=list_wrong_files(statements.problems),
        after_gaps=list_files_after_gaps(plan.problems),
        problems=found,
        possible_doubles=plan.problems.loc[plan.problems["code"].isin(_DOUBLES), "file"].tolist(),
        other_accounts=[other._asdict() for other in plan.other_accounts],
        left_out=left_out,
        new_services=plan.new_services,
        skipped=[{"file": file, "reason": reason} for file, reason in skipped],
        refused_files=[{"file": file, "reason": reason} for file, reason in refused],
    )
    return _SOME_REFUSED if refused else 0


def _refuse_file(options: argparse.Namespace) -> None:
    """Raise a WrongUseError if the archive is a file: the user has left the folder out."""
    if os.path.isfile(options.archive):  # noqa: PTH113 - pathlib is slow to import
        files = [options.archive, *options.files]
        meant = shlex.join(files) if len(files) <= _MOST_NAMED else "YOUR-FILES"
        raise _arguments.WrongUseError(
            f"{options.archive} is a file, and the first word is the folder in which payments are kept. Did you mean: "
            f"p2p-analytics import mypayments {meant}"
        )


def _count_services(statements: Statements) -> dict[str, int]:
    """Return the number of files of each service, the most frequent one first."""
    from p2p_analytics.statements import find_service

    services = statements.files.drop_duplicates("file")["format"].map(find_service)
    return {str(name): int(count) for name, count in services.value_counts().items()}


def _name_files(service: str) -> tuple[str, str]:
    name = _name_service(service)
    return f"{name} file", f"{name} files"


def _name_service(service: str) -> str:
    from p2p_analytics.display import clean_line

    return _SERVICES.get(service) or clean_line(service)


def _describe_counts(plan: ImportPlan, options: argparse.Namespace) -> str:
    """Return the counts of an import that are not zero, and the new transactions by kind."""
    from p2p_analytics.display import describe_kinds

    new = zip(plan.kinds["kind"], plan.kinds["new"], strict=True)
    kinds = describe_kinds({kind: count for kind, count in new if count})
    counts = [
        _count_new(plan.new) + (f" ({kinds})" if kinds else ""),
        *(f"{getattr(plan, name):,} {name}" for name in (*_OUTCOMES[1:], "removed") if getattr(plan, name)),
    ]
    return f"{'Dry run: ' if options.dry_run else ''}{', '.join(counts)}, in {options.archive}"


def _list_wrong_balances(statements: Statements) -> list[str]:
    """Return a line for each file with rows that do not add up; the first of many."""
    from decimal import Decimal

    from p2p_analytics.display import clean_line, format_money
    from p2p_analytics.frames.schema import list_wrong_files

    rows = statements.reconciliation
    is_wrong = (~rows["reconciled"]).fillna(value=False) & rows["file"].isin(list_wrong_files(statements.problems))
    lines = []
    for row in rows[is_wrong].head(_MOST_LINES).to_dict("records"):
        found = []
        if row["difference_cents"]:
            currency = row["currency"] if isinstance(row["currency"], str) else None
            money = format_money(Decimal(int(row["difference_cents"])) / 100, currency=currency)
            found.append(f"the balances and the rows differ by {money}")
        if isinstance(row["suggestion"], str):
            found.append(f"which {row['suggestion']} would explain")
        if isinstance(row["note"], str):
            found.append(row["note"])
        lines.append(clean_line(f"{row['file']}: {', '.join(found)}"))
    return lines


def _list_gaps(problems: pd.DataFrame) -> list[str]:
    """Return a line for each file before which something may be missing; the first of many."""
    from p2p_analytics.display import clean_line
    from p2p_analytics.frames.schema import GAP

    gaps = problems[problems["code"] == GAP]
    found = zip(gaps["file"].head(_MOST_LINES), gaps["problem"].head(_MOST_LINES), strict=True)
    lines = [clean_line(f"{file}: {problem}") for file, problem in found]
    return [*lines, f"... and {len(gaps) - _MOST_LINES:,} more"] if len(gaps) > _MOST_LINES else lines


def _describe_refused(refused: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each file that is refused, with the reason."""
    from p2p_analytics.display import clean_line

    return [f"refused: {clean_line(_output.name_options(reason))}" for _, reason in refused]


def _describe_skipped(skipped: Sequence[tuple[str, str]], options: argparse.Namespace) -> list[str]:
    """Return a line for each file that is skipped, with the reason; one line for many, which are not statements."""
    from p2p_analytics.display import clean_line

    if len(skipped) > _MOST_SKIPPED and not options.verbose:
        return [f"{len(skipped):,} other files were skipped, because they are not statements; --verbose lists them"]
    return [f"skipped: {clean_line(reason.partition(_FORMATS)[0])}" for _, reason in skipped]


def _describe_services(plan: ImportPlan) -> list[str]:
    """Return a line about services that are new to the archive."""
    if not plan.new_services:
        return []
    names = ", ".join(map(_name_service, plan.new_services))
    advice = "they are counted together with those of other services; to keep them apart, give them another archive"
    return [f"new to this archive: {names}: {advice}"]


def _describe_problems(problems: pd.DataFrame, options: argparse.Namespace) -> list[str]:
    """Return a line for each of the first problems, and the command that lists all, which a dry run does not have.

    Problems of whole files, such as a copy, are first, then those of amounts. Those of balances have lines of their
    own. A dry run lists each possible double.
    """
    if problems.empty:
        return []
    is_double = problems["code"].isin(_DOUBLES) & options.dry_run
    others = problems[(problems["field"] != "balance") & ~is_double]
    is_of_file, is_of_amount = others["field"] == "file", others["code"].isin(["not_an_amount", "missing"])
    order = (~is_of_file).astype(int) * (2 - is_of_amount.astype(int))
    most = _MOST_LINES if options.dry_run else max(_FEW_LINES, min(int(is_of_file.sum()), _MOST_LINES))
    rows = others.loc[order.sort_values(kind="stable").index].head(most)
    lines = [f"possible double: {each}" for each in _name_problems(problems[is_double])]
    lines += [f"problem: {each}" for each in _name_problems(rows)]
    lines += [f"... and {len(others) - most:,} more"] if len(others) > most else []
    command = f"list the problems: p2p-analytics export {shlex.quote(options.archive)} - --table problems"
    return lines if options.dry_run else [*lines, command]


def _name_problems(problems: pd.DataFrame) -> list[str]:
    """Return the place and the sentence of each problem."""
    from p2p_analytics.display import clean_line

    rows = problems[["file", "line", "field", "value", "problem"]]
    rows = rows.astype(object).where(rows.notna(), None)
    return [
        clean_line(f"{file}{f', line {line}' if line else ''}: {field}{f' {value!r}' if value else ':'} {problem}")
        for file, line, field, value, problem in rows.itertuples(index=False, name=None)
    ]


def _count_new(new: int) -> str:
    from p2p_analytics.display import format_count

    return format_count(new, *(f"new {noun}" for noun in _NOUNS))


def _describe_details(plan: ImportPlan, *, dry_run: bool) -> list[str]:
    """Return a line for each refused payment and, for a dry run, for each changed one; the first of many."""
    from p2p_analytics.display import clean_line

    shown = plan.details if dry_run else plan.details[plan.details["outcome"] == "refused"]
    lines = [
        clean_line(
            f"{row['file']}, line {row['line']}: {row['payment_id']} is {row['outcome']} ({row['fields'] or _GONE})"
        )
        for row in shown.head(_MOST_LINES).to_dict("records")
    ]
    return [*lines, f"... and {len(shown) - _MOST_LINES:,} more"] if len(shown) > _MOST_LINES else lines
