"""Table of the interface document, and the summary at the end of a run."""

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
    """Return the module of the table."""
    return document


@pytest.fixture(scope="module", params=["documented", "observed"])
def dialect_server(request: pytest.FixtureRequest) -> Iterator[SandboxServer]:
    """Run the same town in each dialect."""
    with SandboxServer(people=6, years=2, dialect=request.param) as running:
        yield running
        assert running.audit() == []


@pytest.fixture(scope="module")
def description(dialect_server: SandboxServer) -> Any:
    """Return the OpenAPI document, which is served at the origin without a token."""
    response = requests.get(dialect_server.base_url.removesuffix("/v1") + "/sandbox/openapi.json", timeout=10)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    return response.json()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the number of rows of the table, in total and by kind, and the results of their tests."""
    passed, broken = (_tests_by_outcome(terminalreporter, *how) for how in (("passed",), ("failed", "error")))
    lines = format_summary(document.ROWS, passed - broken, broken)
    terminalreporter.section("interface document")
    for line in lines:
        terminalreporter.write_line(line)


def format_summary(rows: list[Any], passed: set[str], broken: set[str]) -> list[str]:
    """Return the lines to print for the tests that passed and the tests that did not."""
    tied = [row for row in rows if row.test]
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(Counter(row.kind for row in rows).items()))
    untied = f" but {len(rows) - len(tied)} statements" if len(tied) < len(rows) else ""
    lines = [
        f"interface document: {len(rows)} rows, all{untied} tied to tests ({kinds})",
        f"{sum(row.test in passed for row in tied)} of {len(tied)} were shown in this run",
    ]
    return lines + [f"not so: {row.section}: {row.item} ({row.test})" for row in tied if row.test in broken]


def _tests_by_outcome(reporter: Any, *how: str) -> set[str]:
    """Return the tests with these outcomes, named as in the table, without parameters."""
    reports = [report for one in how for report in reporter.stats.get(one, ())]
    root = f"{_TESTS.name}/"
    return {report.nodeid.partition("[")[0].removeprefix(root) for report in reports if hasattr(report, "nodeid")}
