"""The commands ``import`` and ``undo``: statement files in an archive."""

from __future__ import annotations

import shlex

from p2p_analytics.cli import _arguments, _output
from p2p_analytics.cli.statements import _accounts

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
_NOUNS: Final = ("transaction", "transactions")
_OUTCOMES: Final = ("new", "known", "changed", "refused")


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``import`` and ``undo`` to a command line."""
    command = _arguments.add_archive_command(
        add_parser,
        "import",
        "add statement files to an archive",
        "Read statement files, as services let you download them, and add their payments to an archive, a folder that "
        "is made where there is none. Files may overlap and may be imported again. Needs no token.",
    )
    command.add_argument(
        "files", metavar="FILES", nargs="+", help="statement files, folders, zip archives, or patterns in quotes"
    )
    command.add_argument("--dry-run", action="store_true", help="print what would be new, known, changed and refused")
    command.add_argument(
        "--tz", metavar="ZONE", type=_arguments.parse_zone, default="UTC", help="the zone of dates that name none (UTC)"
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
    _arguments.add_progress(command)
    _arguments.add_json(command)
    command.set_defaults(command=_import)

    undo = _arguments.add_archive_command(
        add_parser,
        "undo",
        "take the last import back",
        "Take the last import of statement files back: every file of the archive is as before. Not after a sync.",
    )
    _arguments.add_json(undo)
    undo.set_defaults(command=_undo)


def _import(options: argparse.Namespace) -> None:
    """Add statement files to an archive, or only say what that would do, and print the counts."""
    from p2p_analytics.archive import open_archive
    from p2p_analytics.display import format_count
    from p2p_analytics.frames.schema import list_files_after_gaps, list_wrong_files
    from p2p_analytics.statements import (
        describe_balances,
        list_skipped,
        read_statements,
    )

    archive = open_archive(options.archive)
    progress = _output.Progress(options.progress)
    progress.log(f"Reading {format_count(len(options.files), 'path', 'paths')} ...")
    # A shell expands a pattern to all files with such a name.
    several = len(options.files) > 1
    statements = read_statements(
        options.files,
        tz=options.tz,
        account=options.account,
        skip_others=several,
        on_progress=progress.on_files,
    )
    statements, left_out = _accounts.choose_account(statements, options)
    progress.log(f"Comparing {format_count(len(statements.payments), *_NOUNS)} with {options.archive} ...")
    plan = archive.import_(statements, dry_run=options.dry_run, repair=options.repair)
    files = int(statements.files["file"].nunique())
    skipped, found = list_skipped(statements.problems), len(plan.problems)
    lines = [
        _describe_counts(plan, options),
        ", ".join(
            [
                format_count(files, "file", "files"),
                describe_balances(statements.reconciliation),
                format_count(found, "problem", "problems"),
            ]
        ),
        *_list_wrong_balances(statements),
        *_list_gaps(plan.problems),
        *_accounts.describe_others(plan, statements, options.account),
        *_accounts.describe_left_out(left_out),
        *_describe_services(plan),
        *_describe_skipped(skipped),
        *_describe_details(plan, dry_run=options.dry_run),
        *_describe_problems(plan.problems, options),
    ]
    checked = statements.reconciliation["reconciled"].dropna()
    _output.print_summary(
        options,
        "\n".join(lines),
        archive=options.archive,
        dry_run=options.dry_run,
        files=files,
        **{name: getattr(plan, name) for name in _OUTCOMES},
        kinds=plan.kinds.set_index("kind").to_dict("index"),
        reconciled=int(checked.sum()),
        balances=len(checked),
        not_adding_up=list_wrong_files(statements.problems),
        after_gaps=list_files_after_gaps(plan.problems),
        problems=found,
        other_accounts=[other._asdict() for other in plan.other_accounts],
        left_out=left_out,
        new_services=plan.new_services,
        skipped=[{"file": file, "reason": reason} for file, reason in skipped],
    )


def _describe_counts(plan: ImportPlan, options: argparse.Namespace) -> str:
    """Return the counts of an import, and the new transactions by kind."""
    from p2p_analytics.display import describe_kinds

    new = zip(plan.kinds["kind"], plan.kinds["new"], strict=True)
    kinds = describe_kinds({kind: count for kind, count in new if count})
    counts = [
        _count_new(plan.new) + (f" ({kinds})" if kinds else ""),
        *(f"{getattr(plan, name):,} {name}" for name in _OUTCOMES[1:]),
    ]
    return f"{'Dry run: ' if options.dry_run else ''}{', '.join(counts)}, in {options.archive}"


def _undo(options: argparse.Namespace) -> None:
    """Take the last import of an archive back, and print which one it was."""
    from p2p_analytics.archive import open_archive
    from p2p_analytics.display import format_count, join_first

    archive = open_archive(options.archive)
    (undone,) = archive.undo().to_dict("records")
    left = len(archive.imports)
    remaining = format_count(left, "import is", "imports are")
    files = undone["files"].split("; ")
    counts = f"{_count_new(undone['new'])}, {undone['changed']:,} changed"
    _output.print_summary(
        options,
        f"Import {undone['number']} of {join_first(files)} ({counts}) is undone, in {options.archive}: "
        f"{remaining} left",
        archive=options.archive,
        number=undone["number"],
        files=files,
        new=undone["new"],
        changed=undone["changed"],
        left=left,
    )


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


def _describe_skipped(skipped: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each file that is skipped, with the reason; the first of many."""
    from p2p_analytics.display import clean_line

    lines = [f"skipped: {clean_line(reason.partition(_FORMATS)[0])}" for _, reason in skipped[:_MOST_LINES]]
    return [*lines, f"... and {len(skipped) - _MOST_LINES:,} more"] if len(skipped) > _MOST_LINES else lines


