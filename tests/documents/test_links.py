"""Links of all pages lead to files and headings that exist; nothing is fetched. Pictures are current."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

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


def test_links_of_notebooks_and_broken_ones() -> None:
    """Links in texts of notebooks lead somewhere; missing files and headings, and files elsewhere, are noticed."""
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
        assert [link for link in list_links(text) if not is_valid(notebook, link)] == []
    wrong = ["nothing.md", "LICENSE#heading", "CONTRIBUTING.md#nothing", "#nothing", "../outside"]
    assert [link for link in wrong if is_valid(ROOT / "README.md", link)] == []


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
