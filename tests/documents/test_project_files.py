"""What the project's other texts say about it is so; the README has a test of its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import p2p_analytics as p2p

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    """Return the text of a file at the top of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def test_constraints_are_versions_alone() -> None:
    """The constraints file pins versions and names no address."""
    lines = read("constraints.txt").splitlines()
    assert len(lines) > 50
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*", line)] == []


def test_constraints_hold_every_dependency() -> None:
    """Whatever pyproject.toml asks for has its version pinned."""
    asked = set(re.findall(r'"([a-z0-9-]+)(?:>=|==)[^"]*"', read("pyproject.toml")))
    pinned = {line.partition("==")[0] for line in read("constraints.txt").splitlines()}
    assert len(asked) > 20
    assert asked - pinned == set()


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CHANGELOG.md"])
def test_targets_and_links_exist(name: str) -> None:
    """Each `make target` that a text names is one, and each place that a table names is there."""
    text = read(name)
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))
    assert set(re.findall(r"(?:^ {4}|`)make ([a-z]+)", text, re.MULTILINE)) <= targets
    places = re.findall(
        r"`([a-z_]+/)`", "".join(line.partition("|")[2].partition("|")[0] for line in text.splitlines())
    )
    assert [
        place for place in places if not ((ROOT / place).is_dir() or (ROOT / "p2p_analytics" / place).is_dir())
    ] == []


def test_help_tells_every_target() -> None:
    """`make` alone lists what there is to make."""
    makefile = read("Makefile")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE)) - {"help"}
    shown = " ".join(re.findall(r'@echo "(make .*)"', makefile))
    assert {target for target in targets if not re.search(rf"\b{target}\b", shown)} == set()


def test_the_changelog_knows_the_version() -> None:
    """The package's version has a heading."""
    assert re.search(rf"^## .*{re.escape(p2p.__version__)}", read("CHANGELOG.md"), re.MULTILINE)


def test_the_glossary_explains_the_words() -> None:
    """Each word that columns and documentation lean on is explained."""
    explained = set(re.findall(r"^\| (\w+) \|", read("CONTRIBUTING.md").partition("## Glossary")[2], re.MULTILINE))
    assert explained >= {
        "actor", "target", "counterparty", "direction", "flow", "settled", "pending", "ageing", "scope", "page",
        "record", "viewer", "tie", "window",
    }  # fmt: skip
