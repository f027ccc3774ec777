"""Groups in pandas: aggregation, transformation, pivot tables, and reshaping of their results."""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import fmean

import pandas as pd
import pytest


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


def test_several_aggregates(payments, rows) -> None:
    """Named aggregates of different columns, with the key as a column."""
    found = payments.groupby("direction", as_index=False).agg(
        count=("payment_id", "count"),
        people=("counterparty_id", "nunique"),
        total=("flow_cents", "sum"),
        largest=("flow_cents", "max"),
        last=("date_created", "max"),
        name=("counterparty_name", "min"),
    )
    for place, word in enumerate(("in", "out")):
        some = [row for row in rows if row["direction"] == word]
        assert found.iloc[place].tolist() == [
            word,
            len(some),
            len({row["counterparty_id"] for row in some}),
            sum(row["flow_cents"] for row in some),
            max(row["flow_cents"] for row in some),
            max(row["date_created"] for row in some),
            min(row["counterparty_name"] for row in some),
        ]


def test_aggregates_by_dict_and_list(payments, rows) -> None:
    """A dict gives two levels of columns; text is joined by a function."""
    found = payments.groupby("action").agg({"flow_cents": ["sum", "mean"], "note": "count"})
    flows = [row["flow_cents"] for row in rows if row["action"] == "pay"]
    assert found.loc["pay", ("flow_cents", "sum")] == sum(flows)
    assert found.loc["pay", ("flow_cents", "mean")] == pytest.approx(fmean(flows))
    notes = payments.groupby("counterparty_name")["note"].agg(" | ".join)
    name = rows[0]["counterparty_name"]
    assert notes[name] == " | ".join(row["note"] for row in rows if row["counterparty_name"] == name)


def test_first_and_last_of_a_group(payments, rows) -> None:
    """`first`, `last`, `head` and `nth` follow the order of the rows: the newest is the first."""
    newest = {row["counterparty_id"]: row["payment_id"] for row in reversed(rows)}
    assert payments.groupby("counterparty_id")["payment_id"].first().to_dict() == newest
    assert set(payments.groupby("counterparty_id").head(1)["payment_id"]) == set(newest.values())
    assert set(payments.groupby("counterparty_id").nth(0)["payment_id"]) == set(newest.values())
    oldest = {row["counterparty_id"]: row["date_created"] for row in rows}
    assert payments.groupby("counterparty_id")["date_created"].last().to_dict() == oldest


def test_transform_gives_one_value_per_row(payments, rows) -> None:
    """The sum of the group beside each row, and the share of it."""
    sums = sums_of(rows, "counterparty_id")
    totals = payments.groupby("counterparty_id")["flow_cents"].transform("sum")
    assert totals.tolist() == [sums[row["counterparty_id"]] for row in rows]
    sizes = payments.groupby("status")["payment_id"].transform("size")
    counts = Counter(row["status"] for row in rows)
    assert sizes.tolist() == [counts[row["status"]] for row in rows]


def test_groups_are_filtered(payments, rows) -> None:
    """Only people with at least ten payments."""
    counts = Counter(row["counterparty_id"] for row in rows)
    found = payments.groupby("counterparty_id").filter(lambda group: len(group) >= 10)
    assert found["payment_id"].tolist() == [row["payment_id"] for row in rows if counts[row["counterparty_id"]] >= 10]


def test_apply_a_function_to_each_group(payments, rows) -> None:
    """A function of the rows of a group, and the largest two of each."""
    spread = payments.groupby("status")[["flow_cents"]].apply(lambda group: group["flow_cents"].max())
    expected: dict[str, int] = {}
    for row in rows:
        expected[row["status"]] = max(row["flow_cents"], expected.get(row["status"], row["flow_cents"]))
    assert spread.to_dict() == expected
    largest = payments.groupby("direction")["flow_cents"].nlargest(2)
    flows = sorted((row["flow_cents"] for row in rows if row["direction"] == "in"), reverse=True)
    assert largest["in"].tolist() == flows[:2]


def test_numbers_within_a_group(payments, rows) -> None:
    """`cumcount`, `cumsum` and `rank` restart in each group."""
    seen: Counter[str] = Counter()
    running: Counter[str] = Counter()
    places, sums = [], []
    for row in rows:
        places.append(seen[row["counterparty_id"]])
        seen[row["counterparty_id"]] += 1
        running[row["counterparty_id"]] += row["flow_cents"]
        sums.append(running[row["counterparty_id"]])
    groups = payments.groupby("counterparty_id")
    assert groups.cumcount().tolist() == places
    assert groups["flow_cents"].cumsum().tolist() == sums
    assert groups["date_created"].rank(ascending=False, method="first").tolist() == [place + 1 for place in places]


