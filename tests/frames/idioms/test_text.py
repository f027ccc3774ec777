"""Text columns in pandas: fill, replace, assign, compare, combine, search.

Each result is compared with plain Python over the raw rows. What pandas refuses for every text column is refused here
in pandas' own words.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from support.frames import list_values


def column_of(rows, name: str) -> list[object]:
    """Return one field of the plain rows."""
    return [row[name] for row in rows]


def test_fillna_with_a_new_value(payments, rows) -> None:
    """A word that the column never held fills the nulls."""
    filled = payments["target_email"].fillna("nobody@example.com")
    assert filled.tolist() == [row["target_email"] or "nobody@example.com" for row in rows]
    assert filled.dtype == "str"


def test_fillna_with_another_column(payments, rows) -> None:
    """Each null is filled from the same row."""
    found = payments["counterparty_username"].fillna(payments["counterparty_id"])
    assert found.tolist() == [row["counterparty_username"] or row["counterparty_id"] for row in rows]
    both = payments["target_email"].combine_first(payments["target_phone"])
    assert list_values(both) == [row["target_email"] or row["target_phone"] for row in rows]


def test_fillna_of_the_whole_frame_by_column(payments, rows) -> None:
    """A dict names the value of each column, also in a column of nulls alone."""
    found = payments.fillna({"medium": "unknown", "fee_cents": 0, "target_phone": "-"})
    assert set(found["medium"]) == {"unknown"}
    assert set(found["fee_cents"]) == {0}
    assert found["target_phone"].tolist() == [row["target_phone"] or "-" for row in rows]


@pytest.mark.skipif(pd.__version__ < "3.1", reason="pandas converts the column in silence before version 3.1")
def test_fillna_with_a_number_is_refused(payments) -> None:
    """Pandas accepts no number in any text column."""
    refused = pytest.raises((TypeError, pd.errors.Pandas4Warning), match="'int' is not supported as a fill value")
    with refused, warnings.catch_warnings(action="error"):
        payments["target_email"].fillna(0)


def test_replace_a_word_by_a_new_one(payments, rows) -> None:
    """`replace` with scalars, a dict, and a dict of columns."""
    expected = ["done" if row["status"] == "settled" else row["status"] for row in rows]
    assert payments["status"].replace("settled", "done").tolist() == expected
    assert payments["status"].replace({"settled": "done"}).tolist() == expected
    assert payments.replace({"status": {"settled": "done"}})["status"].tolist() == expected


def test_replace_by_a_pattern(payments, rows) -> None:
    """`replace(regex=True)` changes the part of each cell that matches."""
    found = payments["note"].replace(r"^[A-Z]", "#", regex=True)
    assert found.tolist() == [
        "#" + note[1:] if note[:1].isascii() and note[:1].isupper() else note for note in column_of(rows, "note")
    ]


def test_where_and_mask(payments, rows) -> None:
    """`where` keeps and `mask` replaces, with a new word or with null."""
    is_settled = payments["status"] == "settled"
    assert payments["action"].where(is_settled, "none").tolist() == [
        row["action"] if row["status"] == "settled" else "none" for row in rows
    ]
    assert list_values(payments["note"].mask(is_settled)) == [
        None if row["status"] == "settled" else row["note"] for row in rows
    ]


def test_np_where_and_np_select(payments, rows) -> None:
    """NumPy chooses between words by the columns' conditions."""
    pays = payments["action"] == "pay"
    assert np.where(pays, "a", "b").tolist() == ["a" if row["action"] == "pay" else "b" for row in rows]
    found = np.select([pays & (payments["direction"] == "out"), pays], ["given", "got"], "asked")
    assert Counter(found.tolist()) == Counter(
        "asked" if row["action"] != "pay" else {"out": "given", "in": "got"}[row["direction"]] for row in rows
    )


