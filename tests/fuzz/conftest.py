"""The lines at the end of a run: how many generated requests were sent, and the seed."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what each test recorded of its run, whether it passed or failed."""
    reports = [report for how in ("passed", "failed") for report in terminalreporter.stats.get(how, ())]
    told = [value for report in reports for name, value in report.user_properties if name == "schemathesis"]
    if told:
        terminalreporter.section("schemathesis")
    for line in told:
        terminalreporter.write_line(line)
