"""Links of all pages lead to files and headings that exist; nothing is fetched. Pictures are current."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

import p2p_analytics as p2p

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.DOTALL | re.MULTILINE)
TOLERANCE = 0.01  # other versions of matplotlib draw slightly different edges


def list_links(text: str) -> list[str]:
    """Return the targets of links and pictures, without targets on other hosts."""
    targets = re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", text))
    return [target for target in targets if not target.startswith("https://")]


def is_valid(page: Path, link: str) -> bool:
    """Return whether a link leads to a file of the project, and to a heading in it if it names one."""
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    text = re.sub(r"^```.*?^```", "", target.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE) if anchor else ""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
    return not anchor or (target.suffix == ".md" and anchor in anchors)


def test_links_lead_somewhere(page: Path) -> None:
    """Each link leads to a file of the project and a heading in it, and each test that a page names exists."""
    text = page.read_text(encoding="utf-8")
    assert [link for link in list_links(text) if not is_valid(page, link)] == []
    assert [path for path in re.findall(r"`(tests/[\w./]+)`", text) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.name)
def test_links_of_notebooks_lead_somewhere(notebook: Path) -> None:
    """Each relative link in the text of a notebook leads to a file of the project, and to its heading."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert [link for link in list_links(text) if not is_valid(notebook, link)] == []


@pytest.mark.parametrize(
    "wrong", ["nothing.md", "LICENSE#heading", "CONTRIBUTING.md#nothing", "#nothing", "../outside"]
)
def test_a_broken_link_is_noticed(wrong: str) -> None:
    """The check fails for missing files, missing headings, and files outside the project."""
    assert not is_valid(ROOT / "README.md", wrong)


def test_the_readme_leads_to_every_page() -> None:
    """Each page of the documentation is linked from the README, which is the site's navigation."""
    linked = {link.partition("#")[0] for link in list_links((ROOT / "README.md").read_text(encoding="utf-8"))}
    pages = {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("*.md")}
    assert len(pages) >= 9
    assert pages - linked == set()


def test_each_threat_names_a_test() -> None:
    """Each row of the security page's tables names the tests that prove the measure."""
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| threat")]
    assert len(rows) >= 24
    assert [row for row in rows if "`tests/" not in row.rpartition(" | ")[2]] == []


# ---- pictures


@pytest.fixture(scope="module")
def command() -> dict[str, Any]:
    """Return what the command behind ``make pictures`` defines."""
    return runpy.run_path(str(ROOT / "docs" / "make_pictures.py"))


def test_one_command_makes_every_picture(command: dict[str, Any]) -> None:
    """Pages show exactly the pictures that the command makes, and the folder holds no others."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "p2p_analytics" / "sandbox" / "README.md"]
    linked = {
        (page.parent / name).resolve()
        for page in pages
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    assert linked == {FOLDER / name for name in command["PICTURES"]} == {*FOLDER.iterdir()}


def find_difference(one: Path, other: Path) -> float:
    """Return the mean difference of two pictures in their brightness, from 0 to 1; 1 for another size."""
    first, second = (Image.open(path).convert("L") for path in (one, other))
    if first.size != second.size:
        return 1.0
    counts = ImageChops.difference(first, second).histogram()
    return sum(value * count for value, count in enumerate(counts)) / sum(counts) / 255


@pytest.mark.full
def test_the_plots_are_current(command: dict[str, Any], tmp_path: Path) -> None:
    """Plots drawn now look like the ones in the folder: run ``make pictures`` after a change that shows."""
    history, as_of = command["load"]()
    command["draw_plots"](history, as_of, tmp_path)
    drawn = sorted(tmp_path.iterdir())
    assert len(drawn) == len(command["PLOTS"])
    assert [path.name for path in drawn if find_difference(path, FOLDER / path.name) > TOLERANCE] == []
    (turned := tmp_path / "turned.png").touch()
    Image.open(FOLDER / "status_mix.png").rotate(180).save(turned)
    assert find_difference(FOLDER / "status_mix.png", turned) > 5 * TOLERANCE


@pytest.mark.full
def test_the_large_town_has_what_its_pictures_show(command: dict[str, Any]) -> None:
    """People who are gone in later years, and a public note of each kind but two."""
    payments = command["load_large_town"]().payments
    assert (p2p.people_by_year(payments)["lost"] > 0).sum() >= 3
    reasons = set(p2p.sensitive_notes(payments)["reasons"].str.split(", ").explode())
    assert len(reasons) >= 7