def test_case_when(payments, rows) -> None:
    """The first condition that holds gives the word."""
    found = payments["audience"].case_when([(payments["note"] == "", "nothing"), (payments["action"] == "pay", "pay")])
    assert found.tolist() == [
        "nothing" if row["note"] == "" else "pay" if row["action"] == "pay" else row["audience"] for row in rows
    ]


def test_loc_assigns_a_scalar(payments, rows) -> None:
    """A new word by a boolean mask, and by a label."""
    payments.loc[payments["status"] == "expired", "status"] = "too late"
    payments.loc[0, "status"] = "first"
    expected = ["too late" if row["status"] == "expired" else row["status"] for row in rows]
    assert payments["status"].tolist() == ["first", *expected[1:]]
    assert payments["status"].dtype == "str"


def test_loc_assigns_a_list_and_a_series(payments, rows) -> None:
    """Several new values at once, by position and by index."""
    payments.loc[[0, 2], "note"] = ["\u00e4", "\u00df"]
    payments.loc[3:4, "note"] = payments.loc[3:4, "note"].str.upper()
    expected = column_of(rows, "note")
    expected[0], expected[2], expected[3:5] = "\u00e4", "\u00df", [note.upper() for note in expected[3:5]]
    assert payments["note"].tolist() == expected


def test_at_iloc_and_a_new_row(payments, rows) -> None:
    """Single cells by label and position, and a row at the end."""
    payments["note"] = payments["note"].fillna("")
    payments.at[1, "note"] = "by label"  # noqa: PD008 - the idiom under test
    payments.iloc[2, payments.columns.get_loc("note")] = "by position"
    payments.loc[len(payments), ["payment_id", "note"]] = ["1", "at the end"]
    assert payments["note"].tolist()[1:3] == ["by label", "by position"]
    assert (payments["payment_id"].iloc[-1], payments["note"].iloc[-1]) == ("1", "at the end")
    assert len(payments) == len(rows) + 1


def test_null_is_assigned(payments) -> None:
    """None becomes null, and the dtype stays."""
    payments.loc[:4, "note"] = None
    assert payments["note"].isna().tolist()[:6] == [True] * 5 + [False]
    assert payments["note"].dtype == "str"


def test_a_number_in_a_text_column_is_refused(payments) -> None:
    """Pandas refuses to change the dtype of a text column silently."""
    with pytest.raises(TypeError, match="Invalid value '5' for dtype 'str'"):
        payments.loc[0, "note"] = 5


def test_two_columns_are_compared(payments, rows) -> None:
    """`==` and `!=` row by row, where nulls are equal to nothing."""
    is_own = payments["actor_id"] == payments["account_id"]
    assert is_own.tolist() == [row["direction"] == ("out" if row["action"] == "pay" else "in") for row in rows]
    assert (payments["target_user_id"] == payments["counterparty_id"]).tolist() == [
        row["target_user_id"] is not None and row["target_user_id"] == row["counterparty_id"] for row in rows
    ]
    assert (payments["actor_username"] != payments["counterparty_username"]).tolist() == [
        row["actor_username"] != row["counterparty_username"] for row in rows
    ]


def test_texts_are_added(payments, rows) -> None:
    """`+` with a word and between columns; null with anything is null."""
    assert (payments["action"] + ": " + payments["status"]).tolist() == [
        f"{row['action']}: {row['status']}" for row in rows
    ]
    assert list_values("@" + payments["counterparty_username"]) == [
        row["counterparty_username"] and "@" + row["counterparty_username"] for row in rows
    ]


def test_str_cat(payments, rows) -> None:
    """Several columns are joined with a separator and a word for null."""
    found = payments["action"].str.cat([payments["target_email"], payments["direction"]], sep="|", na_rep="")
    assert found.tolist() == [f"{row['action']}|{row['target_email'] or ''}|{row['direction']}" for row in rows]


