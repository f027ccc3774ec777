"""The table of the interface document, and the line at the end of a run that counts it."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

_FILE = Path(__file__).with_name("document.py")
_TESTS = _FILE.parents[1]


def _table() -> Any:
    """Load document.py, which no import finds because test folders are no packages."""
    name = "interface_document_table"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, _FILE)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session")
def table() -> Any:
    """Return the module that holds the table."""
    return _table()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Tell how many rows the table has, how many of each kind, and what became of their tests in this run."""
    passed, broken = (_tests_that_ended(terminalreporter, *how) for how in (("passed",), ("failed", "error")))
    told = summary(_table().ROWS, passed - broken, broken)
    terminalreporter.section("interface document")
    for line in told:
        terminalreporter.write_line(line)


def summary(rows: list[Any], passed: set[str], broken: set[str]) -> list[str]:
    """Return the lines to print for a run in which these tests passed and those did not."""
    tied = [row for row in rows if row.test]
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(row.kind for row in rows).items()))
    untied = f" but {len(rows) - len(tied)} statements" if len(tied) < len(rows) else ""
    lines = [
        f"interface document: {len(rows)} rows, all{untied} tied to tests ({kinds})",
        f"{sum(row.test in passed for row in tied)} of {len(tied)} were shown in this run",
    ]
    return lines + [f"not so: {row.section}: {row.item} ({row.test})" for row in tied if row.test in broken]


def _tests_that_ended(reporter: Any, *how: str) -> set[str]:
    """Return the functions whose reports ended so, as the table names them; of each, all parameters together."""
    reports = [report for one in how for report in reporter.stats.get(one, ())]
    root = f"{_TESTS.name}/"
    return {report.nodeid.partition("[")[0].removeprefix(root) for report in reports if hasattr(report, "nodeid")}
