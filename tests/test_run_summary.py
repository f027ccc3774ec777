"""Summary of skipped tests at the end of a test run, and the tests that `make quick` selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from quick import mirror
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


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("p2p_analytics/money.py", "tests/test_money.py"),
        ("p2p_analytics/plots/_parts/text.py", "tests/plots/test_text.py"),
        ("p2p_analytics/client/http/_throttle.py", "tests/client/http/test_throttle.py"),
        ("p2p_analytics/client", "tests/client"),
        ("p2p_analytics/vocabulary.py", None),
        ("tests/test_money.py", "tests/test_money.py"),
        ("tests/plots/conftest.py", "tests/plots"),
        ("tests/support/frames.py", None),
        ("README.md", "tests/documents"),
        ("notebooks/dashboard.ipynb", "tests/notebooks"),
    ],
)
def test_quick_mirrors_a_changed_file(changed: str, tests: str | None) -> None:
    """A file has the test file of its name, else the folder of its package; helpers of all tests have none."""
    assert mirror(Path(changed)) == (tests and Path(tests))
