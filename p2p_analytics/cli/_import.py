"""The commands ``import``, ``undo`` and ``people``: statement files in an archive, and the people behind names."""

from __future__ import annotations

from p2p_analytics.cli import _arguments, _output

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Final

    import pandas as pd

    from p2p_analytics.archive import ImportPlan
    from p2p_analytics.statements import Statements

_MOST_LINES: Final = 20
_MOST_NAMES: Final = 3
_FORMATS: Final = " The known formats are "  # the end of a reason, which would be in each line
_NOUNS: Final = ("transaction", "transactions")


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``import``, ``undo`` and ``people`` to a command line."""
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
    command.add_argument(
        "--account",
        metavar="NAME",
        type=_arguments.parse_account,
        help="your username; files that name another account are listed",
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

    people = _arguments.add_archive_command(
        add_parser,
        "people",
        "list the people behind the names in statements",
        "Print which names in statements are which people, and write suggestions for the others into people.csv in the "
        "archive's folder. Nothing is united without you: remove the ? before a person to accept a suggestion.",
    )
    _arguments.add_json(people)
    people.set_defaults(command=_people)


def _import(options: argparse.Namespace) -> None:
    """Add statement files to an archive, or only say what that would do, and print the counts."""
    from p2p_analytics.archive import open_archive
    from p2p_analytics.display import describe_kinds, format_count
    from p2p_analytics.frames.schema import list_wrong_files
    from p2p_analytics.statements import describe_balances, list_skipped, read_statements, select_row_problems

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
    progress.log(f"Comparing {format_count(len(statements.payments), *_NOUNS)} with {options.archive} ...")
    plan = archive.import_(statements, dry_run=options.dry_run, repair=options.repair)
    checked = statements.reconciliation["reconciled"].dropna()
    files = int(statements.files["file"].nunique())
    new = dict(zip(plan.kinds["kind"], plan.kinds["new"], strict=True))
    kinds = describe_kinds({kind: count for kind, count in new.items() if count})
    counts = ", ".join(
        [
            _count_new(plan.new) + (f" ({kinds})" if kinds else ""),
            f"{plan.known:,} known",
            f"{plan.changed:,} changed",
            f"{plan.refused:,} refused",
        ]
    )
    problems = len(select_row_problems(statements.problems))
    skipped = list_skipped(statements.problems)
    lines = [
        f"{'Dry run: ' if options.dry_run else ''}{counts}, in {options.archive}",
        ", ".join(
            [
                format_count(files, "file", "files"),
                describe_balances(statements.reconciliation),
                format_count(problems, "problem", "problems"),
            ]
        ),
    ]
    _output.print_summary(
        options,
        "\n".join(
            [
                *lines,
                *_list_wrong_balances(statements),
                *_describe_skipped(skipped),
                *_describe_details(plan, dry_run=options.dry_run),
            ]
        ),
        archive=options.archive,
        dry_run=options.dry_run,
        files=files,
        new=plan.new,
        known=plan.known,
        changed=plan.changed,
        refused=plan.refused,
        kinds=plan.kinds.set_index("kind").to_dict("index"),
        reconciled=int(checked.sum()),
        balances=len(checked),
        not_adding_up=list_wrong_files(statements.problems),
        problems=problems,
        skipped=[{"file": file, "reason": reason} for file, reason in skipped],
    )


def _undo(options: argparse.Namespace) -> None:
    """Take the last import of an archive back, and print which one it was."""
    from p2p_analytics.archive import open_archive
    from p2p_analytics.display import format_count

    archive = open_archive(options.archive)
    (undone,) = archive.undo().to_dict("records")
    left = len(archive.imports)
    remaining = format_count(left, "import is", "imports are")
    files = undone["files"].split("; ")
    _output.print_summary(
        options,
        f"Import {undone['number']} of {_list_names(files)} ({_count_new(undone['new'])}, {undone['changed']:,} "
        f"changed) is undone, in {options.archive}: {remaining} left",
        archive=options.archive,
        number=undone["number"],
        files=files,
        new=undone["new"],
        changed=undone["changed"],
        left=left,
    )


def _people(options: argparse.Namespace) -> None:
    """Print the people behind the names in statements, and write the suggestions."""
    from pathlib import Path

    from p2p_analytics.archive import open_archive
    from p2p_analytics.display import format_count

    archive = open_archive(options.archive)
    path = Path(options.archive) / archive.write_people().name
    people = archive.people
    is_matched = people["matched"].notna()
    is_suggested = ~is_matched & people["person"].notna()
    groups = {"matched": is_matched, "suggested": is_suggested, "others": ~is_matched & ~is_suggested}
    counts = {name: int(people.loc[rows, "alias"].nunique()) for name, rows in groups.items()}
    matched = format_count(counts["matched"], "name", "names")
    summary = f"{matched} matched to people, {counts['suggested']:,} with suggestions, {counts['others']:,} others"
    advice = f"Suggestions are in {path}: remove the ? before a person to accept one."
    lines = [*_describe_people(people[is_matched], "is"), *_describe_people(people[is_suggested], "may be"), summary]
    text = "\n".join([*lines, advice] if counts["suggested"] else lines)
    _output.print_summary(options, text, archive=options.archive, file=str(path), **counts)


def _describe_people(people: pd.DataFrame, verb: str) -> list[str]:
    """Return a line for each name and person."""
    from p2p_analytics.display import clean_line

    rows = people[["alias", "person", "evidence"]].itertuples(index=False, name=None)
    return [f"{clean_line(name)} {verb} {clean_line(who)}: {clean_line(why)}" for name, who, why in rows]


def _list_wrong_balances(statements: Statements) -> list[str]:
    """Return a line for each file with rows that do not add up, or after a gap; the first of many."""
    from decimal import Decimal

    from p2p_analytics.display import clean_line, format_money

    rows = statements.reconciliation
    is_wrong = (~rows["reconciled"]).fillna(value=False) | rows["gap_cents"].notna()
    lines = []
    for row in rows[is_wrong].head(_MOST_LINES).to_dict("records"):
        found = []
        if row["reconciled"] is False:
            currency = row["currency"] if isinstance(row["currency"], str) else None
            money = format_money(Decimal(int(row["difference_cents"])) / 100, currency=currency)
            found.append(f"the balances and the rows differ by {money}")
            if isinstance(row["suggestion"], str):
                found.append(f"which {row['suggestion']} would explain")
        if isinstance(row["note"], str):
            found.append(row["note"])
        lines.append(clean_line(f"{row['file']}: {', '.join(found)}"))
    return lines


def _describe_skipped(skipped: Sequence[tuple[str, str]]) -> list[str]:
    """Return a line for each file that is skipped, with the reason; the first of many."""
    from p2p_analytics.display import clean_line

    lines = [f"skipped: {clean_line(reason.partition(_FORMATS)[0])}" for _, reason in skipped[:_MOST_LINES]]
    return [*lines, f"... and {len(skipped) - _MOST_LINES:,} more"] if len(skipped) > _MOST_LINES else lines


def _list_names(names: Sequence[str] | pd.Series[str]) -> str:
    """Return names of files, the first of many."""
    from p2p_analytics.display import clean_line

    shown = ", ".join(map(clean_line, names[:_MOST_NAMES]))
    return f"{shown} and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else shown


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
