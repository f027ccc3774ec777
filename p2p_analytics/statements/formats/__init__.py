"""The statement formats of this package, one small module each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.statements.formats import _service_csv

if TYPE_CHECKING:
    from p2p_analytics.statements._format import StatementFormat

BUILT_IN: Final[tuple[StatementFormat, ...]] = (
    _service_csv.TO_2018,
    _service_csv.TO_2020,
    _service_csv.OF_2021,
    _service_csv.FROM_2022,
    _service_csv.BUSINESS,
)
