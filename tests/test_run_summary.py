"""Summary of skipped tests at the end of a test run."""

from __future__ import annotations

import pytest

from support.summary import describe_skips


def skipped_report(nodeid: str, reason: str) -> pytest.TestReport:
    """Return the report of a skipped test."""
    file = nodeid.partition("::")[0]
    longrepr = (file, 1, reason)
    return pytest.TestReport(nodeid, (file, 1, nodeid), {}, "skipped", longrepr, "setup")


def test_each_reason_has_one_line() -> None:
    """A line has the reason, the number of its tests, and each of their files once; reasons are sorted."""
    browser = "Skipped: Chromium is not installed."
    reports = [
        skipped_report("tests/browser/test_pages.py::test_one", browser),
        skipped_report("tests/browser/test_lab.py::test_one", browser),
        skipped_report("tests/browser/test_lab.py::test_two[a::b]", browser),
        skipped_report("p2p_analytics/money.py::p2p_analytics.money", "no doctest here"),
        skipped_report("tests/test_money.py::test_one", "Skipped: Arrow is missing"),
    ]
    assert describe_skips(reports) == [
        "Arrow is missing: 1 test in test_money.py",
        "Chromium is not installed: 3 tests in browser/test_lab.py, browser/test_pages.py",
        "no doctest here: 1 test in p2p_analytics/money.py",
    ]


def test_a_run_without_skips_has_no_lines() -> None:
    """The section is omitted."""
    assert describe_skips([]) == []
