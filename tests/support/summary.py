"""Sections at the end of a test run: the fault matrix, the analyses on every engine, and the skipped tests."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.analyses.equality_table import describe_equality

if TYPE_CHECKING:
    from collections.abc import Iterable


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Record the kind of fault that a test covers."""
    item.user_properties.extend(("fault", mark.args[0]) for mark in item.iter_markers("fault"))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print one row for each kind of fault, and one line for each reason why tests were skipped."""
    cells: Counter[tuple[str, str]] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            cells.update((kind, outcome) for name, kind in report.user_properties if name == "fault")
    if cells:
        terminalreporter.section("fault matrix")
        for kind in sorted({kind for kind, _ in cells}):
            right, wrong = cells[kind, "passed"], cells[kind, "failed"]
            terminalreporter.write_line(f"{kind:<8}{right + wrong:>4} cells, {right} right, {wrong} wrong")
    reports = (report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, []))
    if table := describe_equality(reports):
        terminalreporter.section("analyses on every engine")
        for line in table:
            terminalreporter.write_line(line)
    lines = describe_skips(terminalreporter.stats.get("skipped", []))
    if config.option.markexpr == "not soak":
        lines.append("The long load and fault runs (marker soak) were not selected: `make soak` runs them.")
    if lines:
        terminalreporter.section("skipped")
        for line in lines:
            terminalreporter.write_line(line)


def describe_skips(reports: Iterable[pytest.TestReport | pytest.CollectReport]) -> list[str]:
    """Return one line for each reason, with the number of tests and their files."""
    files: dict[str, Counter[str]] = {}
    for report in reports:
        assert isinstance(report.longrepr, tuple)
        reason = report.longrepr[2].removeprefix("Skipped: ")
        files.setdefault(reason, Counter())[report.nodeid.partition("::")[0]] += 1
    return [
        f"{reason.rstrip('.')}: {plural(counts.total(), 'test')} in {', '.join(sorted(map(short, counts)))}"
        for reason, counts in sorted(files.items())
    ]


def short(path: str) -> str:
    """Return a path without the folder of the tests."""
    return str(Path(path).relative_to("tests")) if path.startswith("tests/") else path


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
