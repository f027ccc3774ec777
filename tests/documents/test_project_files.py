"""Pinned versions, make targets, changelog, glossary, hooks and issue templates are as they should be."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import p2p_analytics as p2p

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def read(name: str) -> str:
    """Return the text of a file at the top of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def test_constraints_are_versions_only() -> None:
    """The constraints file pins versions and contains no address."""
    lines = read("constraints.txt").splitlines()
    assert len(lines) > 50
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*", line)] == []


def test_constraints_hold_every_dependency() -> None:
    """Each dependency of pyproject.toml has a pinned version."""
    asked = set(re.findall(r'"([a-z0-9-]+)(?:>=|==)[^"]*"', read("pyproject.toml")))
    pinned = {line.partition("==")[0] for line in read("constraints.txt").splitlines()}
    assert len(asked) > 20
    assert asked - pinned == set()


def test_the_package_declares_posix() -> None:
    """The classifiers name POSIX systems, because file locks exist only there; README and documentation say so too."""
    assert "Operating System :: POSIX" in tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]
    for name in ("README.md", "SECURITY.md", "docs/quick-start.md"):
        assert "POSIX" in read(name)


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md"])
def test_targets_and_places_exist(name: str) -> None:
    """Each make target that a text names exists, and so does each folder or file with its folder in a table."""
    text = read(name)
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE)) <= targets
    rows = "".join(line for line in text.splitlines() if line.startswith("|"))
    places = re.findall(r"`([a-z_/]+/(?:[a-z_]+\.py)?)`", rows)
    tops = (ROOT, ROOT / "p2p_analytics")
    assert [place for place in places if not any((top / place).exists() for top in tops)] == []


def test_the_map_is_current() -> None:
    """The map of the architecture page lists the modules as they are: run ``make docs`` after a change."""
    page = ROOT / "docs" / "architecture.md"
    text = page.read_text(encoding="utf-8")
    assert runpy.run_path(str(ROOT / "docs" / "write_map.py"))["insert_map"](text) == text, "run make docs"


def test_help_lists_every_target() -> None:
    """`make` without arguments lists all targets."""
    makefile = read("Makefile")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)) - {"help"}
    shown = " ".join(re.findall(r'@echo "(make .*)"', makefile))
    assert {target for target in targets if not re.search(rf"\b{target}\b", shown)} == set()


def test_the_environment_has_pip() -> None:
    """`%pip install` in a notebook runs the pip of its kernel's environment."""
    found = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, text=True, check=False)
    assert found.stdout.startswith("pip "), found.stderr


def test_jupyterlab_takes_options() -> None:
    """`make lab LAB_ARGS=...` passes options on to JupyterLab."""
    words = ["make", "--dry-run", "lab", "LAB_ARGS=--no-browser --port 8899"]
    printed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S603 - our words
    assert " -m jupyterlab notebooks --no-browser --port 8899\n" in printed


def test_the_changelog_has_the_version() -> None:
    """The package's version has a heading, with entries under Added, Changed and Fixed."""
    text = read("CHANGELOG.md")
    assert re.search(rf"^## .*{re.escape(p2p.__version__)}", text, re.MULTILINE)
    assert re.findall(r"^### (.+)$", text, re.MULTILINE) == ["Added", "Changed", "Fixed"]


def test_changelog_entries_are_single_lines() -> None:
    """Each entry is one line of at most 160 characters."""
    body = read("CHANGELOG.md").partition("### Added\n")[2]
    assert [line for line in body.splitlines() if line.startswith("  ") or len(line) > 160] == []


def test_the_glossary_explains_the_terms() -> None:
    """Each term that columns and documentation rely on is explained."""
    explained = set(re.findall(r"^\| (\w+) \|", read("CONTRIBUTING.md").partition("## Glossary")[2], re.MULTILINE))
    assert explained >= {
        "actor", "target", "counterparty", "direction", "flow", "settled", "pending", "ageing", "scope", "page",
        "record", "viewer", "tie", "window",
    }  # fmt: skip


def test_pre_commit_hooks_are_local() -> None:
    """Hooks download nothing: each runs a program of .venv that `make` runs too."""
    repositories = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    programs = [hook["entry"].split()[0] for hook in repositories[0]["hooks"]]
    assert programs
    makefile = read("Makefile")
    for program in programs:
        assert (ROOT / program).exists()
        assert f"$(RUN)/{Path(program).name}" in makefile


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_issue_templates_ask_for_no_secrets(template: Path) -> None:
    """No field asks for a token, a secret or real payments; the bug report warns against pasting them."""
    form = yaml.safe_load(template.read_text(encoding="utf-8"))
    fields = [part["attributes"] for part in form.get("body", []) if part["type"] != "markdown"]
    labels = " ".join(field["label"] for field in fields).lower()
    assert not re.search(r"token|secret|password|account|statement|payments", labels)
    if template.name == "bug.yml":
        assert "do not paste access tokens" in " ".join(form["body"][0]["attributes"]["value"].split())
