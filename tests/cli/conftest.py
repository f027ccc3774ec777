"""An archive, and processes of the command line, for the tests of the commands."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# A shell that runs jobs in the background makes them ignore Ctrl-C, and children inherit that.
_WITH_CTRL_C = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from p2p_analytics.cli import main; sys.exit(main())"
)


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Give a function that starts the command line as a terminal would; its processes end with the test."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("P2P_")}
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and words
            [sys.executable, "-u", "-c", _WITH_CTRL_C, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def _two_payments(tmp_path_factory, history_of, payment) -> Path:
    """Return an archive of two payments, which tests copy."""
    folder = tmp_path_factory.mktemp("two-payments") / "a"
    pending = payment(2, status="pending", action="charge", date_created="2024-05-31T23:30:00", note="rent")
    p2p.open_archive(folder).merge(history_of(payment(1), pending))
    return folder


@pytest.fixture
def archive_path(tmp_path, _two_payments) -> str:
    """Return the path of an archive of two payments."""
    return str(shutil.copytree(_two_payments, tmp_path / "a"))
