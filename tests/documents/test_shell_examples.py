"""Shell commands of the README and the documentation that work on statement files run as they stand."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import p2p_analytics as p2p

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/quick-start.md", "docs/statements.md")
BEGIN = "p2p-analytics import mypayments"
END = "p2p-analytics report mypayments"


def _find_block(page: str) -> list[str]:
    blocks = (ROOT / page).read_text("utf-8").split("```sh\n")[1:]
    (found,) = [block.partition("```")[0] for block in blocks if block.startswith(BEGIN)]
    return found.splitlines()


@pytest.mark.parametrize("name", PAGES)
def test_the_first_commands_of_a_statement_owner_run(name: str, tmp_path: Path) -> None:
    """With the sample files and another one in the folder of downloads; the report names their owner."""
    lines = _find_block(name)
    assert len(lines) in (2, 3)
    assert all(line.startswith((BEGIN, END)) for line in lines)
    downloads = tmp_path / "Downloads"
    shutil.copytree(ROOT / "data" / "statements", downloads)
    (downloads / "shop.csv").write_text("Shop,Total\nMill,3\n", "utf-8")
    program = tmp_path / "bin" / "p2p-analytics"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m p2p_analytics "$@"\n', "utf-8")
    program.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    environment = os.environ | {
        "HOME": str(tmp_path),
        "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    for variable in [each for each in environment if each.startswith("P2P_")]:
        del environment[variable]
    command = ["/bin/sh", "-ec", "\n".join(lines)]
    subprocess.run(command, cwd=work, env=environment, check=True, timeout=120)  # noqa: S603 - the page's commands
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
