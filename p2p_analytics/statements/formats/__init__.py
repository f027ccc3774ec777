"""The statement formats of this package, one small module each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from p2p_analytics.statements._format import StatementFormat

BUILT_IN: Final[tuple[StatementFormat, ...]] = ()
