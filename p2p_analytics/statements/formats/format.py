"""The contract of a statement format: the names of its columns, and the function that reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from p2p_analytics.errors import ConfigurationError, StatementError
from p2p_analytics.frames.schema import KINDS
from p2p_analytics.statements.rows import complete_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime
    from zoneinfo import ZoneInfo

    from p2p_analytics.statements.problems import Problem


class NoHeaderError(StatementError):
    """The file has no header of a known format; ``columns`` are those of its own header, if it has one."""

    columns: Sequence[str] = ()


@dataclass(frozen=True)
class Table:
    """The rows of one or more files with one header, as text.

    Attributes
    ----------
    cells : polars.DataFrame
        ``file``, ``line`` and one text column per field of the format; a field without a column in the header is null.
        A cell without text is null.
    preambles : mapping of str to list of list of str
        The lines before the header, by file.
    header : tuple of str
        The names in the header, trimmed.
    extras : mapping of str to polars.Series
        Columns that no field names, by their header name, such as the members of a shared group.
    tz : ZoneInfo
        Zone of datetimes without one.
    account : str or None
        The account that the caller named.
    member : str or None
        The member of shared groups who is the account holder, if the caller named one.
    """

    cells: pl.DataFrame
    preambles: Mapping[str, Sequence[Sequence[str]]]
    header: tuple[str, ...]
    extras: Mapping[str, pl.Series]
    tz: ZoneInfo
    account: str | None
    member: str | None = None


class Reading(NamedTuple):
    """The result of a format: ROWS, one for each row of the table and in its order, and what else it found.

    Attributes
    ----------
    rows : polars.DataFrame
        ROWS.
    problems : sequence of Problem
        Cells that cannot be read, and rows that contradict themselves.
    periods : mapping of str to tuple of datetime or None
        First and last instant that a file says it is about, by file.
    subaccounts : mapping of str to str
        What the balance of a file is of, such as a product or a group, by file, where the service has several.
    snapshots : mapping of str to datetime
        The moment of the export of files that hold all rows of a group as they were then, by file.
    """

    rows: pl.DataFrame
    problems: Sequence[Problem] = ()
    periods: Mapping[str, tuple[datetime | None, datetime | None]] = MappingProxyType({})
    subaccounts: Mapping[str, str] = MappingProxyType({})
    snapshots: Mapping[str, datetime] = MappingProxyType({})


@dataclass(frozen=True)
class StatementFormat:
    """A kind of statement file.

    Attributes
    ----------
    name : str
        Name in the column ``format`` of `Statements.files`, such as "cash_app".
    columns : mapping of str to tuple of str
        For each field, the header names that mean it, in any language; they are compared trimmed and case-folded.
    required : collection of str
        Fields that the header of this format always has. A header with all of these belongs to it; of several
        such formats, to the one with most of the header's columns, and rather to one that was registered.
    read : callable
        Turns a `Table` with the cells by field into a `Reading`.
    service : str or None
        Name of the account if neither a file nor the caller names it, such as "paypal" for all files of that
        service; by default the name of the format.
    repeats_ids : bool
        Whether rows of one file with one id and different amounts are different transactions, such as a payment and its
        refund. By default they are one, and a problem.
    has_closing_row : bool
        Whether a complete file with a column for the field ``ending`` has a row with the ending balance, also where
        the period has no transactions. A file without that row is cut off.
    """

    name: str
    columns: Mapping[str, tuple[str, ...]]
    required: Collection[str]
    read: Callable[[Table], Reading]
    service: str | None = None
    repeats_ids: bool = False
    has_closing_row: bool = False
    _names: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the names of fields and columns, and index the header names."""
        if not self.required:
            raise ConfigurationError(f"The format {self.name!r} requires no field: any file would be one.")
        if reserved := sorted({"file", "line"} & set(self.columns)):
            raise ConfigurationError(
                f"The format {self.name!r} has a field {reserved[0]!r}, which every table has: give it another name."
            )
        given: Mapping[str, object] = self.columns
        for key, spellings in given.items():
            if isinstance(spellings, str):
                raise ConfigurationError(
                    f"The format {self.name!r} names the column of {key!r} as text: write ({spellings!r},)."
                )
        unknown = set(self.required) - set(self.columns)
        if unknown:
            raise ConfigurationError(
                f"The format {self.name!r} requires {', '.join(sorted(unknown))}: name their columns."
            )
        names = {normalize_name(name): key for key, spellings in self.columns.items() for name in spellings}
        object.__setattr__(self, "_names", names)

    def read_table(self, table: Table) -> Reading:
        """Return what `read` makes of a table, with complete ROWS.

        Raises
        ------
        ConfigurationError
            It is no Reading, its rows are not those of the table, or a column of ROWS has other values.
        """
        reading = self.read(table)
        if not isinstance(reading, Reading) or not isinstance(reading.rows, pl.DataFrame):
            raise ConfigurationError(f"The format {self.name!r} has to return a Reading with rows of Polars.")
        if not {"file", "line"} <= set(reading.rows.columns) or not reading.rows["file", "line"].equals(
            table.cells["file", "line"]
        ):
            raise ConfigurationError(
                f"The format {self.name!r} has to return one row for each row of the table, in its order, with its "
                "file and line: give a row that is no transaction the kind 'notice'."
            )
        try:
            rows = complete_rows(reading.rows)
        except pl.exceptions.PolarsError as error:
            raise ConfigurationError(f"The format {self.name!r} returns other types than ROWS has: {error}") from None
        if unknown := sorted(set(rows["kind"].drop_nulls().unique()) - set(KINDS)):
            raise ConfigurationError(
                f"The format {self.name!r} returns the kind {unknown[0]!r}: use one of {', '.join(KINDS)}."
            )
        return reading._replace(rows=rows)

    def match(self, header: Sequence[str]) -> dict[str, int] | None:
        """Return the position of each field in a header, None if a required one is missing; the first of two wins."""
        found: dict[str, int] = {}
        for position, name in enumerate(header):
            key = self._names.get(normalize_name(name))
            if key is not None:
                found.setdefault(key, position)
        return found if all(key in found for key in self.required) else None


def normalize_name(name: str) -> str:
    """Return a header name in the form in which names are compared."""
    return " ".join(name.replace("\ufeff", "").split()).casefold()
