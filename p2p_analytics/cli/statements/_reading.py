"""Reading of the files of an import: formats of the user's own, members of groups, and zones."""

from __future__ import annotations

import shlex

from p2p_analytics.cli import _arguments, _output

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from p2p_analytics.archive import Archive
    from p2p_analytics.statements import Statements


def register_formats(archive: Archive, options: argparse.Namespace) -> dict[str, str]:
    """Register the formats that the archive keeps, then the given ones; return the paths and names of the latter."""
    from p2p_analytics.statements import read_format, register_format

    for path in archive.formats:
        register_format(read_format(path))
    return {path: register_format(read_format(path)).name for path in options.format}


def read_files(archive: Archive, options: argparse.Namespace, progress: _output.Progress) -> Statements:
    """Return the statements of the given files; a group's file that does not say who the user is may need a choice."""
    from p2p_analytics.errors import MemberNeededError
    from p2p_analytics.statements import read_statements

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
    """Return the member of a group that the user is: one with a name that the archive knows, or the user's answer."""
    from p2p_analytics.display import clean_line
    from p2p_analytics.errors import ArchiveError

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
    from p2p_analytics.display import clean_line
    from p2p_analytics.statements import list_formats

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
