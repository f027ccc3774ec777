"""The command ``import``: statement files into an archive."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import pandas as pd

from p2p_analytics.archive import Archive, ImportPlan, open_archive
from p2p_analytics.cli import _arguments, _output
from p2p_analytics.cli._output import MOST_LINES
from p2p_analytics.cli.statements import _preview
from p2p_analytics.display import clean_line, describe_kinds, format_count, format_money, join_first
from p2p_analytics.errors import ArchiveError, MemberNeededError
from p2p_analytics.frames.schema import GAP, list_files_after_gaps, list_wrong_files
from p2p_analytics.statements import (
    Statements,
    describe_balances,
    find_common_handle,
    find_paths,
    find_service,
    list_formats,
    list_refused,
    list_skipped,
    read_format,
    read_statements,
    register_format,
)

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
_MOST_PATHS: Final = 3


def run_command(options: argparse.Namespace) -> int:
    """Add statement files to an archive (a dry run changes nothing), print the counts, and return the exit code."""
    _refuse_file(options)
    archive = open_archive(options.archive)
    progress = _output.Progress(options.progress)
    own_formats = register_formats(archive, options)
    progress.log(f"Reading {format_count(len(options.files), 'path', 'paths')} ...")
    statements = read_files(archive, options, progress)
    refuse_zone(statements, options)
    skipped, refused = list_skipped(statements.problems), list_refused(statements.problems)
    unnamed = statements.unnamed_accounts
    statements, left_out = choose_account(statements, options)
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
        *[f"refused: {clean_line(_arguments.name_options(reason))}" for _, reason in refused],
        *_describe_skipped(skipped, options),
        *_list_wrong_balances(statements),
        *_list_gaps(plan.problems),
        *describe_others(plan, statements, options.account),
        *describe_left_out(left_out, unnamed),
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
    services = statements.files.drop_duplicates("file")["format"].map(find_service)
    return {str(name): int(count) for name, count in services.value_counts().items()}


def _name_files(service: str) -> tuple[str, str]:
    name = _name_service(service)
    return f"{name} file", f"{name} files"


def _name_service(service: str) -> str:
    return _SERVICES.get(service) or clean_line(service)


def _describe_counts(plan: ImportPlan, options: argparse.Namespace) -> str:
    """Return the counts of an import that are not zero, and the new transactions by kind."""
    new = zip(plan.kinds["kind"], plan.kinds["new"], strict=True)
    kinds = describe_kinds({kind: count for kind, count in new if count})
    counts = [
        format_count(plan.new, *(f"new {noun}" for noun in _NOUNS)) + (f" ({kinds})" if kinds else ""),
        *(f"{getattr(plan, name):,} {name}" for name in (*_OUTCOMES[1:], "removed") if getattr(plan, name)),
    ]
    return f"{'Dry run: ' if options.dry_run else ''}{', '.join(counts)}, in {options.archive}"


def _list_wrong_balances(statements: Statements) -> list[str]:
    """Return a line for each file with rows that do not add up; the first of many."""
    rows = statements.reconciliation
    is_wrong = (~rows["reconciled"]).fillna(value=False) & rows["file"].isin(list_wrong_files(statements.problems))
    lines = []
    for row in rows[is_wrong].head(MOST_LINES).to_dict("records"):
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
    gaps = problems[problems["code"] == GAP]
    found = zip(gaps["file"].head(MOST_LINES), gaps["problem"].head(MOST_LINES), strict=True)
    lines = [clean_line(f"{file}: {problem}") for file, problem in found]
    return _output.end_list(lines, len(gaps))


def _describe_skipped(skipped: Sequence[tuple[str, str]], options: argparse.Namespace) -> list[str]:
    """Return a line for each file that is skipped, with the reason; one line for many, which are not statements."""
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

    Problems of whole files, such as a copy, are first, then problems of amounts. Problems of balances are listed
    elsewhere. A dry run lists each possible double.
    """
    if problems.empty:
        return []
    is_double = problems["code"].isin(_DOUBLES) & options.dry_run
    others = problems[(problems["field"] != "balance") & ~is_double]
    is_of_file, is_of_amount = others["field"] == "file", others["code"].isin(["not_an_amount", "missing"])
    order = (~is_of_file).astype(int) * (2 - is_of_amount.astype(int))
    most = MOST_LINES if options.dry_run else max(_FEW_LINES, min(int(is_of_file.sum()), MOST_LINES))
    rows = others.loc[order.sort_values(kind="stable").index].head(most)
    lines = [f"possible double: {each}" for each in _name_problems(problems[is_double])]
    lines += _output.end_list([f"problem: {each}" for each in _name_problems(rows)], len(others))
    command = f"list the problems: p2p-analytics export {shlex.quote(options.archive)} - --table problems"
    return lines if options.dry_run else [*lines, command]


