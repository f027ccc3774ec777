"""Plots of complete tables: every value, without a warning, as axes and as images, in each theme."""

import io
import pickle
import re
from functools import cache
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

import p2p_analytics as p2p
from p2p_analytics import plots
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.vocabulary import Status
from support.plots.axes import assert_labels_apart, list_bars, list_key, list_rows, list_texts, measure_contrast
from support.plots.tables import COUNT, EMPTY_TABLES, TABLES


@cache
def _draw_table(name: str) -> Axes:
    """Return the axes of the table of a plot, which no test changes."""
    return getattr(plots, name)(TABLES[name])


def draw_image(name: str, table: Any, **options: Any) -> Axes:
    """Return the axes that an image shows."""
    drawn: list[Axes] = []
    plots.to_image(
        lambda table, ax: drawn.append(getattr(plots, name)(table, ax=ax)) or drawn[0], table, "svg", **options
    )
    return drawn[0]


# Every third plot. `make test-all` draws the others, too: the same code makes their marks and pickles.
SOME = [pytest.param(name, marks=pytest.mark.full if number % 3 else []) for number, name in enumerate(TABLES)]


def test_every_plot_has_its_table() -> None:
    """Every plot function is tested with a table; the other public functions have tests of their own."""
    others = {
        "build_period_table", "choose_period", "count_shown", "mark_private", "name_people", "sum_other_people",
        "sum_other_requests", "theme", "to_image",
    }  # fmt: skip
    assert {*TABLES, *others} == {
        name for name, value in vars(plots).items() if callable(value) and not name.startswith("_")
    }


@pytest.mark.parametrize("name", TABLES)
def test_nothing_to_draw(name: str) -> None:
    """An empty table gives axes that say so below the title."""
    ax = getattr(plots, name)(EMPTY_TABLES[name], ax=Figure().subplots())
    assert ax.get_title(loc="left")
    (message,) = list_texts(ax)
    assert message.startswith("No ")
    assert not ax.containers


@pytest.mark.parametrize("name", [*SOME, "nothing"])
def test_the_remark_of_privacy_is_below_the_axes(name: str) -> None:
    """An image of a private history has it there, where nothing is drawn over it."""
    name, table = ("unusual", EMPTY_TABLES["unusual"]) if name == "nothing" else (name, TABLES[name])
    ax = draw_image(name, table, private=True)
    (remark,) = [text for text in ax.texts if "privacy mode" in text.get_text().lower()]
    assert remark.get_window_extent().y1 <= ax.bbox.y0


@pytest.mark.parametrize("name", ["spend_by_friend", "pending_requests"])
def test_bars_fit_a_narrow_page(name: str) -> None:
    """Long labels leave room for the bars; matplotlib warns otherwise (the tests turn warnings into errors)."""
    table = pd.DataFrame({"direction": ["in", "out", "out"] * 11, "amount": [12345.67, 23456.78, None] * 11})
    table = table.assign(counterparty_name="a name that never seems to come to any end", age_days=1234)
    ax = draw_image(name, table.assign(sent=12345.67, received=12345.67), size=(5.2, None))
    assert ax.get_position().width > 0.3


@pytest.mark.parametrize("name", ["spend_by_friend", "monthly_flow", "time_to_settle"])
def test_the_title_is_above_labels_at_the_top(name: str) -> None:
    """Also in a style of the user that has labels of ticks there."""
    with mpl.rc_context({"xtick.top": True, "xtick.labeltop": True, "xtick.labelbottom": False}):
        ax = getattr(plots, name)(TABLES[name])
        ax.figure.draw_without_rendering()
    title = ax._left_title.get_window_extent()
    labels = [each.label2.get_window_extent() for each in ax.xaxis.get_major_ticks() if each.label2.get_visible()]
    assert labels
    assert all(title.y0 >= label.y1 for label in labels if label.width)


@pytest.mark.parametrize("name", TABLES)
def test_axes_and_kinds_of_tables(name: str) -> None:
    """Given axes are used, else those of a new figure; a Polars table draws the same, and no table is changed."""
    before = TABLES[name].copy(deep=True)
    ax = Figure().subplots()
    assert getattr(plots, name)(pl.from_pandas(TABLES[name]), ax=ax) is ax
    assert plt.get_fignums() == []
    shown = _draw_table(name)
    assert list_texts(ax) == list_texts(shown)
    assert list_bars(ax) == list_bars(shown)
    pd.testing.assert_frame_equal(TABLES[name], before)


