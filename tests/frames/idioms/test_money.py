"""Cents in pandas: exact sums, nullable integers, bins, ranks, and what pandas refuses."""

from __future__ import annotations

from itertools import accumulate
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


def test_cents_are_assigned(payments, rows) -> None:
    """A scalar, a mask, null, and a new column computed from two."""
    payments.loc[0, "flow_cents"] = 7
    payments.loc[payments["flow_cents"] < 0, "flow_cents"] = 0
    payments.loc[1, "flow_cents"] = None
    expected = [7, None, *(max(flow, 0) for flow in flows_of(rows)[2:])]
    assert [None if value is pd.NA else value for value in payments["flow_cents"]] == expected
    assert payments["flow_cents"].dtype == "Int64"


def test_clip_round_and_divide(payments, rows) -> None:
    """Arithmetic with whole numbers stays whole."""
    flows = flows_of(rows)
    assert payments["flow_cents"].clip(lower=0).tolist() == [max(flow, 0) for flow in flows]
    assert (payments["flow_cents"] // 100).tolist() == [flow // 100 for flow in flows]
    assert (payments["flow_cents"] % 100).tolist() == [flow % 100 for flow in flows]
    assert payments["flow_cents"].floordiv(100).dtype == "Int64"
    assert (-payments["flow_cents"]).gt(0).sum() == sum(flow < 0 for flow in flows)


def test_cumulative_sum_and_difference(payments, rows) -> None:
    """`cumsum`, `diff` and `shift`, newest first as loaded."""
    flows = flows_of(rows)
    assert payments["flow_cents"].cumsum().tolist() == list(accumulate(flows))
    assert payments["flow_cents"].diff().tolist()[1:] == list(np.diff(flows))
    assert payments["flow_cents"].shift(1, fill_value=0).tolist() == [0, *flows[:-1]]


def test_largest_payments(payments, rows) -> None:
    """`nlargest`, `nsmallest` and `idxmax`."""
    flows = flows_of(rows)
    assert payments.nlargest(5, "flow_cents")["flow_cents"].tolist() == sorted(flows, reverse=True)[:5]
    assert payments["flow_cents"].nsmallest(3).tolist() == sorted(flows)[:3]
    assert payments.loc[payments["flow_cents"].idxmax(), "payment_id"] == rows[flows.index(max(flows))]["payment_id"]


def test_ranks_and_quantiles(payments, rows) -> None:
    """`rank`, `quantile` and `describe`."""
    flows = flows_of(rows)
    assert payments["flow_cents"].rank(method="min").tolist() == [
        sum(other < flow for other in flows) + 1 for flow in flows
    ]
    assert payments["flow_cents"].quantile(0.9) == pytest.approx(np.quantile(flows, 0.9))
    described = payments["flow_cents"].describe()
    assert [described[name] for name in ("count", "min", "max")] == [len(flows), min(flows), max(flows)]


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


def test_conditions_are_combined(payments, rows) -> None:
    """`&`, `|` and `~` over numbers, words and dates; a null counts as false."""
    found = payments[(payments["flow_cents"] < -5_000) & ~payments["status"].isin(["settled"])]
    assert found["payment_id"].tolist() == [
        row["payment_id"] for row in rows if row["flow_cents"] < -5_000 and row["status"] != "settled"
    ]
    assert len(payments[payments["fee_cents"] > 0]) == 0


def test_query_and_eval(payments, rows) -> None:
    """Expressions over columns, with a Python variable."""
    limit = 5_000
    found = payments.query("status == 'settled' and direction == 'in' and amount_cents.abs() > @limit")
    assert found["payment_id"].tolist() == [
        row["payment_id"]
        for row in rows
        if row["status"] == "settled" and row["direction"] == "in" and abs(row["amount_cents"]) > limit
    ]
    assert payments.query("counterparty_name in ['Tom O\\'Hara']").shape[0] == sum(
        row["counterparty_name"] == "Tom O'Hara" for row in rows
    )
    assert payments.eval("flow_cents / 100").sum() == pytest.approx(sum(flows_of(rows)) / 100)


def test_numpy_takes_the_columns(payments, rows) -> None:
    """`to_numpy`, and NumPy's functions on a column."""
    flows = flows_of(rows)
    assert payments["flow_cents"].to_numpy().dtype == "int64"
    assert np.abs(payments["flow_cents"]).sum() == sum(map(abs, flows))
    assert np.sign(payments["flow_cents"]).tolist() == [(flow > 0) - (flow < 0) for flow in flows]
    assert payments[["amount_cents", "flow_cents"]].to_numpy(dtype="float64").sum() == pytest.approx(
        sum(flows) + sum(row["amount_cents"] for row in rows)
    )


def test_columns_by_dtype(payments) -> None:
    """`select_dtypes` finds numbers, texts and dates; no column is categorical or object."""
    numbers = ["amount_cents", "fee_cents", "refund_amount_cents", "flow_cents"]
    assert payments.select_dtypes("number").columns.tolist() == numbers
    assert payments.select_dtypes("datetimetz").columns.tolist() == ["date_created", "date_completed"]
    assert payments.select_dtypes("str").shape[1] == payments.shape[1] - 6
    assert payments.select_dtypes("category").empty
    assert payments.sum(numeric_only=True).index.tolist() == numbers


def test_sum_of_the_columns(payments, rows) -> None:
    """`agg` of several columns with several functions, and `apply` by row."""
    found = payments[["amount_cents", "flow_cents"]].agg(["sum", "max"])
    assert found.loc["sum", "flow_cents"] == sum(flows_of(rows))
    assert found.loc["max", "amount_cents"] == max(row["amount_cents"] for row in rows)
    signed = payments.apply(lambda row: row["amount_cents"] if row["direction"] == "in" else 0, axis=1)
    assert signed.sum() == sum(row["amount_cents"] for row in rows if row["direction"] == "in")


def test_dtypes_can_be_converted(payments) -> None:
    """`convert_dtypes` changes no value, and `dtype_backend` of pyarrow works."""
    converted = payments.convert_dtypes()
    assert converted["flow_cents"].tolist() == payments["flow_cents"].tolist()
    assert converted["note"].tolist() == payments["note"].tolist()
    arrow = payments[["note", "flow_cents", "date_created"]].convert_dtypes(dtype_backend="pyarrow")
    assert arrow["flow_cents"].sum() == payments["flow_cents"].sum()
    assert arrow["note"].tolist() == payments["note"].tolist()
