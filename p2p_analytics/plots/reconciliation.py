"""Plot of statement files on a time axis, and whether their balances agree with their rows."""

from __future__ import annotations

__all__ = ["reconciliation"]

from collections import Counter
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.arguments import check_top
from p2p_analytics.display import MONTH_NAMES, format_count, format_money
from p2p_analytics.errors import SchemaError, describe_type
from p2p_analytics.money import to_units
from p2p_analytics.plots._parts import colours, style
from p2p_analytics.plots._parts.others import count_shown
from p2p_analytics.plots._parts.text import to_drawable, to_drawable_file
from p2p_analytics.statements import Statements

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import SupportsIndex

    from matplotlib.axes import Axes
    from narwhals.stable.v2.typing import IntoFrame


_NEEDED: Final = ("file", "difference_cents", "reconciled", "period_start", "period_end")
_OPTIONAL: Final = ("account", "currency", "gap_cents")
_ADDS_UP: Final = "adds up"
_DIFFERS: Final = "does not add up"
_UNKNOWN: Final = "balance not known"
_COLOURS: Final = {_ADDS_UP: "#009E73", _UNKNOWN: "#999999", _DIFFERS: colours.OUT}
_VERBS: Final = {_ADDS_UP: ("adds up", "add up"), _DIFFERS: ("does not", "do not"), _UNKNOWN: ("not known",) * 2}
_ROOM: Final = 0.62  # for labels, in lengths of the time axis
_MARGIN: Final = 0.03  # without labels
_THINNEST: Final = 1 / 120
_HEIGHT: Final = 0.5
_TWO_LINES: Final = 1.35
_NAMES: Final = 1.7  # inches of the names of files
_TICK: Final = 0.55
_STEPS: Final = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12_000, 60_000, 120_000)  # months
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY: Final = 86_400


class _File(NamedTuple):
    name: str
    state: str
    start: float | None
    end: float | None
    label: str
    gap: str

    @property
    def text(self) -> str:
        return ",\n".join(filter(None, [self.label, self.gap]))


def reconciliation(
    table: IntoFrame | Statements, *, ax: Axes | None = None, top: SupportsIndex = style.MOST_ROWS
) -> Axes:
    """Draw the period of each statement file, and whether its balances agree with its rows.

    Each row of the table, in its order, has a bar from its first to its last day in the colour of the result, labelled
    with the difference, and with the change of the balance since the file before that neither file has. If there are
    more than ``top`` files and one, those with a difference have the first claim to a row, then those with such a
    change, then those without balances; all others share the last row. A table without rows gives empty axes with a
    message.

    Parameters
    ----------
    table : frame or Statements
        The attribute ``reconciliation`` of `p2p_analytics.Statements`, or the statements themselves.
    ax : Axes, optional
        The axes to draw on; a new figure by default.
    top : int
        Number of files shown one by one; one more if only one would be left.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        The table lacks a column, or is a history, which has no files.
    """
    most = check_top(top)
    if isinstance(table, Statements):
        table = table.reconciliation
    elif hasattr(table, "payments") and hasattr(table, "people"):
        raise SchemaError(
            f"plots.reconciliation needs the files of statements, not {describe_type(table)}: pass "
            "statements.reconciliation."
        )
    data = style.read_columns(table, _NEEDED, what="plots.reconciliation")
    files = _read_files(data)
    # Files with a difference, then with a change before them, then without balances have the first claim to a row.
    claims = [0 if file.state == _DIFFERS else 1 if file.gap else 2 + (file.state == _ADDS_UP) for file in files]
    rows = count_shown(len(files), most)
    chosen = sorted(sorted(range(len(files)), key=claims.__getitem__)[:rows])
    shown = [files[at] for at in chosen]
    others = [file for at, file in enumerate(files) if at not in set(chosen)]
    row_height = _TWO_LINES if any("\n" in file.name for file in shown) else 1
    ax = style.prepare_axes(ax, height=style.height_of_bars(max(round(row_height * (len(shown) + 1)), 3)))
    title = "Statement files, and whether they add up"
    if not files:
        return style.draw_empty(ax, title, "No statement files")
    start, end = _set_time_axis(ax, files, room=_ROOM if others or any(file.text for file in shown) else _MARGIN)
    rows_of = [*enumerate(shown), *((len(shown), file) for file in others)]
    thinnest = (end - start) * _THINNEST
    height = _HEIGHT * min(1, len(shown) / 3)  # a figure has room for three rows
    key = []
    for state, colour in _COLOURS.items():
        spans = [
            (row, file.start, max(file.end - file.start, thinnest))
            for row, file in rows_of
            if file.state == state and file.start is not None and file.end is not None
        ]
        if spans:
            at, left, widths = zip(*spans, strict=True)
            key.append((state, ax.barh(at, widths, left=left, height=height, color=colour)))
    for row, file in enumerate(shown):
        edge = start if file.start is None or file.end is None else max(file.end, file.start + thinnest)
        if file.text:
            style.label_bar(ax, edge, row, file.text)
    names = [file.name for file in shown]
    if others:
        names.append(format_count(len(others), "other file", "other files"))
        # The number of files by result, each on a line: plots may be narrow.
        counts = Counter(file.state for file in others)
        words = [f"{counts[state]:,} {verbs[counts[state] > 1]}" for state, verbs in _VERBS.items() if counts[state]]
        style.label_bar(ax, end, len(shown), ",\n".join(words), quiet=True)
    style.label_rows(ax, names, others=bool(others))
    style.set_title(ax, title, key)
    return ax


