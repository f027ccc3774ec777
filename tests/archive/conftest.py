"""A scripted service, an archive of its payments, and processes that are killed while they change an archive."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import p2p_analytics as p2p
from support.archives.payments_service import Service
from support.archives.steps import Copies
from support.scripted import ScriptedService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from p2p_analytics.archive import Archive

DONE, KILLED = 0, -signal.SIGKILL


@pytest.fixture
def service(start_service, payment) -> Service:
    """Serve sixty payments."""
    return Service(start_service, payment)


@pytest.fixture(scope="session")
def synced_folder(tmp_path_factory, payment) -> Path:
    """Return the folder of an archive of the service's payments, ten in a file."""
    folder: Path = tmp_path_factory.mktemp("synced") / "archive"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("p2p_analytics.archive._service.MOST_ROWS", 12)
        patch.setattr("p2p_analytics.archive._service._USUAL_ROWS", 10)
        service = Service(ScriptedService, payment)
        with service.client() as client:
            assert p2p.open_archive(folder).sync(client).added == 60
    service.running.close()
    return folder


@pytest.fixture
def archive(synced_folder: Path, tmp_path: Path, monkeypatch) -> Archive:
    """Return a copy of this archive."""
    monkeypatch.setattr("p2p_analytics.archive._service.MOST_ROWS", 12)
    monkeypatch.setattr("p2p_analytics.archive._service._USUAL_ROWS", 10)
    return p2p.open_archive(shutil.copytree(synced_folder, tmp_path / "archive"))


@pytest.fixture(params=[pytest.param(13, id="some"), pytest.param(1, id="all", marks=pytest.mark.soak)])
def leave_behind(request, tmp_path, change_archive) -> Callable[..., list[Archive]]:
    """Return a function that changes copies of an archive, and returns what a kill leaves at each step and at the end.

    These are the folder before each step, and the folders of processes that are really killed at some or all of them.
    """

    def leave(before: Path | None, change: Callable[[Archive], object], **order: Any) -> list[Archive]:
        def copy(name: str) -> Path:
            return shutil.copytree(before, tmp_path / name) if before else tmp_path / name

        watched = copy("watched")
        copies = Copies(watched, tmp_path)
        with copies.watch_changes():
            change(p2p.open_archive(watched))
        left, last = copies.different, copies.steps - 1
        assert last >= 5
        assert len(left) > 3
        for step in [*range(0, last, request.param), last]:
            left.append(copy(f"killed-{step}"))
            assert change_archive(**order, archive=str(left[-1]), step=step) == (DONE if step == last else KILLED)
        return [p2p.open_archive(folder) for folder in left]

    return leave


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
