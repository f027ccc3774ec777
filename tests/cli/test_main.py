"""One line per error, and the right exit code."""

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from p2p_analytics.errors import TransportError
from p2p_analytics.sandbox import SandboxServer


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
        ("demo --people many", "p2p-analytics demo", "argument --people: invalid number value: 'many'"),
        ("sandbox --latency nan", "p2p-analytics sandbox", "nan is not between 0 and 60000"),
        ("sandbox --lat 5", "p2p-analytics sandbox", "unrecognized arguments: --lat"),
        ("sandbox --rate-limit 10", "p2p-analytics sandbox", "argument --rate-limit: A rate limit is REQUESTS/SECONDS"),
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


@pytest.mark.usefixtures("archive", "draw_nothing")
@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("export a p.ods", "end in .csv, .parquet, .jsonl, .xlsx, .sqlite, .db, .beancount, .journal or .hledger, and"),
        ("export a p.csv --tz Foo", "argument --tz: Foo is no zone name, such as America/New_York or UTC"),
        ("export a p.csv --as-of yesterday", "argument --as-of: yesterday is no date, such as 2024-05-31 or "),
        ("export a - --json", "With - the table goes to standard output: leave out --json, or name a file."),
        ("report a --only unusual,rent", "'rent' is no analysis: choose from spend_by_friend, "),
        ("report a --only recuring", "'recuring' is no analysis: did you mean recurring?"),
        ("report a --since May", "May is no day, such as 2024-05-31"),
        ("report a --since 2023", "2023 is no day: write 2023-01-01 or 2023-12-31"),
        ("report a --privacy=weak", "weak is no privacy mode: write --privacy or --privacy strict"),
        ("report a --year 2024", "--year is for the year in review: add --template year."),
        ("report a --template year --only recurring", "--template year has its own analyses: leave out --only."),
        ("report a --template year --since 2024-01-01", "choose it with --year, not --since."),
        ("report a --template year --until 2024-01-01", "choose it with --year, not --until."),
        ("report a --privacy strict --no-privacy", "--privacy and --no-privacy exclude each other: leave one of them "),
        ("report a --out=", "--out needs the name of a file, or - for standard output."),
        ("report a --out new.d/r.PDF", "A report is HTML or Markdown, not .pdf: end --out in .html or .md."),
        ("report a --out - --json", "With - the page goes to standard output: leave out --json, or name a file."),
    ],
)
def test_options_that_do_not_go_together(run, line: str, sentence: str) -> None:
    """It ends with 2, and nothing is written."""
    code, out, err = run(line)
    assert (code, out, sentence in err) == (2, "", True)
    assert [path.name for path in Path().iterdir()] == ["a"]


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
    error = TransportError("The service cannot be reached: try again later.")
    monkeypatch.setattr(SandboxServer, "__enter__", Mock(side_effect=[error, ZeroDivisionError]))
    assert run("sandbox --statements files") == (1, "", f"p2p-analytics: {error}\n")
    with pytest.raises(ZeroDivisionError):
        run("sandbox --statements files")


@pytest.mark.parametrize(
    ("closed", "code", "out", "err"),
    [
        (">&-", 1, "", f"p2p-analytics: standard output is closed: send it to a file, or to {os.devnull}.\n"),
        pytest.param(">&- 2>&-", 1, "", "", marks=pytest.mark.full),
        ("2>&-", 0, "2 rows of payments, in p.csv\n", ""),
        (">/dev/full", 1, "", "p2p-analytics: cannot write the output: no space left on device.\n"),
    ],
)
@pytest.mark.usefixtures("archive")
def test_streams_that_are_closed_or_full(tmp_path, closed: str, code: int, out: str, err: str) -> None:
    """Without standard output no command begins; progress without a place to go to is dropped."""
    words = ["export", "a", "p.csv", "--progress", "log"] if closed != ">/dev/full" else ["completion", "bash"]
    command = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "p2p_analytics", *words]
    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - ours
    last = "".join(found.stderr.splitlines(keepends=True)[-1:])
    assert (found.returncode, found.stdout, last) == (code, out, err)
    assert (tmp_path / "p.csv").exists() == (code == 0)
