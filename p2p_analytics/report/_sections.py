"""Sections of a page: the figure and the table of each analysis that privacy mode does not hide."""

from __future__ import annotations

import base64
import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics import catalogue, display, plots
from p2p_analytics.analyses.caveats import describe_caveat, lacks_audiences
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.money import add_units
from p2p_analytics.reminder_messages import write_reminders
from p2p_analytics.report._cells import SIDES, find_key, find_style, to_rows, write_note
from p2p_analytics.report._page import MARKDOWN, Cell, Fold, Paragraph, Picture, Section, Small, Span, Table, Texts
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    import pandas as pd
    from matplotlib.axes import Axes

    from p2p_analytics.catalogue import Analysis, Column
    from p2p_analytics.history import History
    from p2p_analytics.report._cells import CellWriter, PersonKey
    from p2p_analytics.report._page import Block, Line

PEOPLE: Final = "spend_by_friend"
MONTHS: Final = "monthly_flow"
AGES: Final = "pending_ageing"
REQUESTS: Final = "pending_requests"
_MOST_ROWS: Final = 30
_MOST_PEOPLE: Final = 15
_MOST_REQUESTS: Final = 50
_MOST_BARS: Final = 12
_MOST_UNFOLDED: Final = 8  # a longer table is folded on screens
_MOST_GAPS: Final = 5
_WIDTH: Final = 5.2  # inches; still readable at three quarters, as on a phone
_AMOUNTS: Final = (
    "All amounts are multiplied by one secret factor and changed by secret noise: up to {0} by at most 74 %, "
    "{1} by 27 %, {2} by 9 %. Sums of ten payments of {1} or more are mostly within 5 % of the true proportions; "
    "sums of ten smaller ones are often not: of {3} to {4}, half are off by 8 % or more. "
    "Shares and sentences follow from these amounts, and can differ from the real ones. "
    "Counts and statuses are real: someone who can count your payments elsewhere, as in a public feed, can recognise "
    "people by them."
)
_SIZES: Final = (20, 100, 1000, 3, 30)  # currency units in these words
_BELOW: Final = "The table below has the same figures."


class ShownRows(NamedTuple):
    """The rows of an analysis that a page lists."""

    table: pd.DataFrame  # with all rows
    rows: list[dict[str, Any]]
    left_out: int = 0  # the number of empty periods of a long table, which are not counted as rows


def choose_sections(names: Sequence[str] | None) -> list[Analysis]:
    """Return the analyses with a section, in the order of the report; without names all of them."""
    given = list(ANALYSES) if names is None else [names] if isinstance(names, str) else list(names)
    wrong = [name for name in given if not isinstance(name, str) or name not in ANALYSES]
    if wrong or not given or isinstance(names, str):
        found = ", ".join(map(repr, wrong or given)) or "none"
        raise ConfigurationError(f"only is a list of analyses, of {', '.join(ANALYSES)}, not {found}.")
    wanted = {REQUESTS if name == AGES else name for name in given}  # one section has both tables
    return [analysis for name, analysis in ANALYSES.items() if name in wanted]


def list_shown(analyses: Sequence[Analysis], history: History) -> list[Analysis]:
    """Return the analyses that are not about parts of payments that privacy mode hides."""
    modes = {"private": history.private, "strict": history.strict}
    return [analysis for analysis in analyses if not catalogue.list_hidden(analysis.name, **modes)]


def describe_privacy(history: History, currency: str) -> list[str]:
    """Return the name of the privacy mode, and its effects for readers of the page; nothing without."""
    if not history.private:
        return []
    amounts = _AMOUNTS.format(*(display.format_money(units, currency=currency, decimals=0) for units in _SIZES))
    if not history.strict:
        return [display.PRIVATE, f"Dates are real days, in UTC. {amounts}"]
    dates = (
        "Months are real, in UTC. Only the month of a payment is known, so it is counted as made on the first day of "
        "the month, and ages are up to a month too high."
    )
    return [display.STRICT, f"{dates} {amounts}"]


def describe_omitted(analyses: Sequence[Analysis], history: History) -> str:
    """Return the titles of the sections that privacy mode hides, and the reason, as a sentence; empty without any."""
    modes = {"private": history.private, "strict": history.strict}
    hidden = {analysis.title: catalogue.list_hidden(analysis.name, **modes) for analysis in analyses}
    titles = [f"“{title}”" for title, parts in hidden.items() if parts]
    if not titles:
        return ""
    parts = [*dict.fromkeys(part for some in hidden.values() for part in some)]
    lists = (
        f"{', '.join(words[:-1])} {last} {words[-1]}" if len(words) > 1 else words[0]
        for words, last in ((parts, "or"), (titles, "and"))
    )
    return "Left out, because they are about {}: {}.".format(*lists)


