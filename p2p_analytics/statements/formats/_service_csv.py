"""CSV statements of the service, in the forms that it has written since 2017."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from p2p_analytics.statements.formats._service_rows import PERSONAL, read_business, read_personal
from p2p_analytics.statements.formats.format import StatementFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

_TRANSACTION: Final = {
    "id": ("ID", "Transaction ID"), "datetime": ("Datetime",), "type": ("Type",), "status": ("Status",),
    "note": ("Note",), "from": ("From",), "to": ("To",), "total": ("Amount (total)",), "fee": ("Amount (fee)",),
    "funding_source": ("Funding Source",), "destination": ("Destination",),
}  # fmt: skip
_BALANCES: Final = {
    "margin": ("",),  # the column without a name, where titles between the rows are
    "username": ("Username",), "beginning": ("Beginning Balance",), "ending": ("Ending Balance",),
    "period_fees": ("Statement Period Venmo Fees",), "year_fees": ("Year to Date Venmo Fees",),
    "terminal": ("Terminal Location",), "disclaimer": ("Disclaimer",),
}  # fmt: skip
_TIPS: Final = {"tip": ("Amount (tip)",)}
_TAXES: Final = {"tax": ("Amount (tax)",), "tax_rate": ("Tax Rate",), "tax_exempt": ("Tax Exempt",)}
_BUSINESS: Final = {
    "date": ("Date",), "time": ("Time (UTC)",), "donor_email": ("Donor email",), "net": ("Amount (net)",),
}  # fmt: skip
_ALWAYS: Final = ("id", "datetime", "type", "status", "from", "to", "total")


def _declare(name: str, columns: Mapping[str, tuple[str, ...]], *required: str) -> StatementFormat:
    has_balances = "beginning" in required
    return StatementFormat(
        name, columns, (*_ALWAYS, *required), read_personal, PERSONAL, zone="UTC", has_closing_row=has_balances
    )


TO_2018: Final = _declare("statement_a", _TRANSACTION)
TO_2020: Final = _declare("statement_b", _TRANSACTION | _BALANCES, "beginning")
OF_2021: Final = _declare("statement_c", _TRANSACTION | _BALANCES | _TIPS, "beginning", "tip")
FROM_2022: Final = _declare("statement_d", _TRANSACTION | _BALANCES | _TIPS | _TAXES, "beginning", "tax")
BUSINESS: Final = StatementFormat(
    "statement_e",
    {key: names for key, names in _TRANSACTION.items() if key != "datetime"} | _BALANCES | _TIPS | _TAXES | _BUSINESS,
    ("id", "date", "time", "type", "status", "from", "to", "total"),
    read_business,
    zone="UTC",
)
FULL_BUSINESS: Final = replace(BUSINESS, required=(*BUSINESS.required, "beginning", "ending"), has_closing_row=True)
