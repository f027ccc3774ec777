"""Figures of the tests: closed after each test, drawn without a screen, and with the fonts of matplotlib only."""

from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib.font_manager import fontManager

from p2p_analytics.plots._parts import _fonts


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
    for cached in (_fonts._search_families, _fonts._list_families, _fonts._find_charmap):
        cached.cache_clear()


@pytest.fixture
def install_font(tmp_path: Path) -> Callable[[str, str], Path]:
    """Return a function that makes a font with brackets for some characters and adds it to matplotlib's fonts."""

    def install(family: str, characters: str) -> Path:
        from fontTools.ttLib import TTFont

        font = TTFont(Path(mpl.get_data_path(), "fonts", "ttf", "STIXSizOneSymReg.ttf"))
        font["cmap"].tables = [table for table in font["cmap"].tables if table.isUnicode()]
        for table in font["cmap"].tables:
            table.cmap = dict.fromkeys(map(ord, characters), "parenleft")
        font["name"].names = []
        for name, text in ((1, family), (2, "Regular"), (4, family), (6, family)):
            font["name"].setName(text, name, 3, 1, 0x409)
        path = tmp_path / f"{family}.ttf"
        font.save(path)
        fontManager.addfont(path)
        return path

    return install
