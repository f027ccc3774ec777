"""Pages of the README and the documentation, and their parts as test parameters."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [
    *GUIDE,
    *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "data/README.md")),
    ROOT / "p2p_analytics" / "sandbox" / "README.md",
]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def read_prose(page: Path) -> str:
    """Return the text of a page without its code blocks."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def list_code(page: Path, language: str) -> list[str]:
    """Return the code blocks of a page in a language."""
    return [code for name, code in FENCED.findall(page.read_text(encoding="utf-8")) if name == language]


def list_commands(page: Path) -> list[str]:
    """Return the command lines of a page's shell blocks and indented blocks, without comments."""
    lines = [line for block in list_code(page, "sh") for line in block.splitlines()]
    lines += re.findall(r"^ {4}((?:make|p2p-analytics) .*)", read_prose(page), re.MULTILINE)
    return [line.partition("  #")[0].strip() for line in lines if line.strip()]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test once for each page, page with examples, or command line that it asks for."""
    examples = [page for page in GUIDE[1:] if list_code(page, "python")]
    lines = [line for page in PAGES for line in list_commands(page)]
    for name, parts in {"page": PAGES, "example_page": examples, "command_line": lines}.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, parts, ids=lambda part: getattr(part, "name", ascii(part)))


@pytest.fixture(scope="session")
def spans() -> list[tuple[str, str]]:
    """Return the file name and text of each inline code span of all pages."""
    return [(page.name, span) for page in PAGES for span in dict.fromkeys(re.findall(r"`([^`\n]+)`", read_prose(page)))]


@pytest.fixture(scope="session")
def guide() -> str:
    """Return the text of the README and all pages of the documentation."""
    return "\n".join(page.read_text(encoding="utf-8") for page in GUIDE)
