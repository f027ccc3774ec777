"""One line per error, the right exit code."""

from __future__ import annotations

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
