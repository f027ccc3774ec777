"""Images of plots: each is drawn once, in the size that is asked for."""

from __future__ import annotations

import io
import re
from typing import Literal

import pandas as pd
import pytest
from matplotlib.axes import Axes
from PIL import Image

from p2p_analytics import plots
from support.plots.tables import TABLES


@pytest.mark.parametrize("name", ["spend_by_friend", "pending_requests"])
def test_others_fit_a_narrow_page(name: str) -> None:
    """Long labels leave room for the bars; matplotlib warns otherwise (the tests turn warnings into errors)."""
    table = pd.DataFrame(
        {
            "direction": ["in", "out", "out"] * 11,
            "counterparty_name": "a name that never seems to come to any end",
            "amount": [12345.67, 23456.78, None] * 11,
            "age_days": 1234,
            "sent": 12345.67,
            "received": 12345.67,
        }
    )
    drawn: list[Axes] = []
    plots.to_image(
        lambda table, ax: drawn.append(getattr(plots, name)(table)) or drawn[0], table, "svg", size=(5.2, None)
    )
    assert drawn[0].get_position().width > 0.3


def _measure(image: bytes) -> tuple[float, float]:
    """Return width and height of an image in its own units."""
    if image.startswith(b"\x89PNG"):
        return Image.open(io.BytesIO(image)).size
    width, height = re.search(rb'<svg [^>]*?width="([\d.]+)pt" height="([\d.]+)pt"', image).groups()
    return float(width), float(height)


@pytest.mark.parametrize(("kind", "dots"), [("png", 150), ("svg", 72)])
def test_an_image_is_drawn_once_in_its_size(
    kind: Literal["png", "svg"], dots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Width and height are in inches; a height of None is left to the plot, and all is drawn within the image.

    Only the layout of a figure is computed before it is drawn.
    """
    drawings: list[object] = []
    draw = Axes.draw
    monkeypatch.setattr(Axes, "draw", lambda axes, renderer: drawings.append(axes) or draw(axes, renderer))
    sizes = {
        size: _measure(plots.to_image(plots.pending_ageing, TABLES["pending_ageing"], kind, size=size))
        for size in (None, (7, 4), (5.2, None), (9.0, None))
    }
    assert len(drawings) == len(sizes)
    assert sizes[7, 4] == (7 * dots, 4 * dots)
    assert sizes[None][0] == pytest.approx(6.4 * dots)
    narrow, wide = sizes[5.2, None], sizes[9.0, None]
    assert narrow[0] == pytest.approx(5.2 * dots, rel=0.06)  # the margins around a figure that chooses its height
    assert wide[0] == pytest.approx(9.0 * dots, rel=0.06)
    assert narrow[1] == pytest.approx(wide[1], rel=0.02)
