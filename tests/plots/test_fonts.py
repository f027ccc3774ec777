"""Installed fonts for the characters that matplotlib's own font lacks; the fonts of these tests are made by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest
from matplotlib.font_manager import fontManager
from matplotlib.ft2font import FT2Font

from p2p_analytics import plots
from p2p_analytics.plots._parts import _fonts
from p2p_analytics.plots._parts.text import to_drawable, to_drawable_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes

    Install = Callable[[str, str], Path]

OWN = "DejaVu Sans"


def _plot(*names: str) -> Axes:
    return plots.spend_by_friend(pd.DataFrame({"counterparty_name": names, "sent": 1.0, "received": 0.0}))


def _families(ax: Axes) -> list[list[str]]:
    return [label.get_fontfamily() for label in ax.get_yticklabels()]


def test_a_name_is_drawn_with_an_installed_font(install_font: Install) -> None:
    """A Chinese name is drawn with a font that has it, also one that is added later; others with the usual font."""
    assert _families(_plot("王小明", "Ada")) == [[OWN], [OWN]]
    install_font("Square Sans", "王小明")
    ax = _plot("王小明", "Ada", "Maya 王")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["王小明", "Ada", "Maya 王"]
    assert _families(ax) == [[OWN, "Square Sans"], [OWN], [OWN, "Square Sans"]]


def test_no_warning_and_the_same_bytes(install_font: Install) -> None:
    """A drawn name causes no warning (the tests turn warnings into errors), and an image is reproducible."""
    table = pd.DataFrame({"counterparty_name": ["王小明", "김"], "sent": [2.0, 1.0], "received": 0.0})
    without = plots.to_image(plots.spend_by_friend, table, "svg")
    install_font("Square Sans", "王小明")
    first, again = (plots.to_image(plots.spend_by_friend, table, "svg") for _ in range(2))
    assert first == again != without


@pytest.mark.parametrize(
    ("text", "families"),
    [
        ("王小明", ["Whole Sans"]),
        ("王", ["Whole Sans"]),
        ("王ก", ["Whole Sans", "Thai Sans"]),
        ("かな", ["Square Sans JP"]),
        ("王か", ["Square Sans JP"]),
        ("明か", ["Whole Serif"]),
        ("ᚠ", []),
    ],
)
def test_the_choice_of_fonts(install_font: Install, text: str, families: list[str]) -> None:
    """One font for the whole text, of the text's region, without serifs and with many characters; else few fonts."""
    for family, characters in {
        "A Part Sans": "王小",
        "Another Sans": "王小明",
        "Square Sans JP": "王かな",
        "Thai Sans": "ก",
        "Whole Sans": "王小明一二",
        "Whole Serif": "王小明一二三四か",
        "Blank": "ᚠ",
    }.items():
        install_font(family, characters)
    assert _fonts.find_families(text) == [OWN, *families]


def test_a_name_of_which_a_part_has_no_font(install_font: Install) -> None:
    """The part with a font is drawn, the rest is an ellipsis; a name without any is described."""
    install_font("Square Sans", "王小")
    names = ["王小明", "明", "明"]
    assert to_drawable_names(names, [None] * 3, ["1111", "2222", "3333"]) == [
        "王小…", "(Chinese script) (…2222)", "(Chinese script) (…3333)",
    ]  # fmt: skip


def test_wide_characters_count_twice(install_font: Install) -> None:
    """Twelve Chinese characters are as wide as twenty-four letters."""
    install_font("Square Sans", "王")
    assert to_drawable("王" * 12) == "王" * 12
    assert to_drawable("王" * 13) == "王" * 11 + "…"
    assert to_drawable("ab" + "王" * 12) == "ab" + "王" * 10 + "…"


def test_a_font_that_was_removed_or_is_broken_is_not_used(install_font: Install) -> None:
    """The list of fonts that matplotlib keeps may be older than the files."""
    install_font("Gone Sans", "王").unlink()
    install_font("Broken Sans", "王").write_bytes(b"no font")
    assert to_drawable("王") == "(Chinese script)"


def test_faces_that_matplotlib_would_replace_are_not_used(install_font: Install) -> None:
    """A family without a regular face would be drawn in another weight, with a message in the log."""
    install_font("Square Sans", "王")
    at, entry = next((at, each) for at, each in enumerate(fontManager.ttflist) if each.name == "Square Sans")
    fields = {name: getattr(entry, name) for name in ("fname", "name", "variant", "stretch", "size")}
    for change in ({"style": "italic", "weight": 400}, {"style": "normal", "weight": 900}):
        _fonts._search_families.cache_clear()
        fontManager.ttflist[at] = type(entry)(**fields, **change)
        assert to_drawable("王") == "(Chinese script)"


def test_fonts_are_read_once(install_font: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first name with rarer characters reads the installed fonts, later plots read none."""
    install_font("Square Sans", "王小明")
    opened: list[tuple[object, ...]] = []

    monkeypatch.setattr(_fonts, "FT2Font", lambda *where, **options: opened.append(where) or FT2Font(*where, **options))
    _plot("Ada")
    assert len(opened) == 1
    _plot("王小明", "김")
    first = len(opened)
    assert len(set(opened)) == first > 2
    _plot("王小明", "明", "ᚠ", "김")
    assert len(opened) == first
