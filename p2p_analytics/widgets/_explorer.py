"""Explorer: a widget that filters payments and displays them, or an analysis of them as a table and a plot."""

from __future__ import annotations

import base64
import hashlib
import inspect
import os
import re
from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, Final, Literal

import ipywidgets
import pandas as pd

from p2p_analytics import plots
from p2p_analytics.analyses import pending_requests
from p2p_analytics.analyses.build import build_table
from p2p_analytics.analyses.caveats import describe_caveat, lacks_audiences
from p2p_analytics.catalogue import ANALYSES, ONE_DATE, SINCE_CREATION, list_hidden
from p2p_analytics.currencies import describe_code
from p2p_analytics.display import clean_line, format_count
from p2p_analytics.errors import P2PAnalyticsError
from p2p_analytics.export import to_csv
from p2p_analytics.files import atomic_file
from p2p_analytics.frames.missing_amounts import describe_missing_amounts
from p2p_analytics.frames.row_currencies import count_currencies, is_in_currency, list_currencies
from p2p_analytics.frames.schema import KIND_PAYMENT, select_payments
from p2p_analytics.history import History, require_history
from p2p_analytics.reminder_messages import write_reminders
from p2p_analytics.times import as_instant
from p2p_analytics.widgets._payments_view import PaymentsView
from p2p_analytics.widgets._period import Period, read_instants
from p2p_analytics.widgets._style import (
    STYLE,
    NotebookDisplay,
    build_box,
    build_button,
    build_dropdown,
    build_row,
    format_message,
    set_visible,
)
from p2p_analytics.widgets._table import (
    MOST_ROWS,
    analysis_to_html,
    fill_usernames,
    format_names,
    name_people,
    name_rows,
    reminders_to_html,
    to_list,
)

_PAYMENTS: Final = "payments"
_TITLES: Final = {
    **{name: analysis.title for name, analysis in ANALYSES.items() if hasattr(plots, name)},
    _PAYMENTS: "Payments",
}
_REQUESTS: Final = "pending_requests"
_OVER_TIME: Final = "spending_over_time"
_WIDTH: Final = 5.2  # inches; still readable at two thirds, as on a phone
_EVERYONE: Final = "everyone"
_ANY_STATUS: Final = "every status"
_ANY_KIND: Final = "every kind"
_ANY_CURRENCY: Final = "every currency"


