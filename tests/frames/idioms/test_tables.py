"""Whole frames in pandas: joins, concatenation, index, columns, iteration, missing values."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from p2p_analytics.frames.schema import PAYMENTS


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


def test_people_are_looked_up(payments, people, rows) -> None:
    """`map` with a column of PEOPLE by id, and a join on the index."""
    usernames = people.set_index("user_id")["username"]
    assert payments["actor_id"].map(usernames).tolist() == [row["actor_username"] for row in rows]
    joined = payments.join(people.set_index("user_id")["is_friend"], on="counterparty_id")
    friends = {row.user_id for row in people.itertuples() if row.is_friend is not pd.NA and row.is_friend}
    assert joined["is_friend"].fillna(value=False).sum() == sum(row["counterparty_id"] in friends for row in rows)


def test_people_without_payments(payments, people, rows) -> None:
    """An anti join by `isin`, and by `merge` with `indicator`."""
    seen = {row["counterparty_id"] for row in rows}
    expected = [user_id for user_id in people["user_id"] if user_id not in seen]
    assert people.loc[~people["user_id"].isin(payments["counterparty_id"]), "user_id"].tolist() == expected
    ids = payments[["counterparty_id"]].drop_duplicates()
    merged = people.merge(ids, left_on="user_id", right_on="counterparty_id", how="left", indicator=True)
    assert merged.loc[merged["_merge"] == "left_only", "user_id"].tolist() == expected


def test_concat_of_two_histories(payments, frames) -> None:
    """Dtypes stay, also with a part without rows, with other people, or from another source."""
    older, newer = payments[payments["date_created"] < "2024-07-01"], payments[payments["date_created"] >= "2024-07-01"]
    assert min(len(older), len(newer)) > 0
    assert set(older["counterparty_id"]) != set(newer["counterparty_id"])
    for parts in ([newer, older], [newer, older, payments.iloc[:0]], [newer, frames["read_csv"][0].loc[older.index]]):
        both = pd.concat(parts, ignore_index=True)
        assert_frame_equal(both, payments)
    assert pd.concat({"a": newer, "b": older}, names=["part"]).loc["b"].shape == older.shape


def test_concat_doubles_and_drop_duplicates_repairs(payments, rows) -> None:
    """Overlapping parts double rows; `drop_duplicates` by id keeps one."""
    both = pd.concat([payments.iloc[:100], payments.iloc[50:]])
    assert len(both) == len(rows) + 50
    assert_frame_equal(both.drop_duplicates("payment_id").reset_index(drop=True), payments)
    assert both.duplicated("payment_id").sum() == 50


def test_index_by_id(payments, rows) -> None:
    """An index of ids finds rows by text, also several, and comes back as a column."""
    by_id = payments.set_index("payment_id")
    wanted = [rows[7]["payment_id"], rows[3]["payment_id"]]
    assert by_id.loc[wanted[0], "note"] == rows[7]["note"]
    assert by_id.loc[wanted, "flow_cents"].tolist() == [rows[7]["flow_cents"], rows[3]["flow_cents"]]
    with pytest.raises(KeyError):
        by_id.loc[int(wanted[0])]
    assert_frame_equal(by_id.reset_index(), payments)
    assert by_id.index.is_unique


def test_index_of_two_levels(payments, rows) -> None:
    """A MultiIndex of words is sliced by its levels."""
    indexed = payments.set_index(["status", "direction"]).sort_index()
    expected = [row for row in rows if (row["status"], row["direction"]) == ("settled", "in")]
    assert len(indexed.loc[("settled", "in")]) == len(expected)
    assert len(indexed.xs("in", level="direction")) == sum(row["direction"] == "in" for row in rows)


def test_rows_are_iterated(payments, rows) -> None:
    """`itertuples`, `iterrows` and `to_dict` give Python's values."""
    assert [row.payment_id for row in payments.itertuples()] == [row["payment_id"] for row in rows]
    assert [row["flow_cents"] for _, row in payments.head(5).iterrows()] == [row["flow_cents"] for row in rows[:5]]
    first = payments.to_dict("records")[0]
    assert {name: first[name] for name in rows[0] if rows[0][name] is not None} == {
        name: value for name, value in rows[0].items() if value is not None
    }
    assert list(first) == list(PAYMENTS)
    assert type(first["flow_cents"]) is int
    assert payments.to_dict("list")["note"] == [row["note"] for row in rows]
    assert payments.set_index("payment_id")["note"].to_dict() == {row["payment_id"]: row["note"] for row in rows}


