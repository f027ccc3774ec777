"""One line per error, the right exit code."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from p2p_analytics import cli
from p2p_analytics.cli import _demo
from p2p_analytics.errors import TransportError


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
    message, help_line = capsys.readouterr().err.splitlines()
    assert message.startswith("p2p-analytics")
    assert help_line.startswith("See: p2p-analytics")


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


@pytest.mark.parametrize(
    ("words", "program", "message"),
    [
        (["sycn", "a"], "p2p-analytics", "there is no command 'sycn': did you mean sync?"),
        (
            ["fly"],
            "p2p-analytics",
            "there is no command 'fly': choose from demo, sandbox, sandbox-archive, login, ",
        ),
        (["sync", "a", "--refersh"], "p2p-analytics sync", "--refersh: did you mean --refresh?"),
        (["export", "--tabel", "payments", "a", "b.csv"], "p2p-analytics export", "did you mean --table?"),
        (["export", "a", "-", "--table", "payment"], "p2p-analytics export", "did you mean payments?"),
        (["sync", "a", "b"], "p2p-analytics sync", "unrecognized arguments: b"),
        (["--verison"], "p2p-analytics", "--verison: did you mean --version?"),
    ],
)
def test_suggestions(words: list[str], program: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped command, option or value gets a suggestion first, then the help command that lists the right ones."""
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2
    said, help_line = capsys.readouterr().err.splitlines()
    assert said.startswith(f"{program}: ")
    assert message in said
    assert help_line == f"See: {program} --help"


def test_a_wrong_option_is_quoted_without_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    """The value of an unknown option may be a secret."""
    with pytest.raises(SystemExit):
        cli.main(["sync", "a", "--token=CANARY"])
    err = capsys.readouterr().err
    assert err == "p2p-analytics sync: unrecognized arguments: --token\nSee: p2p-analytics sync --help\n"
    assert "CANARY" not in err


@pytest.mark.parametrize(
    "words",
    [
        ["login", "--base-url", "ftp://CANARY"],
        ["whoami", "--base-url", "http://CANARY.example"],
        ["sync", "a", "--base-url", "CANARY"],
    ],
)
def test_an_invalid_base_url_is_wrong_use(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It ends with 2; an address that is none is not quoted, because it may be a token."""
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert caught.value.code == 2
    message = capsys.readouterr().err.splitlines()[0]
    assert "argument --base-url: The base URL " in message
    assert message.count("CANARY") == message.count("The base URL of CANARY.example must use https")


@pytest.mark.parametrize(
    "words",
    [["login", "--token-stdin", "--server-flow", "--base-url", "https://pay.example"], ["export", "a", "-", "--json"]],
)
def test_options_that_exclude_each_other_are_wrong_use(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Both options are valid alone: one line that says which to leave out, and exit code 2."""
    assert cli.main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("p2p-analytics: ")
    assert ": leave out --" in err
    assert err.count("\n") == 1


def test_help_states_the_exit_codes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The help of the program ends with them, no line is longer than a terminal, and commands are in one column."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) < 80
    end = " ".join(lines[lines.index("", lines.index("commands:")) + 1 :])
    assert end.startswith("Exit codes: 0 for success; 1 for a failure")
    assert "2 for wrong use" in end
    assert any(line.startswith("    completion       print a script") for line in lines)


@pytest.mark.parametrize("words", ["export {archive} -", "export {archive} {out}", "--version"])
def test_a_closed_standard_output_is_one_line(archive_path, tmp_path, words: str) -> None:
    """`>&-` ends any command with 1 before it does anything; with `2>&-` as well, nothing can be printed."""
    out = tmp_path / "p.csv"
    arguments = words.format(archive=archive_path, out=out).split()
    for closed, said in (
        (">&-", f"p2p-analytics: standard output is closed: send it to a file, or to {os.devnull}.\n"),
        (">&- 2>&-", ""),
    ):
        found = subprocess.run(  # noqa: S603 - our own interpreter and words
            ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "p2p_analytics", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
        assert (found.returncode, found.stderr) == (1, said)
    assert not out.exists()


def test_a_closed_standard_error_stops_no_command(archive_path, tmp_path) -> None:
    """Progress without a place to go to is dropped, and never written into the file."""
    out = tmp_path / "p.csv"
    arguments = ["export", archive_path, str(out), "--progress", "log"]
    found = subprocess.run(  # noqa: S603 - our own interpreter and words
        ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", "p2p_analytics", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )
    assert (found.returncode, found.stdout) == (0, f"2 rows of payments, in {out}\n")
    assert out.read_text().count("\n") == 3
