"""Themes: text is legible on the background, the caller's settings come back, and data keeps its colours."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.plots._parts.style import contrast
from support.plots.tables import TABLES

PAGES: dict[Any, list[str]] = {"dark": ["#111111"], "any": ["#FFFFFF", "#111111", "#000000"]}
LEGIBLE = 4.0  # WCAG 2 asks 3 of large text and 4.5 of small text; no grey has 4.5 on white and on black


@pytest.mark.parametrize("name", sorted(TABLES))
def test_text_is_legible_on_the_page(name: str) -> None:
    """Titles, names, ticks and labels of every plot have a contrast of at least 4 with each page of a theme."""
    for background, pages in PAGES.items():
        with p2p.plots.theme(background):
            figure = Figure()
            getattr(p2p.plots, name)(TABLES[name], ax=figure.subplots())
        assert figure.get_facecolor()[3] == (0.0 if background == "any" else 1.0)
        # Inside bars, the colour depends on the bar.
        texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_bbox_patch() is None]
        colours = {text.get_text(): to_hex(text.get_color()) for text in texts if text.get_text().strip()}
        assert len(colours) >= 3
        faint = {text: ink for text, ink in colours.items() if min(contrast(ink, page) for page in pages) < LEGIBLE}
        assert faint == {}


def test_the_settings_come_back_after_a_block() -> None:
    """Inside a block its theme counts, after it the settings of before; without a block it stays."""
    mpl.rcParams["text.color"] = "#123456"
    with p2p.plots.theme("dark"):
        with p2p.plots.theme("light"):
            assert mpl.rcParams["text.color"] == "black"
        assert mpl.rcParams["text.color"] == "#EEEEEE"
    assert mpl.rcParams["text.color"] == "#123456"
    p2p.plots.theme("dark")
    assert mpl.rcParams["axes.facecolor"] == "#111111"
    mpl.rcdefaults()


def test_data_keeps_its_colours() -> None:
    """Sent and received have the same colours in every theme."""
    with p2p.plots.theme("dark"):
        dark = [to_hex(bar.get_facecolor()) for bar in p2p.plots.spend_by_friend(TABLES["spend_by_friend"]).patches]
    assert {*dark} == {"#d55e00", "#0072b2"}


def test_an_unknown_theme_is_refused() -> None:
    """The error names the themes."""
    with pytest.raises(
        ConfigurationError, match="background='solarized' is not valid: give one of 'light', 'dark', 'any'"
    ):
        p2p.plots.theme("solarized")  # type: ignore[arg-type]
