"""The figures of the attacks on privacy mode, printed at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each figure that a test recorded."""
    lines = [
        value
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        for name, value in report.user_properties
        if name == "privacy"
    ]
    if lines:
        terminalreporter.section("attacks on privacy mode")
        for line in sorted(lines):
            terminalreporter.write_line(line)
