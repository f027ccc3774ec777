"""Sections at the end of a test run: the fault matrix, tables of tests, and the skipped tests."""

from collections import Counter
from collections.abc import Iterable

import pytest

from p2p_analytics.display import format_count

LINES = {"privacy": "attacks on privacy mode", "schemathesis": "schemathesis"}


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Record the kind of fault that a test covers."""
    item.user_properties.extend(("fault", mark.args[0]) for mark in item.iter_markers("fault"))


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print one row for each kind of fault, the sections of tests, and one line for each reason why tests were skipped.

    A test makes a section by ``record_property("section", [title, *lines])`` or adds a line to one of LINES.
    """
    stats = terminalreporter.stats
    reports = [report for outcome in ("passed", "failed") for report in stats.get(outcome, [])]
    recorded = [each for report in reports for each in report.user_properties]
    skips = describe_skips(stats.get("skipped", []))
    if config.option.markexpr.startswith("not (full"):
        skips.append("The tests of `make test-all` and `make soak` were not selected.")
    sections = [
        ("fault matrix", describe_faults(reports)),
        *((value[0], value[1:]) for key, value in recorded if key == "section"),
        *((title, sorted(line for key, line in recorded if key == of)) for of, title in LINES.items()),
        ("skipped", skips),
    ]
    for title, lines in sections:
        if lines:
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.write_line(line)


def describe_faults(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return one row for each kind of fault, with the number of its cells."""
    cells = Counter((kind, each.outcome) for each in reports for name, kind in each.user_properties if name == "fault")
    kinds = {kind: (cells[kind, "passed"], cells[kind, "failed"]) for kind, _ in sorted(cells)}
    return [f"{kind:<8}{sum(each):>4} cells, {each[0]} right, {each[1]} wrong" for kind, each in kinds.items()]


def describe_skips(reports: Iterable[pytest.TestReport | pytest.CollectReport]) -> list[str]:
    """Return one line for each reason, with the number of tests and their files."""
    files: dict[str, Counter[str]] = {}
    for report in reports:
        reason, path = report.longrepr[2].removeprefix("Skipped: "), report.nodeid.partition("::")[0]
        files.setdefault(reason.rstrip("."), Counter())[path.removeprefix("tests/")] += 1
    return [
        f"{reason}: {format_count(counts.total(), 'test', 'tests')} in {', '.join(sorted(counts))}"
        for reason, counts in sorted(files.items())
    ]
