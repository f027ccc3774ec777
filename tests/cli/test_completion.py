"""The command completion: a script with which a shell completes commands, options, choices and paths."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from p2p_analytics import cli

BASH = shutil.which("bash")
# Runs the completion of each command line as bash does when Tab is pressed.
COMPLETE = """
source ./script || exit 3
found=$(complete -p p2p-analytics) || exit 4
[[ $found =~ -F\\ ([^ ]+) ]] || exit 5
function=${BASH_REMATCH[1]}
while IFS= read -r line; do
    mapfile -t COMP_WORDS < <(printf '%s' "$line" | tr ' ' '\\n'; printf '\\n')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
    "$function"
    echo "${COMPREPLY[*]}"
done
"""


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
def test_bash_completes(run, tmp_path: Path) -> None:
    """Commands, options, choices, folders and files, and all options of each command."""
    Path("script").write_text(run("completion bash").out)
    Path("archive").mkdir()
    Path("report.html").touch()
    expected = {
        "s": ["sandbox", "sandbox-archive", "sync"],
        "import a --d": ["--dry-run"],
        "import a rep": ["report.html"],
        "sync --progress ": ["bar", "log", "none"],
        "export a - --table pending": ["pending_ageing", "pending_requests"],
        "report arch": ["archive"],
        "report a --out rep": ["report.html"],
        "completion ": ["bash", "fish", "zsh"],
    }
    (commands,) = (action.choices for action in cli.build_parser()._actions if isinstance(action.choices, dict))
    expected[""] = sorted(commands)
    for name, parser in commands.items():
        expected[f"{name} --"] = sorted(each for each in parser._option_string_actions if each.startswith("--"))
    lines = "".join(f"p2p-analytics {line}\n" for line in expected)
    found = subprocess.run(  # noqa: S603 - our words
        [BASH, "--norc", "-c", COMPLETE], input=lines, capture_output=True, text=True, check=True
    )
    assert found.stderr == ""
    offered = [sorted(line.split()) for line in found.stdout.splitlines()]
    assert dict(zip(expected, offered, strict=True)) == expected


def test_each_shell_has_a_script(run) -> None:
    """The shell accepts it, where it is installed."""
    for shell in ("bash", "zsh", "fish"):
        code, out, err = run("completion", shell)
        assert (code, err, "verify" in out) == (0, "", True)
        Path("script").write_text(out)
        if (program := shutil.which(shell)) is not None:
            subprocess.run([program, "-n", "script"], check=True, env={"PATH": os.environ["PATH"]})  # noqa: S603 - ours
