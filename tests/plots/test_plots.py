"""Plots of complete tables: every value, in order, without a warning."""

from __future__ import annotations

import io
import pickle
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from p2p_analytics import plots
from p2p_analytics.errors import SchemaError
from p2p_analytics.plots._parts.style import STATUS
from support.plots.tables import COUNT, EMPTY_TABLES, TABLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def test_every_plot_has_its_table() -> None:
    """Every plot function is tested with a table; the other public functions have tests of their own."""
    others = {
        "build_period_table",
        "choose_period",
        "count_shown",
        "mark_private",
        "name_people",
        "sum_other_people",
        "sum_other_requests",
        "theme",
        "to_image",
    }
    public = {name for name, value in vars(plots).items() if callable(value) and not name.startswith("_")}
    assert {*TABLES, *others} == public


def _draw(name: str, table: Any = None, **options: Any) -> Axes:
    return getattr(plots, name)(TABLES[name] if table is None else table, **options)


def _texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def _bars(ax: Axes, *, width: bool = True) -> list[float]:
    return [round(float(bar.get_width() if width else bar.get_height()), 2) for box in ax.containers for bar in box]


@pytest.mark.parametrize("name", TABLES)
def test_nothing_to_draw(name: str) -> None:
    """An empty table gives axes that say so below the title."""
    ax = _draw(name, EMPTY_TABLES[name])
    ax.figure.savefig(io.BytesIO())
    assert ax.get_title(loc="left")
    (message,) = _texts(ax)
    assert message.startswith("No ")
    assert not ax.containers


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("tables", [TABLES, EMPTY_TABLES], ids=["filled", "empty"])
def test_the_remark_of_privacy_is_below_the_axes(name: str, tables: dict[str, Any]) -> None:
    """An image of a private history has it there, where nothing is drawn over it."""
    drawn = []

    def draw(table: Any, ax: Axes | None = None) -> Axes:
        drawn.append(getattr(plots, name)(table, ax=ax))
        return drawn[-1]

    plots.to_image(draw, tables[name], "png", private=True)
    (axes,) = drawn
    (remark,) = [text for text in axes.texts if "privacy mode" in text.get_text().lower()]
    assert remark.get_window_extent().y1 <= axes.bbox.y0


LABELS_ABOVE = {"xtick.top": True, "xtick.labeltop": True, "xtick.labelbottom": False}


@pytest.mark.parametrize("name", [name for name in TABLES if name not in {"activity", "reconciliation"}])
def test_the_title_is_above_labels_at_the_top(name: str) -> None:
    """Also in a style of the user that has labels of ticks there."""
    with mpl.rc_context(LABELS_ABOVE):
        ax = _draw(name)
        ax.figure.draw_without_rendering()
    title = ax._left_title.get_window_extent()
    labels = [each.label2.get_window_extent() for each in ax.xaxis.get_major_ticks() if each.label2.get_visible()]
    assert labels
    assert all(title.y0 >= label.y1 for label in labels if label.width)


@pytest.mark.parametrize("name", TABLES)
def test_axes_are_optional(name: str) -> None:
    """With ``ax`` the plot uses these axes, otherwise a new figure, which a notebook displays."""
    import matplotlib.pyplot as plt

    ax = Figure().subplots()
    assert _draw(name, ax=ax) is ax
    assert plt.get_fignums() == []
    assert _draw(name).figure.number in plt.get_fignums()


@pytest.mark.parametrize("name", TABLES)
def test_figures_can_be_pickled(name: str) -> None:
    """An unpickled figure renders the same picture, with a mark, too; notebooks and process pools pickle figures.

    No name, note or word breaks a figure or causes a warning (the tests turn warnings into errors).
    """

    def render_pixels(figure: Figure) -> bytes:
        target = io.BytesIO()
        figure.savefig(target, format="rgba", dpi=50)
        return target.getvalue()

    ax = plots.mark_private(_draw(name))
    again = pickle.loads(pickle.dumps(ax.figure))  # noqa: S301 - our own bytes
    assert render_pixels(again) == render_pixels(ax.figure)


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_both_kinds(name: str) -> None:
    """A Polars table draws what the pandas table draws, and no table is changed."""
    before = TABLES[name].copy(deep=True)
    from_polars, from_pandas = _draw(name, pl.from_pandas(TABLES[name])), _draw(name)
    assert _texts(from_polars) == _texts(from_pandas)
    assert _bars(from_polars) == _bars(from_pandas)
    pd.testing.assert_frame_equal(TABLES[name], before)


