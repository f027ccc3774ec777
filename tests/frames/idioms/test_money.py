"""Cents in pandas: exact sums, nullable integers, bins, ranks, and what pandas refuses."""

from __future__ import annotations

from statistics import fmean, median

import numpy as np
import pandas as pd
import pytest


def flows_of(rows) -> list[int]:
    """Return the flow of each plain row in cents."""
    return [row["flow_cents"] for row in rows]


def test_sums_are_exact(payments, rows) -> None:
    """Sum, mean and absolute sum of cents, and the sum in currency units."""
    flows = flows_of(rows)
    assert payments["flow_cents"].sum() == sum(flows)
    assert payments["flow_cents"].abs().sum() == sum(map(abs, flows))
    assert payments["flow_cents"].mean() == pytest.approx(fmean(flows), rel=1e-12)
    assert payments["flow_cents"].median() == median(flows)
    assert round((payments["flow_cents"] / 100).sum(), 2) == round(sum(flows) / 100, 2)
    assert (payments["flow_cents"] / 100).dtype == "Float64"


def test_a_column_of_nulls_has_the_sum_zero(payments) -> None:
    """Lists show no fees: the sum is 0, the mean is null, the dtype stays."""
    fees = payments["fee_cents"]
    assert (fees.sum(), fees.count(), fees.dtype) == (0, 0, "Int64")
    assert fees.mean() is pd.NA
    assert (payments["flow_cents"] - fees.fillna(0)).equals(payments["flow_cents"])


def test_null_cents_cannot_become_int64(payments) -> None:
    """Pandas refuses nulls in a NumPy integer column."""
    with pytest.raises(ValueError, match="cannot convert NA to integer"):
        payments["fee_cents"].astype("int64")
    assert payments["flow_cents"].astype("int64").dtype == "int64"
    assert payments["fee_cents"].astype("float64").isna().all()


def test_fractions_in_cents_are_refused(payments) -> None:
    """Pandas refuses a fraction in an integer column."""
    with pytest.raises(TypeError, match=r"Invalid value '0\.5' for dtype 'Int64'"):
        payments.loc[0, "flow_cents"] = 0.5


def test_bins_of_amounts(payments, rows) -> None:
    """`cut` by edges and `qcut` by quantiles."""
    sizes = [abs(flow) for flow in flows_of(rows)]
    edges = [0, 1_000, 5_000, 10_000_000]
    found = pd.cut(payments["flow_cents"].abs(), edges, labels=["small", "middle", "large"]).value_counts()
    assert found.to_dict() == {
        label: sum(low < size <= high for size in sizes)
        for label, low, high in zip(("small", "middle", "large"), edges, edges[1:], strict=False)
    }
    quarters = pd.qcut(payments["flow_cents"].abs(), 4, labels=False)
    assert quarters[payments["flow_cents"].abs() == max(sizes)].tolist()[0] == 3
    assert np.histogram(payments["flow_cents"].astype("int64"), [-(10**9), 0, 10**9])[0].tolist() == [
        sum(flow < 0 for flow in flows_of(rows)),
        sum(flow >= 0 for flow in flows_of(rows)),
    ]
