"""One line per error, and the right exit code."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from p2p_analytics.cli import _demo
from p2p_analytics.errors import TransportError


@pytest.mark.parametrize(
    ("line", "program", "message"),
    [
        ("", "p2p-analytics", "COMMAND"),
        ("sycn a", "p2p-analytics", "there is no command 'sycn': did you mean sync?"),
        ("fly", "p2p-analytics", "there is no command 'fly': choose from demo, sandbox, sandbox-archive, login, "),
        ("sync a --refersh", "p2p-analytics sync", "--refersh: did you mean --refresh?"),
        ("export --tabel payments a b.csv", "p2p-analytics export", "did you mean --table?"),
        ("export a - --table payment", "p2p-analytics export", "did you mean payments?"),
        ("sync a b", "p2p-analytics sync", "unrecognized arguments: b"),
        ("--verison", "p2p-analytics", "--verison: did you mean --version?"),
        ("demo --people 1", "p2p-analytics demo", "argument --people: 1 is not between 3 and 2000"),
        ("demo --people many", "p2p-analytics demo", "argument --people: invalid number value: 'many'"),
        ("sandbox --port 65536", "p2p-analytics sandbox", "65536 is not between 0 and 65535"),
        ("sandbox --latency nan", "p2p-analytics sandbox", "nan is not between 0 and 60000"),
        ("sandbox --lat 5", "p2p-analytics sandbox", "unrecognized arguments: --lat"),
        ("sandbox --rate-limit 10", "p2p-analytics sandbox", "argument --rate-limit: A rate limit is REQUESTS/SECONDS"),
        ("sandbox --rate-limit 0/5", "p2p-analytics sandbox", "argument --rate-limit: A rate limit is from 1 to "),
        ("sandbox --faults 503:2", "p2p-analytics sandbox", "argument --faults: "),
        ("completion tcsh", "p2p-analytics completion", "choose from bash, zsh, fish"),
        ("sync a --token=CANARY", "p2p-analytics sync", "unrecognized arguments: --token"),
        ("sync a -- --token=CANARY", "p2p-analytics sync", "unrecognized arguments: --token"),
        ("login --base-url ftp://CANARY", "p2p-analytics login", "argument --base-url: The base URL must be a whole "),
        ("whoami --base-url http://pay.example", "p2p-analytics whoami", "The base URL of pay.example must use https"),
    ],
)
def test_wrong_use(run, line: str, program: str, message: str) -> None:
    """It ends with 2: the message with a suggestion, which quotes no secret, then the command that helps."""
    code, out, err = run(line)
    said, help_line = err.splitlines()
    assert (code, out, help_line) == (2, "", f"See: {program} --help")
    assert said.startswith(f"{program}: ")
    assert message in said
    assert "CANARY" not in said


def test_version_and_help(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The help has commands in one column, then exit codes, and no line that is longer than a terminal."""
    monkeypatch.setenv("COLUMNS", "80")
    assert run("--version")[:2] == (0, "p2p-analytics 0.1.0\n")
    code, out, _ = run("--help")
    lines = out.splitlines()
    assert (code, max(map(len, lines)) < 80) == (0, True)
    assert [line[:23] for line in lines if "print a script" in line] == ["    completion       pr"]
    end = " ".join(lines[lines.index("", lines.index("commands:")) + 1 :])
    assert end.startswith("Exit codes: 0 for success; 1 for a failure")


def test_a_failure_is_one_line(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the package is its sentence and exit code 1; any other keeps its traceback, as a bug to report."""
    for error in (TransportError("The service cannot be reached: try again later."), ZeroDivisionError()):
        monkeypatch.setattr(_demo, "_make_writable", lambda _out, error=error: (_ for _ in ()).throw(error))
        if isinstance(error, ZeroDivisionError):
            with pytest.raises(ZeroDivisionError):
                run("demo")
        else:
            assert run("demo") == (1, "", f"p2p-analytics: {error}\n")


@pytest.mark.parametrize(
    ("closed", "code", "out", "err"),
    [
        (">&-", 1, "", f"p2p-analytics: standard output is closed: send it to a file, or to {os.devnull}.\n"),
        (">&- 2>&-", 1, "", ""),
        ("2>&-", 0, "2 rows of payments, in p.csv\n", ""),
        (">/dev/full", 1, "", "p2p-analytics: cannot write the output: no space left on device.\n"),
    ],
)
@pytest.mark.usefixtures("archive")
def test_streams_that_are_closed_or_full(tmp_path, closed: str, code: int, out: str, err: str) -> None:
    """Without standard output no command begins; progress without a place to go to is dropped."""
    words = ["export", "a", "p.csv", "--progress", "log"] if closed != ">/dev/full" else ["export", "a", "-"]
    command = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "p2p_analytics", *words]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - ours
    assert (found.returncode, found.stdout, found.stderr.splitlines(keepends=True)[-1:]) == (
        code,
        out,
        [err] * bool(err),
    )
    assert (tmp_path / "p.csv").exists() == (code == 0)
