"""Python examples of the README and the documentation run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from codeop import CommandCompiler
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli

ROOT = Path(__file__).parents[2]
FENCED = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def examples(page: Path) -> list[str]:
    """Return the Python blocks of a page."""
    return FENCED.findall(page.read_text(encoding="utf-8"))


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
        for code in examples(example_page):
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
    for code in examples(page):
        compiler, lines = CommandCompiler(), []
        for line in [*code.splitlines(), ""]:
            lines.append(line)
            if compiler("\n".join(lines)) is not None:
                lines.clear()
        assert lines in ([], [""])


def test_the_first_steps_are_ten_lines_and_run_alone(tmp_path: Path) -> None:
    """The README's example has ten lines besides blank ones, runs by itself, and writes the file that it names."""
    (code,) = examples(ROOT / "README.md")
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    environment = os.environ | {"MPLBACKEND": "Agg", "P2P_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-W", "error", "-c", code]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=120)  # noqa: S603 - the README's code
    assert len(p2p.read_csv(tmp_path / "payments.csv")) > 100


@pytest.mark.parametrize("name", ["cookbook", "gallery"])
def test_ages_count_to_the_moment_chosen_at_the_top(name: str) -> None:
    """The first two blocks set ``as_of``; later ones use it, a date, or the clock of a sandbox of their own."""
    first, second, *later = examples(ROOT / "docs" / f"{name}.md")
    assert "as_of = history.payments, history.fetched_at\n" in first
    assert "as_of = history.payments, server.now\n" in second
    given = re.findall(r"as_of=([\w.\"-]+)", "".join(later))
    assert given.count("as_of") >= 2
    assert {moment for moment in given if not re.fullmatch(r'as_of|server\.now|"[\d-]+"', moment)} == set()
    assert "fetched_at" not in "".join(later)


def test_every_page_of_instructions_has_an_example() -> None:
    """Pages that explain Python names show them in code that is run."""
    guides = ("analyses", "cookbook", "loading-and-archive", "paying", "privacy", "quick-start", "sandbox", "sign-in")
    names = (*guides, "statements")
    assert [name for name in names if not examples(ROOT / "docs" / f"{name}.md")] == []
