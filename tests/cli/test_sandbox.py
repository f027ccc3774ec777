"""The command sandbox: serves with the settings asked for, until Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest

from p2p_analytics import cli
from p2p_analytics.cli import _commands
from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.statements.write import GENERATIONS

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path


def test_the_sandbox_serves_until_ctrl_c(start: Callable[..., subprocess.Popen[str]]) -> None:
    """`sandbox` prints where it is and how to sign in, answers there, and ends with 0 on Ctrl-C, as it is meant to."""
    process = start("sandbox", "--port", "0", "--years", "1")
    assert process.stdout is not None
    login = next(words for line in process.stdout if (words := line.partition("p2p-analytics ")[2].split()))
    address = _commands.build_parser().parse_args(login).base_url
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


def test_statement_files_of_the_main_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`sandbox --statements` writes private files that cover the history, and ends without serving."""
    folder = tmp_path / "new" / "files"
    assert cli.main(["sandbox", "--years", "1", "--people", "3", "--statements", str(folder)]) == 0
    names = [path.name for path in sorted(folder.iterdir())]
    assert names == [
        "maya-lindqvist_2024-06-30_2024-09-27.csv",
        "maya-lindqvist_2024-09-21_2024-12-19.csv",
        "maya-lindqvist_2024-12-13_2025-03-12.csv",
        "maya-lindqvist_2025-03-06_2025-06-03.csv",
        "maya-lindqvist_2025-05-28_2025-06-30.csv",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert capsys.readouterr().out == f"5 statement files of maya-lindqvist in {folder}\n"
    with SandboxServer(people=3, years=1) as server:
        text = server.statement("maya-lindqvist", "2024-06-30", "2024-09-27")
    assert (folder / names[0]).read_bytes() == text.encode()
    assert text.startswith("\ufeffAccount Statement - (@maya-lindqvist)")
    assert text.count("\r\n") > 20


def test_statement_files_of_others_in_another_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--person`, also repeated and with @, and `--generation` choose; files of a run before are replaced."""
    words = ["sandbox", "--years", "1", "--people", "3", "--statements", str(tmp_path), "--generation", "JSON"]
    for _ in range(2):
        assert cli.main([*words, "--person", "@tom-ohara", "--person", "noor-haddad", "--person", "tom-ohara"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert {path.name.partition("_")[0] for path in tmp_path.iterdir()} == {"tom-ohara", "noor-haddad"}
    files = [json.loads(path.read_bytes())["data"] for path in sorted(tmp_path.glob("tom-ohara*.json"))]
    assert len(files) == 5
    assert all(file["transactions"] for file in files)


@pytest.mark.parametrize("option", [("--person", "kai_"), ("--generation", "A")])
def test_options_of_statements_without_their_folder(
    option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """`--person` and `--generation` without `--statements` are wrong use, in one line."""
    assert cli.main(["sandbox", "--port", "0", *option]) == 2
    assert capsys.readouterr().err == (
        f"p2p-analytics: {option[0]} is for statement files: name their folder with --statements.\n"
    )


def test_statement_files_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file in place of the folder, and an unknown person, are one line each; nothing is written."""
    (tmp_path / "file").write_text("mine")
    words = ["sandbox", "--years", "1", "--people", "3", "--statements"]
    assert cli.main([*words, str(tmp_path / "file")]) == 1
    err = capsys.readouterr().err
    assert err == f"p2p-analytics: Cannot write into {tmp_path / 'file'}: it is no folder; name another one.\n"
    assert cli.main([*words, str(tmp_path / "out"), "--person", "no-such-name"]) == 1
    assert "No person of this town has the username 'no-such-name'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_generations_are_those_of_the_sandbox() -> None:
    """The command line lists them itself, so that --help loads no sandbox."""
    assert _commands.GENERATIONS == GENERATIONS
