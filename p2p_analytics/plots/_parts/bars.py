"""Horizontal bars that several plots share: pairs of sent and received, and amounts that are divided into parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.plots._parts import colours, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_SENT: Final = -0.14  # position of the bar relative to its row
_RECEIVED: Final = 0.26
_MOST_TIMES: Final = 4  # longest bar of the others, in lengths of the longest other bar
_SHORTENED: Final = 1.25
_ROOM: Final = 1.2  # length of the axis, in lengths of the longest bar
_HATCH: Final = {"hatch": "////", "edgecolor": "white", "linewidth": 0}


class Others(NamedTuple):
    """The row that sums up all rows that are not shown: its name, and the length of each bar."""

    name: str
    amounts: Sequence[float]


class Part(NamedTuple):
    """One part of each bar: its label, its colour, and its length in each row."""

    label: str
    colour: str
    amounts: Sequence[float]


def draw_pairs(
    ax: Axes,
    names: Sequence[str],
    amounts: tuple[Sequence[float], Sequence[float]],
    others: Others | None,
    currency: str,
) -> list[tuple[str, Any]]:
    """Draw a bar for sent and a thinner one for received (``amounts``) in each row, and return the legend.

    If the bars of the others would be more than four times as long as all others, they are drawn shorter, hatched, and
    labelled as not to scale.
    """
    sent, received = (list(values) for values in amounts)
    drawn = [*sent, *received]
    factors = [1.0] * len(names)
    rows = list(names)
    if others:
        scale = _scale(max(others.amounts), max(drawn))
        rows.append(_name_others(others, scale))
        factors.append(scale)
        sent.append(others.amounts[0])
        received.append(others.amounts[1])
        drawn += [amount * scale for amount in others.amounts]
    money = style.money_format([*sent, *received], currency)
    key = []
    for label, values, shift, height, colour in (
        ("sent", sent, _SENT, 0.44, colours.OUT),
        ("received", received, _RECEIVED, 0.22, colours.IN),
    ):
        lengths = [amount * factor for amount, factor in zip(values, factors, strict=True)]
        bars = ax.barh([row + shift for row in range(len(rows))], lengths, height=height, color=colour)
        if factors[-1] < 1:
            bars[-1].set(**_HATCH)
        key.append((label, bars))
    for row, factor in enumerate(factors):
        if sent[row] or not received[row]:
            style.label_bar(ax, sent[row] * factor, row + _SENT, money(sent[row]))
        if received[row]:
            style.label_bar(ax, received[row] * factor, row + _RECEIVED, money(received[row]))
    ax.set_xlim(min(*drawn, 0), max(*drawn, 1) * _ROOM)
    style.label_rows(ax, rows, others=bool(others))
    style.style_money_axis(ax, ax.xaxis, "Settled payments", currency)
    return key


def draw_parts(
    ax: Axes, names: Sequence[str], parts: Sequence[Part], labels: Sequence[str], others: Others | None = None
) -> list[tuple[str, Any]]:
    """Draw a bar for each row that is divided into parts and labelled at its end, and return the legend.

    ``others`` has one amount for each part, and the last label; its bar is shortened as by `draw_pairs`.
    """
    totals = [sum(amounts) for amounts in zip(*(part.amounts for part in parts), strict=True)]
    rows = list(names)
    scale = 1.0
    if others:
        scale = _scale(sum(others.amounts), max(totals, default=0))
        rows.append(_name_others(others, scale))
    key = []
    ends = [0.0] * len(rows)
    for at, part in enumerate(parts):
        lengths = [*part.amounts, *([others.amounts[at] * scale] if others else [])]
        if not any(lengths):
            continue
        bars = ax.barh(range(len(rows)), lengths, left=list(ends), height=0.6, color=part.colour)
        for bar in bars:
            bar.set(edgecolor="white", linewidth=0.4)
        if scale < 1:
            bars[-1].set(**_HATCH)
        key.append((part.label, bars))
        ends = [end + length for end, length in zip(ends, lengths, strict=True)]
    for row, text in enumerate(labels):
        style.label_bar(ax, ends[row], row, text, quiet=bool(others) and row == len(labels) - 1)
    ax.set_xlim(0, style.make_room(ax, ends, labels, rows))
    style.label_rows(ax, rows, others=bool(others))
    return key


def _scale(others: float, longest: float) -> float:
    """Return the factor for the bars of the others, less than 1 if all other bars would be too short."""
    return _SHORTENED * longest / others if others > _MOST_TIMES * longest > 0 else 1.0


def _name_others(others: Others, scale: float) -> str:
    return others.name if scale == 1 else f"{others.name},\nbars not to scale"
