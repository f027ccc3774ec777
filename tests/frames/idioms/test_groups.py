"""Groups in pandas: aggregation, transformation, pivot tables, and reshaping of their results."""

from __future__ import annotations

from collections import Counter

import pandas as pd


def sums_of(rows, *names: str) -> dict[object, int]:
    """Return the flow of plain rows by one field or several."""
    sums: Counter[object] = Counter()
    for row in rows:
        key = tuple(row[name] for name in names)
        sums[key if len(names) > 1 else key[0]] += row["flow_cents"]
    return dict(sums)


def test_sum_by_person(payments, rows) -> None:
    """One group per value that occurs, sorted, without a group of null."""
    found = payments.groupby("counterparty_name")["flow_cents"].sum()
    assert found.to_dict() == sums_of(rows, "counterparty_name")
    assert found.index.tolist() == sorted(found.index)
    names = {row["counterparty_username"] for row in rows}
    assert None in names
    assert set(payments.groupby("counterparty_username").groups) == names - {None}
    assert payments.groupby("counterparty_username", dropna=False).ngroups == len(names)


def test_groups_of_a_subset_have_only_its_people(payments, rows) -> None:
    """No group for people outside of the subset, whether `observed` is given or not."""
    one = payments[payments["counterparty_id"] == rows[0]["counterparty_id"]]
    for options in ({}, {"observed": False}):
        found = one.groupby(["counterparty_name", "status"], **options).size()
        assert found.to_dict() == Counter(
            (row["counterparty_name"], row["status"])
            for row in rows
            if row["counterparty_id"] == rows[0]["counterparty_id"]
        )


def test_transform_gives_one_value_per_row(payments, rows) -> None:
    """The sum of the group beside each row, and the share of it."""
    sums = sums_of(rows, "counterparty_id")
    totals = payments.groupby("counterparty_id")["flow_cents"].transform("sum")
    assert totals.tolist() == [sums[row["counterparty_id"]] for row in rows]
    sizes = payments.groupby("status")["payment_id"].transform("size")
    counts = Counter(row["status"] for row in rows)
    assert sizes.tolist() == [counts[row["status"]] for row in rows]


def test_crosstab(payments, rows) -> None:
    """Counts and sums of two columns, with margins."""
    counts = Counter((row["action"], row["status"]) for row in rows)
    table = pd.crosstab(payments["action"], payments["status"], margins=True)
    assert table.loc["pay", "settled"] == counts["pay", "settled"]
    assert table.loc["All", "All"] == len(rows)
    sums = pd.crosstab(payments["action"], payments["direction"], values=payments["flow_cents"], aggfunc="sum")
    assert sums.loc["charge", "in"] == sums_of(rows, "action", "direction")["charge", "in"]


def test_pivot_table(payments, rows) -> None:
    """Money by person and direction, with totals; a person who received nothing has 0."""
    table = payments.pivot_table(
        index="counterparty_name", columns="direction", values="flow_cents", aggfunc="sum", fill_value=0, margins=True
    )
    sums = sums_of(rows, "counterparty_name", "direction")
    for name in {row["counterparty_name"] for row in rows}:
        assert table.loc[name, ["in", "out"]].tolist() == [sums.get((name, way), 0) for way in ("in", "out")]
    assert table.loc["All", "All"] == sum(row["flow_cents"] for row in rows)
