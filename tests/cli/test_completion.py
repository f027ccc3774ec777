"""The command completion: a script that a shell loads and that completes commands, options, choices and paths."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from p2p_analytics import cli
from p2p_analytics.cli import _commands
from support.canary import CANARY

if TYPE_CHECKING:
    from pathlib import Path

# Runs the completion of a command line as bash does when Tab is pressed.
COMPLETE = """
source "$1" || exit 3
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
found=$(complete -p "$1") || exit 4
[[ $found =~ -F\\ ([^ ]+) ]] || exit 5
"${BASH_REMATCH[1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return the path of the script for bash."""
    assert cli.main(["completion", "bash"]) == 0
    path = tmp_path / "completion.bash"
    path.write_text(capsys.readouterr().out)
    return path


def complete(script: Path, *words: str) -> list[str]:
    """Return the completions that bash offers for the last word of a command line."""
    bash = shutil.which("bash")
    assert bash is not None
    command = [bash, "--norc", "-c", COMPLETE, "bash", str(script), "p2p-analytics", *words]
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=script.parent)  # noqa: S603 - our words
    assert found.stderr == ""
    return sorted(found.stdout.split())


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["s"], ["sandbox", "sandbox-archive", "sync"]),
        (["import", "a", "--d"], ["--dry-run"]),
        (["import", "a", "rep"], ["report.html"]),
        (["sync", "--ref"], ["--refresh"]),
        (["sync", "--progress", ""], ["bar", "log", "none"]),
        (["export", "a", "-", "--table", "pending"], ["pending_ageing", "pending_requests"]),
        (["report", "arch"], ["archive"]),
        (["report", "a", "--out", "rep"], ["report.html"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["login", "--token"], ["--token-stdin"]),
    ],
)
def test_bash_completes(script: Path, words: list[str], expected: list[str]) -> None:
    """Bash loads the script, and completes commands, options, choices, folders and files."""
    (script.parent / "archive").mkdir()
    (script.parent / "report.html").touch()
    assert complete(script, *words) == expected


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_every_command_and_option(script: Path) -> None:
    """The script has all commands, and of each all options."""
    (commands,) = (action.choices for action in _commands.build_parser()._actions if isinstance(action.choices, dict))
    assert complete(script, "") == sorted(commands)
    for name, parser in commands.items():
        assert complete(script, name, "--") == sorted(
            option for option in parser._option_string_actions if option.startswith("--")
        )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_without_secrets(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script names the commands and no value of a variable; the shell accepts it, where it is installed."""
    for name in ("ACCESS_TOKEN", "CLIENT_SECRET", "CLIENT_ID", "BASE_URL"):
        monkeypatch.setenv(f"P2P_{name}", CANARY)
    assert cli.main(["completion", shell]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert CANARY not in out
    assert "verify" in out
    (tmp_path / "script").write_text(out)
    if (program := shutil.which(shell)) is not None:
        subprocess.run([program, "-n", str(tmp_path / "script")], check=True, env={"PATH": os.environ["PATH"]})  # noqa: S603 - our words


def test_another_shell_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    """It ends with 2 and names the shells."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["completion", "tcsh"])
    assert caught.value.code == 2
    assert "'tcsh' is not one of its values: choose from bash, zsh, fish" in capsys.readouterr().err
