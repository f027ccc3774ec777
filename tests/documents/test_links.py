"""Links of all pages lead to files and headings that exist; nothing is fetched."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)


WRONG = ["nothing.md", "LICENSE#heading", "CONTRIBUTING.md#nothing", "#nothing", "../outside"]


def links(page: Path) -> list[str]:
    """Return the targets of a page's links and pictures, without those on other hosts."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if not target.startswith("https://")]


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts and the built site spell them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def is_valid(page: Path, link: str) -> bool:
    """Return whether a link leads to a file of the project, and to a heading in it if it names one."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors(target))


def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link leads to a file of the project and, after a ``#``, to a heading in it."""
    assert [link for link in links(page) if not is_valid(page, link)] == []


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_links_of_notebooks_lead_somewhere(notebook: Path, tmp_path: Path) -> None:
    """Each relative link in the text of a notebook leads to a file of the project, and to its heading."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = tmp_path / "text.md"
    text.write_text("\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"), "utf-8")
    assert [link for link in links(text) if not is_valid(notebook, link)] == []


@pytest.mark.parametrize("wrong", WRONG)
def test_a_broken_link_is_noticed(wrong: str) -> None:
    """The check fails for missing files, missing headings, and files outside the project."""
    assert not is_valid(ROOT / "README.md", wrong)


def test_the_readme_leads_to_every_page() -> None:
    """Each page of the documentation is linked from the README, which is the site's navigation."""
    linked = {link.partition("#")[0] for link in links(ROOT / "README.md")}
    pages = {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("*.md")}
    assert len(pages) >= 9
    assert pages - linked == set()


def test_tests_that_a_page_names_exist(page: Path) -> None:
    """Each path of a test in inline code exists."""
    named = re.findall(r"`(tests/[\w./]+)`", page.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_each_threat_names_a_test() -> None:
    """Each row of the security page's tables names the tests that prove the measure."""
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| threat")]
    assert len(rows) >= 24
    assert [row for row in rows if "`tests/" not in row.rpartition(" | ")[2]] == []