def test_rows_are_grouped_by_python(payments, rows) -> None:
    """Tuples of a sorted frame work with `itertools` and `Counter`."""
    pairs = payments[["status", "action"]].sort_values(["status", "action"]).itertuples(index=False, name=None)
    assert {pair: len(list(group)) for pair, group in groupby(pairs)} == Counter(
        (row["status"], row["action"]) for row in rows
    )


def test_sort_by_several_columns(payments, rows) -> None:
    """Text ascending and cents descending; nulls last or first."""
    found = payments.sort_values(["counterparty_name", "flow_cents", "payment_id"], ascending=[True, False, True])
    assert found["payment_id"].tolist() == [
        row["payment_id"]
        for row in sorted(rows, key=lambda row: (row["counterparty_name"], -row["flow_cents"], row["payment_id"]))
    ]
    phones = payments.sort_values("target_phone", na_position="first")["target_phone"]
    assert phones.iloc[-1] == max(row["target_phone"] or "" for row in rows)
    assert payments.sort_values("flow_cents", key=abs)["flow_cents"].abs().is_monotonic_increasing


def test_missing_values(payments, rows) -> None:
    """`isna().sum()`, `dropna` and `count` by column."""
    missing = payments.isna().sum()
    for name in ("note", "date_completed", "target_email", "target_user_id", "counterparty_username"):
        assert missing[name] == sum(row[name] is None for row in rows)
    assert len(payments.dropna(subset=["date_completed"])) == sum(row["date_completed"] is not None for row in rows)
    assert payments.dropna(axis="columns", how="all").shape[1] == payments.shape[1] - 4
    assert payments.count()["payment_id"] == len(rows)


def test_columns_are_chosen_and_renamed(payments, rows) -> None:
    """`filter`, `rename`, `drop`, `assign`, `insert`, `pop`."""
    assert payments.filter(like="fee").columns.tolist() == ["fee_cents"]
    renamed = payments.rename(columns={"note": "text"}).drop(columns=["status"])
    assert renamed["text"].tolist() == [row["note"] for row in rows]
    dollars = payments.assign(amount=lambda frame: frame["amount_cents"] / 100)
    assert dollars["amount"].tolist() == [row["amount_cents"] / 100 for row in rows]
    payments.insert(0, "number", range(len(payments)))
    assert payments.pop("number").tolist() == list(range(len(rows)))
    assert payments.columns.tolist() == list(PAYMENTS)


def test_rows_are_sampled_and_shuffled(payments, rows) -> None:
    """`sample` and `take` keep every row whole."""
    shuffled = payments.sample(frac=1, random_state=3)
    assert shuffled["payment_id"].tolist() != payments["payment_id"].tolist()
    assert_frame_equal(shuffled.sort_index(), payments)
    assert payments.take([2, 0])["note"].tolist() == [rows[2]["note"], rows[0]["note"]]


def test_frames_are_compared(payments, rows) -> None:
    """`equals` and `compare` find the one cell that changed."""
    changed = payments.copy()
    changed.loc[2, "note"] = "other"
    assert not payments.equals(changed)
    assert payments.equals(payments.copy())
    assert payments.compare(changed)["note"].to_dict("records") == [{"self": rows[2]["note"], "other": "other"}]


def test_update_and_combine_first(payments, rows) -> None:
    """A table of corrections by id changes only its cells."""
    corrections = pd.DataFrame({"payment_id": [rows[4]["payment_id"]], "note": ["corrected"]}).set_index("payment_id")
    by_id = payments.set_index("payment_id")
    by_id.update(corrections)
    assert by_id["note"].tolist() == [
        *(row["note"] for row in rows[:4]),
        "corrected",
        *(row["note"] for row in rows[5:]),
    ]
    filled = corrections.combine_first(payments.set_index("payment_id"))
    assert filled.loc[rows[4]["payment_id"], "note"] == "corrected"


def test_rows_of_other_length(payments) -> None:
    """`reindex` and `align` add rows of nulls and keep the dtypes."""
    longer = payments.reindex([0, 10**6])
    assert longer.dtypes.equals(payments.dtypes)
    assert longer.iloc[1].isna().all()


def test_text_of_the_whole_frame(payments, rows) -> None:
    """`astype(str)`, `map` and a search in all columns."""
    everything = payments.astype("str")
    assert everything["flow_cents"].tolist() == [str(row["flow_cents"]) for row in rows]
    person = rows[0]["counterparty_id"]
    hits = payments.select_dtypes("str").eq(person).any(axis="columns")
    assert hits.tolist() == [person in row.values() for row in rows]


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
