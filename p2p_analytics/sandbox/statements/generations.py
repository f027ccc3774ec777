"""The CSV files of each generation: their columns, and the rows around the lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from p2p_analytics.sandbox.statements.cells import (
    format_instant,
    format_money,
    format_period,
    format_signed,
    join_rows,
    to_datetime,
)
from p2p_analytics.sandbox.statements.cut import Statement
from p2p_analytics.sandbox.statements.lines import TRANSFERS, Line

_Cell: TypeAlias = "Callable[[Line], str]"
_Cells: TypeAlias = "dict[str, str]"

_ACTIVITY: Final = ["Account Activity"]
_NONE: Final = "(None)"
_TAX_RATE: Final = "8"
_INDENT: Final = "        "
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
    columns : mapping of str to callable
        The header names, and the cell of a line in each column.
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
            *([cell(line) for cell in self.columns.values()] for line in statement.lines),
            *([row.get(name, "") for name in names] for row in self.after(statement)),
            *self.appendix(statement),
        ]
        padded = (row + [""] * (len(names) - len(row)) for row in rows)
        return self.mark + join_rows(padded, line_end=self.line_end, quote_all=self.quote_all)


# -- cells ------------------------------------------------------------------------------------------


def _empty(_: Line) -> str:
    return ""


def _zero(_: Line) -> str:
    return "0"


def _format_where_charged(cents: int, none: str) -> str:
    return format_money(cents) if cents else none


def _or_none(cell: _Cell) -> _Cell:
    return lambda line: cell(line) or _NONE


_WHAT: Final[dict[str, _Cell]] = {
    "Type": lambda line: line.type,
    "Status": lambda line: line.status,
    "Note": lambda line: line.note,
    "From": lambda line: line.from_name,
    "To": lambda line: line.to_name,
}
_TOTAL: Final[dict[str, _Cell]] = {"Amount (total)": lambda line: format_signed(line.cents)}
_TIP: Final[dict[str, _Cell]] = {"Amount (tip)": lambda line: _format_where_charged(line.tip_cents, "")}
_TAX: Final[dict[str, _Cell]] = {"Amount (tax)": lambda line: _format_where_charged(line.tax_cents, "0")}
_FEE: Final[dict[str, _Cell]] = {"Amount (fee)": lambda line: _format_where_charged(line.fee_cents, "")}
_TAX_RATES: Final[dict[str, _Cell]] = {
    "Tax Rate": lambda line: _TAX_RATE if line.tax_cents else "0",
    "Tax Exempt": _empty,
}
_SOURCES: Final[dict[str, _Cell]] = {
    "Funding Source": lambda line: line.funding_source,
    "Destination": lambda line: line.destination,
}
_BALANCES: Final = dict.fromkeys(("Beginning Balance", "Ending Balance", "Statement Period Venmo Fees"), _empty)
_LAST: Final = dict.fromkeys(("Year to Date Venmo Fees", "Disclaimer"), _empty)
_TERMINAL: Final[dict[str, _Cell]] = {"Terminal Location": lambda _: "Venmo"}


def _id(line: Line) -> str:
    return str(line.line_id)


def _instant(line: Line) -> str:
    return format_instant(line.when_us)


_COLUMNS_A: Final = {" ID": _id, "Datetime": _instant, **_WHAT, **_TOTAL, **_FEE, **_SOURCES}
_COLUMNS_B: Final = {
    " Username": _empty, "ID": _id, "Datetime": _instant, **_WHAT, **_TOTAL, **_FEE, **_SOURCES, **_BALANCES, **_LAST,
}  # fmt: skip
_COLUMNS_C: Final = {
    "": _empty, "ID": _id, "Datetime": _instant, **_WHAT, **_TOTAL, **_TIP, **_FEE, **_SOURCES, **_BALANCES,
    **_TERMINAL, **_LAST,
}  # fmt: skip
_COLUMNS_D: Final = {
    "": _empty, "ID": _id, "Datetime": _instant, **_WHAT, **_TOTAL, **_TIP, **_TAX, **_FEE, **_TAX_RATES, **_SOURCES,
    **_BALANCES, **_TERMINAL, **_LAST,
}  # fmt: skip


# -- the business export ----------------------------------------------------------------------------

_WHEN_E: Final[dict[str, _Cell]] = {
    "Transaction ID": lambda line: f'"{line.line_id}"',
    "Date": lambda line: f"{to_datetime(line.when_us):%m/%d/%Y}",
    "Time (UTC)": lambda line: f"{to_datetime(line.when_us):%H:%M:%S}",
}
_WHAT_E: Final = {name: _or_none(cell) for name, cell in _WHAT.items()}
_SOURCES_E: Final = {name: _or_none(cell) for name, cell in _SOURCES.items()}
_DONOR: Final[dict[str, _Cell]] = {"Donor email": lambda _: _NONE}
_FEE_E: Final[dict[str, _Cell]] = {
    "Amount (fee)": lambda line: format_signed(-line.fee_cents) if line.fee_cents else format_money(0),
}
_COLUMNS_E: Final = {
    **_WHEN_E, **_WHAT_E, **_DONOR,
    "Amount (total)": lambda line: format_signed(line.cents + line.fee_cents),  # the net has the fee, the total has not
    **_FEE_E, "Amount (net)": lambda line: format_signed(line.cents), **_SOURCES_E,
}  # fmt: skip
_WHAT_FULL: Final = {
    **{name: _WHAT_E[name] for name in ("Type", "Status", "Note", "From")},
    **_DONOR,
    "To": _WHAT_E["To"],
}
_COLUMNS_E_FULL: Final = {
    **_WHEN_E, **_WHAT_FULL, **_TOTAL,
    "Amount (tip)": lambda line: _format_where_charged(line.tip_cents, _NONE), **_TAX,
    "Amount (net)": lambda line: _NONE if line.type in TRANSFERS else format_signed(line.cents),
    **_FEE_E, **_TAX_RATES, **_SOURCES_E, "Beginning Balance": _zero, "Ending Balance": _zero,
    "Statement Period Venmo Fees": _empty, **_TERMINAL, **_LAST,
}  # fmt: skip


# -- rows around the lines --------------------------------------------------------------------------


def _opening(statement: Statement) -> list[_Cells]:
    return [{"Beginning Balance": format_money(statement.opening_cents)}]


def _opening_with_username(statement: Statement) -> list[_Cells]:
    return [{" Username": statement.user.username, **_opening(statement)[0]}]


def _opening_with_closing(statement: Statement) -> list[_Cells]:
    return [{**_opening(statement)[0], **_ending_balance(statement)}]


def _ending_balance(statement: Statement) -> _Cells:
    return {"Ending Balance": format_money(statement.closing_cents)}


def _fees_and_disclaimer(statement: Statement) -> _Cells:
    return {
        "Statement Period Venmo Fees": format_money(statement.period_fee_cents),
        "Year to Date Venmo Fees": format_money(statement.year_fee_cents),
        "Disclaimer": DISCLAIMER,
    }


def _closing(statement: Statement) -> list[_Cells]:
    return [_ending_balance(statement) | _fees_and_disclaimer(statement)]


def _closing_rows(statement: Statement) -> list[_Cells]:
    """Return the closing row of other generations as four rows with one cell each."""
    return [{name: cell} for name, cell in _closing(statement)[0].items()]


def _handle(statement: Statement) -> str:
    return f"Account Statement - (@{statement.user.username}) "


def _coins(heading: str, quantity: str, value: str) -> list[list[str]]:
    return [[heading], ["", "Coin", "Quantity", "Value"], ["", "BTC", quantity, value]]


CSV_FORMS: Final = {
    "A": CsvForm(_COLUMNS_A, quote_all=True),
    "B": CsvForm(_COLUMNS_B, before=_opening_with_username, after=_closing_rows),
    "C": CsvForm(
        _COLUMNS_C,
        preamble=lambda statement: [
            [f"{_handle(statement)}- {format_period(statement.start, statement.end)} "],
            _ACTIVITY,
        ],
        before=_opening,
        after=_closing,
        appendix=lambda _: _coins("Cryptocurrency summary", "0.00000000", "$0.00"),
    ),
    "D": CsvForm(
        _COLUMNS_D,
        preamble=lambda statement: [[_handle(statement)], _ACTIVITY],
        before=_opening,
        after=_closing,
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
        before=_opening_with_closing,
        after=lambda statement: [_fees_and_disclaimer(statement)],
        appendix=lambda statement: _coins(
            f"Cryptocurrency summary in USD (Estimated values as of {statement.end:%m/%d/%Y})", "0.00021000", "$13.02"
        ),
    ),
    "E": CsvForm(_COLUMNS_E, preamble=lambda _: [_ACTIVITY]),
    "E-full": CsvForm(
        _COLUMNS_E_FULL, preamble=lambda _: [_ACTIVITY], before=_opening, after=_closing,
    ),
}  # fmt: skip


# ---- the disclaimer that ends a file
