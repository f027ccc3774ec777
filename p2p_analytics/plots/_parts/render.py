"""Plots as image bytes, drawn without pyplot and without the user's matplotlib style."""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import matplotlib.style
from matplotlib import rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_mixed import MixedModeRenderer
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG
from matplotlib.figure import Figure
from matplotlib.textpath import TextToPath

from p2p_analytics.plots._parts import style

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.axes import Axes
    from matplotlib.font_manager import FontProperties
    from matplotlib.transforms import Bbox
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
        width is then the width of everything drawn: a title may be wider than the axes below it.
    names : mapping, optional
        The names of people by id and name, from `name_people`, so that several plots name a person alike.
    private, strict : bool
        The attributes of the history that the table was made from. The plot of a private history says so.
    """
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
        figure = cast("Figure", axes.figure)  # no plot draws in a subfigure
        _fix_empty_labels(figure)
        if kind == "svg":
            return _write_svg(figure, tight=size is not None and not height)
        return _write_png(figure, tight=size is not None and not height)


def _write_png(figure: Figure, *, tight: bool) -> bytes:
    FigureCanvasAgg(figure)
    figure.set_dpi(_PNG_DPI)
    box = _lay_out(figure, tight=tight)
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=_PNG_DPI, bbox_inches=box, metadata={"Software": None})
    return image.getvalue()


def _write_svg(figure: Figure, *, tight: bool) -> bytes:
    _SvgCanvas(figure)
    figure.set_dpi(_SvgCanvas.fixed_dpi)
    box = _lay_out(figure, tight=tight)
    image = io.StringIO()
    figure.savefig(image, format="svg", bbox_inches=box, metadata={"Date": None, "Creator": None})
    return image.getvalue().encode()


def _lay_out(figure: Figure, *, tight: bool) -> Bbox | None:
    """Lay a figure out once for all, and return the box of everything drawn if it is asked for.

    `Figure.savefig` would draw the figure once only for the layout.
    """
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
        figure.set_layout_engine(None)
    return figure.get_tightbbox().padded(rcParams["savefig.pad_inches"]) if tight else None


class _SvgRenderer(RendererSVG):
    """A renderer that remembers the sizes of texts: each is measured for the layout and again for the drawing."""

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: object) -> tuple[float, float, float]:
        """Return width, height and descent of a text in points."""
        return _measure_text(s, prop, ismath)


class _SvgCanvas(FigureCanvasSVG):
    """A canvas that draws with `_SvgRenderer`, into a text stream."""

    def get_renderer(self) -> _SvgRenderer:
        """Return a renderer that measures texts for the layout."""
        return self._make_renderer(io.StringIO())

    def print_svg(self, filename: io.StringIO, **options: Any) -> None:  # noqa: ANN401 - of matplotlib, which has no types
        """Draw the figure."""
        dpi = self.figure.dpi
        self.figure.dpi = self.fixed_dpi
        svg = self._make_renderer(filename, image_dpi=dpi, metadata=options["metadata"])
        restore = options["bbox_inches_restore"]
        width, height = self.figure.get_size_inches()
        renderer: Any = MixedModeRenderer(self.figure, width, height, dpi, svg, bbox_inches_restore=restore)  # type: ignore[no-untyped-call]
        self.figure.draw(renderer)
        renderer.finalize()

    def _make_renderer(self, stream: io.StringIO, **options: Any) -> _SvgRenderer:  # noqa: ANN401 - of matplotlib
        width, height = self.figure.get_size_inches() * self.fixed_dpi
        return _SvgRenderer(width, height, stream, **options)  # type: ignore[no-untyped-call]


@functools.lru_cache(maxsize=4096)
def _measure_text(text: str, font: FontProperties, ismath: object) -> tuple[float, float, float]:
    sizes: Any = TextToPath()
    measured: tuple[float, float, float] = sizes.get_text_width_height_descent(text, font, ismath)
    return measured


def _fix_empty_labels(figure: Figure) -> None:
    """Give the empty labels of vertical axes a place: to look for one, matplotlib measures all labels of ticks again.

    Those of horizontal axes have the remark of a private history below them.
    """
    for axes in figure.axes:
        if not axes.yaxis.label.get_text():
            axes.yaxis.set_label_coords(0, 0.5)
