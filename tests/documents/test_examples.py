"""Examples of the README, the documentation and docstrings run as they stand."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from codeop import CommandCompiler
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.catalogue import ANALYSES
from support.servers import sandbox_fixture

ROOT = Path(__file__).parents[2]
BEGIN = "p2p-analytics import mypayments"
examples_server = sandbox_fixture(seed=7)


def list_blocks(page: Path, language: str = "python") -> list[str]:
    """Return the code blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.full
def test_examples_run(
    example_page: Path, examples_server: p2p.sandbox.SandboxServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The blocks of a page run from top to bottom for a signed-in user, and test functions in them pass.

    The user's statement files are in the folder "downloads", and archives of a small town in "everyone".
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("P2P_BASE_URL", examples_server.base_url)
    monkeypatch.setenv("P2P_CLIENT_ID", examples_server.client_id)
    monkeypatch.setenv("P2P_ACCESS_TOKEN", examples_server.token(examples_server.viewer))
    (tmp_path / "downloads").mkdir()
    for number, (start, end) in enumerate(examples_server.statement_periods()):
        file = tmp_path / "downloads" / f"statement_{number}.csv"
        file.write_text(examples_server.statement(examples_server.viewer, start, end), "utf-8", newline="")
    if '"everyone"' in example_page.read_text(encoding="utf-8"):
        numbers = ["--accounts", "3", "--payments", "300", "--years", "2", "--progress", "none"]
        assert cli.main(["sandbox-archive", "everyone", *numbers]) == 0
    names: dict[str, object] = {}
    try:
        for code in list_blocks(example_page):
            exec(compile(code, example_page.name, "exec"), names)  # noqa: S102 - the documentation's own example
        for name, value in list(names.items()):
            if name.startswith("test_") and callable(value):
                value(tmp_path)
    finally:
        plt.close("all")
        for value in names.values():
            if isinstance(value, p2p.TokenForm):
                value.close()
            if isinstance(value, p2p.sandbox.SandboxServer):
                value.stop()


def test_examples_can_be_pasted_into_a_prompt(page: Path) -> None:
    """Python's prompt compiles each block statement by statement: a blank line ends an indented one."""
    for code in list_blocks(page):
        compiler, lines = CommandCompiler(), []
        for line in [*code.splitlines(), ""]:
            lines.append(line)
            if compiler("\n".join(lines)) is not None:
                lines.clear()
        assert lines in ([], [""])


def test_the_first_steps_are_ten_lines_and_run_alone(tmp_path: Path) -> None:
    """The README's example has ten lines besides blank ones, runs by itself, and writes the file that it names."""
    (code,) = list_blocks(ROOT / "README.md")
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    environment = os.environ | {"MPLBACKEND": "Agg", "P2P_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-W", "error", "-c", code]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=120)  # noqa: S603 - the README's code
    assert len(p2p.read_csv(tmp_path / "payments.csv")) > 100


def test_the_examples_of_analyses_run() -> None:
    """Each public analysis has an example on a tiny frame, which begins with the imports."""
    for name in (*ANALYSES, "categorise"):
        (test,) = doctest.DocTestFinder(recurse=False).find(getattr(p2p, name), name, globs={})
        imports = [example.source for example in test.examples[:2]]
        assert imports == ["import pandas as pd\n", "import p2p_analytics as p2p\n"]
        results = doctest.DocTestRunner(verbose=False).run(test)
        assert (results.failed, results.attempted) == (0, len(test.examples)), name


def test_the_first_commands_of_a_statement_owner_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They open the README and run with the sample files and another one in the folder of downloads."""
    block, *_ = list_blocks(ROOT / "README.md", "sh")
    assert block.startswith(BEGIN)
    start = (ROOT / "docs" / "quick-start.md").read_text("utf-8")
    assert start.index(BEGIN) < start.index("## Try it without an account")
    shutil.copytree(ROOT / "data" / "statements", tmp_path / "Downloads")
    (tmp_path / "Downloads" / "shop.csv").write_text("Shop,Total\nMill,3\n", "utf-8")
    (work := tmp_path / "work").mkdir()
    monkeypatch.chdir(work)
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    for line in block.splitlines():
        print_words = line.partition("  #")[0].replace("p2p-analytics", "printf '%s\\n'", 1)
        command = ["/bin/sh", "-ec", print_words]  # so that it expands the words
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)  # noqa: S603 - ours
        assert cli.main(done.stdout.splitlines()) == 0, line
    assert {path.name for path in work.iterdir()} == {"mypayments", "report.html"}
    assert "Payments of <bdi>Maya Lindqvist</bdi>" in (work / "report.html").read_text("utf-8")
    kept = p2p.open_archive(work / "mypayments").history().payments
    expected = p2p.read_statements(ROOT / "data" / "statements").payments
    assert kept["payment_id"].tolist() == expected["payment_id"].tolist()