def test_greatest_and_least_text(payments, rows) -> None:
    """`max` and `min` follow the code points, and skip nulls."""
    notes, users = column_of(rows, "note"), [name for name in column_of(rows, "counterparty_username") if name]
    assert (payments["note"].min(), payments["note"].max()) == (min(notes), max(notes))
    assert (payments["counterparty_username"].min(), payments["counterparty_username"].max()) == (
        min(users),
        max(users),
    )
    assert payments[["status", "action"]].max().tolist() == [
        max(column_of(rows, "status")),
        max(column_of(rows, "action")),
    ]


def test_text_is_ordered(payments, rows) -> None:
    """`>` and `between` compare by code points; null is neither above nor below."""
    assert (payments["counterparty_name"] > "P").tolist() == [row["counterparty_name"] > "P" for row in rows]
    assert (payments["target_phone"] >= "1").tolist() == [row["target_phone"] is not None for row in rows]
    assert payments["note"].between("A", "M").sum() == sum("A" <= row["note"] <= "M" for row in rows)


def test_ids_are_no_numbers(payments, rows) -> None:
    """An id equals no integer, and `>` with one is refused by pandas."""
    assert not (payments["payment_id"] == int(rows[0]["payment_id"])).any()
    assert (payments["payment_id"] == rows[0]["payment_id"]).sum() == 1
    with pytest.raises(TypeError, match=r"not supported between instances of 'str' and 'int'|Invalid comparison"):
        _ = payments["payment_id"] > 5


def test_numbers_of_text_are_refused(payments) -> None:
    """There is no mean of words, and no difference."""
    with pytest.raises(TypeError, match="Cannot perform reduction 'mean' with string dtype"):
        payments["status"].mean()
    with pytest.raises(TypeError, match="operation 'sub' not supported for dtype 'str'"):
        _ = payments["status"] - payments["action"]


def test_search_in_notes(payments, rows) -> None:
    """`str.contains` by a word, a pattern and an emoji; `startswith`; `isin`."""
    notes = column_of(rows, "note")
    assert payments["note"].str.contains("rent", case=False).sum() == sum("rent" in note.casefold() for note in notes)
    assert payments["note"].str.contains(r"\d").tolist() == [any(mark.isdecimal() for mark in note) for note in notes]
    emoji = next(mark for note in notes for mark in note if ord(mark) > 0x1F000)
    assert payments["note"].str.contains(emoji, regex=False).tolist() == [emoji in note for note in notes]
    assert payments["note"].str.startswith(("S", "T")).tolist() == [note.startswith(("S", "T")) for note in notes]
    assert payments["status"].isin(["pending", "failed"]).sum() == sum(
        row["status"] in {"pending", "failed"} for row in rows
    )


def test_str_methods_that_give_text(payments, rows) -> None:
    """Case, slices, padding, repetition and replacement, character by character as Python does it."""
    names = column_of(rows, "counterparty_name")
    text = payments["counterparty_name"].str
    assert text.upper().tolist() == [name.upper() for name in names]
    assert text.title().tolist() == [name.title() for name in names]
    assert text[:3].tolist() == [name[:3] for name in names]
    assert text.strip("_").tolist() == [name.strip("_") for name in names]
    assert text.pad(20, "right", ".").tolist() == [name.ljust(20, ".") for name in names]
    assert text.replace("é", "e").tolist() == [name.replace("é", "e") for name in names]
    assert text.replace(r"(\w+) (\w+)", r"\2 \1", regex=True).str.len().tolist() == [len(name) for name in names]
    assert text.normalize("NFD").str.normalize("NFC").tolist() == names


def test_str_methods_that_count(payments, rows) -> None:
    """Lengths, counts and positions; null stays null."""
    names = column_of(rows, "counterparty_name")
    assert payments["counterparty_name"].str.len().tolist() == [len(name) for name in names]
    assert payments["counterparty_name"].str.count("a").sum() == sum(name.count("a") for name in names)
    assert payments["counterparty_name"].str.find(" ").tolist() == [name.find(" ") for name in names]
    assert list_values(payments["target_phone"].str.len()) == [
        row["target_phone"] and len(row["target_phone"]) for row in rows
    ]
    assert payments["payment_id"].str.isdigit().all()


