"""The command ``people``: the people behind the names in statements."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

import pandas as pd

from p2p_analytics.archive import open_archive
from p2p_analytics.cli import _output
from p2p_analytics.display import clean_line, format_count, join_first

_MOST_OTHERS: Final = 10
_MOST_ROWS: Final = 200


def run_command(options: argparse.Namespace) -> None:
    """Print the people behind the names in statements, and write the suggestions."""
    archive = open_archive(options.archive)
    path = Path(options.archive) / archive.write_people().name
    people = archive.people
    is_matched = people["matched"].notna()
    is_suggested = ~is_matched & people["person"].notna()
    is_unused = people["payments"] == 0
    groups = {"matched": is_matched, "suggested": is_suggested, "others": ~is_matched & ~is_suggested & ~is_unused}
    counts = {name: int(people.loc[rows, "alias"].nunique()) for name, rows in groups.items()}
    rows = people[is_matched | is_suggested]
    table = [("Name", "Person", "Evidence")]
    for row in _output.list_records(rows.head(_MOST_ROWS)):
        person = f"@{row['username']}" if row["username"] else row["person"]
        table.append((row["alias"], person if row["matched"] else f"{person} ?", row["evidence"]))
    lines = [
        *(_output.align_rows(table) if len(rows) else []),
        *([f"... and {len(rows) - _MOST_ROWS:,} more, in {path}"] if len(rows) > _MOST_ROWS else []),
        *_describe_counts(people[groups["others"]], counts),
        *(f"Without effect: {why}" for why in people.loc[is_unused, "evidence"].head(_MOST_ROWS)),
    ]
    if counts["suggested"]:
        lines.append(f"Suggestions are in {path}: remove the ? before a person to accept one.")
    if any(counts.values()):
        person = "another name, a user id, or user: and a username; leave it empty to keep the name apart"
        lines.append(f"To decide yourself, add a line to {path}: the name, a comma, and who it is ({person}).")
    _output.print_summary(
        options, "\n".join(lines), archive=options.archive, file=str(path), **counts, names=_output.list_records(people)
    )


def _describe_counts(others: pd.DataFrame, counts: dict[str, int]) -> list[str]:
    """Return the number of names in each group, and the most frequent unmatched names."""
    if not any(counts.values()):
        return ["No statement in this archive shows a name that the service does not list: nothing has to be matched."]
    frequent = others.sort_values(["payments", "alias"], ascending=[False, True])["alias"].tolist()
    shown = join_first([clean_line(name)[: _output.WIDEST] for name in frequent], _MOST_OTHERS)
    matched = format_count(counts["matched"], "name", "names")
    known_by_name = format_count(counts["others"], "other is", "others are")
    return [
        f"{matched} matched to people, {counts['suggested']:,} with suggestions; {known_by_name} known by name only"
        + (f": {shown}" if shown else "")
    ]
