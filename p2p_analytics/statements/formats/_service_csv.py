"""CSV statements of the service, in the forms that it has written since 2017."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from p2p_analytics.statements.formats._service_rows import PERSONAL, read_business, read_personal
from p2p_analytics.statements.formats.format import StatementFormat

_TRANSACTION: Final = {
    "id": ("ID", "Transaction ID"),
    "datetime": ("Datetime",),
    "type": ("Type",),
    "status": ("Status",),
    "note": ("Note",),
    "from": ("From",),
    "to": ("To",),
    "total": ("Amount (total)",),
    "fee": ("Amount (fee)",),
    "funding_source": ("Funding Source",),
    "destination": ("Destination",),
}
_BALANCES: Final = {
    "margin": ("",),  # the column without a name, where titles between the rows are
    "username": ("Username",),
    "beginning": ("Beginning Balance",),
    "ending": ("Ending Balance",),
    "period_fees": ("Statement Period Venmo Fees",),
    "year_fees": ("Year to Date Venmo Fees",),
    "terminal": ("Terminal Location",),
    "disclaimer": ("Disclaimer",),
}
_TIPS: Final = {"tip": ("Amount (tip)",)}
_TAXES: Final = {"tax": ("Amount (tax)",), "tax_rate": ("Tax Rate",), "tax_exempt": ("Tax Exempt",)}
_BUSINESS: Final = {
    "date": ("Date",),
    "time": ("Time (UTC)",),
    "donor_email": ("Donor email",),
    "net": ("Amount (net)",),
}
_ALWAYS: Final = ("id", "datetime", "type", "status", "from", "to", "total")

_PERSONAL: Final[dict[str, Any]] = {"read": read_personal, "service": PERSONAL, "zone": "UTC"}

TO_2018: Final = StatementFormat("statement_a", _TRANSACTION, _ALWAYS, **_PERSONAL)
TO_2020: Final = StatementFormat(
    "statement_b", _TRANSACTION | _BALANCES, (*_ALWAYS, "beginning"), has_closing_row=True, **_PERSONAL
)
OF_2021: Final = StatementFormat(
    "statement_c",
    _TRANSACTION | _BALANCES | _TIPS,
    (*_ALWAYS, "beginning", "tip"),
    has_closing_row=True,
    **_PERSONAL,
)
FROM_2022: Final = StatementFormat(
    "statement_d",
    _TRANSACTION | _BALANCES | _TIPS | _TAXES,
    (*_ALWAYS, "beginning", "tax"),
    has_closing_row=True,
    **_PERSONAL,
)
BUSINESS: Final = StatementFormat(
    "statement_e",
    {name: names for name, names in _TRANSACTION.items() if name != "datetime"}
    | _BALANCES
    | _TIPS
    | _TAXES
    | _BUSINESS,
    ("id", "date", "time", "type", "status", "from", "to", "total"),
    read_business,
    zone="UTC",
)
FULL_BUSINESS: Final = replace(BUSINESS, required=(*BUSINESS.required, "beginning", "ending"), has_closing_row=True)
