"""Words by which statements name the balance of the service, as a funding source or destination."""

from __future__ import annotations

import re
from typing import Final

BALANCE: Final = "balance"
_OWN: Final = re.compile(rf"(.*\s)?({BALANCE}|your cash)|cash")  # in small letters; a bank may be named First Cash


def is_own_money(source: str) -> bool:
    """Return whether a funding source or destination is the balance of the service, not a bank or card."""
    return _OWN.fullmatch(source.strip().lower()) is not None


def is_bank_or_card(source: str | None) -> bool:
    """Return whether a funding source or destination is a bank or card; without one it is the balance."""
    return bool(source and source.strip()) and not is_own_money(source or "")