def _name_problems(problems: pd.DataFrame) -> list[str]:
    """Return the place and the sentence of each problem."""
    rows = problems[["file", "line", "field", "value", "problem"]]
    rows = rows.astype(object).where(rows.notna(), None)
    return [
        clean_line(f"{file}{f', line {line}' if line else ''}: {field}{f' {value!r}' if value else ':'} {problem}")
        for file, line, field, value, problem in rows.itertuples(index=False, name=None)
    ]


def _describe_details(plan: ImportPlan, *, dry_run: bool) -> list[str]:
    """Return a line for each refused payment and, for a dry run, for each changed one; the first of many."""
    shown = plan.details if dry_run else plan.details[plan.details["outcome"] == "refused"]
    lines = [
        clean_line(
            f"{row['file']}, line {row['line']}: {row['payment_id']} is {row['outcome']} ({row['fields'] or _GONE})"
        )
        for row in shown.head(MOST_LINES).to_dict("records")
    ]
    return _output.end_list(lines, len(shown))


# ---- reading of the files: formats of the user's own, members of groups, and zones


def register_formats(archive: Archive, options: argparse.Namespace) -> dict[str, str]:
    """Register the formats that the archive keeps, then the given ones; return the paths and names of the latter."""
    for path in archive.formats:
        register_format(read_format(path))
    return {path: register_format(read_format(path)).name for path in options.format}


def read_files(archive: Archive, options: argparse.Namespace, progress: _output.Progress) -> Statements:
    """Return the statements of the given files; for a group's file the user may have to choose a member."""

    def read(member: str | None) -> Statements:
        return read_statements(
            options.files,
            tz=options.tz or "UTC",
            account=options.account,
            member=member,
            # A shell expands a pattern to all files with such a name.
            skip_others=len(options.files) > 1,
            on_bad_file="refuse",
            exclude=options.exclude,
            on_progress=progress.on_files,
        )

    try:
        statements = read(options.member)
    except MemberNeededError as error:  # of every file
        member = _choose_member(archive, options, error.file, error.members)
        if member is None:
            raise
        return read(member)
    member = None
    if (statements.problems["field"] == "member").any() and not statements.private:
        groups = [
            each for each in statements.collect()[0].problems if each.code == "refused" and each.field == "member"
        ]
        for group in groups[:1]:
            member = _choose_member(archive, options, group.file, group.details[1:])
    return statements if member is None else read(member)


def _choose_member(archive: Archive, options: argparse.Namespace, file: str, members: Sequence[str]) -> str | None:
    """Return the user's name in a group: the member that the archive names, or the user's answer."""
    if options.member is not None or not members:
        return None
    known = {name.strip().casefold(): name for name in members}
    try:
        own = [known[name.strip().casefold()] for name in archive.holder_names if name.strip().casefold() in known]
    except ArchiveError:  # broken files, which the import repairs or names
        own = []
    if own or options.json or not _output.is_terminal():
        return own[0] if own else None
    listed = ", ".join(f"{number} {clean_line(name)}" for number, name in enumerate(members, 1))
    answer = _output.ask(f"Which member of {clean_line(file)} are you? {listed}: ").strip().casefold()
    return {str(number): name for number, name in enumerate(members, 1)}.get(answer) or known.get(answer)


def refuse_zone(statements: Statements, options: argparse.Namespace) -> None:
    """Raise a WrongUseError for ``--tz`` if a file is in a zone that its format states: it would move its dates."""
    if options.tz is None:
        return
    zones = {each.name: each.zone for each in list_formats() if each.zone not in {None, options.tz}}
    files = statements.files
    is_known = files["format"].isin(list(zones))
    if is_known.any():
        file, name = files.loc[is_known, ["file", "format"]].iloc[0]
        raise _arguments.WrongUseError(
            f"The times in {clean_line(file)} are always {zones[name]}, so --tz {options.tz} would move them: leave "
            "out --tz here, and choose the zone that you see with: "
            f"p2p-analytics report {shlex.quote(options.archive)} --tz {options.tz}"
        )


# ---- files of several accounts: one is imported, and the others are listed


def choose_account(statements: Statements, options: argparse.Namespace) -> tuple[Statements, dict[str, list[str]]]:
    """Return the statements to import, and the files of each account that is left out.

    Several accounts stay together if all belong to the archive.

    Raises
    ------
    ArchiveError
        The statements are of several accounts, and none is chosen.
    ConfigurationError
        The chosen account has no files.
    """
    if statements.private:  # no archive takes them
        return statements, {}
    if options.only_account is None:
        if len(statements.accounts) > 1 and not _is_of_archive(statements, options):
            _refuse_accounts(statements, options)
        return statements, {}
    chosen = statements.select_account(options.only_account)
    kept = set(chosen.files["file"])
    others = {name: _list_files(statements, name) for name in statements.accounts if name not in chosen.accounts}
    return chosen, {name: [file for file in files if file not in kept] for name, files in others.items()}


