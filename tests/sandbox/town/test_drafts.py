"""Drafts of payments that a test adds to the town."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.sandbox import SandboxServer, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable

    Asking = Callable[..., Any]


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        ({"payment_id": "5", "amount_cents": -1}, "cannot be stored"),
        ({"actor": "maya-lindqvist", "target": "maya-lindqvist"}, "the same person"),
        ({"payment_id": "007"}, "leading zeros"),
        ({"payment_id": "9" * 19}, "digits"),
        ({"date_created": datetime(2024, 1, 1)}, "zone"),  # noqa: DTZ001 - naive, so it is refused
    ],
)
def test_invalid_drafts(default_server: SandboxServer, draft: dict[str, object], reason: str) -> None:
    """A draft that the store could not return unchanged is refused with one sentence."""
    with pytest.raises(SettingError, match=reason):
        default_server.add_payments(default_server.viewer, [{"date_created": default_server.now, **draft}])


def test_drafts_are_all_or_nothing(ask: Asking) -> None:
    """If one of several drafts has an id in use, none of them is stored."""
    with SandboxServer(people=3, years=1) as own:
        me = ask(on=own)
        drafts = [{"date_created": own.now, "payment_id": one} for one in ("11", "12", "11")]
        with pytest.raises(SettingError, match="cannot be stored"):
            own.add_payments(own.viewer, drafts)
        assert me.get_refusal("/payments/12") == (404, "283")
        me.session.close()