@pytest.mark.parametrize("name", TABLES)
def test_missing_columns_are_named(name: str) -> None:
    """The message names the missing columns."""
    with pytest.raises(SchemaError, match=rf"plots\.{name} needs the columns"):
        _draw(name, pd.DataFrame({"x": [1]}))


def test_spend_by_friend_shows_every_value() -> None:
    """Sent and received are bars of their amounts, largest on top as in the table, labelled in dollars."""
    ax = _draw("spend_by_friend")
    assert _bars(ax) == [1250.5, *[12.0] * 13, 0.0, 99.5, *[0.0] * 12]
    assert _texts(ax)[:3] == ["$1,250.50", "$12.00", "$99.50"]
    assert ax.get_yticklabels()[0].get_text() == "Maya"
    top, bottom = reversed(ax.get_ylim())
    assert top < 0 < bottom


def test_status_mix_parts_add_up() -> None:
    """Parts are stacked in fixed colours, and a part too small for its label is listed below the bar."""
    ax = _draw("status_mix")
    assert ax.get_title(loc="left") == "What became of payments, by medium"
    first_row = [bar for box in ax.containers for bar in box if round(bar.get_y() + bar.get_height() / 2) == 0]
    assert [(round(bar.get_x(), 2), round(bar.get_width(), 2)) for bar in first_row] == [
        (0, 0.9),
        (0.9, 0.06),
        (0.96, 0.04),
    ]
    assert [to_hex(bar.get_facecolor()) for bar in first_row[:2]] == ["#009e73", "#882255"]
    assert _texts(ax) == ["90%", "100%", "6%", "100%", "also 40 \u200a_odd $c$ $d$"]
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "ios\n1,000 payments", "\u200a_x $a$ $b$\n7 payments", "not known\n1 payment",
    ]  # fmt: skip
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [
        "settled", "pending", "failed", "\u200a_odd $c$ $d$", "not known",
    ]  # fmt: skip


