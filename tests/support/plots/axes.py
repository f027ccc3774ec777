"""What drawn axes show: texts, labels and bars, as literals to compare with."""

from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb


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


def measure_contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours by WCAG 2."""
    bright, dark = sorted((_measure_luminance(colour) for colour in (one, other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _measure_luminance(colour: str) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def assert_labels_apart(ax: Axes, fewest: int = 2, gap: float = 0) -> None:
    """Lay the figure out; assert that neighbours among the labels of the horizontal axis have a gap in pixels."""
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) >= fewest
    assert all(left.x1 + gap < right.x0 for left, right in pairwise(boxes))
