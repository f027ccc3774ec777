"""Ticks of the axis of the numbers, as few as their labels have room for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axis import Axis

_MOST: Final = 6
_STEPS: Final = (1, 2, 2.5, 5, 10)
_LETTER: Final = 0.078  # inches of a digit in a label
_GAP: Final = 0.16  # inches between two labels


class RoomyLocator(MaxNLocator):
    """Round numbers; on a horizontal axis fewer of them, the longer their labels are."""

    def __init__(self) -> None:
        super().__init__(nbins=_MOST, steps=_STEPS)

    def tick_values(self, vmin: float, vmax: float) -> Sequence[float]:
        """Return the numbers with a tick."""
        axis = cast("Axis", self.axis)
        if axis is axis.axes.xaxis:
            form = axis.get_major_formatter()
            letters = max(len(form(round(end))) for end in (vmin, vmax))  # most ticks are whole numbers
            width = axis.axes.bbox.width / axis.axes.figure.dpi
            self.set_params(nbins=min(max(int(width / (letters * _LETTER + _GAP)), 1), _MOST))
        found: Sequence[float] = super().tick_values(vmin, vmax)
        return found