@pytest.mark.parametrize("name", SOME)
def test_figures_can_be_pickled(name: str) -> None:
    """An unpickled figure renders, marked as well; no name, note or word causes a warning, which would be an error."""
    figures = [plots.mark_private(pickle.loads(pickle.dumps(_draw_table(name).figure)).axes[0]).figure]  # noqa: S301 - our own bytes
    if name == "spend_by_friend":
        figures.append(pickle.loads(pickle.dumps(figures[0])))  # noqa: S301 - likewise
    pixels = set()
    for figure in figures:
        target = io.BytesIO()
        figure.savefig(target, format="rgba", dpi=50)
        pixels.add(target.getvalue())
    assert len(pixels) == 1


@pytest.mark.parametrize("name", TABLES)
def test_an_invalid_table_is_refused(name: str) -> None:
    """Missing or duplicate columns, a query that fails, and objects that are not tables: each in one sentence."""
    lazy = pl.LazyFrame({"month": ["secret"]}).with_columns(pl.col("month").cast(pl.Int64))
    for table, words in (
        (pd.DataFrame({"x": [1]}), rf"plots\.{name} needs the columns"),
        (pd.concat([TABLES[name]] * 2, axis="columns"), "distinct column names"),
        ([1], "needs a frame, not list"),
        (lazy, r"the lazy frame cannot be computed \(InvalidOperationError\): collect it"),
    ):
        with pytest.raises(SchemaError, match=words):
            getattr(plots, name)(table)


def test_spend_by_friend_shows_every_value() -> None:
    """Sent and received are bars of their amounts, largest on top as in the table, labelled in dollars."""
    ax = _draw_table("spend_by_friend")
    assert list_bars(ax) == [1250.5, *[12.0] * 13, 0.0, 99.5, *[0.0] * 12]
    assert list_texts(ax)[:3] == ["$1,250.50", "$12.00", "$99.50"]
    assert list_rows(ax)[0] == "Maya"
    top, bottom = reversed(ax.get_ylim())
    assert top < 0 < bottom


def test_status_mix_parts_add_up() -> None:
    """Parts are stacked in fixed colours, and a part too small for its label is listed below the bar."""
    ax = _draw_table("status_mix")
    assert ax.get_title(loc="left") == "What became of payments, by medium"
    first_row = [bar for box in ax.containers for bar in box if round(bar.get_y() + bar.get_height() / 2) == 0]
    assert [(round(bar.get_x(), 2), round(bar.get_width(), 2), to_hex(bar.get_facecolor())) for bar in first_row] == [
        (0, 0.9, "#009e73"),
        (0.9, 0.06, "#882255"),
        (0.96, 0.04, "#332288"),
    ]
    assert sorted(list_texts(ax)) == ["100%", "100%", "6%", "90%", "also 40 \u200a_odd $c$ $d$"]
    assert list_rows(ax) == ["ios\n1,000 payments", "\u200a_x $a$ $b$\n7 payments", "not known\n1 payment"]
    assert list_key(ax) == ["settled", "pending", "failed", "\u200a_odd $c$ $d$", "not known"]


def test_pending_ageing_by_direction() -> None:
    """Each band has a bar to receive beside a bar to pay, or one beside the band's label; an empty one says "none"."""
    ax = _draw_table("pending_ageing")
    assert list_bars(ax) == [0.0, 1234.0, 20.0, 0.0, 5.25]
    assert list_texts(ax) == ["$1,234.00 in 2 payments", "$20.00 in 1 payment", "$5.25 in 1 payment"]
    assert list_rows(ax) == ["under 7 days", "7 days or more", "no date"]
    assert ax.get_xlabel() == "Pending payments, US dollars"
    assert ax.get_axisbelow()  # bars hide grid lines
    ax = plots.pending_ageing(TABLES["pending_ageing"].assign(payments=[0, 2, 0, 0, 1]))
    assert list_texts(ax) == ["$1,234.00 in 2 payments", "$5.25 in 1 payment", "none"]
    centres = {bar.get_width(): round(bar.get_y() + bar.get_height() / 2, 6) for bar in ax.patches}
    assert (centres[1234.0], centres[5.25]) == (1, 2)


def test_one_precision_and_one_size_per_plot() -> None:
    """All labels of a plot have cents, or none if every amount is whole, and all have the same size."""
    for sent, labels in (([105.0, 65.33], ["$105.00", "$2.00", "$65.33"]), ([105.0, 65.0], ["$105", "$2", "$65"])):
        table = pd.DataFrame({"counterparty_name": ["Ada", "Ben"], "sent": sent, "received": [2.0, 0.0]})
        ax = plots.spend_by_friend(table)
        assert list_texts(ax) == labels
        assert len({text.get_fontsize() for text in ax.texts}) == 1


PEOPLE = {"sent": 1.0, "received": 0.0, "direction": "in", "amount": 1.0, "age_days": 3}


