"""Sections at the end of a run: the cells of the fault matrix, and the tests that were skipped."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Record of which kind of fault a test is a cell."""
    item.user_properties.extend(("fault", mark.args[0]) for mark in item.iter_markers("fault"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one row for each kind of fault."""
    cells: Counter[tuple[str, str]] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            cells.update((kind, outcome) for name, kind in report.user_properties if name == "fault")
    if cells:
        terminalreporter.section("fault matrix")
        for kind in sorted({kind for kind, _ in cells}):
            right, wrong = cells[kind, "passed"], cells[kind, "failed"]
            terminalreporter.write_line(f"{kind:<8}{right + wrong:>4} cells, {right} right, {wrong} wrong")