def _describe_services(plan: ImportPlan) -> list[str]:
    """Return a line about services that are new to the archive."""
    if not plan.new_services:
        return []
    from p2p_analytics.statements import SERVICE

    names = ["statements of the service itself" if name == SERVICE else name for name in plan.new_services]
    advice = "they are counted together with those of other services; to keep them apart, give them another archive"
    return [f"new to this archive: {', '.join(names)}: {advice}"]


def _describe_problems(problems: pd.DataFrame, options: argparse.Namespace) -> list[str]:
    """Return a line for each of the first problems, and the command that lists all, which a dry run does not have.

    Problems of whole files, such as a copy, are first, then those of amounts. Those of balances have lines of their
    own.
    """
    from p2p_analytics.display import clean_line

    if problems.empty:
        return []
    others = problems[problems["field"] != "balance"]
    is_of_file, is_of_amount = others["field"] == "file", others["code"].isin(["not_an_amount", "missing"])
    order = (~is_of_file).astype(int) * (2 - is_of_amount.astype(int))
    most = _MOST_LINES if options.dry_run else max(_FEW_LINES, min(int(is_of_file.sum()), _MOST_LINES))
    rows = others.loc[order.sort_values(kind="stable").index, ["file", "line", "field", "value", "problem"]].head(most)
    rows = rows.astype(object).where(rows.notna(), None)
    lines = [
        clean_line(
            f"problem: {file}{f', line {line}' if line else ''}: {field}{f' {value!r}' if value else ':'} {problem}"
        )
        for file, line, field, value, problem in rows.itertuples(index=False, name=None)
    ]
    lines += [f"... and {len(others) - most:,} more"] if len(others) > most else []
    command = f"list the problems: p2p-analytics export {shlex.quote(options.archive)} - --table problems"
    return lines if options.dry_run else [*lines, command]


def _count_new(new: int) -> str:
    from p2p_analytics.display import format_count

    return format_count(new, *(f"new {noun}" for noun in _NOUNS))


def _describe_details(plan: ImportPlan, *, dry_run: bool) -> list[str]:
    """Return a line for each refused payment and, for a dry run, for each changed one; the first of many."""
    from p2p_analytics.display import clean_line

    shown = plan.details if dry_run else plan.details[plan.details["outcome"] == "refused"]
    lines = [
        clean_line(f"{row['file']}, line {row['line']}: {row['payment_id']} is {row['outcome']} ({row['fields']})")
        for row in shown.head(_MOST_LINES).to_dict("records")
    ]
    return [*lines, f"... and {len(shown) - _MOST_LINES:,} more"] if len(shown) > _MOST_LINES else lines
