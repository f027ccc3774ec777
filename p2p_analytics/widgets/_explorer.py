"""The explorer: choose whose payments, from when and of which kind, and see the table and its plot."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import available_timezones

import ipywidgets

from p2p_analytics import plots
from p2p_analytics.analyses import monthly_flow, pending_ageing, pending_requests, spend_by_friend, status_mix
from p2p_analytics.analyses.pending import EDGES, MONTH_EDGES
from p2p_analytics.display import format_count
from p2p_analytics.errors import P2PAnalyticsError
from p2p_analytics.export import to_csv
from p2p_analytics.files import atomic_file
from p2p_analytics.history import require_history
from p2p_analytics.times import find_zone, to_microseconds
from p2p_analytics.widgets._style import STYLE, Shown, box, told
from p2p_analytics.widgets._table import as_html, names

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import pandas as pd

    from p2p_analytics.history import History

_EVERYONE: Final = "everyone"
_ANY_STATUS: Final = "every status"
_LAST_DAY: Final = date(9999, 12, 31)  # a year of more digits is no date
_TITLES: Final = {
    "spend_by_friend": "Where it went",
    "monthly_flow": "Month by month",
    "status_mix": "What became of it",
    "pending_ageing": "Still open, by age",
    "pending_requests": "Open requests",
}


class Explorer(Shown):
    """Shows a history's payments by person, period and status, as a table and a plot, in a notebook.

    It computes in the kernel and shows by itself: as the last line of a cell, or with ``display``. What it shows
    at first is saved with the notebook, for viewers without a kernel.

    Parameters
    ----------
    history : History
        As `p2p_analytics.load_history` gives it.
    as_of : datetime, date or str, optional
        The moment that open requests are format_count to; default the history's ``fetched_at``.
    tz : str
        Name of the zone for days and months, at first. A history in privacy mode has UTC alone.
    folder : path
        Where "Save as CSV" and "Save this plot" write. A file's name tells what was chosen, so the same
        choice replaces its file.

    Attributes
    ----------
    table : DataFrame
        What is shown now, as the analysis gives it.
    payments : DataFrame
        The rows of PAYMENTS that it is made of.
    person, analysis, status, first_day, last_day, zone : ipywidgets.Widget
        The choices; setting a ``value`` is what a click does. The period is that of ``date_created``, both
        days included; in strict privacy mode both months are.

    Raises
    ------
    ConfigurationError
        ``history`` is none, ``as_of`` is no instant, or there is no such zone.
    """

    def __init__(
        self,
        history: History,
        *,
        as_of: datetime | date | str | None = None,
        tz: str = "UTC",
        folder: str | os.PathLike[str] = ".",
    ) -> None:
        require_history(history, what="Explorer")
        self._history = history
        self._as_of = history.fetched_at if as_of is None else as_of
        self._folder = Path(folder)
        payments = history.payments
        find_zone(tz)
        pending_requests(payments, as_of=self._as_of)  # what cannot be used is refused here, not at a later click
        words = sorted(payments["status"].dropna().unique())
        self.person = _choice("Person", [(_EVERYONE, ()), *_people(payments)])
        self.analysis = _choice("Show", [(title, name) for name, title in _TITLES.items()])
        self.status = _choice("Status", [(_ANY_STATUS, ""), *((word, word) for word in words)])
        self.first_day = _day("From", "The first day on which a payment was made; empty for the first there is")
        self.last_day = _day("To", "The last day on which a payment was made; empty for the last there is")
        zones = ["UTC"] if history.private else [*dict.fromkeys(["UTC", tz, *sorted(available_timezones())])]
        self.zone = _choice("Zone", zones, "UTC" if history.private else tz)
        self._choices = [self.analysis, self.person, self.first_day, self.last_day, self.status, self.zone]
        self._plot, self._table, self._said = ipywidgets.HTML(), ipywidgets.HTML(), ipywidgets.HTML()
        self.save_csv = _button("Save as CSV", "download", lambda: self._save("csv"))
        self.save_plot = _button("Save this plot", "image", lambda: self._save("png"))
        for choice in self._choices:
            choice.observe(self._update, names="value")
        rows = {"flex_flow": "row wrap"}
        period = ipywidgets.HBox([self.first_day, self.last_day])  # one beside the other, however narrow the page is
        period.add_class("period")
        self.widget = box(
            ipywidgets.HBox([self.analysis, self.person, period, self.status, self.zone], layout=rows),
            self._plot,
            self._table,
            ipywidgets.HBox([self.save_csv, self.save_plot], layout=rows),
            self._said,
        )
        self._update()

    def __repr__(self) -> str:
        """Show whose payments, what is shown and of how many, not the payments themselves."""
        who = self._history.me.user.display_name
        payments = format_count(len(self.payments), "payment", "payments")
        return f"<Explorer of {who}: {_TITLES[self.analysis.value]}, {payments}>"

    def _still(self) -> str:
        return f'<div class="p2p">{STYLE}{self._plot.value}{self._table.value}</div>'

    def _update(self, _change: object = None) -> None:
        """Choose, compute and draw anew."""
        self._said.value = ""
        name = self.analysis.value
        try:
            self.payments = self._chosen()
            self.table = self._analyses()[name](self.payments)
            self._draw: Callable[[Any], bytes] = lambda kind: plots.to_image(
                getattr(plots, name), self.table, kind, private=self._history.private, strict=self._history.strict
            )
            drawn = base64.b64encode(self._draw("svg")).decode("ascii")
        except P2PAnalyticsError as error:
            self._said.value = told(str(error), "bad", role="alert")
            return
        words = f"{_TITLES[name]}, as a plot; the table below has the same figures."
        self._plot.value = f'<figure><img src="data:image/svg+xml;base64,{drawn}" alt="{words}"></figure>'
        dates = "%Y-%m" if self._history.strict else "%Y-%m-%d"
        self._table.value = as_html(self.table, _TITLES[name], find_zone(self.zone.value), dates)
        if self.first_day.value and self.last_day.value and self.first_day.value > self.last_day.value:
            self._said.value = told("The period ends before it begins: choose an earlier first day.", "bad")

    def _chosen(self) -> pd.DataFrame:
        rows = self._history.payments
        if self.person.value:
            column, key = self.person.value
            rows = rows[rows[column] == key]
            if column == "counterparty_name":  # of those without an id
                rows = rows[rows["counterparty_id"].isna()]
        if self.status.value:
            rows = rows[rows["status"] == self.status.value]
        if self.first_day.value is not None:
            first = self.first_day.value.replace(day=1) if self._history.strict else self.first_day.value
            rows = rows[rows["created_us"].ge(self._midnight(first)).fillna(value=False)]
        if self.last_day.value is not None and self.last_day.value < _LAST_DAY:
            end = self._midnight(self.last_day.value + timedelta(days=1))
            rows = rows[rows["created_us"].lt(end).fillna(value=False)]
        return rows

    def _midnight(self, day: date) -> int:
        return to_microseconds(datetime.combine(day, time(), tzinfo=find_zone(self.zone.value)))

    def _analyses(self) -> dict[str, Callable[[pd.DataFrame], pd.DataFrame]]:
        return {
            "spend_by_friend": lambda rows: spend_by_friend(rows, self._history.friends),
            "monthly_flow": lambda rows: monthly_flow(rows, tz=self.zone.value),
            "status_mix": status_mix,
            "pending_ageing": lambda rows: pending_ageing(
                rows, as_of=self._as_of, edges=MONTH_EDGES if self._history.strict else EDGES
            ),
            "pending_requests": lambda rows: pending_requests(rows, as_of=self._as_of),
        }

    def _save(self, kind: str) -> None:
        path = self._folder / f"{self._file_name()}.{kind}"
        try:
            if kind == "csv":
                to_csv(self.table, path)
            else:
                with atomic_file(path) as file:
                    file.write(self._draw("png"))
        except P2PAnalyticsError as error:
            self._said.value = told(str(error), "bad", role="alert")
        else:
            # The folders above may bear somebody's name.
            self._said.value = told(f"Saved {path.name if self._history.private else path.resolve()}", "good")

    def _file_name(self) -> str:
        """Return what was chosen as letters, digits and dashes, whatever people are called."""
        parts = [self.analysis.value]
        if self.person.value:
            mark = hashlib.blake2s(repr(self.person.value).encode(), digest_size=4).hexdigest()
            parts += [self.person.label, mark]  # two people may differ in nothing but what is left out
        parts.append(self.status.value)
        parts += [f"{word}-{day}" for word, day in (("from", self.first_day.value), ("to", self.last_day.value)) if day]
        parts += [self.zone.value] if self.zone.value != "UTC" else []
        kept = [re.sub(r"\W+", "-", part, flags=re.ASCII).strip("-")[:60] for part in parts]
        return "-".join(part for part in kept if part)


def _people(payments: pd.DataFrame) -> list[tuple[str, tuple[str, str]]]:
    """Return each counterparty's name, and the column and value that tell them; one with two names has the later."""
    pairs = payments[["counterparty_id", "counterparty_name"]].drop_duplicates().astype(object)
    pairs = pairs.where(pairs.notna(), None).sort_values("counterparty_name", na_position="first")
    known: dict[tuple[str, str], str | None] = {}
    for identifier, name in pairs.itertuples(index=False, name=None):
        if identifier is not None:
            known["counterparty_id", identifier] = name
        elif name is not None:
            known["counterparty_name", name] = name
    ids = [value if column == "counterparty_id" else None for column, value in known]
    return sorted(zip(names(list(known.values()), ids), known, strict=True), key=lambda pair: pair[0].casefold())


def _choice(label: str, options: list[Any], value: object = None) -> Any:  # noqa: ANN401 - ipywidgets has no types
    return ipywidgets.Dropdown(options=options, description=label, **({} if value is None else {"value": value}))


def _day(label: str, tip: str) -> Any:  # noqa: ANN401 - likewise
    return ipywidgets.DatePicker(description=label, tooltip=tip, max=_LAST_DAY)


def _button(label: str, icon: str, pressed: Callable[[], None]) -> Any:  # noqa: ANN401 - likewise
    button = ipywidgets.Button(description=label, icon=icon)
    button.on_click(lambda _button: pressed())
    return button
