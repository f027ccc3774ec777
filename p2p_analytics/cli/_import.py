"""The command ``import``: statement files into an archive."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

import pandas as pd

from p2p_analytics.archive import Archive, ImportPlan, open_archive
from p2p_analytics.cli import _options, _output, _preview
from p2p_analytics.cli._output import MOST_LINES
from p2p_analytics.display import clean_line, describe_kinds, format_count, format_money, join_first
from p2p_analytics.errors import ArchiveError, ConfigurationError, MemberNeededError
from p2p_analytics.frames.schema import GAP, list_files_after_gaps, list_wrong_files
from p2p_analytics.statements import (
    Statements,
    describe_balances,
    find_common_handle,
    find_paths,
    find_service,
    find_title,
    list_formats,
    list_refused,
    list_skipped,
    read_format,
    read_statements,
    register_format,
)

_FEW_LINES: Final = 5  # of problems of rows, which a table of the archive lists
_FORMATS: Final = " The known formats are "  # the end of a reason, which would be in each line
_OUTCOMES: Final = ("new", "known", "changed", "refused", "removed")
_GONE: Final = "a newer export, or its file when it was read again, does not have it"  # of a removed transaction
_MOST_SKIPPED: Final = 3  # files with a line each
_SOME_REFUSED: Final = 3  # the exit code
_DOUBLES: Final = ("copy", "possible_double")  # codes of problems
_MOST_PATHS: Final = 3  # in a command


def run_command(options: argparse.Namespace) -> int:
    """Add statement files to an archive (a dry run changes nothing), print the counts, and return the exit code."""
    if os.path.isfile(options.archive):  # noqa: PTH113 - pathlib is slow to import
        folder, files = "mypayments", [options.archive, *options.files]
        if not os.path.isfile(files[-1]):  # noqa: PTH113 - the same
            *files, folder = files
        raise _options.WrongUseError(
            f"{options.archive} is a file, and the first word is the folder in which payments are kept. Did you mean: "
            f"p2p-analytics import {shlex.quote(folder)} "
            f"{shlex.join(files) if len(files) <= _MOST_PATHS else 'YOUR-FILES'}"
        )
    archive = open_archive(options.archive)
    progress = _output.Progress(options.progress)
    for path in archive.formats:
        register_format(read_format(path))
    own_formats = {path: register_format(read_format(path)).name for path in options.format}
    progress.log(f"Reading {format_count(len(options.files), 'path', 'paths')} ...")
    statements = read_files(archive, options, progress)
    refuse_zone(statements, options)
    skipped, refused = list_skipped(statements.problems), list_refused(statements.problems)
    unnamed = statements.unnamed_accounts  # some accounts only have a service's name
    statements, left_out = choose_account(statements, options)
    reasons = {name: f"of {clean_line(name)}" for name in left_out}
    reasons |= {name: f"names no account: if it is yours, import it with --account NAME ({name})" for name in unnamed}
    unused = [f"left out, {reasons[name]}: {join_first(files)}" for name, files in left_out.items() if files]
    transactions = format_count(len(statements.payments), "transaction", "transactions")
    progress.log(f"Comparing {transactions} with {options.archive} ...")
    plan = archive.import_(statements, dry_run=options.dry_run, repair=options.repair)
    if not options.dry_run:
        for path, name in own_formats.items():
            archive.keep_format(path, name)
    of_services = statements.files.drop_duplicates("file")["format"].map(find_service).value_counts()
    services = {str(name): int(count) for name, count in of_services.items()}
    lines = [
        *_describe_counts(plan, statements, services, options),
        *[f"refused: {clean_line(_options.name_options(reason))}" for _, reason in refused],
        *_describe_files(plan, statements, skipped, options),
        *_output.end_list(unused[:MOST_LINES], len(unused)),
        *_describe_transactions(plan, options),
        *_describe_problems(plan.problems, options),
    ]
    if options.dry_run and plan.payments is not None:
        lines += _preview.describe_months(plan.payments)
        lines += _preview.describe_rows(plan.payments, options.rows)
    checked = statements.reconciliation["reconciled"].dropna()
    _output.print_summary(
        options,
        "\n".join(lines),
        archive=options.archive,
        dry_run=options.dry_run,
        files=int(statements.files["file"].nunique()),
        services=services,
        **{name: getattr(plan, name) for name in _OUTCOMES},
        kinds=plan.kinds.set_index("kind").to_dict("index"),
        reconciled=int(checked.sum()),
        balances=len(checked),
        not_adding_up=list_wrong_files(statements.problems),
        after_gaps=list_files_after_gaps(plan.problems),
        problems=len(plan.problems),
        possible_doubles=plan.problems.loc[plan.problems["code"].isin(_DOUBLES), "file"].tolist(),
        other_accounts=[other._asdict() for other in plan.other_accounts],
        left_out=left_out,
        new_services=plan.new_services,
        skipped=[{"file": file, "reason": reason} for file, reason in skipped],
        refused_files=[{"file": file, "reason": reason} for file, reason in refused],
    )
    return _SOME_REFUSED if refused else 0


# ---- lines of the summary


def _describe_counts(
    plan: ImportPlan, statements: Statements, services: dict[str, int], options: argparse.Namespace
) -> list[str]:
    """Return the counts of transactions that are not zero, and of files, balances and problems."""
    new = zip(plan.kinds["kind"], plan.kinds["new"], strict=True)
    kinds = describe_kinds({kind: count for kind, count in new if count})
    counts = [
        format_count(plan.new, "new transaction", "new transactions") + (f" ({kinds})" if kinds else ""),
        *(f"{getattr(plan, name):,} {name}" for name in _OUTCOMES[1:] if getattr(plan, name)),
    ]
    names = {service: _name_service(service) for service in services}
    found = [
        *(format_count(count, f"{names[each]} file", f"{names[each]} files") for each, count in services.items()),
        describe_balances(statements.reconciliation),
        format_count(len(plan.problems), "problem", "problems"),
    ]
    return [f"{'Dry run: ' if options.dry_run else ''}{', '.join(counts)}, in {options.archive}", ", ".join(found)]


def _name_service(service: str) -> str:
    return clean_line(find_title(service))


def _describe_files(
    plan: ImportPlan, statements: Statements, skipped: Sequence[tuple[str, str]], options: argparse.Namespace
) -> list[str]:
    """Return lines for skipped files, wrong balances, gaps and files of other accounts; the first of many."""
    if len(skipped) > _MOST_SKIPPED and not options.verbose:
        lines = [f"{len(skipped):,} other files were skipped, because they are not statements; --verbose lists them"]
    else:
        lines = [f"skipped: {clean_line(reason.partition(_FORMATS)[0])}" for _, reason in skipped]
    lines += _list_wrong_balances(statements)
    gaps = plan.problems[plan.problems["code"] == GAP]
    found = zip(gaps["file"].head(MOST_LINES), gaps["problem"].head(MOST_LINES), strict=True)
    lines += _output.end_list([clean_line(f"{file}: {problem}") for file, problem in found], len(gaps))
    one = statements.accounts[0] if len(statements.accounts) == 1 else "the archive's account"
    others = [
        f"{file} says that it is of {other}: "
        + format_count(transactions, "transaction is counted as that", "transactions are counted as those")
        + f" of {options.account or one}, as you asked"
        for file, other, transactions in plan.other_accounts[:MOST_LINES]
    ]
    return [*lines, *_output.end_list([*map(clean_line, others)], len(plan.other_accounts))]


def _list_wrong_balances(statements: Statements) -> Iterator[str]:
    """Yield a line for each file with rows that do not add up; the first of many."""
    rows = statements.reconciliation
    is_wrong = (~rows["reconciled"]).fillna(value=False) & rows["file"].isin(list_wrong_files(statements.problems))
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
        yield clean_line(f"{row['file']}: {', '.join(found)}")


def _describe_transactions(plan: ImportPlan, options: argparse.Namespace) -> list[str]:
    """Return lines for services new to the archive, refused payments and, for a dry run, changed ones."""
    names = ", ".join(map(_name_service, plan.new_services))
    advice = "they are counted together with those of other services; to keep them apart, give them another archive"
    shown = plan.details if options.dry_run else plan.details[plan.details["outcome"] == "refused"]
    lines = [
        clean_line(
            f"{row['file']}, line {row['line']}: {row['payment_id']} is {row['outcome']} ({row['fields'] or _GONE})"
        )
        for row in shown.head(MOST_LINES).to_dict("records")
    ]
    return [f"new to this archive: {names}: {advice}"] * bool(names) + _output.end_list(lines, len(shown))


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
    lines = []
    for row in _output.list_records(problems):
        place = f"{row['file']}, line {row['line']}" if row["line"] else row["file"]
        value = f" {row['value']!r}" if row["value"] else ":"
        lines.append(clean_line(f"{place}: {row['field']}{value} {row['problem']}"))
    return lines


# ---- reading of the files: members of groups, and zones


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
        problems = statements.collect()[0].problems
        group = next((each for each in problems if each.code == "refused" and each.field == "member"), None)
        member = group and _choose_member(archive, options, group.file, group.details[1:])
    return statements if member is None else read(member)


def _choose_member(archive: Archive, options: argparse.Namespace, file: str, members: Sequence[str]) -> str | None:
    """Return the user's name in a group: the member that the archive names, or the user's answer."""
    if options.member is not None or not members:
        return None
    known = {name.strip().casefold(): name for name in members}
    try:
        own = [known[name.strip().casefold()] for name in archive.holder_names if name.strip().casefold() in known]
    except (ArchiveError, ConfigurationError):  # broken files, or privacy mode, which the import names
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
        raise _options.WrongUseError(
            f"The times in {clean_line(file)} are always {zones[name]}, so --tz {options.tz} would move them: leave "
            "out --tz here, and choose the zone that you see with: "
            f"p2p-analytics report {shlex.quote(options.archive)} --tz {options.tz}"
        )


# ---- files of several accounts: one is imported, and the others are listed


def choose_account(statements: Statements, options: argparse.Namespace) -> tuple[Statements, dict[str, list[str]]]:
    """Return the statements to import, and the files of each account that is left out.

    Several accounts stay together if all belong to the archive. Without a choice, several others are an ArchiveError.
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
    commands = []
    for name in names:
        folder = re.sub(r"[^\w]+", "-", name.casefold()).strip("-_") or "other-archive"
        archive = shlex.quote(options.archive if name in here else folder)
        if name in unnamed:
            option, paths = "--account YOUR-NAME", _find_own_paths(options, files, name)
        else:
            option, paths = f"--only-account {shlex.quote(name)}", options.files
        commands.append(f"p2p-analytics import {archive} {_join_paths(paths, options)} {option}")
    advice = "Import"
    if (handle := find_common_handle(statements)) is not None:  # one file can show only the handle, one only the name
        given = _join_paths(options.files, options)
        command = f"p2p-analytics import {shlex.quote(options.archive)} {given} --account {shlex.quote(handle)}"
        advice = f"If they are one account: {clean_line(command)} ; if not, import"
    raise ArchiveError(
        f"The statements are of {len(files)} accounts, and an archive holds one account: {listed}. "
        f"{advice} each into an archive of its own: {' ; '.join(commands)}"
    )


def _find_own_paths(options: argparse.Namespace, files: dict[str, list[str]], account: str) -> list[str] | None:
    """Return the paths of the files of an account; None if one is in a zip archive with files of other accounts."""
    known = find_paths(options.files)
    others = [each for name, listed in files.items() if name != account for each in listed]
    paths: list[str] = []
    for file in files[account]:
        label = next((file[:end] for end in range(len(file), 0, -1) if file[:end] in known), None)
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