def test_people_with_the_same_name_are_distinguished() -> None:
    """A repeated name of different people has a username or the end of the id; a plot takes names that are given."""
    ids = ["31234", "35678", "39999", "39999"]
    people = pd.DataFrame({"counterparty_id": ids, "counterparty_name": ["Sam", "Sam", "Ada", "Ada"], **PEOPLE})
    usernames = ["samr", None, "ada", "ada"]
    named = people.assign(counterparty_username=usernames)
    for table, first in ((people, "Sam (…1234)"), (named, "Sam @samr")):
        assert list_rows(plots.spend_by_friend(table)) == [first, "Sam (…5678)", "Ada", "Ada"]
    names = plots.name_people({**people, "counterparty_username": usernames})
    assert names == {("31234", "Sam"): "Sam @samr", ("35678", "Sam"): "Sam (…5678)", ("39999", "Ada"): "Ada"}
    alone = people.iloc[[0, 2]].assign(counterparty_id=["31234", "37777"])
    assert list_rows(draw_image("spend_by_friend", alone, names=names)) == ["Sam @samr", "Ada"]
    assert list_rows(plots.spend_by_friend(alone)) == ["Sam", "Ada"]


def test_phone_numbers_are_formatted() -> None:
    """A phone number of a person without an account is formatted; a name of digits of a person with one is a name."""
    names = ["15555550142", "15555550142", "15555550177"]
    table = pd.DataFrame({"counterparty_id": [None, "7", "15555550177"], "counterparty_name": names, **PEOPLE})
    assert list_rows(plots.spend_by_friend(table)) == ["+1 555 555 0142", "15555550142", "+1 555 555 0177"]


def _mix(statuses: list[str]) -> Axes:
    share = 1 / len(statuses)
    table = {"action": "pay", "status": statuses, "payments": 3, "share": share, "amount": 1.0}
    return plots.status_mix(pd.DataFrame(table | {"share_of_amount": share}))


def test_labels_are_legible_on_every_fill() -> None:
    """Each label has a contrast of at least 4.5 to its fill by WCAG 2."""
    words = [*Status, *(f"word {at}" for at in range(8))]
    ax = _mix(words)
    fills = {round(bar.get_x() + bar.get_width() / 2, 6): to_hex(bar.get_facecolor()) for bar in ax.patches}
    labels = [(to_hex(text.get_color()), fills[round(text.get_position()[0], 6)]) for text in ax.texts]
    assert len(labels) == len(words)
    assert min(measure_contrast(*pair) for pair in labels) >= 4.5
    assert round(measure_contrast("#767676", "white"), 2) == 4.54


def test_unknown_words_never_look_alike() -> None:
    """No two unknown words have the same colour and hatch."""
    ax = _mix([*Status, *(f"word {at}" for at in range(70))])
    looks = [(to_hex(bar.get_facecolor()), bar.get_hatch()) for box in ax.containers for bar in box]
    assert len(set(looks)) == len(looks) == 75


def test_many_small_parts_are_one_short_line() -> None:
    """Below the bar, as many small parts are listed as fit, with the number of the others."""
    (note,) = list_texts(_mix([f"rather a long word {at:02d}" for at in range(20)]))
    assert note == "also 3 rather a long word 00, 3 rather a long word 01 and 18 more"


def test_pending_requests_say_the_age_that_the_bar_shows() -> None:
    """Label and bar of a request are its age; its amount is next to the name. Unknown ones are labelled so."""
    ax = _draw_table("pending_requests")
    assert sorted(list_bars(ax)) == [0.0, *[7.0] * (COUNT - 2), 400.0]
    assert list_texts(ax) == ["400 days", *["7 days"] * (COUNT - 2), "no date"]
    labels = list_rows(ax)
    assert labels[:3] == ["Maya, $12.50", "split $\\frac$ lol, amount not known", "\u200a_underscore, $3.00"]
    can_shape = mpl.__version_info__ >= (3, 11)
    assert labels[4] == ("\u200eمحمد علي\u200e, $3.00" if can_shape else "(Arabic script), $3.00")


def test_the_user_s_style_is_left_alone() -> None:
    """Drawing changes no setting of matplotlib; axes adapt to a dark style, images depend on none, and none is open."""
    table, before = TABLES["monthly_flow"], plt.get_fignums()
    image = plots.to_image(plots.monthly_flow, table, "svg")
    with mpl.rc_context({"axes.facecolor": "black", "text.color": "white", "svg.hashsalt": "other", "font.size": 30}):
        settings = dict(mpl.rcParams)
        assert plots.to_image(plots.monthly_flow, table, "svg") == image
        assert plt.get_fignums() == before
        ax = plots.monthly_flow(table)
        assert dict(mpl.rcParams) == settings
        assert ax.lines[0].get_color() == "white"