def _read_files(data: style.Columns) -> list[_File]:
    """Return the rows of the table; accounts and currencies are named if there are several."""
    absent: list[Any] = [None] * len(data["file"])
    columns = {name: data.get(name, absent) for name in (*_NEEDED, *_OPTIONAL)}
    several = [name for name in ("account", "currency") if len(set(columns[name])) > 1]
    files = []
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        state = _UNKNOWN if row["reconciled"] is None else _ADDS_UP if row["reconciled"] else _DIFFERS
        parts = [to_drawable(row[name]) for name in several if row[name]]
        name = to_drawable_file(row["file"])
        start, end = _to_days(row["period_start"]), _to_days(row["period_end"])
        files.append(
            _File(
                name=f"{name}\n{', '.join(parts)}" if parts else name,
                state=state,
                start=end if start is None else start,
                end=start if end is None else end,
                label=_describe(row, state),
                gap=f"{_format_amount(row['gap_cents'], row)} since the file before" if row["gap_cents"] else "",
            )
        )
    return files


def _describe(row: dict[str, Any], state: str) -> str:
    """Return the difference of a file, or why it does not add up without one; empty if the colour says it all."""
    words = []
    if row["difference_cents"]:
        words.append(f"difference {_format_amount(row['difference_cents'], row)}")
    elif state == _DIFFERS:
        words.append("rows could not be read")
    if row["period_start"] is None and row["period_end"] is None:
        words += ["no dates"] if words else [state, "no dates"]
    return ", ".join(words)


def _format_amount(cents: int, row: dict[str, Any]) -> str:
    return format_money(to_units(cents), currency=row["currency"])


def _set_time_axis(ax: Axes, files: Sequence[_File], *, room: float) -> tuple[float, float]:
    """Set whole months as the limits of the axis, with room for labels, and return them in days since 1970."""
    days = [day for file in files for day in (file.start, file.end) if day is not None]
    if not days:
        ax.set_xlim(0, 1)
        ax.xaxis.set_visible(False)
        ax.spines[:].set_visible(False)
        return 0.0, 1.0
    dates = [date.fromordinal(_EPOCH.toordinal() + int(day // 1)) for day in (min(days), max(days))]
    first, last = (day.year * 12 + day.month - 1 for day in dates)  # in months from the year 0
    most = max(int((style.measure_figure(ax) - _NAMES) / (1 + room) / _TICK), 1)
    step = next((step for step in _STEPS if (last + 1 - first) / step <= most), _STEPS[-1])
    ticks = [month for month in range(first, last + 2) if month % step == 0] or [first]
    start, end = _to_day(first), _to_day(last + 1)
    ax.set_xlim(start, end + (end - start) * room)
    labels: dict[float, str] = {}
    for month in ticks:
        year, number = divmod(month, 12)
        name = MONTH_NAMES[number]
        is_year = step % 12 == 0 and number == 0
        labels[_to_day(month)] = f"{year}" if is_year else name if labels and number else f"{name}\n{year}"
    style.label_places(ax, labels)
    style.draw_grid(ax, ax.xaxis)
    return start, end


def _to_days(instant: datetime | None) -> float | None:
    """Return an instant as days since 1970, because an axis with dates needs the language of the machine."""
    return None if instant is None else (instant - _EPOCH).total_seconds() / _DAY


def _to_day(month: int) -> float:
    """Return the first day of a calendar month; after the last month of the calendar, its end."""
    year, number = divmod(month, 12)
    return float((date(year, number + 1, 1) if year <= date.max.year else date.max).toordinal() - _EPOCH.toordinal())
