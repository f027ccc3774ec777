"""The statement formats of this package."""

from __future__ import annotations

from typing import Final

from p2p_analytics.statements.formats import _paypal, _service_csv, _service_json, services
from p2p_analytics.statements.formats.format import StatementFormat

SERVICE: Final = _service_csv.PERSONAL
BUSINESS: Final = _service_csv.BUSINESS.name
_MODULES: Final = (_service_csv, _service_json, _paypal, services)
BUILT_IN: Final[tuple[StatementFormat, ...]] = tuple(
    each for module in _MODULES for each in vars(module).values() if isinstance(each, StatementFormat)
)
