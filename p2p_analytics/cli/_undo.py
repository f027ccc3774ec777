"""The command ``undo``: take the last import of statement files back."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from p2p_analytics.archive import open_archive
from p2p_analytics.cli import _options, _output, _preview
from p2p_analytics.display import format_count, join_first

_FEW_ROWS: Final = 5


def run_command(options: argparse.Namespace) -> int:
    """Show the rows of the last import, ask, and take the import back; return the exit code."""
    archive = open_archive(options.archive)
    if not options.yes:
        plan = archive.preview_undo()
        if options.json or not _output.is_terminal():
            raise _options.WrongUseError(
                "Nothing was undone, because no question can be asked here: add --yes to take import "
                f"{plan.number} back ({join_first(plan.files)})."
            )
        rows = format_count(len(plan.payments), "transaction goes", "transactions go")
        changed = f", {plan.changed:,} get their earlier values back" if plan.changed else ""
        back = format_count(plan.restored, "transaction", "transactions")
        restored = f", {back} that it removed will be back" if plan.restored else ""
        about = f"Import {plan.number} of {join_first(plan.files)}: {rows}{changed}{restored}"
        sys.stdout.write("\n".join([about, *_preview.describe_rows(plan.payments, _FEW_ROWS), ""]))
        if _output.ask(f"Take it back out of {options.archive}? [y/N] ").strip().casefold() not in {"y", "yes"}:
            sys.stdout.write("Nothing was undone.\n")
            return 1
    (undone,) = archive.undo().to_dict("records")
    left = len(archive.imports)
    files = undone["files"].split("; ")
    counts = [format_count(undone["new"], "new transaction", "new transactions")]
    counts += [f"{undone['changed']:,} changed"] if undone["changed"] else []
    _output.print_summary(
        options,
        f"Import {undone['number']} of {join_first(files)} ({', '.join(counts)}) is undone, in {options.archive}: "
        f"{format_count(left, 'import is', 'imports are')} left",
        archive=options.archive,
        number=undone["number"],
        files=files,
        new=undone["new"],
        changed=undone["changed"],
        left=left,
    )
    return 0
