"""A plot as the bytes of a picture, without pyplot: nothing stays open, and the user's style changes nothing."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final, Literal

from p2p_analytics.plots import _style

if TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoFrame

_DPI: Final = 150


def picture(
    name: str, table: IntoFrame, kind: Literal["png", "svg"], *, private: bool = False, strict: bool = False
) -> bytes:
    """Return the plot of that name of a finished table, in the plot's own size; the same table gives the same bytes.

    Where it is `private`, the plot says so; ``strict`` is the history's.
    """
    from matplotlib import style

    from p2p_analytics import plots

    with style.context(["default", {"svg.hashsalt": "p2p_analytics"}]), _style.off_screen():
        drawn = io.BytesIO()
        varying = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        ax = getattr(plots, name)(table)
        if private:
            plots.mark_private(ax, strict=strict)
        ax.figure.savefig(drawn, format=kind, dpi=_DPI, metadata=varying)
    return drawn.getvalue()
