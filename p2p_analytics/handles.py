"""Handles of accounts in the form in which they are compared."""

from __future__ import annotations


def normalize_account(name: str) -> str:
    """Return an account's name in the form in which names are compared: handles with and without "@" are equal."""
    return name.strip().removeprefix("@").casefold()
