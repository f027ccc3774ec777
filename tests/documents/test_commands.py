"""Commands, options, make targets and variables in the README and the documentation exist, and none is missing."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from p2p_analytics import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"])
(COMMANDS,) = (each.choices for each in cli.build_parser()._actions if isinstance(each.choices, dict))
OPTIONS = {name: {*parser._option_string_actions} for name, parser in COMMANDS.items()}
VARIABLES = {
    name
    for path in (ROOT / "p2p_analytics").rglob("*.py")
    for name in re.findall(r'"(P2P_[A-Z_]+)"', path.read_text(encoding="utf-8"))
}


def test_command_lines_are_valid(command_line: str) -> None:
    """Each line of a shell block is a make target, a command with options that parse, or installs an extra."""
    program, *words = shlex.split(command_line)
    if program == "make":
        assert words[0] in TARGETS
    elif program == "pip":
        (extra,) = re.fullmatch(r'pip install -e (?:\.|"\.\[(\w+)\]")', command_line).groups()
        assert extra is None or extra in EXTRAS
    else:
        assert program == "p2p-analytics"
        cli.build_parser().parse_args(words[: words.index(">")] if ">" in words else words)


@pytest.mark.parametrize(
    ("pattern", "known"),
    [
        (r"\bmake ([a-z]+)", TARGETS),
        (r"(?:^|whl )p2p-analytics ([a-z]+)", {*COMMANDS}),
        (r"(?<!\S)--[a-z-]+", set().union(*OPTIONS.values())),
        (r"\bP2P_\w+", VARIABLES | {"P2P_SEED", "P2P_SHOTS"}),
    ],
)
def test_inline_commands_are_valid(spans: list[tuple[str, str]], pattern: str, known: set[str]) -> None:
    """Make targets, commands, options and variables in inline code exist."""
    named = [(page, name) for page, span in spans if not span.startswith("uv") for name in re.findall(pattern, span)]
    assert len(named) >= 5
    assert [(page, name) for page, name in named if name not in known] == []


def test_every_command_and_option_is_documented(guide: str) -> None:
    """The documentation names each command, and each of its options but --help and --out."""
    assert [name for name in COMMANDS if not re.search(rf"p2p-analytics {name}\b", guide)] == []
    assert {option for options in OPTIONS.values() for option in options if option not in guide} <= {"-h", "--help"}


def test_every_variable_and_extra_is_documented(guide: str) -> None:
    """Variables and extras have rows in tables; extras to install exist, and no text takes them from an index."""
    assert len(VARIABLES) >= 7
    assert set(re.findall(r"^\| `(P2P_\w+)`", guide, re.MULTILINE)) == VARIABLES
    table = guide.partition("| extra | adds |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == EXTRAS
    sources = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    sources += [path for kind in ("md", "py") for path in (ROOT / "p2p_analytics").rglob(f"*.{kind}")]
    texts = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    found = re.findall(r"pip install (?:-e )?[\"']\.\[(\w+)\]|how_to_install\([\"'](\w+)", texts)
    assert {"keyring", "notebook"} <= {extra for either in found for extra in either if extra} <= EXTRAS
    assert "pip install p2p" not in texts.replace('"', "").replace("'", "")


def test_the_readme_is_short() -> None:
    """At most 120 lines; the fifth at the latest says for which people and for which data the package is."""
    lines = README.splitlines()
    assert len(lines) <= 120
    assert ("For people who" in " ".join(lines[:5]), "your own payments" in " ".join(lines[:5])) == (True, True)