def _measure(image: bytes) -> tuple[float, float]:
    """Return width and height of an image in its own units."""
    if image.startswith(b"\x89PNG"):
        return Image.open(io.BytesIO(image)).size
    width, height = re.search(rb'<svg [^>]*?width="([\d.]+)pt" height="([\d.]+)pt"', image).groups()
    return float(width), float(height)


@pytest.mark.parametrize(("kind", "dots"), [("png", 150), ("svg", 72)])
def test_an_image_is_drawn_once_in_its_size(kind, dots: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Width and height are in inches; a height of None is left to the plot, and all is drawn within the image."""
    drawings: list[object] = []
    draw = Axes.draw  # the layout of a figure is computed without it
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


@pytest.mark.parametrize("largest", [0.05, 1234.56, 123_456_789.01])
def test_labels_do_not_touch(largest: float) -> None:
    """There are two or more, and the space of a letter between them; a figure that is made larger has more of them."""
    sent = [largest, largest / 2, 0.0]
    table = pd.DataFrame({"counterparty_name": ["Ada", "Ben", "Cleo"], "sent": sent, "received": [0.0, 1.0, 2.5]})
    figure = Figure(figsize=(3.2, 3), layout="constrained")
    ax = plots.spend_by_friend(table, ax=figure.subplots())
    counts = []
    for width in (3.2, 12):
        figure.set_size_inches(width, 3)
        assert_labels_apart(ax, gap=ax.get_xticklabels()[0].get_window_extent().height / 2)
        counts.append(len(ax.get_xticks()))
    assert counts[0] <= counts[1] <= 8  # one may lie outside
    assert (counts[0] < counts[1]) == (largest > 1_000)


def test_half_a_yen_is_labelled_with_decimals() -> None:
    """Also in a currency without them, else two ticks would have the same label; a whole amount has none."""
    table = pd.DataFrame({"counterparty_name": ["Ada"], "sent": [1.0], "received": [0.5], "currency": "JPY"})
    form = plots.spend_by_friend(table).xaxis.get_major_formatter()
    assert [form(amount) for amount in (0.5, 1.0, 1500.0)] == ["¥0.50", "¥1", "¥1,500"]


PAGES: dict[Any, list[str]] = {"dark": ["#111111"], "any": ["#FFFFFF", "#111111", "#000000"]}
LEGIBLE = 4.0  # WCAG 2 asks 3 of large text and 4.5 of small text; no grey has 4.5 on white and on black


@pytest.mark.parametrize("name", sorted(TABLES))
def test_text_is_legible_on_the_page(name: str) -> None:
    """Titles, names, ticks and labels of every plot have a contrast of at least 4 with each page of a theme."""
    for background in PAGES if name == "spend_by_friend" else ["any"]:  # all plots take their colours from the theme
        pages = PAGES[background]
        with p2p.plots.theme(background):
            figure = Figure()
            getattr(p2p.plots, name)(TABLES[name], ax=figure.subplots())
        assert figure.get_facecolor()[3] == (0.0 if background == "any" else 1.0)
        # Inside bars, the colour depends on the bar.
        texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_bbox_patch() is None]
        colours = {text.get_text(): to_hex(text.get_color()) for text in texts if text.get_text().strip()}
        assert len(colours) >= 3
        faint = {
            text: ink for text, ink in colours.items() if min(measure_contrast(ink, page) for page in pages) < LEGIBLE
        }
        assert faint == {}


def test_the_settings_come_back_after_a_block() -> None:
    """Inside a block its theme counts, after it the settings of before; without a block it stays."""
    mpl.rcParams["text.color"] = "#123456"
    with p2p.plots.theme("dark"):
        with p2p.plots.theme("light"):
            assert mpl.rcParams["text.color"] == "black"
        assert mpl.rcParams["text.color"] == "#EEEEEE"
    assert mpl.rcParams["text.color"] == "#123456"
    p2p.plots.theme("dark")
    assert mpl.rcParams["axes.facecolor"] == "#111111"
    mpl.rcdefaults()


def test_data_keeps_its_colours() -> None:
    """Sent and received have the same colours in every theme; an unknown theme is refused with the known ones."""
    with p2p.plots.theme("dark"):
        dark = [to_hex(bar.get_facecolor()) for bar in p2p.plots.spend_by_friend(TABLES["spend_by_friend"]).patches]
    assert {*dark} == {"#d55e00", "#0072b2"}
    sentence = "background='solarized' is not valid: give one of 'light', 'dark', 'any'"
    with pytest.raises(ConfigurationError, match=sentence):
        p2p.plots.theme("solarized")
