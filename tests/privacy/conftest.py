"""A service with answers full of secrets; the figures of the attacks are printed at the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import pytest

from support.privacy.masking import FRIEND, ME, SENT, ZEB

if TYPE_CHECKING:
    from collections.abc import Iterator


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


@pytest.fixture
def service(start_service):
    """Serve a history full of secrets."""
    lists = {
        "/v1/me": {"data": {"balance": "8765432.19", "user": ME}},
        "/v1/payments": {"data": SENT[::-1], "pagination": None},
        f"/v1/users/{ME['id']}/friends": {"data": [ZEB, FRIEND], "pagination": None},
    }
    return start_service(lambda path, _sent: lists[path]), lists


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    mpl.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
