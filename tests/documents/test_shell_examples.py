"""Shell commands of the README and the documentation that work on statement files run as they stand."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/quick-start.md", "docs/statements.md")
BEGIN = "p2p-analytics import mypayments"
END = "p2p-analytics report mypayments"


def _find_block(page: str) -> tuple[str, ...]:
    """Return the first commands of a page, without comments."""
    blocks = (ROOT / page).read_text("utf-8").split("```sh\n")[1:]
    found = next(block.partition("```")[0] for block in blocks if block.startswith(BEGIN))
    return tuple(line.partition("  #")[0].rstrip() for line in found.splitlines())


def _expand_words(line: str, home: Path) -> list[str]:
    """Return the words that a shell passes to the program."""
    print_words = line.replace("p2p-analytics", "printf '%s\\n'", 1)
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    done = subprocess.run(  # noqa: S603 - the page's commands
        ["/bin/sh", "-ec", print_words], env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("block", sorted({*map(_find_block, PAGES)}), ids=lambda block: f"{len(block)} commands")
def test_the_first_commands_of_a_statement_owner_run(
    block: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the sample files and another one in the folder of downloads; the report names their owner."""
    assert len(block) in (2, 3)
    assert all(line.startswith((BEGIN, END)) for line in block)
    downloads = tmp_path / "Downloads"
    shutil.copytree(ROOT / "data" / "statements", downloads)
    (downloads / "shop.csv").write_text("Shop,Total\nMill,3\n", "utf-8")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    for line in block:
        words = _expand_words(line, tmp_path)
        assert cli.main(words) == 0, line
    assert {path.name for path in work.iterdir()} == {"mypayments", "report.html"}
    assert "Payments of <bdi>Maya Lindqvist</bdi>" in (work / "report.html").read_text("utf-8")
    kept = p2p.open_archive(work / "mypayments").history().payments
    expected = p2p.read_statements(ROOT / "data" / "statements").payments
    assert kept["payment_id"].tolist() == expected["payment_id"].tolist()


def test_the_readme_and_the_quick_start_open_with_them() -> None:
    """They are the first shell commands of the README, and come before the sandbox and the API in the quick start."""
    assert (ROOT / "README.md").read_text("utf-8").partition("```sh\n")[2].startswith(BEGIN)
    quick_start = (ROOT / "docs" / "quick-start.md").read_text("utf-8")
    assert quick_start.index(BEGIN) < quick_start.index("## Try it without an account")
