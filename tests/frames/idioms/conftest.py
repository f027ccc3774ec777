"""One history of the sandbox's town, as frames and as plain rows of its raw JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import p2p_analytics as p2p
from support.raw.payments import list_payments, to_row

if TYPE_CHECKING:
    import pandas as pd

    from p2p_analytics.history import History


@pytest.fixture(scope="session")
def town_payments() -> tuple[History, list[dict[str, Any]]]:
    """Load one viewer's history twice: as frames, and as plain rows, newest first."""
    with p2p.sandbox.SandboxServer(seed=7, people=12, years=2) as server:
        token = server.token(server.viewer)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
            history = p2p.load_history(client, privacy=False, progress=False)
        viewer = str(history.me.user.id)
        rows = [to_row(viewer, item) for item in list_payments(server.base_url, token)]
    rows.sort(key=lambda row: (row["date_created"], int(row["payment_id"])), reverse=True)
    assert len(rows) > 200
    return history, rows


@pytest.fixture(scope="session")
def history(town_payments) -> History:
    """Return the history as loaded."""
    return town_payments[0]


@pytest.fixture
def payments(history) -> pd.DataFrame:
    """Return PAYMENTS; the test may change it."""
    return history.payments.copy()


@pytest.fixture(scope="session")
def rows(town_payments) -> list[dict[str, Any]]:
    """Return the payments as plain rows, counted and compared without a frame."""
    return town_payments[1]