def test_pending_ageing_by_direction() -> None:
    """Each band has a bar to receive beside a bar to pay, with amounts and numbers."""
    ax = _draw("pending_ageing")
    assert _bars(ax) == [0.0, 1234.0, 20.0, 0.0, 5.25]
    assert _texts(ax) == ["$1,234.00 in 2 payments", "$20.00 in 1 payment", "$5.25 in 1 payment"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["under 7 days", "7 days or more", "no date"]


def test_an_empty_age_band_is_labelled() -> None:
    """A band without payments is labelled "none"; a bar that is alone in its band is beside the band's label."""
    table = TABLES["pending_ageing"].assign(payments=[0, 2, 0, 0, 1])
    ax = _draw("pending_ageing", table)
    assert _texts(ax) == ["$1,234.00 in 2 payments", "$5.25 in 1 payment", "none"]
    centres = {bar.get_width(): round(bar.get_y() + bar.get_height() / 2, 6) for bar in ax.patches}
    assert (centres[1234.0], centres[5.25]) == (1, 2)


def test_one_precision_and_one_size_per_plot() -> None:
    """All labels of a plot have cents, or none if every amount is whole, and all have the same size."""
    names = ["Ada", "Ben"]
    table = pd.DataFrame({"counterparty_name": names, "sent": [105.0, 65.33], "received": [2.0, 0.0]})
    for data, labels in (
        (table, ["$105.00", "$2.00", "$65.33"]),
        (table.assign(sent=[105.0, 65.0]), ["$105", "$2", "$65"]),
    ):
        ax = _draw("spend_by_friend", data)
        assert _texts(ax) == labels
        assert len({text.get_fontsize() for text in ax.texts}) == 1
    asked = pd.DataFrame({"direction": "in", "counterparty_name": names, "amount": [105.0, 65.33], "age_days": 1})
    assert [label.get_text() for label in _draw("pending_requests", asked).get_yticklabels()] == [
        "Ada, $105.00",
        "Ben, $65.33",
    ]


def test_people_with_the_same_name_are_distinguished() -> None:
    """A repeated name of different people has the username or the end of the id as a suffix."""
    people = pd.DataFrame(
        {
            "counterparty_id": ["31234", "35678", "39999", "39999"],
            "counterparty_name": ["Sam Rivera", "Sam Rivera", "Ada", "Ada"],
            "sent": 1.0,
            "received": 0.0,
            "direction": "in",
            "amount": 1.0,
            "age_days": 3,
        }
    )
    named = people.assign(counterparty_username=["samr", None, "ada", "ada"])
    for name, amount in (("spend_by_friend", ""), ("pending_requests", ", $1")):
        assert [label.get_text().removesuffix(amount) for label in _draw(name, people).get_yticklabels()] == [
            "Sam Rivera (…1234)", "Sam Rivera (…5678)", "Ada", "Ada",
        ]  # fmt: skip
        assert [label.get_text().removesuffix(amount) for label in _draw(name, named).get_yticklabels()] == [
            "Sam Rivera @samr", "Sam Rivera (…5678)", "Ada", "Ada",
        ]  # fmt: skip


def test_phone_numbers_are_formatted() -> None:
    """A phone number of a person without an account is formatted; a name of digits of a person with one is a name."""
    table = pd.DataFrame(
        {
            "counterparty_id": [None, "7", "15555550177"],
            "counterparty_name": ["15555550142", "15555550142", "15555550177"],
            "sent": 1.0,
            "received": 0.0,
        }
    )
    labels = [label.get_text() for label in _draw("spend_by_friend", table).get_yticklabels()]
    assert labels == ["+1 555 555 0142", "15555550142", "+1 555 555 0177"]


def _mix(statuses: list[str]) -> pd.DataFrame:
    share = 1 / len(statuses)
    return pd.DataFrame(
        {"action": "pay", "status": statuses, "payments": 3, "share": share, "amount": 1.0, "share_of_amount": share}
    )


def test_labels_are_legible_on_every_fill() -> None:
    """Each label has a contrast of at least 4.5 to its fill by WCAG 2."""
    words = [*STATUS, *(f"word {at}" for at in range(8))]
    ax = _draw("status_mix", _mix(words))
    assert len(ax.texts) == len(words)
    bars = {
        round(bar.get_x() + bar.get_width() / 2, 6): to_rgb(bar.get_facecolor()) for box in ax.containers for bar in box
    }
    for text in ax.texts:
        dark, light = sorted(map(_luminance, (bars[round(text.get_position()[0], 6)], to_rgb(text.get_color()))))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def _luminance(colour: tuple[float, ...]) -> float:
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_unknown_words_never_look_alike() -> None:
    """No two unknown words have the same colour and hatch."""
    ax = _draw("status_mix", _mix([*STATUS, *(f"word {at}" for at in range(70))]))
    looks = [(to_hex(bar.get_facecolor()), bar.get_hatch()) for box in ax.containers for bar in box]
    assert len(set(looks)) == len(looks) == 75


def test_many_small_parts_are_one_short_line() -> None:
    """Below the bar, as many small parts are listed as fit, with the number of the others."""
    (note,) = _texts(_draw("status_mix", _mix([f"rather a long word {at:02d}" for at in range(20)])))
    assert note == "also 3 rather a long word 00, 3 rather a long word 01 and 18 more"


@pytest.mark.parametrize("name", TABLES)
def test_an_invalid_table_is_refused(name: str) -> None:
    """A table with duplicate columns, or an object that is not a table, is refused in one sentence."""
    with pytest.raises(SchemaError, match="distinct column names"):
        _draw(name, pd.concat([TABLES[name], TABLES[name]], axis="columns"))
    with pytest.raises(SchemaError, match="needs a frame, not list"):
        _draw(name, [1])
    lazy = pl.LazyFrame({"month": ["secret"]}).with_columns(pl.col("month").cast(pl.Int64))
    with pytest.raises(SchemaError, match=r"the lazy frame cannot be computed \(InvalidOperationError\): collect it"):
        _draw(name, lazy)


def test_pending_requests_say_the_age_that_the_bar_shows() -> None:
    """Label and bar of a request are its age; its amount is next to the name. Unknown ones are labelled so."""
    ax = _draw("pending_requests")
    assert sorted(_bars(ax)) == [0.0, *[7.0] * (COUNT - 2), 400.0]
    assert _texts(ax) == ["400 days", *["7 days"] * (COUNT - 2), "no date"]
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[:3] == ["Maya, $12.50", "split $\\frac$ lol, amount not known", "\u200a_underscore, $3.00"]
    can_shape = mpl.__version_info__ >= (3, 11)
    assert labels[4] == ("\u200eمحمد علي\u200e, $3.00" if can_shape else "(Arabic script), $3.00")
    one = pd.DataFrame({"direction": ["in"], "counterparty_name": ["Ada"], "amount": [5.0], "age_days": [1]})
    assert _texts(_draw("pending_requests", one)) == ["1 day"]


def test_the_user_s_style_is_left_alone() -> None:
    """Drawing changes no setting of matplotlib, and its text adapts to a dark style."""
    with mpl.rc_context({"text.color": "white"}):
        before = dict(mpl.rcParams)
        ax = _draw("monthly_flow")
        assert dict(mpl.rcParams) == before
        assert ax.lines[0].get_color() == "white"
