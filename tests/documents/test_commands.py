"""The front door tells the truth: its Python runs, its commands and names exist, and none is left out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from p2p_analytics.cli import _main

if TYPE_CHECKING:
    import argparse

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = {language: re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL) for language in ("python", "sh")}


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the command line's commands by name."""
    (choices,) = [action.choices for action in _main.build_parser()._actions if isinstance(action.choices, dict)]
    return choices


def test_the_ten_lines_run(tmp_path: Path) -> None:
    """They are ten lines beside blank ones, they run as they stand, and they write the file they name."""
    (code,) = BLOCKS["python"]
    assert len([line for line in code.splitlines() if line.strip()]) == 10
    environment = os.environ | {"MPLBACKEND": "Agg", "P2P_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-W", "error", "-c", code]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, timeout=120)  # noqa: S603 - our own words
    assert len(p2p.read_csv(tmp_path / "payments.csv")) > 100


@pytest.mark.parametrize("name", p2p.__all__)
def test_every_public_name_is_there_and_in_the_readme(name: str) -> None:
    """What users type stands in the README, and loads."""
    assert getattr(p2p, name) is not None
    assert re.search(rf"\b{name}\b", README)


def test_the_public_names_are_sorted() -> None:
    """One sorted list tells the whole API."""
    assert p2p.__all__ == sorted(p2p.__all__)
    assert set(p2p.__all__) <= set(dir(p2p))


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_and_option_is_in_the_readme(name: str) -> None:
    """Each command of the command line, and each of its options but --help and --out."""
    assert re.search(rf"p2p-analytics {name}\b", README)
    options = {option for action in commands()[name]._actions for option in action.option_strings}
    assert {option for option in options if option not in README} <= {"-h", "--help", "--out"}


def test_every_command_in_the_readme_exists() -> None:
    """Each line of its shell blocks is a make target or a command whose options parse."""
    lines = [line.split("#")[0].split() for block in BLOCKS["sh"] for line in block.splitlines() if line.strip()]
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert ["make", "demo"] in lines
    assert ["make", "test"] in lines
    for program, *words in lines:
        if program == "make":
            assert words[0] in targets
        else:
            assert program == "p2p-analytics"
            _main.build_parser().parse_args(words)


def test_every_make_target_and_link_in_the_readme_exists() -> None:
    """Links lead to files of this repository, or to a project's own page."""
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make ([a-z]+)`", README)) <= set(targets)
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if not link.startswith("https://")]
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []
    proofs = re.findall(r"`(tests/[\w./]+)`", README)
    assert len(proofs) > 5
    assert [proof for proof in proofs if not (ROOT / proof).exists()] == []


def test_ways_to_install_name_extras_that_there_are() -> None:
    """Every extra that a text tells to install is declared, and no text takes the package from an index."""
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    sources = [*ROOT.glob("*.md"), *(ROOT / "p2p_analytics").rglob("*.md"), *(ROOT / "p2p_analytics").rglob("*.py")]
    texts = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    told = set(re.findall(r"pip install (?:-e )?[\"']\.\[(\w+)\]|how_to_install\([\"'](\w+)", texts))
    named = {extra for either in told for extra in either if extra}
    assert {"keyring", "notebook", "sandbox"} <= named <= extras
    assert "pip install p2p" not in texts.replace('"', "").replace("'", "")
