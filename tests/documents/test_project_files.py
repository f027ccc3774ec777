"""Pinned versions, make targets, changelog, module map and issue templates are as they should be."""

import re
import runpy
import tomllib
from pathlib import Path

import yaml

import p2p_analytics as p2p

ROOT = Path(__file__).parents[2]
PACKAGE = "p2p_analytics"


def read(name: str) -> str:
    """Return the text of a file at the top of the project."""
    return (ROOT / name).read_text(encoding="utf-8")


def test_constraints_hold_every_dependency() -> None:
    """The file pins a version of each dependency of pyproject.toml, and contains no address."""
    lines = read("constraints.txt").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][\w.]*", line)] == []
    wanted = set(re.findall(r'"([a-z0-9-]+)(?:>=|==)[^"]*"', read("pyproject.toml")))
    assert len(wanted) > 20
    assert wanted - {line.partition("==")[0] for line in lines} == set()


def test_targets_and_places_exist() -> None:
    """Make targets in texts exist, as do folders and files in tables; `make` without arguments lists all targets."""
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md"):
        assert set(re.findall(r"(?:^|`)make ([a-z-]+)", read(name), re.MULTILINE)) <= targets
        rows = "".join(line for line in read(name).splitlines() if line.startswith("|"))
        places = re.findall(r"`([a-z_/]+/(?:[a-z_]+\.py)?)`", rows)
        assert [each for each in places if not (ROOT / each).exists() and not (ROOT / PACKAGE / each).exists()] == []
    shown = " ".join(re.findall(r'@echo "(make .*)"', read("Makefile")))
    assert {target for target in targets if not re.search(rf"\b{target}\b", shown)} == {"help"}


def test_the_map_is_current() -> None:
    """The map of the architecture page lists the modules as they are: run ``make docs`` after a change."""
    text = read("docs/architecture.md")
    assert runpy.run_path(str(ROOT / "docs" / "write_map.py"))["insert_map"](text) == text, "run make docs"


def test_the_changelog() -> None:
    """The package's version has a heading, and each entry is one line of at most 160 characters."""
    text = read("CHANGELOG.md")
    assert re.search(rf"^## .*{re.escape(p2p.__version__)}", text, re.MULTILINE)
    assert re.findall(r"^### (.+)$", text, re.MULTILINE) == ["Added", "Changed", "Fixed"]
    body = text.partition("### Added\n")[2]
    assert [line for line in body.splitlines() if line.startswith("  ") or len(line) > 160] == []


def test_pre_commit_hooks_are_local() -> None:
    """Hooks download nothing: each runs a program of .venv that `make` runs too."""
    (repository,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    programs = [Path(hook["entry"].split()[0]).name for hook in repository["hooks"]]
    assert (repository["repo"], len(programs) > 0) == ("local", True)
    assert [name for name in programs if f"$(RUN)/{name}" not in read("Makefile")] == []


def test_issue_templates_ask_for_no_secrets() -> None:
    """No field asks for a token, a secret or real payments; the bug report warns against pasting them."""
    forms = {path.name: yaml.safe_load(path.read_text("utf-8")) for path in ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")}
    for form in forms.values():
        labels = " ".join(part["attributes"]["label"] for part in form.get("body", []) if part["type"] != "markdown")
        assert not re.search(r"(?i)token|secret|password|account|statement|payments", labels)
    warning = forms["bug.yml"]["body"][0]["attributes"]["value"]
    assert "do not paste access tokens" in " ".join(warning.split())


def test_the_package_declares_posix() -> None:
    """File locks exist only there; README and documentation say so too."""
    assert "Operating System :: POSIX" in tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]
    assert all("POSIX" in read(name) for name in ("README.md", "SECURITY.md", "docs/quick-start.md"))