def select_rows(analysis: Analysis, table: pd.DataFrame, payments: pd.DataFrame) -> ShownRows:
    """Return the rows of a table that a page lists, with the columns of PAYMENTS that it lists too."""
    most = {PEOPLE: _MOST_PEOPLE, REQUESTS: _MOST_REQUESTS}.get(analysis.name, _MOST_ROWS)
    filled = table
    if analysis.is_newest_last and len(table) > most:  # a wrong date lengthens a table by empty periods
        filled = table[table["payments"] > 0]
    most = plots.count_shown(len(filled), most)
    rows = filled.tail(most) if analysis.is_newest_last else filled.head(most)
    lacking = [name for name in ("counterparty_id", *analysis.listed) if name not in rows]
    if "payment_id" in rows and lacking:
        listed = payments[payments["payment_id"].isin(rows["payment_id"].dropna())].set_index("payment_id")
        rows = rows.assign(**{name: rows["payment_id"].map(listed[name]) for name in lacking})
    return ShownRows(table, to_rows(rows), len(table) - len(filled))


def describe_gaps(words: str, gaps: Sequence[str]) -> list[Paragraph]:
    """Return a paragraph about the gaps between statement files, which sums leave out; none without gaps."""
    if not gaps:
        return []
    shown = [Span(display.clean_text(gap)) for gap in gaps[:_MOST_GAPS]]
    line: list[str | Span] = [f"{words} leave out what no file has: ", shown[0]]
    for gap in shown[1:]:
        line += ["; ", gap]
    if others := len(gaps) - len(shown):
        line.append(f"; and {display.format_count(others, 'other gap', 'other gaps')}")
    return [Paragraph((*line, "."))]


