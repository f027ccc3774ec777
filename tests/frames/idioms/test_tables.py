"""Whole frames in pandas: joins, concatenation, index, columns, iteration, missing values."""

from __future__ import annotations

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal


@pytest.fixture(params=["load_history", "read_csv", "read_parquet", "archive", "combine"])
def source(request: pytest.FixtureRequest) -> str:
    """Return every way into memory: each idiom gives the same result for all."""
    return request.param


def test_merge_with_a_table_of_text_ids(payments, rows) -> None:
    """A hand-made table of people by id as text finds every row of them."""
    person = rows[0]["counterparty_id"]
    labels = pd.DataFrame({"counterparty_id": [person, "1"], "label": ["flat", "never seen"]})
    found = payments.merge(labels, on="counterparty_id", how="left", validate="m:1")
    assert found["label"].count() == sum(row["counterparty_id"] == person for row in rows)
    assert found["payment_id"].tolist() == [row["payment_id"] for row in rows]
    inner = payments.merge(labels.set_index("counterparty_id"), left_on="counterparty_id", right_index=True)
    assert set(inner["label"]) == {"flat"}


def test_merge_with_a_table_of_integer_ids_is_refused(payments, rows) -> None:
    """Pandas refuses it in every spelling of a join, and gives no empty match."""
    labels = pd.DataFrame({"counterparty_id": [int(row["payment_id"]) for row in rows[:3]], "label": ["a", "b", "c"]})
    with pytest.raises(ValueError, match="trying to merge on str and int64 columns for key 'counterparty_id'"):
        payments.merge(labels, on="counterparty_id")
    with pytest.raises(ValueError, match="trying to merge on str and int64 columns"):
        payments.join(labels.set_index("counterparty_id"), on="counterparty_id")
    found = payments.merge(labels.astype({"counterparty_id": "str"}), left_on="payment_id", right_on="counterparty_id")
    assert found["label"].tolist() == ["a", "b", "c"]


def test_merge_with_people(payments, people, rows) -> None:
    """Profiles join by the counterparty's id; a row without an account finds none."""
    found = payments.merge(people, left_on="counterparty_id", right_on="user_id", how="left", validate="m:1")
    assert len(found) == len(rows)
    assert found["user_id"].notna().tolist() == [row["counterparty_username"] is not None for row in rows]
    known = found[found["user_id"].notna()]
    assert (known["username"] == known["counterparty_username"]).all()


def test_concat_of_two_histories(payments, frames) -> None:
    """Dtypes stay, also with a part without rows, with other people, or from another source."""
    older, newer = payments[payments["date_created"] < "2024-07-01"], payments[payments["date_created"] >= "2024-07-01"]
    assert min(len(older), len(newer)) > 0
    assert set(older["counterparty_id"]) != set(newer["counterparty_id"])
    for parts in ([newer, older], [newer, older, payments.iloc[:0]], [newer, frames["read_csv"][0].loc[older.index]]):
        both = pd.concat(parts, ignore_index=True)
        assert_frame_equal(both, payments)
    assert pd.concat({"a": newer, "b": older}, names=["part"]).loc["b"].shape == older.shape


def test_missing_values(payments, rows) -> None:
    """`isna().sum()`, `dropna` and `count` by column."""
    missing = payments.isna().sum()
    for name in ("note", "date_completed", "target_email", "target_user_id", "counterparty_username"):
        assert missing[name] == sum(row[name] is None for row in rows)
    assert len(payments.dropna(subset=["date_completed"])) == sum(row["date_completed"] is not None for row in rows)
    assert payments.dropna(axis="columns", how="all").shape[1] == payments.shape[1] - 4
    assert payments.count()["payment_id"] == len(rows)


def test_memory_and_hash(payments, rows) -> None:
    """`memory_usage(deep=True)` counts the text of these rows alone; equal frames have equal hashes."""
    few = payments.iloc[[0, 1]].copy()
    assert few.memory_usage(deep=True, index=False).sum() < payments.memory_usage(deep=True, index=False).sum() / 20
    assert pd.util.hash_pandas_object(payments).equals(pd.util.hash_pandas_object(payments.copy()))


def test_people_are_a_frame_too(people, rows) -> None:
    """Flags filter people; friends counts are numbers; no one is there twice."""
    assert people["user_id"].is_unique
    assert set(people.loc[people["is_friend"].fillna(value=False), "user_id"]) <= set(people["user_id"])
    named = {row["actor_id"]: row["actor_display_name"] for row in rows}
    assert people.set_index("user_id")["display_name"].reindex(list(named)).tolist() == list(named.values())
    assert people["display_name"].str.split().str[0].notna().all()
    assert (people["is_friend"] | people["is_friend"].isna()).dtype == "boolean"
