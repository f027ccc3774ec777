"""Plot of the money sent to and received from each person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.arguments import check_top
from p2p_analytics.currencies import name_currency
from p2p_analytics.display import format_count
from p2p_analytics.plots._parts import style
from p2p_analytics.plots._parts.others import OtherPeople, sum_other_people

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame


_SENT: Final = -0.14  # position of the bar relative to its row
_RECEIVED: Final = 0.26
_MOST_TIMES: Final = 4  # longest bar of the others, in lengths of the longest bar of a person
_SHORTENED: Final = 1.25


def spend_by_friend(table: IntoFrame, *, ax: Axes | None = None, top: int = style.MOST_ROWS) -> Axes:
    """Draw what was sent to and received from each person.

    Each row of the table, in its order, has a bar for sent and a thinner one for received, labelled with their
    amounts. The rows after the first ``top`` share the last bars, "270 other people", so that the amounts add up to
    the whole table. If those would be more than four times as long as all others, they are drawn shorter, hatched, and
    labelled as not to scale. A table without rows gives empty axes with a message.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.spend_by_friend`; without its ``top``, so that the others are in it.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    top : int
        Maximum number of people with bars of their own.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        The table lacks a column, or its amounts are in several currencies.
    """
    rows = check_top(top)
    data = style.read_columns(table, ["counterparty_name", "sent", "received"], what="plots.spend_by_friend")
    currency = style.find_currency(data, what="plots.spend_by_friend")
    names = style.read_names(data, rows)
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(min(len(data["sent"]), rows + 1), 3)))
    title = "Money sent and received, by person"
    if not names:
        return style.draw_empty(ax, title, "No settled payments")
    sent, received = data["sent"][:rows], data["received"][:rows]
    drawn = [*sent, *received]
    others = sum_other_people(table, rows)
    scale = _scale_others(others, max(drawn))
    if others.people:
        name = format_count(others.people, "other person", "other people")
        names.append(name if scale == 1 else f"{name},\nbars not to scale")
        sent.append(others.sent)
        received.append(others.received)
        drawn += [others.sent * scale, others.received * scale]
    money = style.money_format([*sent, *received], currency)
    factors = [1.0] * len(data["sent"][:rows]) + [scale] * bool(others.people)
    key = []
    for label, amounts, shift, height, colour in (
        ("sent", sent, _SENT, 0.44, style.OUT),
        ("received", received, _RECEIVED, 0.22, style.IN),
    ):
        lengths = [amount * factor for amount, factor in zip(amounts, factors, strict=True)]
        bars = ax.barh([row + shift for row in range(len(names))], lengths, height=height, color=colour)
        if scale < 1:
            bars[-1].set(hatch="////", edgecolor="white", linewidth=0)
        key.append((label, bars))
    for row, factor in enumerate(factors):
        if sent[row] or not received[row]:
            style.label_bar(ax, sent[row] * factor, row + _SENT, money(sent[row]))
        if received[row]:
            style.label_bar(ax, received[row] * factor, row + _RECEIVED, money(received[row]))
    ax.set_xlim(min(*drawn, 0), max(*drawn, 1) * 1.2)
    style.label_rows(ax, names, others=bool(others.people))
    label = f"Settled payments, {name_currency(currency)}"
    style.style_value_axis(ax, ax.xaxis, label, style.tick_format(currency))
    style.set_title(ax, title, key)
    return ax


def _scale_others(others: OtherPeople, longest: float) -> float:
    """Return the factor for the bars of the other people, less than 1 if the bars of the people would be too short."""
    largest = max(others.sent, others.received)
    return _SHORTENED * longest / largest if largest > _MOST_TIMES * longest > 0 else 1.0