@dataclass(frozen=True)
class SectionBuilder:
    """Builds the sections of one page."""

    history: History
    payments: pd.DataFrame  # between people
    shown: Mapping[str, ShownRows]  # of each analysis
    writer: CellWriter
    figures: Mapping[PersonKey, str]  # the names of people in figures
    kind: str  # "html", or "markdown", which has no figures
    as_of: datetime
    gaps: Sequence[str]
    is_folded: bool = False  # whether all tables are folded

    def build(self, analysis: Analysis) -> Section:
        """Return the section of an analysis."""
        special = {PEOPLE: self._list_people, MONTHS: self._list_months, REQUESTS: self._list_requests}
        if analysis.name not in special:
            return Section(analysis.name, analysis.title, [*self._list_blocks(analysis)])
        title = "Still open" if analysis.name == REQUESTS else analysis.title
        if analysis.name == MONTHS:
            period = plots.choose_period(to_rows(self.shown[MONTHS].table))
            title = f"{period.capitalize()} by {period}"
        is_empty = self.shown[analysis.name].table.empty
        return Section(analysis.name, title, [Paragraph((analysis.none,))] if is_empty else [*special[analysis.name]()])

    def _list_blocks(self, analysis: Analysis) -> Iterator[Block]:
        """Yield the figure of an analysis and its table, or the sentence for a section with nothing to show."""
        name, (table, rows, left_out) = analysis.name, self.shown[analysis.name]
        none = ""
        if lacks_audiences(name, self.payments):
            none = "The audience of no payment is known."
        elif table.empty or ("payments" in table and not table["payments"].any()):
            none = analysis.none
        has_figure = self.kind != MARKDOWN and hasattr(plots, name) and not none
        if none:
            yield Paragraph((none,))
        caveat = describe_caveat(name, self.payments)
        if caveat and (none or has_figure or analysis.caption):
            yield Paragraph((caveat,), "quiet")
        if none:
            return
        if has_figure:
            plot = getattr(plots, name)
            given = {"top": _MOST_BARS, "tz": self.writer.zone}
            taken = {key: value for key, value in given.items() if key in inspect.signature(plot).parameters}
            words = analysis.figure or f"{analysis.title}: a figure. {_BELOW}"
            yield from self._draw(words, partial(plot, **taken), table)
        if not analysis.caption:
            return
        columns = self._find_columns(analysis, rows)
        notes = [analysis.days] if analysis.days and any(column.kind == catalogue.DAYS for column in columns) else []
        if left_out:
            notes.append(f"{analysis.rest[1].split()[-1]} without payments are left out")
        note = "".join(f"; {each}" for each in notes)
        blocks: list[Block] = []
        others = len(table) - left_out - len(rows)
        if others:
            note += f": {'the last' if analysis.is_newest_last else 'the first'} {len(rows)} of {len(rows) + others:,}"
            verb = "is" if others == 1 else "are"
            blocks = [Paragraph((f"{display.format_count(others, *analysis.rest)} {verb} not listed.",), "quiet")]
        blocks = [self._build_table(analysis, rows, columns, note=note), *blocks]
        is_folded = self.is_folded or len(rows) > _MOST_UNFOLDED
        yield from [Fold("The figures as a table", blocks)] if is_folded else blocks

    def _find_columns(self, analysis: Analysis, rows: Sequence[Mapping[str, Any]]) -> list[Column]:
        """Return the listed columns, without lengths of time that are not known."""
        columns = [analysis.find_column(name) for name in analysis.listed]
        times = {catalogue.DAYS, catalogue.AGE}
        is_strict = self.history.strict
        return [
            column
            for column in columns
            if column.kind not in times or (not is_strict and any(row[column.name] is not None for row in rows))
        ]

    def _build_table(  # noqa: PLR0913 - what a table has
        self,
        analysis: Analysis,
        rows: Sequence[Mapping[str, Any]],
        columns: Sequence[Column],
        *,
        note: str = "",
        rest: Sequence[Cell] = (),
        total: Sequence[Cell] = (),
    ) -> Table:
        """Return the table of an analysis, with a further column below the first one."""
        cells = []
        for row in rows:
            first, *others = (self.writer.write(column, row) for column in columns)
            if analysis.below:
                below = self.writer.write(analysis.find_column(analysis.below), row)
                first = first._replace(line=(*first.line, Small(below.line)))
            cells.append([first, *others])
        return Table(analysis.caption, list_headings(columns), cells, analysis.order, note, rest, total)

    def _draw(
        self, words: str, plot: Callable[..., Axes], table: pd.DataFrame, height: float | None = None
    ) -> Iterator[Picture]:
        """Yield the plot of a table as an SVG in a data address, only in HTML; by default, its height is chosen."""
        if self.kind == MARKDOWN:
            return
        image = plots.to_image(
            plot,
            table,
            "svg",
            size=(_WIDTH, height and max(height, 2.0)),
            names=self.figures,
            private=self.history.private,
            strict=self.history.strict,
        )
        yield Picture("data:image/svg+xml;base64," + base64.b64encode(image).decode("ascii"), words)

    def _list_people(self) -> Iterator[Block]:
        """Yield the people to whom money went, with a row for the others, and the sums."""
        analysis, (table, rows, _) = ANALYSES[PEOPLE], self.shown[PEOPLE]
        words = f"Bars of the money sent to and received from each person. {_BELOW}"
        height = 1.2 + 0.34 * min(len(table), _MOST_PEOPLE + 1)
        yield from self._draw(words, partial(plots.spend_by_friend, top=_MOST_PEOPLE), table, height)
        columns = self._find_columns(analysis, rows)
        other = plots.sum_other_people(table, len(rows))
        note, rest, everyone = "", [], "Together"
        if other.people:
            note = f": the first {len(rows)} of {len(table):,}"
            everyone = f"All {len(table):,}"
            others = display.format_count(other.people, "other person", "other people")
            rest = [Cell((others,)), *(self.writer.write(column, other._asdict()) for column in columns[1:])]
        sums = sum_people(table, self.payments)
        total = [everyone, *(self.writer.money(sums[name]) for name in ("sent", "received", "net"))]
        total += [f"{int(table['payments'].sum()):,}", ""]
        cells = [Cell((text,)) for text in total]
        listed = self._build_table(
            analysis, rows, columns, note=note, rest=[cell._replace(key=None) for cell in rest], total=cells
        )
        yield Fold("The figures as a table", [listed]) if self.is_folded else listed

    def _list_months(self) -> Iterator[Block]:
        """Yield the months, added up to the periods that the figure has bars for, and one by one for screens."""
        table = self.shown[MONTHS].table
        rows = to_rows(table)
        period = plots.choose_period(rows)
        periods = [plots.build_period_table(rows, word) for word in dict.fromkeys((period, "month"))]
        words = f"Bars of the money received and sent in each {period}, with a line for the net. {_BELOW}"
        yield from self._draw(words, plots.monthly_flow, table, 3.4)
        yield from describe_gaps("These months", self.gaps)
        if undated := int(table.loc[table["month"].isna(), "payments"].sum()):
            count = display.format_count(undated, "settled payment has", "settled payments have")
            verb = "it is" if undated == 1 else "they are"
            yield Paragraph((f"{count} no date, or one before 1970 or after 2199; {verb} counted under “no date”.",))
        columns = [ANALYSES[MONTHS].find_column(name) for name in ANALYSES[MONTHS].listed]
        for number, (word, sums, left_out) in enumerate(periods):
            caption = f"Settled payments by the {word} in which they completed, zone {self.writer.zone}"
            if left_out:
                count = display.format_count(left_out, word, f"{word}s")
                caption += f"; {count} without payments {'is' if left_out == 1 else 'are'} left out"
            cells = [
                [
                    Cell((row["period"] or "no date",), None if row["period"] else ""),
                    *(self.writer.write(column, row) for column in columns[1:]),
                ]
                for row in sums
            ]
            headings = [(word.capitalize(), ""), *list_headings(columns)[1:]]
            yield Fold(f"The {word}s as a table", [Table(caption, headings, cells)], "screen" if number else "")
        if len(periods) > 1:
            yield Paragraph(("The file of this report also has a table of the months, for screens.",), "paper quiet")

    def _list_requests(self) -> Iterator[Block]:
        """Yield the pending payments by age and one by one, and reminders of them."""
        (ages, ages_rows, _), (table, rows, _) = self.shown[AGES], self.shown[REQUESTS]
        strict, writer = self.history.strict, self.writer
        words = f"Bars of the open amounts by age, to receive and to pay. {_BELOW}"
        yield from self._draw(words, plots.pending_ageing, ages, 1.2 + 0.4 * ages["band"].nunique())
        moment = writer.moment(self.as_of)
        columns = [ANALYSES[AGES].find_column(name) for name in ANALYSES[AGES].listed]
        filled = [row for row in ages_rows if row["payments"]]
        bands = [
            [Cell((row["band"],), place), *(writer.write(column, row) for column in columns[1:])]
            for place, row in enumerate(filled, start=1)
        ]
        caption = f"{ANALYSES[AGES].caption}, as of {moment}"
        caption += ", counted from the first day of the month" if strict else ""
        yield Table(caption, list_headings(columns), bands)
        # People in the table of people have their other names there.
        listed = {row["counterparty_id"] for row in self.shown[PEOPLE].rows}
        cells = []
        for row in rows:
            who = writer.write_person(row, with_others=row["counterparty_id"] not in listed)
            since: Line = (writer.day(row["date_created"]),)
            if row["age_days"] is not None and not strict:
                since += (Small((display.format_count(row["age_days"], "day", "days"),)),)
            cells.append(
                [
                    Cell((*who, Small((write_note(row["note"]),)))),
                    Cell(since, find_key(catalogue.INSTANT, row["date_created"])),
                    Cell(
                        (writer.money(row["amount"]), Small((SIDES[row["direction"]],))),
                        find_key(catalogue.MONEY, row["amount"]),
                    ),
                ]
            )
        other = plots.sum_other_requests(table, len(rows))
        note, rest = "", []
        if other.requests:
            note = f": the first {len(rows)} of {len(table):,}"
            count: Line = (display.format_count(other.requests, "other request", "other requests"),)
            if other.without_amount:
                count += (Small((f"{other.without_amount} of unknown amount",)),)
            owed: list[str | Small] = []
            for amount, side in ((other.to_receive, "in"), (other.to_pay, "out")):
                owed += [writer.money(amount), Small((SIDES[side],))]
            rest = [Cell(count), Cell(("",)), Cell((*owed,))]
        headings = [("Who and what for", ""), ("Since", "date"), ("Amount", "number")]
        yield Table(ANALYSES[REQUESTS].caption, headings, cells, ANALYSES[REQUESTS].order, note, rest)
        texts = write_reminders(table.head(len(rows)), self.history, writer.zone, self.as_of)["text"].tolist()
        if texts:
            words = f"A text for each of your requests in the table, as of {moment}; later requests have none."
            about = Paragraph((f"{words} Nothing is sent.",), "quiet")
            yield Fold("Reminders to copy", [about, Texts(texts, "reminders")], "screen")


def list_headings(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Return the headings of columns, each with its class; the first column has none."""
    return [(column.heading, find_style(column) if at else "") for at, column in enumerate(columns)]


def sum_people(people: pd.DataFrame, payments: pd.DataFrame) -> dict[str, float | None]:
    """Return the money sent and received, and the net; None for a sum of unknown amounts."""
    settled = payments[payments["status"] == Status.SETTLED.value]
    sums: dict[str, float | None] = {}
    for name, side in (("sent", "out"), ("received", "in")):
        is_unknown = is_sum_unknown(settled.loc[settled["direction"] == side, "amount_cents"])
        sums[name] = None if is_unknown else add_units(people[name])
    sums["net"] = None if None in sums.values() else add_units(people["net"])
    return sums


def is_sum_unknown(amounts: pd.Series[Any]) -> bool:
    """Return whether there are amounts, but none of them is known, so that their sum is not zero."""
    return len(amounts) > 0 and bool(amounts.isna().all())
