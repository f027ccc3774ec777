"""The command demo writes nothing where it fails or is interrupted, and shows progress on standard error."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest

from p2p_analytics import cli

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


def test_an_unknown_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown username is an error of one sentence that lists some known ones; nothing is written."""
    assert cli.main(["demo", "--out", str(tmp_path), "--person", "no-such-person", "--years", "1"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("p2p-analytics: ")
    assert "no-such-person" in last
    assert "maya-lindqvist" in last
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("out", "reason"), [("file", "it is a file"), ("file/out", "not a directory")])
def test_a_folder_that_cannot_be_written(
    tmp_path: Path, out: str, reason: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the files cannot go is found before the sandbox is even built."""
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr("p2p_analytics.sandbox.SandboxServer.__enter__", lambda _self: pytest.fail("work had begun"))
    assert cli.main(["demo", "--out", str(tmp_path / out)]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"p2p-analytics: Cannot write into {tmp_path / out}: {reason}")
    assert err.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a file system that refuses new folders to everybody")  # noqa: PTH112 - one look
def test_a_file_system_that_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    """Even the superuser gets the sentence where the system refuses."""
    assert cli.main(["demo", "--out", "/proc/self/out"]) == 1
    assert capsys.readouterr().err.startswith("p2p-analytics: Cannot write into /proc/self/out: ")


@pytest.mark.full
def test_ctrl_c_stops_the_demo(tmp_path: Path, start: Callable[..., subprocess.Popen[str]]) -> None:
    """Ctrl-C in the middle of the load: exit code 130, one line, no traceback, no file."""
    process = start("demo", "--out", str(tmp_path), "--people", "60", "--years", "20")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("Loading"):
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "\np2p-analytics: stopped.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("draw_nothing")
@pytest.mark.parametrize(("way", "steps"), [("none", []), ("log", ["Building", "Loading", "Drawing"])])
def test_progress_of_the_demo(tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str, steps: list[str]) -> None:
    """`--progress none` leaves standard error empty, `log` writes a line for each step; the summary is the same."""
    assert cli.main(["demo", "--out", str(tmp_path / "out"), "--people", "3", "--years", "1", "--progress", way]) == 0
    printed = capsys.readouterr()
    assert [line.split()[0] for line in printed.err.splitlines() if line.endswith(" ...")] == steps
    assert "\r" not in printed.err
    assert "report.html" in printed.out
