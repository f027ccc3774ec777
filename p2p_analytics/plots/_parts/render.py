"""Plots as image bytes, drawn without pyplot and without the user's matplotlib style."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final, Literal, cast

from p2p_analytics.plots._parts import style

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.figure import Figure
    from narwhals.stable.v2.typing import IntoFrame

_PNG_DPI: Final = 150
_SVG_SALT: Final = "p2p_analytics"  # makes the identifiers in an SVG reproducible


def to_image(  # noqa: PLR0913 - one keyword for each property of the image
    plot: Callable[..., Axes],
    table: IntoFrame,
    kind: Literal["png", "svg"],
    *,
    size: tuple[float, float | None] | None = None,
    names: Mapping[tuple[str | None, str | None], str] | None = None,
    private: bool = False,
    strict: bool = False,
) -> bytes:
    """Return the plot of a finished table as the bytes of an image; the same table gives the same bytes.

    Parameters
    ----------
    plot : callable
        A function of this package, such as `monthly_flow`.
    table : frame
        The table that the analysis of the same name returns.
    kind : {"png", "svg"}
        The format of the image.
    size : tuple of float, optional
        Width and height in inches; without a size, the plot chooses both. It chooses a height of None, and the
        width is then that of everything drawn: a title may be wider than the axes below it.
    names : mapping, optional
        The names of people by id and name, from `name_people`, so that several plots name a person alike.
    private, strict : bool
        The attributes of the history that the table was made from. The plot of a private history says so.
    """
    import matplotlib.style
    from matplotlib.figure import Figure

    width, height = size or (style.WIDTH, None)
    with (
        matplotlib.style.context(["default", {"svg.hashsalt": _SVG_SALT}]),
        style.without_pyplot(width),
        style.use_names(names),
    ):
        axes = Figure(figsize=(width, height), layout="constrained").subplots() if height else None
        axes = plot(table, ax=axes)
        if private:
            style.mark_private(axes, strict=strict)
        box = "tight" if size and not height else None
        figure = cast("Figure", axes.figure)  # no plot draws in a subfigure
        _fix_empty_labels(figure)
        _lay_out_only_once(figure)
        image = io.BytesIO()
        if kind == "svg":
            figure.savefig(image, format="svg", bbox_inches=box, metadata={"Date": None, "Creator": None})
        else:
            figure.savefig(image, format="png", dpi=_PNG_DPI, bbox_inches=box, metadata={"Software": None})
    return image.getvalue()


def _fix_empty_labels(figure: Figure) -> None:
    """Give the empty labels of vertical axes a place: to look for one, matplotlib measures all labels of ticks again.

    Those of horizontal axes have the remark of a private history below them.
    """
    for axes in figure.axes:
        if not axes.yaxis.label.get_text():
            axes.yaxis.set_label_coords(0, 0.5)


def _lay_out_only_once(figure: Figure) -> None:
    """Let a figure only lay itself out where `Figure.savefig` draws it for that, and throws the drawing away."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    draw = figure.draw

    def lay_out_or_draw(renderer: RendererBase) -> None:
        engine = figure.get_layout_engine()
        if isinstance(engine, ConstrainedLayoutEngine):
            engine.execute(figure)
        else:  # the layout is done
            draw(renderer)

    figure.draw = lay_out_or_draw  # type: ignore[method-assign]
