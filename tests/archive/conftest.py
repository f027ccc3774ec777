"""A scripted service, an archive of its payments, and processes that are killed while they change an archive."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import p2p_analytics as p2p
from support.archives.payments_service import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from p2p_analytics.archive import Archive


@pytest.fixture
def service(start_service, payment) -> Service:
    """Serve sixty payments."""
    return Service(start_service, payment)


@pytest.fixture
def archive(service, tmp_path, monkeypatch) -> Archive:
    """Return an archive of the service's payments, in several files."""
    monkeypatch.setattr("p2p_analytics.archive._service.MOST_ROWS", 12)
    monkeypatch.setattr("p2p_analytics.archive._service._USUAL_ROWS", 10)
    synced = p2p.open_archive(tmp_path / "archive")
    with service.client() as client:
        assert synced.sync(client).added == 60
    return synced


@pytest.fixture(params=[pytest.param(9, id="some"), pytest.param(1, id="all", marks=pytest.mark.soak)])
def kills(request) -> range:
    """Return the steps at which processes are really killed; all of them take long."""
    return range(0, 100, request.param)


@pytest.fixture
def change_archive() -> Iterator[Callable[..., int]]:
    """Return a function that changes an archive in a process, which may be killed, and returns its exit code."""
    with subprocess.Popen(  # noqa: S603 - our own file
        [sys.executable, str(Path(__file__).with_name("change_and_kill.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def order(**words: Any) -> int:
            process.stdin.write(json.dumps(words) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield order
        process.stdin.close()
