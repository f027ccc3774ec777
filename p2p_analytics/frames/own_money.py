"""Words by which statements name the balance of the service, as a funding source or destination."""

from __future__ import annotations

from typing import Final

BALANCE: Final = "balance"
_LAST_WORDS: Final = (BALANCE, "cash")  # in small letters


def is_own_money(source: str) -> bool:
    """Return whether a funding source or destination is the balance of the service, not a bank or card."""
    return source.strip().lower().endswith(_LAST_WORDS)


def is_bank_or_card(source: str | None) -> bool:
    """Return whether a funding source or destination is a bank or card; without one it is the balance."""
    return bool(source and source.strip()) and not is_own_money(source or "")
