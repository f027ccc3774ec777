"""Tables to the sheets of an Excel workbook."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import xlsxwriter

from p2p_analytics.catalogue import ANALYSES, SHARE, SHARE_OF_MONEY
from p2p_analytics.display import to_zone
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.export._analyses import analyse
from p2p_analytics.files import atomic_file, to_path
from p2p_analytics.frames.arrow import table_of
from p2p_analytics.money import format_cents
from p2p_analytics.times import find_zone

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.history import History

_ENDING: Final = ".xlsx"  # Excel opens a workbook with no other
_MOST_ROWS: Final = 1_048_575  # below the header
_MOST_COLUMNS: Final = 16_384
_LONGEST_CELL: Final = 32_767  # units of UTF-16; an emoji has two or more
_REMARK: Final = 40  # the most units of the remark at the end of a text that is cut
_FIRST_DAY: Final = date(1900, 3, 1)  # programs number the days before differently, as Excel has a 29 February 1900
_LONGEST_NAME: Final = 31  # units of UTF-16, of a sheet
_FORBIDDEN: Final = re.compile(r"[\[\]:*?/\\]|\A'|'\Z")
_RESERVED: Final = "history"  # the sheet in which Excel tracks changes
_WIDTHS: Final = 8, 48  # characters
_SEEN_ROWS: Final = 1_000  # which determine the width of a column
_ROWS_AT_ONCE: Final = 8_192
_CENTS: Final = "_cents"
_MONEY: Final = "#,##0.00"
_SHARE: Final = "0.0%"
_TEXT: Final = "@"
_LARGEST_EXACT: Final = 2**53  # a cell holds a float
_CREATED: Final = datetime(2000, 1, 1)  # noqa: DTZ001 - a fixed date without a zone, as the format has it


def to_excel(
    source: History | pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    as_of: datetime | date | str | None = None,
    end: datetime | date | str | None = None,
    tz: str | ZoneInfo = "UTC",
) -> None:
    """Write payments, people and the table of each analysis as the sheets of an Excel workbook.

    The first sheet, ``about``, lists the others with their rows, and states why an analysis is missing, such as for
    payments in several currencies. `write_workbook` describes the form of the sheets.

    Parameters
    ----------
    source : History or pandas.DataFrame
        PAYMENTS alone give no sheet of people, and need ``as_of``.
    path : str or os.PathLike
        The file, with the ending .xlsx or none; an existing one is replaced as a whole.
    as_of : datetime, date or str, optional
        The instant from which the ages of open requests are counted, by default the date of the history's data.
    end : datetime, date or str, optional
        The instant at which the payments end, by default the end of the history's data. What recurs is judged there if
        ``as_of`` is later.
    tz : str or ZoneInfo
        The zone of dates, days and months; a private history is in UTC.

    Raises
    ------
    SchemaError
        The frame lacks a column, or a column cannot be written without loss.
    ConfigurationError
        A frame is given without ``as_of``, the zone is unknown, there are more rows or columns than a sheet holds, the
        path has another ending, or the file cannot be written.
    """
    found = analyse(source, as_of=as_of, end=end, tz=tz, what="to_excel")
    tables, notes = {"payments": found.payments}, {"payments": "one row per payment"}
    if found.people is not None:
        tables["people"], notes["people"] = found.people, "one row per person seen"
    write_workbook(found.list_tables(tables, notes, title="sheet"), path, tz=found.zone)


def write_workbook(
    tables: Mapping[str, pd.DataFrame], path: str | os.PathLike[str], *, tz: str | ZoneInfo = "UTC"
) -> None:
    """Write tables as the sheets of an Excel workbook.

    Text is text, also where a cell begins like a formula. Money is a number of currency units, without ``_cents``
    in the name of its column. Instants are dates and times of the zone, which the name of the column states. Those
    before March 1900 are text; instants outside of the zone's calendar are text in UTC. The header stays in view and
    has a filter. Text that no cell holds, of more than 32,767 characters (an emoji counts as two or more), is cut, and
    the cell ends by saying so.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        By the name of the sheet.
    path : str or os.PathLike
        The file, with the ending .xlsx or none; an existing one is replaced as a whole.
    tz : str or ZoneInfo
        The zone of dates and times.

    Raises
    ------
    SchemaError
        A column cannot be written without loss.
    ConfigurationError
        The zone is unknown, a table has more rows or columns than a sheet, Excel does not take the name of a sheet, the
        path has another ending, or the file cannot be written.
    """
    zone = find_zone(tz)
    if to_path(path).suffix.lower() not in {"", _ENDING}:
        raise ConfigurationError(f"{path} is not opened by Excel, because it does not end in {_ENDING}: rename it.")
    _check_sheet_names(tables)
    ready = {name: table_of(frame) for name, frame in tables.items()}
    for name, table in ready.items():
        _check_size(name, len(table), _MOST_ROWS, "rows", "choose a period")
        _check_size(name, table.num_columns, _MOST_COLUMNS, "columns", "choose some of them")
    with atomic_file(path) as file, xlsxwriter.Workbook(file, {"constant_memory": True}) as book:
        book.set_properties({"created": _CREATED})  # else the present: the same tables give the same bytes
        for name, table in ready.items():
            _write_sheet(book, name, table, zone)


def _check_sheet_names(names: Iterable[object]) -> None:
    """Raise a ConfigurationError if Excel does not take a name of a sheet, or takes two of them for one."""
    seen: dict[str, str] = {}
    for name in names:
        if not (
            isinstance(name, str)
            and 0 < len(name.encode("utf-16-le", "surrogatepass")) <= 2 * _LONGEST_NAME
            and name.isprintable()
            and name.casefold() != _RESERVED
            and not _FORBIDDEN.search(name)
        ):
            raise ConfigurationError(
                f"{str(name)[:60]!r} cannot be the name of a sheet: choose 1 to {_LONGEST_NAME} characters, none of "
                "[]:*?/\\, with no apostrophe at an end, and not History."
            )
        other = seen.setdefault(name.casefold(), name)
        if other is not name:
            raise ConfigurationError(f"Excel takes the sheets {other!r} and {name!r} for one: rename one of them.")


def _check_size(name: str, size: int, most: int, what: str, advice: str) -> None:
    if size > most:
        raise ConfigurationError(
            f"The table {name} has {size:,} {what}, and a sheet holds {most:,}: {advice}, or write a Parquet or SQLite "
            "file."
        )


def _write_sheet(book: Any, name: str, table: pa.Table, zone: ZoneInfo) -> None:  # noqa: ANN401 - no types
    """Add a sheet with a header, a filter, and the rows of a table."""
    sheet = book.add_worksheet(name)
    declared = {column.name: column.kind for column in ANALYSES[name].columns} if name in ANALYSES else {}
    columns = [_find_column(column, declared.get(column), table[column].type, zone) for column in table.column_names]
    formats = {form: book.add_format({"num_format": form}) for form in {column.form for column in columns} - {_TEXT}}
    formats[_TEXT] = book.add_format({"quote_prefix": True})  # what begins like a formula stays text when it is edited
    bold = book.add_format({"bold": True})
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, len(table), len(columns) - 1)
    for at, column in enumerate(columns):
        # The width that shows most cells, in characters, beside the button of the filter.
        cells = table.column(at)
        longest = pc.max(pc.utf8_length(cells.slice(0, _SEEN_ROWS))).as_py() if pa.types.is_string(cells.type) else None
        width = max(len(column.title) + 3, len(column.form) if longest is None else longest)
        sheet.set_column(at, at, min(max(width, _WIDTHS[0]), _WIDTHS[1]))
        sheet.write_string(0, at, _shorten(column.title), bold)
    write = {
        bool: sheet.write_boolean, int: sheet.write_number, float: sheet.write_number, str: sheet.write_string,
        date: sheet.write_datetime, datetime: sheet.write_datetime,
    }  # fmt: skip
    row = 0
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        for values in zip(*(part.to_pylist() for part in batch.columns), strict=True):
            row += 1
            for at, (column, value) in enumerate(zip(columns, values, strict=True)):
                if value is not None:
                    cell = column.convert(value)
                    write[type(cell)](row, at, cell, formats[_TEXT if type(cell) is str else column.form])


class _Column(NamedTuple):
    """How a column is written: its title, its number format, and a function that gives the content of a cell."""

    title: str
    form: str
    convert: Callable[[Any], bool | float | str | date | datetime]


def _find_column(name: str, kind: str | None, dtype: pa.DataType, zone: ZoneInfo) -> _Column:
    """Return how a column is written; ``kind`` is the one of the catalogue, for the table of an analysis."""

    def convert_instant(instant: datetime) -> datetime | str:
        local = to_zone(instant, zone)
        if local.tzinfo is not zone:  # outside of the calendar there
            return instant.isoformat(" ")
        local = local.replace(tzinfo=None)
        return local if local.date() >= _FIRST_DAY else local.isoformat(" ")

    # NumPy's integers with nulls are floats.
    money: dict[str, Callable[[Any], float | str]] = {
        "int64": lambda cents: cents / 100 if abs(cents) <= _LARGEST_EXACT else format_cents(cents),
        "double": lambda cents: _convert_float(cents / 100),
    }
    if name.endswith(_CENTS) and str(dtype) in money:
        return _Column(name.removesuffix(_CENTS), _MONEY, money[str(dtype)])
    if pa.types.is_timestamp(dtype):
        return _Column(f"{name} ({zone})", "yyyy-mm-dd hh:mm:ss", convert_instant)
    forms: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "date32[day]": ("yyyy-mm-dd", lambda day: day if day >= _FIRST_DAY else day.isoformat()),
        "bool": ("General", bool),
        "int64": ("0", lambda number: number if abs(number) <= _LARGEST_EXACT else str(number)),
        "double": (_SHARE if kind in {SHARE, SHARE_OF_MONEY} else _MONEY, _convert_float),
        "string": (_TEXT, _shorten),
    }
    return _Column(name, *forms[str(dtype)])


def _convert_float(number: float) -> float | str:
    return number if math.isfinite(number) else str(number)


def _shorten(text: str) -> str:
    units = text.encode("utf-16-le")
    if len(units) <= 2 * _LONGEST_CELL:
        return text
    kept = units[: 2 * (_LONGEST_CELL - _REMARK)].decode("utf-16-le", "ignore")  # without half of a pair
    return f"{kept}... ({len(text) - len(kept):,} more characters)"