def test_rolling_within_a_group(payments, rows) -> None:
    """The mean of the last three flows with a person."""
    person = rows[0]["counterparty_id"]
    flows = [row["flow_cents"] for row in rows if row["counterparty_id"] == person]
    found = payments.groupby("counterparty_id")["flow_cents"].rolling(3).mean()[person]
    assert found.tolist()[2:] == pytest.approx([fmean(flows[place - 2 : place + 1]) for place in range(2, len(flows))])


def test_size_and_unstack(payments, rows) -> None:
    """Two keys become rows and columns; absent combinations are filled."""
    table = payments.groupby(["status", "direction"]).size().unstack(fill_value=0)  # noqa: PD010 - under test
    counts = Counter((row["status"], row["direction"]) for row in rows)
    assert {(status, way): table.loc[status, way] for status in table.index for way in table} == {
        (status, way): counts[status, way] for status in table.index for way in ("in", "out")
    }


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


def test_pivot_by_month(payments, rows) -> None:
    """Months as rows and words as columns."""
    months = payments.assign(month=payments["date_created"].dt.strftime("%Y-%m"))
    table = months.pivot_table(index="month", columns="action", values="payment_id", aggfunc="count", fill_value=0)
    counts = Counter((row["date_created"].strftime("%Y-%m"), row["action"]) for row in rows)
    assert table.loc["2024-05", "pay"] == counts["2024-05", "pay"]
    assert table.to_numpy().sum() == len(rows)


def test_pivot_of_unique_keys(payments, rows) -> None:
    """`pivot` needs each key once, and pandas refuses it otherwise."""
    wide = payments.pivot(index="payment_id", columns="direction", values="flow_cents")  # noqa: PD010 - under test
    assert wide["in"].sum() == sum(row["flow_cents"] for row in rows if row["direction"] == "in")
    with pytest.raises(ValueError, match="Index contains duplicate entries, cannot reshape"):
        payments.pivot(index="status", columns="direction", values="flow_cents")  # noqa: PD010 - under test


def test_melt(payments, rows) -> None:
    """Actor and target as rows of one column."""
    long = payments.melt(id_vars="payment_id", value_vars=["actor_id", "target_user_id"], value_name="user_id")
    assert long["user_id"].dtype == "str"
    assert long["user_id"].value_counts().to_dict() == Counter(
        row[name] for row in rows for name in ("actor_id", "target_user_id") if row[name]
    )


def test_stack(payments, rows) -> None:
    """Columns become a level of the index, and come back."""
    sides = payments.set_index("payment_id")[["actor_id", "target_user_id"]]
    long = sides.stack()  # noqa: PD013 - under test
    assert long[rows[0]["payment_id"], "actor_id"] == rows[0]["actor_id"]
    wide = long.unstack()  # noqa: PD010 - under test
    assert wide.loc[rows[5]["payment_id"], "target_user_id"] == rows[5]["target_user_id"]


def test_names_per_group_as_sets(payments, rows) -> None:
    """Lists and distinct values of text in each group."""
    statuses = payments.groupby("action")["status"].unique()
    assert {action: set(words) for action, words in statuses.items()} == {
        action: {row["status"] for row in rows if row["action"] == action} for action in ("pay", "charge")
    }
    ids = defaultdict(list)
    for row in rows:
        ids[row["direction"]].append(row["payment_id"])
    assert payments.groupby("direction")["payment_id"].agg(list).to_dict() == ids


def test_largest_row_of_each_group(payments, rows) -> None:
    """`idxmax` and `loc`, or sort and drop duplicates."""
    best: dict[str, int] = {}
    for row in rows:
        best[row["status"]] = max(row["flow_cents"], best.get(row["status"], row["flow_cents"]))
    found = payments.loc[payments.groupby("status")["flow_cents"].idxmax()]
    assert dict(zip(found["status"], found["flow_cents"], strict=True)) == best
    ordered = payments.sort_values("flow_cents", ascending=False).drop_duplicates("status")
    assert dict(zip(ordered["status"], ordered["flow_cents"], strict=True)) == best


def test_value_counts_of_two_columns(payments, rows) -> None:
    """Pairs that occur, most frequent first."""
    found = payments.value_counts(["action", "status"])
    assert found.to_dict() == Counter((row["action"], row["status"]) for row in rows)
    assert found.iloc[0] == max(found)


def test_describe_of_groups_and_of_the_frame(payments, rows) -> None:
    """`describe` gives numbers, and for text the count, distinct values and the most frequent one."""
    found = payments.groupby("direction")["flow_cents"].describe()
    assert found.loc["in", "count"] == sum(row["direction"] == "in" for row in rows)
    text = payments.describe(include="str")
    assert text.loc["unique", "status"] == len({row["status"] for row in rows})
    assert text.loc["top", "status"] == Counter(row["status"] for row in rows).most_common(1)[0][0]
    assert payments["date_created"].describe()["max"] == rows[0]["date_created"]
