"""The CSV files of each generation: their columns, and the rows around the lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeAlias

from p2p_analytics.sandbox.statements.lines import TRANSFERS, Line, Statement, format_instant
from p2p_analytics.sandbox.town.timeline import from_microseconds

# A cell of a line; None if the cells of a column are empty.
_Cell: TypeAlias = "Callable[[Line], str] | None"
_Cells: TypeAlias = "dict[str, str]"

_ACTIVITY: Final = ["Account Activity"]
_NONE: Final = "(None)"
_INDENT: Final = "        "
_NEEDS_QUOTES: Final = frozenset(',"\r\n')
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}
_SENTENCES: Final = (
    "This account belongs to an invented person.",
    "No bank holds any of this money:",
    "it exists in a sandbox on one computer only.",
    "",
    "If a line of this statement looks wrong:",
    '- Compare it with the list of payments, which has the same "id"',
    "- Look at the time: all of them are in UTC; and",
    "- Count the lines with another funding source:",
    "they do not change it.",
    "",
    "How the amounts are meant:",
    "1. A minus is money that left the account, a plus is money",
    "that came in.",
    "2. Fees, tips and taxes are inside the total.",
    "3. Pending, cancelled, failed and expired lines move nothing.",
    "4. A transfer to the bank counts when it is issued, even if",
    "the bank takes three working days, or five.",
    "",
    "The balance at the end is the balance at the beginning and",
    "all lines that moved it, to the cent.",
    'If it is not, that is an error: please "report" it with the',
    "seed of the town, the name of the user, and both dates.",
    "",
    "Prices of coins are invented as well.",
)

DISCLAIMER: Final = "\n".join(
    [_SENTENCES[0], *(_INDENT + sentence if sentence else "" for sentence in _SENTENCES[1:]), _INDENT]
)


@dataclass(frozen=True)
class CsvForm:
    """One form of CSV file.

    Attributes
    ----------
    columns : mapping of str to callable or None
        The header names, and the cell of a line in each column; None for empty cells.
    preamble, appendix : callable
        The rows before the header and after everything else, of a statement.
    before, after : callable
        The rows around the lines, of a statement: cells by header name; all others are empty.
    mark : str
        Text at the start of the file.
    line_end : str
        The end of each row.
    quote_all : bool
        Whether all cells are quoted, instead of only the cells that need it.
    """

    columns: Mapping[str, _Cell]
    preamble: Callable[[Statement], list[list[str]]] = lambda _: []
    before: Callable[[Statement], list[_Cells]] = lambda _: []
    after: Callable[[Statement], list[_Cells]] = lambda _: []
    appendix: Callable[[Statement], list[list[str]]] = lambda _: []
    mark: str = ""
    line_end: str = "\n"
    quote_all: bool = False

    def write(self, statement: Statement) -> str:
        """Return the text of a file."""
        names = list(self.columns)
        rows = [
            *self.preamble(statement),
            names,
            *([row.get(name, "") for name in names] for row in self.before(statement)),
            *([cell(line) if cell else "" for cell in self.columns.values()] for line in statement.lines),
            *([row.get(name, "") for name in names] for row in self.after(statement)),
            *self.appendix(statement),
        ]
        padded = (row + [""] * (len(names) - len(row)) for row in rows)
        return self.mark + "".join(",".join(map(self._quote, row)) + self.line_end for row in padded)

    def _quote(self, cell: str) -> str:
        if not self.quote_all and _NEEDS_QUOTES.isdisjoint(cell):
            return cell
        doubled = cell.replace('"', '""')
        return f'"{doubled}"'


# -- cells ------------------------------------------------------------------------------------------


def _format_money(cents: int) -> str:
    """Return an amount without a sign, such as ``$1,234.56``."""
    units, rest = divmod(abs(cents), 100)
    return f"${units:,}.{rest:02d}"


def _format_signed(cents: int) -> str:
    """Return an amount with its sign, such as ``- $1,234.56``."""
    return f"{'-' if cents < 0 else '+'} {_format_money(cents)}"


def _format_charged(cents: int, none: str = "") -> str:
    return _format_money(cents) if cents else none


def _format_day(day: date) -> str:
    return f"{day:%B} {day.day}{_ENDINGS.get(day.day, 'th')}"


_WHEN: Final[dict[str, _Cell]] = {
    "ID": lambda line: str(line.line_id),
    "Datetime": lambda line: format_instant(line.when_us),
}
_WHAT: Final[dict[str, Callable[[Line], str]]] = {
    "Type": lambda line: line.type,
    "Status": lambda line: line.status,
    "Note": lambda line: line.note,
    "From": lambda line: line.from_name,
    "To": lambda line: line.to_name,
}
_TOTAL: Final[dict[str, _Cell]] = {"Amount (total)": lambda line: _format_signed(line.cents)}
_TIP: Final[dict[str, _Cell]] = {"Amount (tip)": lambda line: _format_charged(line.tip_cents)}
_TAX: Final[dict[str, _Cell]] = {"Amount (tax)": lambda line: _format_charged(line.tax_cents, "0")}
_FEE: Final[dict[str, _Cell]] = {"Amount (fee)": lambda line: _format_charged(line.fee_cents)}
_TAX_RATES: Final[dict[str, _Cell]] = {"Tax Rate": lambda line: "8" if line.tax_cents else "0", "Tax Exempt": None}
_SOURCES: Final[dict[str, Callable[[Line], str]]] = {
    "Funding Source": lambda line: line.funding_source,
    "Destination": lambda line: line.destination,
}
_BALANCES: Final = dict.fromkeys(("Beginning Balance", "Ending Balance", "Statement Period Venmo Fees"))
_LAST: Final = dict.fromkeys(("Year to Date Venmo Fees", "Disclaimer"))
_TERMINAL: Final[dict[str, _Cell]] = {"Terminal Location": lambda _: "Venmo"}

_COLUMNS_A: Final = {" ID": _WHEN["ID"], "Datetime": _WHEN["Datetime"], **_WHAT, **_TOTAL, **_FEE, **_SOURCES}
_COLUMNS_B: Final = {" Username": None, **_WHEN, **_WHAT, **_TOTAL, **_FEE, **_SOURCES, **_BALANCES, **_LAST}
_COLUMNS_C: Final = {
    "": None, **_WHEN, **_WHAT, **_TOTAL, **_TIP, **_FEE, **_SOURCES, **_BALANCES, **_TERMINAL, **_LAST,
}  # fmt: skip
_COLUMNS_D: Final = {
    "": None, **_WHEN, **_WHAT, **_TOTAL, **_TIP, **_TAX, **_FEE, **_TAX_RATES, **_SOURCES, **_BALANCES, **_TERMINAL,
    **_LAST,
}  # fmt: skip


# -- the business export ----------------------------------------------------------------------------


def _or_none(cell: Callable[[Line], str]) -> Callable[[Line], str]:
    return lambda line: cell(line) or _NONE


_WHEN_E: Final[dict[str, _Cell]] = {
    "Transaction ID": lambda line: f'"{line.line_id}"',
    "Date": lambda line: f"{from_microseconds(line.when_us):%m/%d/%Y}",
    "Time (UTC)": lambda line: f"{from_microseconds(line.when_us):%H:%M:%S}",
}
_WHAT_E: Final = {name: _or_none(cell) for name, cell in _WHAT.items()}
_TO: Final = {"To": _WHAT_E.pop("To")}
_SOURCES_E: Final = {name: _or_none(cell) for name, cell in _SOURCES.items()}
_DONOR: Final[dict[str, _Cell]] = {"Donor email": lambda _: _NONE}
_FEE_E: Final[dict[str, _Cell]] = {
    "Amount (fee)": lambda line: _format_signed(-line.fee_cents) if line.fee_cents else _format_money(0),
}
_COLUMNS_E: Final = {
    **_WHEN_E, **_WHAT_E, **_TO, **_DONOR,
    "Amount (total)": lambda line: _format_signed(line.cents + line.fee_cents),  # the total is without the fee
    **_FEE_E, "Amount (net)": _TOTAL["Amount (total)"], **_SOURCES_E,
}  # fmt: skip
_COLUMNS_E_FULL: Final = {
    **_WHEN_E, **_WHAT_E, **_DONOR, **_TO, **_TOTAL,
    "Amount (tip)": lambda line: _format_charged(line.tip_cents, _NONE), **_TAX,
    "Amount (net)": lambda line: _NONE if line.type in TRANSFERS else _format_signed(line.cents),
    **_FEE_E, **_TAX_RATES, **_SOURCES_E, "Beginning Balance": lambda _: "0", "Ending Balance": lambda _: "0",
    "Statement Period Venmo Fees": None, **_TERMINAL, **_LAST,
}  # fmt: skip


# -- rows around the lines --------------------------------------------------------------------------


def _opening(statement: Statement) -> _Cells:
    return {"Beginning Balance": _format_money(statement.opening_cents)}


def _ending(statement: Statement) -> _Cells:
    return {"Ending Balance": _format_money(statement.closing_cents)}


def _fees_and_disclaimer(statement: Statement) -> _Cells:
    return {
        "Statement Period Venmo Fees": _format_money(statement.period_fee_cents),
        "Year to Date Venmo Fees": _format_money(statement.year_fee_cents),
        "Disclaimer": DISCLAIMER,
    }


def _closing(statement: Statement) -> _Cells:
    return _ending(statement) | _fees_and_disclaimer(statement)


def _handle(statement: Statement) -> str:
    return f"Account Statement - (@{statement.user.username}) "


def _name_period(statement: Statement) -> str:
    """Return the period as ``June 1st to September 1st 2021``; the first year is named if it is another one."""
    start, end = statement.start, statement.end
    year = f" {start.year}" if start.year != end.year else ""
    return f"{_format_day(start)}{year} to {_format_day(end)} {end.year}"


def _coins(heading: str, quantity: str, value: str) -> list[list[str]]:
    return [[heading], ["", "Coin", "Quantity", "Value"], ["", "BTC", quantity, value]]


CSV_FORMS: Final = {
    "A": CsvForm(_COLUMNS_A, quote_all=True),
    "B": CsvForm(
        _COLUMNS_B,
        before=lambda statement: [{" Username": statement.user.username} | _opening(statement)],
        after=lambda statement: [{name: cell} for name, cell in _closing(statement).items()],
    ),
    "C": CsvForm(
        _COLUMNS_C,
        preamble=lambda statement: [[f"{_handle(statement)}- {_name_period(statement)} "], _ACTIVITY],
        before=lambda statement: [_opening(statement)],
        after=lambda statement: [_closing(statement)],
        appendix=lambda _: _coins("Cryptocurrency summary", "0.00000000", "$0.00"),
    ),
    "D": CsvForm(
        _COLUMNS_D,
        preamble=lambda statement: [[_handle(statement)], _ACTIVITY],
        before=lambda statement: [_opening(statement)],
        after=lambda statement: [_closing(statement)],
        mark="\ufeff",
        line_end="\r\n",
    ),
    "D2025": CsvForm(
        _COLUMNS_D,
        preamble=lambda statement: [
            ["Username", statement.user.username],
            ["Phones", statement.user.phone],
            _ACTIVITY,
        ],
        before=lambda statement: [_opening(statement) | _ending(statement)],
        after=lambda statement: [_fees_and_disclaimer(statement)],
        appendix=lambda statement: _coins(
            f"Cryptocurrency summary in USD (Estimated values as of {statement.end:%m/%d/%Y})", "0.00021000", "$13.02"
        ),
    ),
    "E": CsvForm(_COLUMNS_E, preamble=lambda _: [_ACTIVITY]),
    "E-full": CsvForm(
        _COLUMNS_E_FULL,
        preamble=lambda _: [_ACTIVITY],
        before=lambda statement: [_opening(statement)],
        after=lambda statement: [_closing(statement)],
    ),
}
