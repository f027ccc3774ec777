"""What drawn axes show: texts, labels and bars, as literals to compare with."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def list_texts(ax: Axes) -> list[str]:
    """Return the texts at bars."""
    return [text.get_text() for text in ax.texts]


def list_rows(ax: Axes) -> list[str]:
    """Return the labels of the vertical axis."""
    return [label.get_text() for label in ax.get_yticklabels()]


def list_places(ax: Axes) -> list[str]:
    """Return the labels of the horizontal axis."""
    return [label.get_text() for label in ax.get_xticklabels()]


def list_key(ax: Axes) -> list[str]:
    """Return the words of the legend."""
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def list_bars(ax: Axes, side: str = "width") -> list[float]:
    """Return the widths or heights of all bars."""
    return [round(float(getattr(bar, f"get_{side}")()), 2) for box in ax.containers for bar in box]


def assert_labels_apart(ax: Axes, fewest: int = 2, gap: float = 0) -> None:
    """Lay the figure out; assert that neighbours among the labels of the horizontal axis have a gap in pixels."""
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) >= fewest
    assert all(left.x1 + gap < right.x0 for left, right in pairwise(boxes))
