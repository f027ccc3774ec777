"""The table of the interface document, and the line at the end of a run that counts it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests
from contract import document

from p2p_analytics.sandbox import SandboxServer

if TYPE_CHECKING:
    from collections.abc import Iterator

_TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def table() -> Any:
    """Return the module that holds the table."""
    return document


@pytest.fixture(scope="module", params=["documented", "observed"])
def server(request: pytest.FixtureRequest) -> Iterator[SandboxServer]:
    """Serve the same town in each dialect."""
    with SandboxServer(people=6, years=2, dialect=request.param) as running:
        yield running
        assert running.audit() == []


@pytest.fixture(scope="module")
def description(server: SandboxServer) -> Any:
    """Return the description as it is served: below the origin, without a token."""
    response = requests.get(server.base_url.removesuffix("/v1") + "/sandbox/openapi.json", timeout=10)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    return response.json()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Tell how many rows the table has, how many of each kind, and what became of their tests in this run."""
    passed, broken = (_tests_that_ended(terminalreporter, *how) for how in (("passed",), ("failed", "error")))
    told = summary(document.ROWS, passed - broken, broken)
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
    """Return the tests with these outcomes, named as in the table, all parameters of a function together."""
    reports = [report for one in how for report in reporter.stats.get(one, ())]
    root = f"{_TESTS.name}/"
    return {report.nodeid.partition("[")[0].removeprefix(root) for report in reports if hasattr(report, "nodeid")}
