"""The texts of the project keep up with its code."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli

ROOT = Path(__file__).parents[2]


def commands() -> list[str]:
    """Return the names of the commands as argparse knows them."""
    actions = cli._parser()._actions
    return [name for action in actions if isinstance(action, argparse._SubParsersAction) for name in action.choices]


@pytest.mark.parametrize("name", commands())
def test_each_command_is_in_the_readme(name: str) -> None:
    """A command that the README does not show is one that nobody finds."""
    assert re.search(rf"\b(p2p-analytics|make) {name}\b", (ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", p2p.__all__)
def test_each_public_name_is_in_the_readme(name: str) -> None:
    """So is a function."""
    assert re.search(rf"\b{name}\b", (ROOT / "README.md").read_text(encoding="utf-8"))


def test_public_names_are_sorted_and_there() -> None:
    """The list is in order, without doubles, and each name loads."""
    assert sorted(set(p2p.__all__)) == list(p2p.__all__)
    assert all(getattr(p2p, name) is not None for name in p2p.__all__)


def test_constraints_are_versions_alone() -> None:
    """The constraints file pins versions and names no address."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 50
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*", line)] == []


def test_make_targets_of_the_texts_exist() -> None:
    """Each `make target` that a text names is one."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        name
        for text in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
        for name in re.findall(r"(?:^ *|`)make ([a-z]+)", (ROOT / text).read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert {"demo", "test"} <= named <= targets


def test_the_changelog_knows_the_version() -> None:
    """The package's version has a heading."""
    assert re.search(
        rf"^## .*{re.escape(p2p.__version__)}", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
