"""The command sandbox: serves with the settings asked for, until Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import socket
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

from p2p_analytics import cli
from p2p_analytics.cli import _main

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


def test_the_sandbox_serves_until_ctrl_c(start: Callable[..., subprocess.Popen[str]]) -> None:
    """`sandbox` prints where it is and how to sign in, answers there, and ends with 0 on Ctrl-C, as it is meant to."""
    process = start("sandbox", "--port", "0", "--years", "1")
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


def test_the_sandbox_has_the_faults_and_the_limit_asked_for(start: Callable[..., subprocess.Popen[str]]) -> None:
    """`sandbox --faults ... --rate-limit ...` fails as the script says, and then serves as often as the limit lets."""
    process = start("sandbox", "--port", "0", "--years", "1", "--faults", "ok 504", "--rate-limit", "2/3600")
    assert process.stdout is not None
    address = next(match[0] for line in process.stdout if (match := re.search(r"http://127\.0\.0\.1:\d+/v1", line)))
    found = []
    for _ in range(4):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{address}/me", timeout=20)  # noqa: S310 - loopback
        with caught.value:
            found.append(caught.value.status)
    assert found == [401, 504, 401, 429]


def test_the_sandbox_speaks_the_dialect_asked_for(start: Callable[..., subprocess.Popen[str]]) -> None:
    """`sandbox --dialect observed` answers with numbers as error codes; `--rate-limit-status` is its 277's."""
    options = ("--dialect", "observed", "--rate-limit", "1/3600", "--rate-limit-status", "400")
    process = start("sandbox", "--port", "0", "--years", "1", *options)
    assert process.stdout is not None
    address = next(match[0] for line in process.stdout if (match := re.search(r"http://127\.0\.0\.1:\d+/v1", line)))
    for status, code in ((401, 267), (400, 277)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{address}/me", timeout=20)  # noqa: S310 - loopback
        with caught.value:
            assert (caught.value.status, json.load(caught.value)["error"]["code"]) == (status, code)


def test_the_documented_dialect_has_one_rate_limit_status(capsys: pytest.CaptureFixture[str]) -> None:
    """`--rate-limit-status 400` without the observed dialect is wrong use, in one line."""
    assert cli.main(["sandbox", "--port", "0", "--years", "1", "--rate-limit-status", "400"]) == 2
    err = capsys.readouterr().err
    assert err == "p2p-analytics: --rate-limit-status 400 needs --dialect observed: leave it out, or add that.\n"


def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A second sandbox on the same port says so in one line, names the option, and leaves no database behind."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert cli.main(["sandbox", "--port", port, "--years", "1", "--db", str(tmp_path / "town.db")]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"p2p-analytics: Port {port} cannot be used (address already in use): ")
    assert err.endswith("choose another with --port, or 0 for any free one.\n")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
