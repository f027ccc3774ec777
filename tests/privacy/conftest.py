"""A service with answers full of secrets."""

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import pytest

import p2p_analytics as p2p
from support.privacy.masking import FRIEND, ME, SENT, ZEB, load
from support.scripted import ScriptedService


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


def list_answers() -> dict[str, Any]:
    """Return the answers of a service with a history full of secrets."""
    return {
        "/v1/me": {"data": {"balance": "8765432.19", "user": ME}},
        "/v1/payments": {"data": SENT[::-1], "pagination": None},
        f"/v1/users/{ME['id']}/friends": {"data": [ZEB, FRIEND], "pagination": None},
    }


@pytest.fixture
def service(start_service):
    """Serve a history full of secrets, which the test may change."""
    lists = list_answers()
    return start_service(lambda path, _sent: lists[path]), lists


@pytest.fixture(scope="session")
def history() -> Iterator[p2p.History]:
    """Return that history, without privacy mode; tests do not change it."""
    lists = list_answers()
    service = ScriptedService(lambda path, _sent: lists[path])
    yield load([service])
    service.close()


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    mpl.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
