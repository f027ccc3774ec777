"""The argument ``by_account``: the tables of several accounts, below one another."""

from __future__ import annotations

from typing import Final

from p2p_analytics.analyses import _engine

ACCOUNT: Final = "account_id"


def list_keys(*, by_account: bool) -> list[str]:
    """Return the columns that separate accounts: none for a table of all rows."""
    return [ACCOUNT] if by_account else []


def add_account(columns: dict[str, _engine.Kind], *, by_account: bool) -> dict[str, _engine.Kind]:
    """Return the columns of a result, with the account first in a table by account."""
    return dict.fromkeys(list_keys(by_account=by_account), _engine.TEXT) | columns
