"""Tests of `units`: money in currency units instead of cents."""

from __future__ import annotations

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.schema import PAYMENTS
from support.frames import frame_from_rows


def test_cents_become_units_in_their_places() -> None:
    """1999 cents are 19.99; null is NaN; the given frame stays as it was."""
    frame = frame_from_rows(
        [{"payment_id": "1", "amount_cents": 1999, "flow_cents": -1999}, {"payment_id": "2"}], PAYMENTS
    )
    before = frame.copy()
    found = p2p.units(frame)
    assert list(found.columns) == [name.removesuffix("_cents") for name in frame.columns]
    assert found["amount"].tolist()[:1] == [19.99]
    assert found["flow"].tolist()[:1] == [-19.99]
    assert found[["amount", "flow"]].isna().iloc[1].all()
    assert {str(found[name].dtype) for name in ("amount", "flow", "fee", "refund_amount")} == {"float64"}
    pd.testing.assert_frame_equal(frame, before)
    assert list(p2p.units(frame.head(0)).columns) == list(found.columns)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"amount_cents": [5], "amount": [1]}), "has a column 'amount' as well"),
        (pd.DataFrame({"amount_cents": [0.5]}), "holds float64, not whole numbers"),
        (pd.DataFrame({"amount_cents": ["5"]}), "holds str, not whole numbers"),
        ([1], "not list: pass a pandas frame"),
    ],
)
def test_what_cannot_be_converted_is_refused(frame: object, words: str) -> None:
    """Nothing is guessed or overwritten."""
    with pytest.raises(SchemaError, match=words):
        p2p.units(frame)
