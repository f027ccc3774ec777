"""Words by which statements name the balance of the service, as a funding source or destination."""

from __future__ import annotations

from typing import Final

OWN_MONEY: Final = ("balance", "cash")  # the last word, in small letters


def is_own_money(source: str) -> bool:
    """Return whether a funding source or destination is the balance of the service, not a bank or card."""
    return source.strip().lower().endswith(OWN_MONEY)
