"""`units`: money in currency units instead of cents."""

import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
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
    assert found[["amount", "flow"]].fillna(7).to_numpy().tolist() == [[19.99, -19.99], [7, 7]]
    assert {str(found[name].dtype) for name in ("amount", "flow", "fee", "refund_amount")} == {"float64"}
    pd.testing.assert_frame_equal(frame, before)
    assert list(p2p.units(frame.head(0)).columns) == list(found.columns)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"amount_cents": [5], "amount": [1]}), "has a column 'amount' as well"),
        (pd.DataFrame({"amount_cents": [0.5]}), "holds fractions or infinity, not whole numbers.*p2p.read_csv"),
        (pd.DataFrame({"amount_cents": [5.0, float("inf")]}), "holds fractions or infinity, not whole numbers"),
        (pd.DataFrame({"amount_cents": ["5"]}), "holds str, not whole numbers"),
        (pd.DataFrame([[5, 6]], columns=["fee_cents"] * 2), "several columns 'fee_cents': drop or rename all of them"),
        ([1], "not list: pass a pandas frame"),
        (pl.DataFrame(), r"not polars\.DataFrame: pass frame\.to_pandas\(\)\.$"),
        (pl.LazyFrame(), r"a pandas frame, not polars\.LazyFrame: pass frame\.collect\(\)\.to_pandas\(\)\.$"),
    ],
)
def test_what_cannot_be_converted_is_refused(frame: object, words: str) -> None:
    """Nothing is guessed or overwritten, and refusing a lazy frame asks it for nothing that takes long."""
    with warnings.catch_warnings(action="error"), pytest.raises(SchemaError, match=words):
        p2p.units(frame)


@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", pd.ArrowDtype(pa.float64())])
def test_whole_floats_are_cents(dtype: str) -> None:
    """pandas.read_csv and to_pandas of Polars make floats of cents with a gap: 1999.0 cents are 19.99."""
    found = p2p.units(pd.DataFrame({"fee_cents": pd.Series([1999, None, -5, 0], dtype="float64").astype(dtype)}))["fee"]
    assert (str(found.dtype), found.fillna(7).tolist()) == ("float64", [19.99, 7, -0.05, 0])
