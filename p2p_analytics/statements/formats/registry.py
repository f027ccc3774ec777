"""The formats that are known, and the one that the names of a header belong to."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from p2p_analytics.errors import ConfigurationError, describe_type
from p2p_analytics.statements.formats import _paypal, _service_csv, _services, service_json
from p2p_analytics.statements.formats.format import StatementFormat, normalize_name
from p2p_analytics.statements.rows import SERVICE

if TYPE_CHECKING:
    from collections.abc import Sequence

_MODULES: Final = (_service_csv, service_json, _paypal, _services)
_BUILT_IN: Final[tuple[StatementFormat, ...]] = tuple(
    each for module in _MODULES for each in vars(module).values() if isinstance(each, StatementFormat)
)
_FORMATS: dict[str, StatementFormat] = {}


class Header(NamedTuple):
    """A header and the format that it belongs to."""

    format: StatementFormat
    positions: dict[str, int]
    names: tuple[str, ...]


class HeaderFinder:
    """Finds the format of headers; each header is compared with the formats once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Header | None] = {}
        self._names: pa.Array | None = None

    def find(self, row: Sequence[str]) -> Header | None:
        """Return the header that a row is, None if it is none."""
        key = tuple(row)
        if key not in self._known:
            self._known[key] = find_format(row)
        return self._known[key]

    def learn(self, rows: Sequence[Sequence[str]]) -> bool:
        """Return whether two rows have the shape of a format; `find` then finds this header, whatever its language."""
        for header, row in pairwise(row for row in rows if any(row)):
            found = next((each for each in list_formats() if each.match_shape(header, row)), None)
            if found is not None:
                positions = {name: at for at, name in enumerate(found.shape)}
                self._known[tuple(header)] = Header(found, positions, tuple(name.strip() for name in header))
                return True
        return False

    def has_names(self, column: pa.ChunkedArray) -> bool:
        """Return whether a cell of a column is the name of a column, so that its row may be another header."""
        if self._names is None:
            spellings = {name for each in list_formats() for names in each.columns.values() for name in names} - {""}
            self._names = pa.array(sorted(spellings | {f" {name}" for name in spellings}))
        return bool(pc.any(pc.is_in(column, self._names)).as_py())


def register_format(statement_format: StatementFormat) -> StatementFormat:
    """Add a format of your own, or replace the one of this name; `read_statements` then finds it by its header."""
    if not isinstance(statement_format, StatementFormat):
        raise ConfigurationError(
            f"register_format needs a ColumnFormat or StatementFormat, not {describe_type(statement_format)}."
        )
    _FORMATS[statement_format.name] = statement_format
    return statement_format


def find_format(header: Sequence[str]) -> Header | None:
    """Return a header with its format and the positions of its fields; None if no format has such a header."""
    names = tuple(name.strip() for name in header)
    matches = [Header(each, found, names) for each in list_formats() if (found := each.match(header)) is not None]
    return max(matches, key=lambda match: (len(match.positions), match.format.name in _FORMATS), default=None)


def describe_nearest(header: Sequence[str], advice: str | None = None) -> str:
    """Return a sentence about the format nearest to a header (with an advice, of one's own), or about all formats."""
    nearest: tuple[tuple[float, bool], str] = ((0, False), "")
    for each in _FORMATS.values() if advice else list_formats():
        known = {each.find_field(name)[0] for name in header}
        missing = [each.columns[field][0] for field in each.required if field not in known]
        shared, is_own = len(each.required) - len(missing), each.name in _FORMATS
        if shared > 1 and (rank := (shared / len(each.required), is_own)) > nearest[0]:
            lacks = ", ".join(map(repr, missing))
            nearest = rank, f"The nearest format is {each.name}, which also has the columns {lacks}."
    every = ", ".join(dict.fromkeys(each.name for each in list_formats()))
    return nearest[1] or advice or f"The known formats are {every}; 'p2p-analytics describe FILE' drafts another one."


def find_service(name: str) -> str:
    """Return the service of a format; business and personal statements, which have accounts apart, are of one."""
    if name == _service_csv.BUSINESS.name:
        return SERVICE
    return next((each.service or each.name for each in list_formats() if each.name == name), name)


def find_title(service: str) -> str:
    """Return the name of a service in sentences, as a format of it declares it."""
    titles = (each.title for each in _list_declared() if (each.service or each.name) == service)
    return next(filter(None, titles), service)


def list_bank_words() -> list[str]:
    """Return the words that name a service in the descriptions of a bank account."""
    return [*dict.fromkeys(word for each in _list_declared() for word in each.bank_words)]


def _list_declared() -> list[StatementFormat]:
    """Return all formats, then the ones in this package: a format of the caller's own may replace one with a title."""
    return [*list_formats(), *_BUILT_IN]


def list_formats() -> list[StatementFormat]:
    """Return all formats: the ones in this package, then the caller's own."""
    return [*(each for each in _BUILT_IN if each.name not in _FORMATS), *_FORMATS.values()]


def list_names() -> frozenset[str]:
    """Return all header names that a format knows, normalized."""
    return frozenset(
        normalize_name(name) for each in list_formats() for spellings in each.columns.values() for name in spellings
    ) - {""}
