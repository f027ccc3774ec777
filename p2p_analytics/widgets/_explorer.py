"""Explorer: a widget that filters payments and displays an analysis as a table and a plot."""

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
from p2p_analytics.times import find_zone
from p2p_analytics.widgets._style import STYLE, NotebookDisplay, build_box, format_message
from p2p_analytics.widgets._table import format_names, to_html

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import pandas as pd

    from p2p_analytics.history import History

_EVERYONE: Final = "everyone"
_ANY_STATUS: Final = "every status"
_LAST_DAY: Final = date(9999, 12, 31)  # datetime has no later year
_TITLES: Final = {
    "spend_by_friend": "Where it went",
    "monthly_flow": "Month by month",
    "status_mix": "What became of it",
    "pending_ageing": "Still open, by age",
    "pending_requests": "Open requests",
}


class Explorer(NotebookDisplay):
    """Widget that displays a history's payments by person, period and status, as a table and a plot.

    It computes in the kernel. Display it as the last line of a cell, or with ``display``. Its first table and plot
    are saved with the notebook, for viewers without a kernel.

    Parameters
    ----------
    history : History
        The result of `p2p_analytics.load_history`.
    as_of : datetime, date or str, optional
        The moment up to which the age of open requests counts; default the history's ``fetched_at``.
    tz : str
        Name of the initial zone for days and months. A history in privacy mode allows UTC only.
    folder : path
        The folder for "Save as CSV" and "Save this plot". The file name is made from the selection, so saving the
        same selection again replaces the file.

    Attributes
    ----------
    table : DataFrame
        The displayed table, as the analysis returns it.
    payments : DataFrame
        The selected rows of PAYMENTS.
    person, analysis, status, first_day, last_day, zone : ipywidgets.Widget
        The inputs; setting a ``value`` has the effect of a click. The period applies to ``date_created`` and
        includes both days; in strict privacy mode it includes both months.

    Raises
    ------
    ConfigurationError
        ``history`` is not a history, ``as_of`` is not an instant, or the zone is unknown.
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
        pending_requests(payments, as_of=self._as_of)  # reject invalid arguments here, not at a later click
        words = sorted(payments["status"].dropna().unique())
        self.person = _build_dropdown("Person", [(_EVERYONE, ()), *_person_options(payments)])
        self.analysis = _build_dropdown("Show", [(title, name) for name, title in _TITLES.items()])
        self.status = _build_dropdown("Status", [(_ANY_STATUS, ""), *((word, word) for word in words)])
        self.first_day = _build_date_picker(
            "From", "The first day of the period; empty to begin with the first payment"
        )
        self.last_day = _build_date_picker("To", "The last day of the period; empty to end with the last payment")
        zones = ["UTC"] if history.private else [*dict.fromkeys(["UTC", tz, *sorted(available_timezones())])]
        self.zone = _build_dropdown("Zone", zones, "UTC" if history.private else tz)
        self._inputs = [self.analysis, self.person, self.first_day, self.last_day, self.status, self.zone]
        self._plot, self._table, self._message = ipywidgets.HTML(), ipywidgets.HTML(), ipywidgets.HTML()
        self.save_csv = _build_button("Save as CSV", "download", lambda: self._save("csv"))
        self.save_plot = _build_button("Save this plot", "image", lambda: self._save("png"))
        for each in self._inputs:
            each.observe(self._update, names="value")
        rows = {"flex_flow": "row wrap"}
        period = ipywidgets.HBox([self.first_day, self.last_day])  # next to each other, even on a narrow page
        period.add_class("period")
        self.widget = build_box(
            ipywidgets.HBox([self.analysis, self.person, period, self.status, self.zone], layout=rows),
            self._plot,
            self._table,
            ipywidgets.HBox([self.save_csv, self.save_plot], layout=rows),
            self._message,
        )
        self._update()

    def __repr__(self) -> str:
        """Return the user's name, the analysis and the number of payments, not the payments."""
        who = self._history.me.user.display_name
        payments = format_count(len(self.payments), "payment", "payments")
        return f"<Explorer of {who}: {_TITLES[self.analysis.value]}, {payments}>"

    def _static_html(self) -> str:
        return f'<div class="p2p">{STYLE}{self._plot.value}{self._table.value}</div>'

    def _update(self, _change: object = None) -> None:
        """Select the payments, compute the table and draw the plot."""
        self._message.value = ""
        name = self.analysis.value
        try:
            self.payments = self._select_payments()
            self.table = self._analyses()[name](self.payments)
            self._draw: Callable[[Any], bytes] = lambda kind: plots.to_image(
                getattr(plots, name), self.table, kind, private=self._history.private, strict=self._history.strict
            )
            drawn = base64.b64encode(self._draw("svg")).decode("ascii")
        except P2PAnalyticsError as error:
            self._message.value = format_message(str(error), "bad", role="alert")
            return
        words = f"{_TITLES[name]}, as a plot; the table below has the same figures."
        self._plot.value = f'<figure><img src="data:image/svg+xml;base64,{drawn}" alt="{words}"></figure>'
        dates = "%Y-%m" if self._history.strict else "%Y-%m-%d"
        self._table.value = to_html(self.table, _TITLES[name], find_zone(self.zone.value), dates)
        if self.first_day.value and self.last_day.value and self.first_day.value > self.last_day.value:
            self._message.value = format_message(
                "The period ends before it begins: choose an earlier first day.", "bad"
            )

    def _select_payments(self) -> pd.DataFrame:
        rows = self._history.payments
        if self.person.value:
            column, key = self.person.value
            rows = rows[rows[column] == key]
            if column == "counterparty_name":  # people without an id
                rows = rows[rows["counterparty_id"].isna()]
        if self.status.value:
            rows = rows[rows["status"] == self.status.value]
        if self.first_day.value is not None:
            first = self.first_day.value.replace(day=1) if self._history.strict else self.first_day.value
            rows = rows[rows["date_created"] >= self._midnight(first)]
        if self.last_day.value is not None and self.last_day.value < _LAST_DAY:
            end = self._midnight(self.last_day.value + timedelta(days=1))
            rows = rows[rows["date_created"] < end]
        return rows

    def _midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), tzinfo=find_zone(self.zone.value))

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
            self._message.value = format_message(str(error), "bad", role="alert")
        else:
            # The names of the parent folders may contain the user's name.
            self._message.value = format_message(
                f"Saved {path.name if self._history.private else path.resolve()}", "good"
            )

    def _file_name(self) -> str:
        """Return the selection as ASCII letters, digits and dashes."""
        parts = [self.analysis.value]
        if self.person.value:
            digest = hashlib.blake2s(repr(self.person.value).encode(), digest_size=4).hexdigest()
            parts += [self.person.label, digest]  # two labels may differ only in characters that are removed
        parts.append(self.status.value)
        parts += [f"{word}-{day}" for word, day in (("from", self.first_day.value), ("to", self.last_day.value)) if day]
        parts += [self.zone.value] if self.zone.value != "UTC" else []
        kept = [re.sub(r"\W+", "-", part, flags=re.ASCII).strip("-")[:60] for part in parts]
        return "-".join(part for part in kept if part)


