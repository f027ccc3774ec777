"""PAYMENTS in pandas, against plain Python over the raw rows; what pandas refuses is refused in pandas' own words."""

from __future__ import annotations

from collections import Counter
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from support.frames import list_values

NEW_YORK = ZoneInfo("America/New_York")


def sum_flows(rows, key) -> dict[object, int]:
    """Return the flow of plain rows by a key."""
    sums: Counter[object] = Counter()
    for row in rows:
        sums[key(row)] += row["flow_cents"]
    return dict(sums)


def test_each_cell_is_that_of_the_json(payments, rows) -> None:
    """Ids, words, cents, instants, and the viewer's perspective, computed from the JSON alone."""
    frame = payments[list(rows[0])]
    assert frame.astype(object).where(frame.notna(), None).to_dict("records") == rows


def test_sums_of_cents_are_exact(payments, rows) -> None:
    """A column of nulls has the sum 0; a fraction, or a number beside text, is refused."""
    flows = [row["flow_cents"] for row in rows]
    assert (payments["flow_cents"].sum(), payments["flow_cents"].abs().sum()) == (sum(flows), sum(map(abs, flows)))
    assert payments.groupby("counterparty_name")["flow_cents"].sum().to_dict() == sum_flows(
        rows, lambda row: row["counterparty_name"]
    )
    fees = payments["fee_cents"]
    assert (fees.sum(), fees.count(), fees.dtype) == (0, 0, "Int64")
    with pytest.raises(TypeError, match=r"Invalid value '0\.5' for dtype 'Int64'"):
        payments.loc[0, "flow_cents"] = 0.5
    with pytest.raises(TypeError, match="Invalid value '5' for dtype 'str'"):
        payments.loc[0, "note"] = 5


def test_ids_are_text(payments, rows) -> None:
    """Text ids join; integer ids equal nothing, and a join with them is refused instead of empty."""
    ids = [row["payment_id"] for row in rows[:3]]
    labels = pd.DataFrame({"payment_id": ids, "label": ["a", "b", "c"]})
    assert payments.merge(labels, on="payment_id")["label"].tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="trying to merge on str and int64 columns for key 'payment_id'"):
        payments.merge(labels.astype({"payment_id": "int64"}), on="payment_id")
    assert not (payments["payment_id"] == int(ids[0])).any()


def test_a_subset_has_only_its_people(payments, rows) -> None:
    """No group or count of zero for other people, whether `observed` is given or not."""
    person = rows[0]["counterparty_id"]
    one = payments[payments["counterparty_id"] == person]
    expected = Counter((row["counterparty_name"], row["status"]) for row in rows if row["counterparty_id"] == person)
    for options in ({}, {"observed": False}):
        assert one.groupby(["counterparty_name", "status"], **options).size().to_dict() == expected
    assert one["counterparty_name"].value_counts().to_dict() == {rows[0]["counterparty_name"]: len(one)}


def test_dates_are_exact_instants_in_utc(payments, rows) -> None:
    """Parts in another zone, durations and months are those of plain datetimes."""
    local = payments["date_created"].dt.tz_convert("America/New_York").dt.hour
    assert local.tolist() == [row["date_created"].astimezone(NEW_YORK).hour for row in rows]
    took = [row["date_completed"] and row["date_completed"] - row["date_created"] for row in rows]
    assert list_values(payments["date_completed"] - payments["date_created"]) == took
    months = payments.resample("MS", on="date_created")["flow_cents"].sum()
    expected = sum_flows(rows, lambda row: (row["date_created"].year, row["date_created"].month))
    assert {(month.year, month.month): flow for month, flow in months.items() if flow} == {
        month: flow for month, flow in expected.items() if flow
    }


def test_parts_come_together_again(payments) -> None:
    """Concatenation of parts with other people, and of a part without rows, gives the same frame."""
    older, newer = payments.iloc[100:], payments.iloc[:100]
    assert set(older["counterparty_id"]) != set(newer["counterparty_id"])
    pd.testing.assert_frame_equal(pd.concat([newer, older, payments.iloc[:0]], ignore_index=True), payments)
