"""Statement files of several accounts: one is imported, and the others are listed."""

from __future__ import annotations

import os
import re
import shlex

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from typing import Final

    from p2p_analytics.archive import ImportPlan
    from p2p_analytics.statements import Statements

_MOST_PATHS: Final = 3
_MOST_LINES: Final = 20


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
    """Return a line for each file that says that it is of another account than the one that was named."""
    from p2p_analytics.display import clean_line, format_count

    name = account or (statements.accounts[0] if len(statements.accounts) == 1 else "the archive's account")
    lines = []
    for file, other, transactions in plan.other_accounts[:_MOST_LINES]:
        count = format_count(transactions, "transaction is counted as that", "transactions are counted as those")
        lines.append(clean_line(f"{file} says that it is of {other}: {count} of {name}, as you asked"))
    return _end_lines(lines, len(plan.other_accounts))


def describe_left_out(left_out: dict[str, list[str]], unnamed: list[str]) -> list[str]:
    """Return a line for the files of each account that are not imported; some accounts only have a service's name."""
    from p2p_analytics.display import clean_line, join_first

    reasons = {name: f"of {clean_line(name)}" for name in left_out}
    reasons |= {name: f"names no account: if it is yours, import it with --account NAME ({name})" for name in unnamed}
    lines = [f"left out, {reasons[name]}: {join_first(files)}" for name, files in left_out.items() if files]
    return _end_lines(lines[:_MOST_LINES], len(lines))


def _end_lines(lines: list[str], count: int) -> list[str]:
    return [*lines, f"... and {count - _MOST_LINES:,} more"] if count > _MOST_LINES else lines


def _list_files(statements: Statements, account: str) -> list[str]:
    files = statements.files
    return list(dict.fromkeys(files.loc[files["account"] == account, "file"]))


def _refuse_accounts(statements: Statements, options: argparse.Namespace) -> None:
    """Raise the error of statements of several accounts, with their files and the commands that import them."""
    from p2p_analytics.display import clean_line, format_count, join_first
    from p2p_analytics.errors import ArchiveError

    files = {name: _list_files(statements, name) for name in statements.accounts}
    unnamed = set(statements.unnamed_accounts)
    own = _find_own_accounts(statements, options)
    order = {name: (name in unnamed, name not in own, -len(files[name]), " " in name) for name in files}
    names = sorted(files, key=lambda name: order[name])[:_MOST_LINES]
    listed = "; ".join(
        f"{clean_line(name)} ({format_count(len(files[name]), 'file', 'files')}: {join_first(files[name])})"
        for name in names
    )
    here = own if os.path.isdir(options.archive) else names[:1]  # noqa: PTH112 - pathlib is slow to import
    archives = [options.archive if name in here else _name_archive(name) for name in names]
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
    from p2p_analytics.display import clean_line
    from p2p_analytics.statements import find_common_handle

    handle = find_common_handle(statements)
    if handle is None:
        return "Import"
    paths = _join_paths(options.files, options)
    command = f"p2p-analytics import {shlex.quote(options.archive)} {paths} --account {shlex.quote(handle)}"
    return f"If they are one account: {clean_line(command)} ; if not, import"


def _find_own_paths(options: argparse.Namespace, files: dict[str, list[str]], account: str) -> list[str] | None:
    """Return the paths of the files of an account; None if one is in a zip archive with files of other accounts."""
    from p2p_analytics.statements import find_paths

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


def _find_own_accounts(statements: Statements, options: argparse.Namespace) -> list[str]:
    """Return the accounts of statements that an archive takes, if it exists; accounts without a name are left out."""
    named = [name for name in statements.accounts if name not in statements.unnamed_accounts][:_MOST_LINES]
    return [name for name in named if _is_of_archive(statements.select_account(name), options)]


def _is_of_archive(statements: Statements, options: argparse.Namespace) -> bool:
    """Return whether an archive exists and takes statements."""
    from p2p_analytics.archive import open_archive
    from p2p_analytics.errors import ArchiveError

    if not os.path.isdir(options.archive):  # noqa: PTH112 - pathlib is slow to import
        return False
    try:
        open_archive(options.archive).import_(statements, dry_run=True, repair=options.repair)
    except ArchiveError:
        return False
    return True


def _name_archive(account: str) -> str:
    """Return a name for the folder of an account."""
    return re.sub(r"[^\w]+", "-", account.casefold()).strip("-_") or "other-archive"