def describe_others(plan: ImportPlan, statements: Statements, account: str | None) -> list[str]:
    """Return a line for each file of another account than the named one."""
    name = account or (statements.accounts[0] if len(statements.accounts) == 1 else "the archive's account")
    lines = []
    for file, other, transactions in plan.other_accounts[:MOST_LINES]:
        count = format_count(transactions, "transaction is counted as that", "transactions are counted as those")
        lines.append(clean_line(f"{file} says that it is of {other}: {count} of {name}, as you asked"))
    return _output.end_list(lines, len(plan.other_accounts))


def describe_left_out(left_out: dict[str, list[str]], unnamed: list[str]) -> list[str]:
    """Return a line for the files of each account that are not imported; some accounts only have a service's name."""
    reasons = {name: f"of {clean_line(name)}" for name in left_out}
    reasons |= {name: f"names no account: if it is yours, import it with --account NAME ({name})" for name in unnamed}
    lines = [f"left out, {reasons[name]}: {join_first(files)}" for name, files in left_out.items() if files]
    return _output.end_list(lines[:MOST_LINES], len(lines))


def _list_files(statements: Statements, account: str) -> list[str]:
    files = statements.files
    return list(dict.fromkeys(files.loc[files["account"] == account, "file"]))


def _refuse_accounts(statements: Statements, options: argparse.Namespace) -> None:
    """Raise the error of statements of several accounts, with their files and the commands that import them."""
    files = {name: _list_files(statements, name) for name in statements.accounts}
    unnamed = set(statements.unnamed_accounts)
    named = [name for name in statements.accounts if name not in statements.unnamed_accounts][:MOST_LINES]
    own = [name for name in named if _is_of_archive(statements.select_account(name), options)]
    order = {name: (name in unnamed, name not in own, -len(files[name]), " " in name) for name in files}
    names = sorted(files, key=lambda name: order[name])[:MOST_LINES]
    listed = "; ".join(
        f"{clean_line(name)} ({format_count(len(files[name]), 'file', 'files')}: {join_first(files[name])})"
        for name in names
    )
    here = own if os.path.isdir(options.archive) else names[:1]  # noqa: PTH112 - pathlib is slow to import
    archives = [
        options.archive if name in here else (re.sub(r"[^\w]+", "-", name.casefold()).strip("-_") or "other-archive")
        for name in names
    ]
    options_of = {
        name: "--account YOUR-NAME" if name in unnamed else f"--only-account {shlex.quote(name)}" for name in names
    }
    paths = {name: _find_own_paths(options, files, name) if name in unnamed else options.files for name in names}
    commands = " ; ".join(
        f"p2p-analytics import {shlex.quote(archive)} {_join_paths(paths[name], options)} {options_of[name]}"
        for archive, name in zip(archives, names, strict=True)
    )
    raise ArchiveError(
        f"The statements are of {len(files)} accounts, and an archive holds one account: {listed}. "
        f"{_suggest_one(statements, options)} each into an archive of its own: {commands}"
    )


def _suggest_one(statements: Statements, options: argparse.Namespace) -> str:
    """Return the begin of the advice; with a command if one file can show only the handle, one only the name."""
    handle = find_common_handle(statements)
    if handle is None:
        return "Import"
    paths = _join_paths(options.files, options)
    command = f"p2p-analytics import {shlex.quote(options.archive)} {paths} --account {shlex.quote(handle)}"
    return f"If they are one account: {clean_line(command)} ; if not, import"


def _find_own_paths(options: argparse.Namespace, files: dict[str, list[str]], account: str) -> list[str] | None:
    """Return the paths of the files of an account; None if one is in a zip archive with files of other accounts."""
    known = find_paths(options.files)
    paths: list[str] = []
    for file in files[account]:
        label = next((file[:end] for end in range(len(file), 0, -1) if file[:end] in known), None)
        others = [each for name, listed in files.items() if name != account for each in listed]
        if label is None or any(each.startswith(label) for each in others):
            return None
        paths.append(known[label])
    return list(dict.fromkeys(paths))


def _join_paths(paths: list[str] | None, options: argparse.Namespace) -> str:
    """Return the files of a command, or a word for them if they are many or none can be named."""
    if paths is not None and len(paths) <= _MOST_PATHS:
        return shlex.join(paths)
    return "THE-SAME-FILES" if paths is options.files else "ITS-FILES"


def _is_of_archive(statements: Statements, options: argparse.Namespace) -> bool:
    """Return whether an archive exists and takes statements."""
    if not os.path.isdir(options.archive):  # noqa: PTH112 - pathlib is slow to import
        return False
    try:
        open_archive(options.archive).import_(statements, dry_run=True, repair=options.repair)
    except ArchiveError:
        return False
    return True
