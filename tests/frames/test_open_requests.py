"""Open requests by their ids."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from p2p_analytics.frames.schema import are_open_requests

DTYPES = ["str", "string", "object", "category", pd.ArrowDtype(pa.string())]


@pytest.mark.parametrize(("of_ids", "of_payments"), [*zip(DTYPES, DTYPES[1:] + DTYPES[:1], strict=True)])
def test_open_requests(of_ids: object, of_payments: object) -> None:
    """A request that is pending is one; a payment, an id that is not known, and a null are none, in any dtypes."""
    payments = pd.DataFrame(
        {
            "payment_id": pd.Series(["1", "2", "3", None], dtype=of_payments),
            "status": ["pending", "pending", "settled", "pending"],
            "action": ["charge", "pay", "charge", "charge"],
        }
    )
    ids = pd.Series(["3", None, "1", "2", "9", "1"], index=[5, 4, 3, 2, 1, 0], dtype=of_ids)
    found = are_open_requests(ids, payments)
    assert found.tolist() == [False, False, True, False, False, True]
    assert found.index.tolist() == ids.index.tolist()
