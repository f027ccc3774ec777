"""Pictures of the README and the documentation are made by ``make pictures``, and show the current state."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

import p2p_analytics as p2p

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "pictures"
TOLERANCE = 0.01  # other versions of matplotlib draw slightly different edges


@pytest.fixture(scope="module")
def command() -> dict[str, Any]:
    """Return what the command behind ``make pictures`` defines."""
    return runpy.run_path(str(ROOT / "docs" / "make_pictures.py"))


def find_linked_pictures() -> set[Path]:
    """Return the pictures that pages show."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "p2p_analytics" / "sandbox" / "README.md"]
    return {
        (page.parent / name).resolve()
        for page in pages
        for name in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    }


def difference(one: Path, other: Path) -> float:
    """Return the mean difference of two pictures in their brightness, from 0 to 1; 1 for another size."""
    first, second = (Image.open(path).convert("L") for path in (one, other))
    if first.size != second.size:
        return 1.0
    counts = ImageChops.difference(first, second).histogram()
    return sum(value * count for value, count in enumerate(counts)) / sum(counts) / 255


def test_one_command_makes_every_picture(command: dict[str, Any]) -> None:
    """Pages show exactly the pictures that the command makes, and the folder holds no others."""
    assert find_linked_pictures() == {FOLDER / name for name in command["PICTURES"]}
    assert {path.name for path in FOLDER.iterdir()} == set(command["PICTURES"])
    assert re.search(r"^pictures:.*\n\t.* docs/make_pictures.py$", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.full
def test_the_plots_are_current(command: dict[str, Any], tmp_path: Path) -> None:
    """Plots drawn now look like the ones in the folder: run ``make pictures`` after a change that shows."""
    history, as_of = command["load"]()
    command["draw_plots"](history, as_of, tmp_path)
    drawn = sorted(tmp_path.iterdir())
    assert len(drawn) == len(command["PLOTS"])
    assert [path.name for path in drawn if difference(path, FOLDER / path.name) > TOLERANCE] == []


@pytest.mark.full
def test_the_large_town_has_what_its_pictures_show(command: dict[str, Any]) -> None:
    """People who are gone in later years, and a public note of each kind but two."""
    payments = command["load_large_town"]().payments
    assert (p2p.people_by_year(payments)["lost"] > 0).sum() >= 3
    reasons = set(p2p.sensitive_notes(payments)["reasons"].str.split(", ").explode())
    assert len(reasons) >= 7


def test_a_changed_picture_is_noticed(tmp_path: Path) -> None:
    """A picture of another plot, or of another size, differs by more than the tolerance."""
    assert difference(FOLDER / "status_mix.png", FOLDER / "monthly_flow.png") == 1.0
    turned = tmp_path / "turned.png"
    Image.open(FOLDER / "status_mix.png").rotate(180).save(turned)
    assert difference(FOLDER / "status_mix.png", turned) > 5 * TOLERANCE