def _person_options(payments: pd.DataFrame) -> list[tuple[str, tuple[str, str]]]:
    """Return each counterparty's name with the column and value that identify it; the last of several names counts."""
    columns = ["counterparty_id", "counterparty_username", "counterparty_name"]
    rows = payments.reindex(columns=columns).drop_duplicates().astype(object)
    rows = rows.where(rows.notna(), None).sort_values("counterparty_name", na_position="first")
    known: dict[tuple[str, str], tuple[str | None, str | None]] = {}
    for identifier, username, name in rows.itertuples(index=False, name=None):
        if identifier is not None:
            known["counterparty_id", identifier] = name, username
        elif name is not None:
            known["counterparty_name", name] = name, username
    ids = [value if column == "counterparty_id" else None for column, value in known]
    labels = format_names([name for name, _ in known.values()], [username for _, username in known.values()], ids)
    return sorted(zip(labels, known, strict=True), key=lambda pair: pair[0].casefold())


def _build_dropdown(label: str, options: list[Any], value: object = None) -> Any:  # noqa: ANN401 - ipywidgets has no types
    return ipywidgets.Dropdown(options=options, description=label, **({} if value is None else {"value": value}))


def _build_date_picker(label: str, tip: str) -> Any:  # noqa: ANN401 - likewise
    return ipywidgets.DatePicker(description=label, tooltip=tip, max=_LAST_DAY)


def _build_button(label: str, icon: str, on_click: Callable[[], None]) -> Any:  # noqa: ANN401 - likewise
    button = ipywidgets.Button(description=label, icon=icon)
    button.on_click(lambda _button: on_click())
    return button
