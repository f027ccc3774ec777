"""Fixtures of the tests that write payments."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from p2p_analytics.sandbox import SandboxServer

    Asking = Callable[..., Any]

EVERY = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")


@pytest.fixture
def people(town: SandboxServer, ask: Asking) -> Callable[..., Any]:
    """Return a function that returns a caller with every scope and a given balance, in the module's town."""

    def make(name: str, units: str | None = None) -> Any:
        client = ask(name, *EVERY, on=town)
        if units is not None:
            town.deposit(name, int((Decimal(units) - client.get_balance()) * 100))
        client.id = client.get_body("/me")["data"]["user"]["id"]
        return client

    return make
