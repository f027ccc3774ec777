"""Figures of the tests: closed after each test, drawn without a screen, and with the fonts of matplotlib only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import pytest
from matplotlib.font_manager import fontManager

from p2p_analytics.plots._parts import _fonts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SQUARE = 1000


@pytest.fixture(autouse=True)
def _figures() -> Iterator[None]:
    mpl.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(autouse=True)
def _own_fonts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hide the fonts that this machine has: figures are the same on every machine."""
    own = [entry for entry in fontManager.ttflist if Path(entry.fname).is_relative_to(mpl.get_data_path())]
    monkeypatch.setattr(fontManager, "ttflist", own)
    _forget_fonts()
    yield
    _forget_fonts()


def _forget_fonts() -> None:
    for cached in (_fonts._search_families, _fonts._find_charmap):
        cached.cache_clear()


@pytest.fixture
def install_font(tmp_path: Path) -> Callable[[str, str], Path]:
    """Return a function that makes a font with squares for some characters and adds it to matplotlib's fonts."""

    def install(family: str, characters: str) -> Path:
        from fontTools.fontBuilder import FontBuilder
        from fontTools.pens.ttGlyphPen import TTGlyphPen

        pen = TTGlyphPen(None)
        pen.moveTo((0, 0))
        for corner in ((0, _SQUARE), (_SQUARE, _SQUARE), (_SQUARE, 0)):
            pen.lineTo(corner)
        pen.closePath()
        glyph = pen.glyph()
        names = {ord(character): f"uni{ord(character):04X}" for character in characters}
        glyphs = [".notdef", *names.values()]
        builder = FontBuilder(_SQUARE, isTTF=True)
        builder.setupGlyphOrder(glyphs)
        builder.setupCharacterMap(names)
        builder.setupGlyf(dict.fromkeys(glyphs, glyph))
        builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (_SQUARE, 0)))
        builder.setupHorizontalHeader(ascent=_SQUARE, descent=0)
        builder.setupOS2(usWeightClass=400)
        builder.setupNameTable({"familyName": family, "styleName": "Regular"})
        builder.setupPost()
        path = tmp_path / f"{family}.ttf"
        builder.save(path)
        fontManager.addfont(path)
        return path

    return install
