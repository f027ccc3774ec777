"""One line per error, the right exit code, and nothing half-written."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

from p2p_analytics import cli
from p2p_analytics.cli import _demo, _main
from p2p_analytics.errors import TransportError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# A shell that runs jobs in the background makes them ignore Ctrl-C, and children inherit that.
_WITH_CTRL_C = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from p2p_analytics.cli import main; sys.exit(main())"
)


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    """Give a list for processes that must not outlive the test."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def start(*arguments: str) -> subprocess.Popen[str]:
    """Start the command line in a process of its own, as a terminal would."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("P2P_")}
    return subprocess.Popen(  # noqa: S603 - our own interpreter and words
        [sys.executable, "-u", "-c", _WITH_CTRL_C, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_no_command_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command argparse says which there are, with exit code 2."""
    with pytest.raises(SystemExit) as caught:
        cli.main([])
    assert caught.value.code == 2
    assert "COMMAND" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["demo", "--people", "1"],
        ["demo", "--people", "many"],
        ["demo", "--years", "0"],
        ["demo", "--seed", "-1"],
        ["demo", "--token", "x"],
        ["sandbox", "--port", "65536"],
        ["sandbox", "--latency", "nan"],
        ["sandbox", "--lat", "5"],
        ["sandbox", "--rate-limit", "10"],
        ["sandbox", "--rate-limit", "0/5"],
        ["sandbox", "--faults", "503:2"],
        ["sandbox", "--faults", "ok*3 earthquake"],
    ],
)
def test_wrong_use(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Unknown commands, options and abbreviations, and numbers out of range, end with 2 before anything starts."""
    with pytest.raises(SystemExit) as caught:
        cli.main(arguments)
    assert caught.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    """Help names every command, the version is the package's; both end with 0."""
    for arguments, expected in ((["--help"], "demo"), (["--help"], "sandbox"), (["--version"], "p2p-analytics 0.")):
        with pytest.raises(SystemExit) as caught:
            cli.main(arguments)
        assert not caught.value.code
        assert expected in capsys.readouterr().out


def test_a_failure_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Any error of the package is its sentence on stderr and exit code 1, without a traceback."""

    def fail(*_: object, **__: object) -> None:
        raise TransportError("The service cannot be reached: try again later.")

    monkeypatch.setattr(_demo, "run", fail)
    assert cli.main(["demo"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "p2p-analytics: The service cannot be reached: try again later.\n"
    assert captured.out == ""


def test_our_own_mistakes_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is not the package's keeps its traceback: it is a bug to report."""

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(_demo, "run", fail)
    with pytest.raises(ZeroDivisionError):
        cli.main(["demo"])


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


def test_ctrl_c_stops_the_demo(tmp_path: Path, processes: list[subprocess.Popen[str]]) -> None:
    """Ctrl-C in the middle of the load: exit code 130, one line, no traceback, no file."""
    process = start("demo", "--out", str(tmp_path), "--people", "60", "--years", "20")
    processes.append(process)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("Loading"):
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "\np2p-analytics: stopped.\n")
    assert list(tmp_path.iterdir()) == []


def test_the_sandbox_serves_until_ctrl_c(processes: list[subprocess.Popen[str]]) -> None:
    """`sandbox` prints where it is and how to sign in, answers there, and ends with 0 on Ctrl-C, as it is meant to."""
    process = start("sandbox", "--port", "0", "--years", "1")
    processes.append(process)
    assert process.stdout is not None
    login = next(words for line in process.stdout if (words := line.partition("p2p-analytics ")[2].split()))
    address = _main.build_parser().parse_args(login).base_url
    assert login == ["login", "--base-url", address, "--client-id", "1001"]
    request = urllib.request.Request(f"{address}/oauth/authorize?client_id=1001&scope=access_profile")  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - loopback
        assert answer.status == 200
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "Traceback" not in err
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address, timeout=5)  # noqa: S310 - loopback


def test_the_sandbox_has_the_faults_and_the_limit_asked_for(processes: list[subprocess.Popen[str]]) -> None:
    """`sandbox --faults ... --rate-limit ...` fails as the script says, and then serves as often as the limit lets."""
    process = start("sandbox", "--port", "0", "--years", "1", "--faults", "ok 504", "--rate-limit", "2/3600")
    processes.append(process)
    assert process.stdout is not None
    address = next(match[0] for line in process.stdout if (match := re.search(r"http://127\.0\.0\.1:\d+/v1", line)))
    found = []
    for _ in range(4):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{address}/me", timeout=20)  # noqa: S310 - loopback
        with caught.value:
            found.append(caught.value.status)
    assert found == [401, 504, 401, 429]


def test_the_sandbox_speaks_the_dialect_asked_for(processes: list[subprocess.Popen[str]]) -> None:
    """`sandbox --dialect observed` answers with numbers as error codes; `--rate-limit-status` is its 277's."""
    options = ("--dialect", "observed", "--rate-limit", "1/3600", "--rate-limit-status", "400")
    process = start("sandbox", "--port", "0", "--years", "1", *options)
    processes.append(process)
    assert process.stdout is not None
    address = next(match[0] for line in process.stdout if (match := re.search(r"http://127\.0\.0\.1:\d+/v1", line)))
    for status, code in ((401, 267), (400, 277)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{address}/me", timeout=20)  # noqa: S310 - loopback
        with caught.value:
            assert (caught.value.status, json.load(caught.value)["error"]["code"]) == (status, code)


def test_the_documented_dialect_has_one_rate_limit_status(capsys: pytest.CaptureFixture[str]) -> None:
    """`--rate-limit-status 400` without the observed dialect is refused in one line."""
    assert cli.main(["sandbox", "--port", "0", "--years", "1", "--rate-limit-status", "400"]) == 1
    err = capsys.readouterr().err
    assert (
        err == "p2p-analytics: rate_limit_status cannot be 400 in the documented dialect: "
        "it is 429, or with --dialect observed also 400.\n"
    )


def test_a_port_that_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    """A second sandbox on the same port says so in one line and ends with 1."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert cli.main(["sandbox", "--port", port, "--years", "1"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("p2p-analytics: ")
    assert port in err
    assert err.count("\n") == 1