def test_text_is_split(payments, rows) -> None:
    """`split(expand=True)`, `partition`, `extract` and `explode` give the parts."""
    names = column_of(rows, "counterparty_name")
    parts = payments["counterparty_name"].str.split(" ", n=1, expand=True)
    assert parts[0].tolist() == [name.split(" ", 1)[0] for name in names]
    assert list_values(parts[1]) == [name.split(" ", 1)[1] if " " in name else None for name in names]
    assert payments["counterparty_name"].str.partition(" ")[2].tolist() == [name.partition(" ")[2] for name in names]
    first = payments["note"].str.extract(r"^(?P<first>\w+)")["first"].dropna()
    assert first.iloc[0] == next(note for note in column_of(rows, "note") if note[:1].isalnum()).split()[0].strip(
        ",.!?"
    )
    words = payments["note"].str.split().explode()
    assert words.notna().sum() == sum(len(note.split()) for note in column_of(rows, "note"))


def test_value_counts_has_only_people_of_the_rows(payments, rows) -> None:
    """A subset lists the values of its own rows, and no one with a count of zero."""
    one = payments["counterparty_id"] == rows[0]["counterparty_id"]
    assert payments.loc[one, "counterparty_name"].value_counts().to_dict() == {rows[0]["counterparty_name"]: one.sum()}
    assert payments["status"].value_counts().to_dict() == Counter(column_of(rows, "status"))
    shares = payments["action"].value_counts(normalize=True)
    assert shares["pay"] == pytest.approx(column_of(rows, "action").count("pay") / len(rows))


def test_distinct_values(payments, rows) -> None:
    """`unique`, `nunique`, `mode`, `factorize` and `duplicated`, in the order of the rows."""
    names = column_of(rows, "counterparty_name")
    assert payments["counterparty_name"].unique().tolist() == list(dict.fromkeys(names))
    assert payments["counterparty_id"].nunique() == len(set(column_of(rows, "counterparty_id")))
    assert payments["status"].mode().tolist() == [Counter(column_of(rows, "status")).most_common(1)[0][0]]
    codes, values = payments["counterparty_name"].factorize()
    assert [values[code] for code in codes] == names
    assert (~payments["counterparty_name"].duplicated()).sum() == len(set(names))


def test_text_is_mapped(payments, rows) -> None:
    """`map` with a dict leaves null for a word that it lacks; with a function it is Python."""
    words = {"pay": "paid", "charge": None}
    assert list_values(payments["action"].map(words)) == [words[row["action"]] for row in rows]
    assert payments["note"].map(lambda note: note[::-1]).tolist() == [note[::-1] for note in column_of(rows, "note")]
    assert payments["note"].apply(len).tolist() == [len(note) for note in column_of(rows, "note")]


def test_text_is_ranked_and_sorted(payments, rows) -> None:
    """`rank` and `sort_values` with a key follow Python's order of texts."""
    names = column_of(rows, "counterparty_name")
    order = sorted(set(names))
    assert payments["counterparty_name"].rank(method="dense").tolist() == [order.index(name) + 1 for name in names]
    by_name = payments.sort_values("counterparty_name", key=lambda name: name.str.casefold(), kind="stable")
    assert by_name["payment_id"].tolist() == [
        row["payment_id"] for row in sorted(rows, key=lambda row: row["counterparty_name"].casefold())
    ]


def test_other_kinds_of_text(payments, rows) -> None:
    """`category` and `object` on request, and back; indicator columns by `get_dummies`."""
    status = payments["status"].astype("category")
    assert status.cat.categories.tolist() == sorted(set(column_of(rows, "status")))
    assert status.astype("str").equals(payments["status"])
    assert payments["status"].astype(object).tolist() == column_of(rows, "status")
    assert payments["payment_id"].astype("int64").tolist() == [int(name) for name in column_of(rows, "payment_id")]
    dummies = pd.get_dummies(payments["action"])
    assert dummies.sum().to_dict() == Counter(column_of(rows, "action"))
