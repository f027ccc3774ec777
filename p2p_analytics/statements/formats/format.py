"""The contract of a statement format: the names of its columns, and the function that reads them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from p2p_analytics.errors import ConfigurationError, StatementError
from p2p_analytics.frames.schema import KINDS
from p2p_analytics.statements.rows import complete_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime

    from p2p_analytics.statements.problems import Problem

_CODE: Final = re.compile(r"\([a-z]{3}\)$")  # of a currency, in a normalized name
_MOMENT: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?"
_AMOUNT: Final = r"-?[0-9][0-9.,' ]*"
_SHAPES: Final = {
    "started": _MOMENT, "date": f"(?:{_MOMENT})?", "amount": _AMOUNT, "fee": f"(?:{_AMOUNT})?",
    "currency": "[A-Z]{3}", "balance": f"(?:{_AMOUNT})?",
}  # fmt: skip


class NoHeaderError(StatementError):
    """The file has no header of a known format; ``columns`` are the names in its header, if it has one."""

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
        First and last instant of the period that is stated in a file, by file.
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
        For each field, the header names that mean it, in any language, the preferred one first. They are compared
        trimmed and case-folded; "Balance (currency)" stands for "Balance (EUR)" and the like.
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
    zone : str or None
        Zone of datetimes without one, if the service always writes the same; the caller's ``tz`` is not used then.
    has_closing_row : bool
        Whether a whole file ends with a row of balances, so that a file without it was cut off.
    shape : sequence of str
        The fields in the order of their columns, if that never changes. A header in any language then belongs to the
        format if the row below it has datetimes, amounts and a currency in their places.
    title : str or None
        The service's name in sentences, such as "Cash App"; by default the service.
    bank_words : sequence of str
        Words that name the service in the descriptions of a bank account, for `match_bank`.
    """

    name: str
    columns: Mapping[str, tuple[str, ...]]
    required: Collection[str]
    read: Callable[[Table], Reading]
    service: str | None = None
    repeats_ids: bool = False
    zone: str | None = None
    has_closing_row: bool = False
    shape: Sequence[str] = ()
    title: str | None = None
    bank_words: Sequence[str] = ()
    _names: Mapping[str, tuple[str, int]] = field(init=False, repr=False, compare=False)

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
        if isinstance(self.bank_words, str) or not all(word.strip() for word in self.bank_words):
            raise ConfigurationError(f"The format {self.name!r} needs bank_words that are a list of words, not blank.")
        unknown = set(self.required) - set(self.columns)
        if unknown:
            raise ConfigurationError(
                f"The format {self.name!r} requires {', '.join(sorted(unknown))}: name their columns."
            )
        names = {
            normalize_name(name): (key, rank)
            for key, spellings in self.columns.items()
            for rank, name in enumerate(spellings)
        }
        object.__setattr__(self, "_names", names)

    def read_table(self, table: Table) -> Reading:
        """Return what `read` makes of a table, with complete ROWS; raise a ConfigurationError for another result."""
        reading = self.read(table if self.zone is None else replace(table, tz=ZoneInfo(self.zone)))
        if not isinstance(reading, Reading) or not isinstance(reading.rows, pl.DataFrame):
            raise ConfigurationError(f"The format {self.name!r} has to return a Reading with rows of Polars.")
        places = ["file", "line"]
        rows, given = reading.rows, table.cells[places]
        is_same = set(places) <= set(rows.columns) and (
            rows[places].equals(given) or rows[places].unique(maintain_order=True).equals(given)
        )
        if not is_same:
            raise ConfigurationError(
                f"The format {self.name!r} has to return one row for each row of the table, in its order, with its "
                "file and line: give a row that is not a transaction the kind 'notice'."
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
        """Return the position of each field in a header: the preferred name, then the first; None if one lacks."""
        found: dict[str, tuple[int, int]] = {}
        for position, cell in enumerate(header):
            key, rank = self.find_field(cell)
            if key is not None:
                found[key] = min(found.get(key, (rank, position)), (rank, position))
        return {key: place[1] for key, place in found.items()} if found.keys() >= set(self.required) else None

    def find_field(self, name: str) -> tuple[str | None, int]:
        """Return the field of a header name, and the rank of the name in it; None for no field."""
        name = normalize_name(name)
        known = self._names.get(name)
        if known is None and name.endswith(")"):
            known = self._names.get(_CODE.sub("(currency)", name))
        return known or (None, 0)

    def match_shape(self, header: Sequence[str], row: Sequence[str]) -> bool:
        """Return whether a header has as many texts as the shape, and the row below it the right kinds of cells."""
        if not self.shape or not len(header) == len(row) == len(self.shape):
            return False
        is_text = all(cell.strip() and not any(map(str.isdigit, cell)) for cell in header)
        return is_text and all(
            re.fullmatch(_SHAPES.get(key, ".*"), cell.strip(), re.DOTALL) is not None
            for key, cell in zip(self.shape, row, strict=True)
        )


@functools.lru_cache(maxsize=2**12)
def normalize_name(name: str) -> str:
    """Return a header name in the form in which names are compared."""
    return " ".join(name.replace("\ufeff", "").split()).casefold()
