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
from matplotlib.font_manager import findfont, get_font
from matplotlib.textpath import TextToPath
from matplotlib.transforms import Bbox

from p2p_analytics.plots._parts import style

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.axes import Axes
    from matplotlib.font_manager import FontProperties
    from narwhals.stable.v2.typing import IntoFrame

_PNG_DPI: Final = 150
_SVG_SALT: Final = "p2p_analytics"  # makes the identifiers in an SVG reproducible
_PAD: Final = 3 / 72  # inches around the axes and their labels, as in a constrained layout


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
        axes = plot(table, ax=Figure(figsize=(width, height)).subplots() if height else None)
        if private:
            style.mark_private(axes, strict=strict)
        figure = cast("Figure", axes.figure)  # no plot draws in a subfigure
        metadata: dict[str, None]
        if kind == "svg":
            _SvgCanvas(figure)
            dpi, metadata = _SvgCanvas.fixed_dpi, {"Date": None, "Creator": None}
        else:
            FigureCanvasAgg(figure)
            dpi, metadata = _PNG_DPI, {"Software": None}
        figure.set_dpi(dpi)
        box = _lay_out(axes, figure, is_tight=size is not None and not height)
        image = io.BytesIO()
        figure.savefig(image, format=kind, dpi=dpi, bbox_inches=box, metadata=metadata)
        return image.getvalue()


def _lay_out(axes: Axes, figure: Figure, *, is_tight: bool) -> Bbox | None:
    """Place the axes so that their labels fit the figure; return the box of everything drawn if it is asked for.

    `Figure.savefig` would draw the figure once only for the layout, and measure everything once more.
    """
    figure.set_layout_engine(None)
    if not axes.yaxis.label.get_text():
        # To look for a place for the empty label, matplotlib measures all labels of ticks again.
        axes.yaxis.set_label_coords(0, 0.5)
    renderer = cast("Any", figure.canvas).get_renderer()
    pad = _PAD * figure.dpi
    for _ in range(1 if is_tight else 2):  # labels of ticks can change with the size of the axes
        labels, frame = cast("Bbox", axes.get_tightbbox(renderer, for_layout_only=True)), axes.bbox
        left, bottom = frame.x0 - labels.x0 + pad, frame.y0 - labels.y0 + pad
        right = figure.bbox.x1 - (labels.x1 - frame.x1) - pad
        top = figure.bbox.y1 - (labels.y1 - frame.y1) - pad
        axes.set_position(Bbox.from_extents(left, bottom, right, top).transformed(figure.transFigure.inverted()))
    return figure.get_tightbbox(renderer).padded(rcParams["savefig.pad_inches"]) if is_tight else None


_measure_text: Any = functools.lru_cache(maxsize=4096)(TextToPath().get_text_width_height_descent)


class _SvgRenderer(RendererSVG):
    """A renderer that remembers the sizes of texts: each is measured for the layout and again for the drawing."""

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: object) -> tuple[float, float, float]:
        """Return width, height and descent of a text in points."""
        size: tuple[float, float, float] = _measure_text(s, prop, ismath)
        return size

    @staticmethod
    @functools.lru_cache(maxsize=64)
    def _get_font_height_metrics(prop: FontProperties) -> tuple[float | None, float | None, float | None]:
        """Return ascent, descent and line gap of a font in points: matplotlib would read them for each measurement."""
        face = get_font(findfont(prop))
        table = face.get_sfnt_table("OS/2")
        if table is None:
            return None, None, None
        scale = prop.get_size_in_points() / face.units_per_EM
        return table["sTypoAscender"] * scale, -table["sTypoDescender"] * scale, table["sTypoLineGap"] * scale


class _SvgCanvas(FigureCanvasSVG):
    """A canvas that draws with `_SvgRenderer`."""

    def get_renderer(self) -> _SvgRenderer:
        """Return a renderer that measures texts for the layout."""
        return self._make_renderer(io.StringIO())

    def print_svg(self, filename: io.BytesIO, **options: Any) -> None:  # noqa: ANN401 - of matplotlib, which has no types
        """Draw the figure."""
        text = io.TextIOWrapper(filename, "utf-8", newline="")
        svg = self._make_renderer(text, image_dpi=self.fixed_dpi, metadata=options["metadata"])
        width, height = self.figure.get_size_inches()
        restore = options["bbox_inches_restore"]
        renderer: Any = MixedModeRenderer(self.figure, width, height, self.fixed_dpi, svg, bbox_inches_restore=restore)  # type: ignore[no-untyped-call]
        self.figure.draw(renderer)
        renderer.finalize()
        text.detach()

    def _make_renderer(self, stream: io.TextIOBase, **options: Any) -> _SvgRenderer:  # noqa: ANN401 - of matplotlib
        width, height = self.figure.get_size_inches() * self.fixed_dpi
        return _SvgRenderer(width, height, stream, **options)  # type: ignore[no-untyped-call]
