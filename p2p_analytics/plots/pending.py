"""Who still owes whom, as bars by age and one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.display import format_count
from p2p_analytics.plots import _style
from p2p_analytics.plots._text import clean, clean_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame

_SIDES: Final = {"in": ("to receive", _style.IN), "out": ("to pay", _style.OUT)}
_NOTHING: Final = "No pending payments"


def pending_ageing(table: IntoFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the open amounts by age and direction.

    Two bars per age band, youngest on top, labelled with the amount and the number of payments; a
    band that holds nothing says "none". A table of zeros gives empty axes that say so.

    Parameters
    ----------
    table : frame
        As `p2p_analytics.pending_ageing` gives it.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    data = _style.read(table, ["direction", "band", "payments", "amount"], what="plots.pending_ageing")
    bands = list(dict.fromkeys(data["band"]))
    ax = _style.axes(ax, height=_style.bars_height(max(len(bands), 3)))
    title = "Money still open, by age of the request"
    if not sum(data["payments"]):
        return _style.blank(ax, title, _NOTHING)
    key = []
    money = _style.money_form(data["amount"])
    for shift, (side, (label, colour)) in zip((-0.2, 0.2), _SIDES.items(), strict=True):
        mine = [at for at, direction in enumerate(data["direction"]) if direction == side]
        rows = [bands.index(data["band"][at]) + shift for at in mine]
        bars = ax.barh(rows, [data["amount"][at] for at in mine], height=0.36, color=colour)
        key.append((label, bars))
        for row, at in zip(rows, mine, strict=True):
            if payments := data["payments"][at]:
                amount = data["amount"][at]
                _style.label_bar(
                    ax,
                    amount,
                    row,
                    f"{money(amount)} in {format_count(payments, 'payment', 'payments')}",
                )
    filled = {band for band, payments in zip(data["band"], data["payments"], strict=True) if payments}
    for row, band in enumerate(bands):
        if band not in filled:
            _style.label_bar(ax, 0, row, "none", quiet=True)
    ax.set_xlim(0, max(*data["amount"], 1) * 1.45)
    _style.name_rows(ax, [clean(band) for band in bands])
    _style.value_axis(ax, ax.xaxis, "Pending payments, US dollars", _style.ticks)
    _style.head(ax, title, key)
    return ax


def pending_requests(table: IntoFrame, *, ax: Axes | None = None) -> Axes:
    """Draw how long each open request has waited.

    One bar per row of the table, in its order, labelled with its amount. At most 30 rows are drawn,
    which the axis then says; no rows give empty axes that say so.

    Parameters
    ----------
    table : frame
        As `p2p_analytics.pending_requests` gives it.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    needed = ["direction", "counterparty_name", "amount", "age_days"]
    data = _style.read(table, needed, what="plots.pending_requests")
    total = len(data["direction"])
    shown = min(total, _style.MOST_ROWS)
    ax = _style.axes(ax, height=_style.bars_height(max(shown, 3)))
    title = "How long requests have waited"
    if not total:
        return _style.blank(ax, title, _NOTHING)
    ages = data["age_days"][:shown]
    key = []
    for side, (label, colour) in _SIDES.items():
        rows = [row for row in range(shown) if data["direction"][row] == side]
        if rows:
            key.append((label, ax.barh(rows, [ages[row] or 0 for row in rows], height=0.6, color=colour)))
    money = _style.money_form(data["amount"][:shown])
    for row, age in enumerate(ages):
        amount = data["amount"][row]
        text = "amount not known" if amount is None else money(amount)
        _style.label_bar(ax, age or 0, row, text if age is not None else f"{text}, no date")
    ax.set_xlim(0, max(*(age or 0 for age in ages), 1) * 1.2)
    ids = data.get("counterparty_id", [None] * total)
    _style.name_rows(ax, clean_names(data["counterparty_name"][:shown], ids[:shown]))
    _style.value_axis(ax, ax.xaxis, _style.first_of("Age, days", shown, total, "requests"), _style.whole)
    _style.head(ax, title, key)
    return ax
