"""The statement formats of this package, one small module each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.statements.formats import (
    _cash_app,
    _monzo,
    _paypal,
    _revolut,
    _service_csv,
    _service_json,
    _splitwise,
    _wise,
)

if TYPE_CHECKING:
    from p2p_analytics.statements.formats.format import StatementFormat

SERVICE: Final = _service_csv.PERSONAL
BUSINESS: Final = _service_csv.BUSINESS.name
BUILT_IN: Final[tuple[StatementFormat, ...]] = (
    _service_csv.TO_2018,
    _service_csv.TO_2020,
    _service_csv.OF_2021,
    _service_csv.FROM_2022,
    _service_csv.FULL_BUSINESS,
    _service_csv.BUSINESS,
    _service_json.STATEMENT_JSON,
    _cash_app.CASH_APP,
    _monzo.MONZO,
    _paypal.PAYPAL_ACTIVITY,
    _paypal.PAYPAL_PERSONAL,
    _paypal.PAYPAL_STATEMENT,
    _revolut.REVOLUT,
    _revolut.TO_2021,
    _splitwise.SPLITWISE,
    _wise.WISE,
    _wise.WISE_HISTORY,
)
