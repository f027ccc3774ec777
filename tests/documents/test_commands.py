"""Commands, options, make targets and variables in the README and the documentation exist, and none is missing."""

from __future__ import annotations

import re
import shlex
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from p2p_analytics.cli import _commands, _demo

if TYPE_CHECKING:
    import argparse

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])


WRONG = ["make nothing", "p2p-analytics sync", "p2p-analytics demo --all", "rm x", "pip install x"]


def commands() -> dict[str, argparse.ArgumentParser]:
    """Return the command line's commands by name."""
    (choices,) = [action.choices for action in _commands.build_parser()._actions if isinstance(action.choices, dict)]
    return choices


def options(name: str) -> set[str]:
    """Return the options of a command."""
    return {option for action in commands()[name]._actions for option in action.option_strings}


def check(line: str) -> None:
    """Raise if a command line is neither a make target, nor a command with valid options, nor a way to install."""
    program, *words = shlex.split(line)
    if program == "make":
        assert words[0] in TARGETS
    elif program == "pip":
        (extra,) = re.fullmatch(r'pip install -e (?:\.|"\.\[(\w+)\]")', line).groups()
        assert extra is None or extra in EXTRAS
    else:
        assert program == "p2p-analytics"
        words = words[: words.index(">")] if ">" in words else words
        _commands.build_parser().parse_args(words)


def test_command_lines_are_valid(command_line: str) -> None:
    """Each line of a shell block is a make target, a command with options that parse, or installs an extra."""
    check(command_line)


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_command_line_is_noticed(wrong: str) -> None:
    """The check fails for an unknown target, a missing argument, an unknown option, and other programs."""
    with pytest.raises((AssertionError, AttributeError, SystemExit)):
        check(wrong)


def test_inline_commands_are_valid(spans: list[tuple[str, str]]) -> None:
    """Make targets, commands, options and variables in inline code exist."""
    every_option = set().union(*map(options, commands()))
    sources = [path for folder in ("p2p_analytics", "tests") for path in (ROOT / folder).rglob("*.py")]
    variables = {name for path in sources for name in re.findall(r'"(P2P_\w+)"', path.read_text(encoding="utf-8"))}
    named = {"target": TARGETS, "command": set(commands()), "option": every_option, "variable": variables}
    found = {
        "target": [(page, name) for page, span in spans for name in re.findall(r"\bmake ([a-z]+)", span)],
        "command": [
            (page, name) for page, span in spans for name in re.findall(r"(?:^|whl )p2p-analytics ([a-z]+)", span)
        ],
        "option": [
            (page, name)
            for page, span in spans
            if not span.startswith("uv")
            for name in re.findall(r"(?<!\S)--[a-z-]+", span)
        ],
        "variable": [(page, name) for page, span in spans for name in re.findall(r"\bP2P_\w+", span)],
    }
    assert all(len(pairs) >= 5 for pairs in found.values())
    wrong = [(page, name) for kind, pairs in found.items() for page, name in pairs if name not in named[kind]]
    assert wrong == []


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_command_and_option_is_documented(name: str, guide: str) -> None:
    """The documentation names each command, and each of its options but --help and --out."""
    assert re.search(rf"p2p-analytics {name}\b", guide)
    assert {option for option in options(name) if option not in guide} <= {"-h", "--help", "--out"}


def test_every_variable_is_documented(guide: str) -> None:
    """Each environment variable that the package reads has a row in the table of the quick start."""
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "p2p_analytics").rglob("*.py")]
    read = {name for source in sources for name in re.findall(r'"(P2P_[A-Z_]+)"', source)}
    assert len(read) >= 7
    assert read == set(re.findall(r"^\| `(P2P_\w+)`", guide, re.MULTILINE))


def test_every_extra_is_documented(guide: str) -> None:
    """Each extra of pyproject.toml has a row in the table of the quick start."""
    table = guide.partition("| extra | adds |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == EXTRAS


def test_the_readme_is_short() -> None:
    """At most 120 lines; the fifth at the latest says for which people and for which data the package is."""
    lines = README.splitlines()
    assert len(lines) <= 120
    assert "For people who" in " ".join(lines[:5])
    assert "your own payments" in " ".join(lines[:5])
    assert "make demo" in README
    assert "make test" in README


def test_ways_to_install_name_extras_that_exist() -> None:
    """Every extra that a text suggests to install is declared, and no text takes the package from an index."""
    sources = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    sources += [path for kind in ("md", "py") for path in (ROOT / "p2p_analytics").rglob(f"*.{kind}")]
    texts = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    found = re.findall(r"pip install (?:-e )?[\"']\.\[(\w+)\]|how_to_install\([\"'](\w+)", texts)
    named = {extra for either in found for extra in either if extra}
    assert {"keyring", "notebook"} <= named <= EXTRAS
    assert "pip install p2p" not in texts.replace('"', "").replace("'", "")


def test_the_plots_of_the_demo_are_named() -> None:
    """The quick start names the plots that the demo writes, and the README their number."""
    text = (ROOT / "docs" / "quick-start.md").read_text(encoding="utf-8")
    tables = _demo._build_tables(p2p.read_statements(ROOT / "data" / "statements").history(), datetime.now(UTC))
    names = re.findall(r"`(\w+)\.png`", text)
    assert names == [*tables]
    assert f"{('no', 'one', 'two', 'three', 'four', 'five', 'six')[len(names)]} plots as PNG files" in README