class Explorer(NotebookDisplay):
    """Widget that displays a history by person, period and status: an analysis with its plot, or payment by payment.

    It computes in the kernel. Display it as the last line of a cell, or with ``display``. Its first view and the
    first page of payments are saved with the notebook, for viewers without a kernel.

    Parameters
    ----------
    history : History
        The result of `p2p_analytics.load_history`.
    as_of : datetime, date or str, optional
        The moment up to which the age of open requests counts, and that "this month" and "last year" refer to;
        default the history's ``fetched_at``.
    tz : str
        Name of the initial zone for days and months. A history in privacy mode allows UTC only.
    folder : path
        The folder for "Save as CSV" and "Save this plot". The file name is made from the selection, so saving the
        same selection again replaces the file.

    Attributes
    ----------
    table : DataFrame
        The displayed table: as the analysis returns it, or all rows of the view "Payments", although only a page is
        displayed. "Save as CSV" writes it.
    payments : DataFrame
        The selected rows of PAYMENTS; in the view "Payments", the rows that the search found.
    analysis, person, status : ipywidgets.Widget
        The inputs for the view and the selection; setting a ``value`` has the effect of a click.
    currency : ipywidgets.Widget
        The input for the currency, which is displayed if there are several. If payments between people are in several,
        one is always selected.
    date, period, first_day, last_day, zone : ipywidgets.Widget
        The inputs for the period. It refers to ``date_created`` or to ``date_completed``, and so does every view:
        months, first and last dates. Only the age of a request always counts from its creation. The first and
        the last day are included; in strict privacy mode, their months. A payment without the date is in no period.
    search, order, kind : ipywidgets.Widget
        The inputs of the view "Payments", ``kind`` for histories with transactions other than payments between people.

    Raises
    ------
    ConfigurationError
        ``history`` is not a history, ``as_of`` is not an instant, or the zone is unknown.
    SchemaError
        The payments lack a column, one of them occurs twice, or a date column holds something else.
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
        instants = {name: read_instants(history.payments, name) for name in ("date_created", "date_completed")}
        payments = self._payments = self.payments = history.payments.assign(**instants)
        self.table = payments.head(0)  # until there is one
        self._selection = Selection(payments, on_change=self._update)
        # Reject invalid arguments here, not at a later click.
        pending_requests(self._selection.select(payments, is_single=False), as_of=self._as_of)
        self._period = Period(
            as_instant(self._as_of), tz, private=history.private, strict=history.strict, on_change=self._update
        )
        self._single = PaymentsView(on_change=self._update, on_page=self._turn_page)
        self.analysis = build_dropdown("Show", [(title, name) for name, title in _TITLES.items()])
        self.analysis.observe(self._update, names="value")
        self.person, self.status = self._selection.person, self._selection.status
        self.kind, self.currency = self._selection.kind, self._selection.currency
        self.date, self.period, self.zone = self._period.date, self._period.shortcut, self._period.zone
        self.first_day, self.last_day = self._period.first_day, self._period.last_day
        self.search, self.order = self._single.search, self._single.order
        self.save_csv = build_button(
            "Save as CSV", "download", lambda: self._save("csv"), "Save all rows of this view, in this order"
        )
        self.save_plot = build_button("Save this plot", "image", lambda: self._save("png"))
        self._plot, self._table, self._message = ipywidgets.HTML(), ipywidgets.HTML(), ipywidgets.HTML()
        self._scope = ipywidgets.HTML()
        self._payments_inputs = build_row("inputs", self.search, self.order, self.kind)
        self.widget = build_box(
            build_row(
                "inputs",
                *(self.analysis, self.person, self.status, self.currency),
                *(self.period, self.first_day, self.last_day),
                *(self.date, self.zone),
            ),
            self._payments_inputs,
            self._scope,
            self._plot,
            self._table,
            build_row("buttons", self._single.previous, self._single.next, self.save_csv, self.save_plot),
            self._message,
        )
        self._update()

    def __repr__(self) -> str:
        """Return the user's name, the view and the number of payments, not the payments."""
        who = self._history.me.user.display_name
        payments = format_count(len(self.payments), *name_rows(self.payments))
        return f"<Explorer of {who}: {_TITLES[self.analysis.value]}, {payments}>"

    def _static_html(self) -> str:
        """Return the displayed view, and the first page of payments, as HTML without a kernel."""
        shown = f"{self._scope.value}{self._plot.value}{self._table.value}"
        if self.analysis.value != _PAYMENTS and not self._message.value:
            self._single.open(self.payments, self.date.value)
            shown += f"<details><summary>Payments, first page</summary>{self._render_page()}</details>"
        return f'<div class="p2p">{STYLE}{shown}</div>'

    def _update(self, _change: object = None) -> None:
        """Select the payments, and show them or an analysis of them."""
        name = self.analysis.value
        is_single = name == _PAYMENTS
        has_plot = not is_single
        set_visible(self._payments_inputs, is_single)
        self._selection.show_kinds(is_single=is_single)
        try:
            candidates = self._selection.select(self._payments, is_single=is_single)
            self.payments = self._period.select(candidates)
            scope = self._period.describe(self.payments, candidates, self._payments)
            if is_single:
                self._single.open(self.payments, self.date.value)
                self.payments, self.table = self._single.payments, self._single.table
                plot, table = "", self._render_page()
            else:
                plot, table = self._show_analysis(name)
        except P2PAnalyticsError as error:
            scope, plot, table = "", "", ""
            self.table = self.payments.head(0)
            self._message.value = format_message(str(error), "bad", role="alert")
        else:
            inverted = "The period ends before it begins: choose an earlier first day."
            self._message.value = format_message(inverted if self._period.is_inverted else "", "bad")
            scope = " ".join([scope, *filter(None, self._list_remarks(name))])
            has_plot = bool(plot)
        for each in (self._plot, self.save_plot):
            set_visible(each, has_plot)
        for each in (self._single.previous, self._single.next):
            set_visible(each, is_single and len(self.table) > MOST_ROWS)
        self._scope.value = f'<p class="quiet">{escape(scope)}</p>' if scope else ""
        self._plot.value, self._table.value = plot, table

    def _list_remarks(self, name: str) -> list[str]:
        """Return sentences about what a view does not show, or shows otherwise; some are empty."""
        history, is_single = self._history, name == _PAYMENTS
        hidden = [] if is_single else list_hidden(name, private=history.private, strict=history.strict)
        others = 0 if is_single else len(self.payments) - len(select_payments(self.payments))
        has_ages = not is_single and not self._period.is_inverted and ANALYSES[name].dates == SINCE_CREATION
        return [
            "Ages count from the date of creation." if has_ages else "",
            f"Privacy mode hides {' and '.join(hidden)}, so this view is not that of the real payments." * bool(hidden),
            f"{format_count(others, 'is', 'are')} no payment between people, and not counted below." * bool(others),
            history.describe_start(),
            history.describe_wrong_files(),
            describe_missing_amounts(self.payments),
            describe_caveat(name, self.payments),
        ]

    def _show_analysis(self, name: str) -> tuple[str, str]:
        """Compute an analysis, and return its plot (empty if there is nothing to draw) and its table, as HTML."""
        rows = self._period.set_dates(self.payments) if ANALYSES[name].dates == ONE_DATE else self.payments
        options = {"by": "category", "every": self._period.choose_every(rows)} if name == _OVER_TIME else {}
        self.table = build_table(
            name, rows, self._history, as_of=self._as_of, tz=self.zone.value, end=self._period.end, **options
        )
        people = fill_usernames(self.table, self._history.people)
        html = analysis_to_html(ANALYSES[name], people, self._period.tzinfo, self._date_format)
        if name == _REQUESTS:
            texts = write_reminders(
                self.table.head(MOST_ROWS), self._history, self._period.tzinfo, as_instant(self._as_of)
            )
            html += reminders_to_html(texts["text"].tolist())
        if lacks_audiences(name, rows):
            return "", html
        drawn = base64.b64encode(self._draw("svg")).decode("ascii")
        title = _TITLES[name]
        if name == "monthly_flow":
            columns = {column: to_list(self.table[column]) for column in map(str, self.table)}
            word = plots.choose_period(
                [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            )
            title = f"{word.capitalize()} by {word}"
        words = f"{title}, as a plot; the table below has the same figures."
        plot = f'<figure><img src="data:image/svg+xml;base64,{drawn}" alt="{words}"></figure>'
        return plot, html

    def _draw(self, kind: Literal["png", "svg"]) -> bytes:
        """Return the plot of the displayed table."""
        history, plot = self._history, getattr(plots, self.analysis.value)
        if "tz" in inspect.signature(plot).parameters:
            plot = partial(plot, tz=self.zone.value)
        names = name_people(fill_usernames(self.table, history.people))
        return plots.to_image(
            plot, self.table, kind, size=(_WIDTH, None), names=names, private=history.private, strict=history.strict
        )

    def _render_page(self) -> str:
        dates = self._date_format if self._history.private else f"{self._date_format} %H:%M"
        return self._single.render(self._period.tzinfo, dates)

    def _turn_page(self) -> None:
        self._message.value = ""
        self._table.value = self._render_page()

    @property
    def _date_format(self) -> str:
        return "%Y-%m" if self._history.strict else "%Y-%m-%d"

    def _save(self, kind: Literal["csv", "png"]) -> None:
        path = self._folder / f"{self._file_name()}.{kind}"
        is_single = self.analysis.value == _PAYMENTS
        if is_single and kind == "png":
            self._message.value = format_message(
                "Single payments have no plot: choose another view.", "bad", role="alert"
            )
            return
        try:
            if kind == "csv":
                to_csv(self.table, path)
            else:
                image = self._draw("png")
                with atomic_file(path) as file:
                    file.write(image)
        except P2PAnalyticsError as error:
            self._message.value = format_message(str(error), "bad", role="alert")
            return
        # The names of the parent folders may contain the user's name.
        saved = f"Saved {path.name if self._history.private else path.resolve()}"
        if is_single:
            pages = ", those of all pages" if len(self.table) > MOST_ROWS else ""
            saved += f": {format_count(len(self.table), 'payment', 'payments')} in the displayed order{pages}"
        self._message.value = format_message(saved, "good")

    def _file_name(self) -> str:
        """Return the selection as ASCII letters, digits and dashes."""
        is_single = self.analysis.value == _PAYMENTS
        parts = [self.analysis.value, *self._selection.list_choices(is_single=is_single)]
        parts += self._period.list_choices()
        if is_single:
            parts += self._single.list_choices()
            parts += [digest(self.search.value)] if self.search.value.strip() else []
        kept = [re.sub(r"\W+", "-", part, flags=re.ASCII).strip("-")[:60] for part in parts]
        return "-".join(part for part in kept if part)


# ---- selection of rows


class Selection:
    """Inputs that select rows of PAYMENTS, all of the history, by person, status, kind and currency.

    A person has payments between people only. The kinds are for the view of single payments, because analyses count
    payments between people. If these are in several currencies, one is always selected, at first the most frequent.
    ``on_change`` is called after a change of an input.
    """

    def __init__(self, payments: pd.DataFrame, *, on_change: Callable[..., None]) -> None:
        people = select_payments(payments)
        statuses = sorted(payments["status"].dropna().unique())
        kinds = list(dict.fromkeys([KIND_PAYMENT, *sorted(set(_name_kinds(payments)))]))
        currencies = list(dict.fromkeys([*count_currencies(payments), *list_currencies(payments)]))
        any_currency = [(_ANY_CURRENCY, "")] if len(count_currencies(payments)) <= 1 else []
        self.person = build_dropdown("Person", [(_EVERYONE, ()), *_person_options(people)])
        self.status = build_dropdown("Status", [(_ANY_STATUS, ""), *((word, word) for word in statuses)])
        self.kind = build_dropdown("Kind", [(_ANY_KIND, ""), *((clean_line(kind), kind) for kind in kinds)])
        self.currency = build_dropdown(
            "Currency", [*any_currency, *((describe_code(code), code) for code in currencies)]
        )
        self._has_kinds = len(people) < len(payments)
        set_visible(self.currency, len(currencies) > 1)
        for each in (self.person, self.status, self.kind, self.currency):
            each.observe(on_change, names="value")

    def show_kinds(self, *, is_single: bool) -> None:
        """Show the list of kinds in the view of single payments, if there are several; hide it in other views."""
        set_visible(self.kind, is_single and self._has_kinds)

    def select(self, payments: pd.DataFrame, *, is_single: bool) -> pd.DataFrame:
        """Return the selected rows; in the view of single payments also by kind."""
        rows = payments
        if self.currency.value:
            rows = rows[is_in_currency(rows, self.currency.value)]
        if self.person.value:
            column, key = self.person.value
            rows = select_payments(rows)
            rows = rows[rows[column] == key]
            if column == "counterparty_name":  # people without an id
                rows = rows[rows["counterparty_id"].isna()]
        if self.kind.value and is_single:
            rows = rows[[kind == self.kind.value for kind in _name_kinds(rows)]]
        return rows[rows["status"] == self.status.value] if self.status.value else rows

    def list_choices(self, *, is_single: bool) -> list[str]:
        """Return the choices as words for a file name; none for the initial ones."""
        parts = [self.person.label, digest(self.person.value)] if self.person.value else []
        parts += [self.kind.label, digest(self.kind.value)] if self.kind.value and is_single else []
        return [*parts, self.status.value, self.currency.label if self.currency.index else ""]


def digest(choice: object) -> str:
    """Return eight digits for a choice, because words of two choices may differ in removed characters only."""
    return hashlib.blake2s(repr(choice).encode(), digest_size=4).hexdigest()


def _name_kinds(payments: pd.DataFrame) -> list[str]:
    """Return the kind of each row; one without a kind is a payment."""
    return [kind or KIND_PAYMENT for kind in to_list(payments.reindex(columns=["kind"])["kind"])]


def _person_options(payments: pd.DataFrame) -> list[tuple[str, tuple[str, str]]]:
    """Return each counterparty's name with the column and value that identify it; the last of several names counts."""
    people: Any = payments.reindex(columns=["counterparty_id", "counterparty_name", "counterparty_username"])
    people = people.drop_duplicates().astype(object)
    people = people.where(people.notna(), None).sort_values("counterparty_name", na_position="first", kind="stable")
    known: dict[tuple[str, str], tuple[str | None, str | None]] = {}
    for identifier, name, username in people.itertuples(index=False, name=None):
        if identifier is not None:
            known["counterparty_id", identifier] = name, username
        elif name is not None:
            known["counterparty_name", name] = name, username
    ids = [value if column == "counterparty_id" else None for column, value in known]
    names, usernames = ([pair[at] for pair in known.values()] for at in (0, 1))
    options = zip(format_names(names, usernames, ids), known, strict=True)
    return sorted(options, key=lambda option: option[0].casefold())
