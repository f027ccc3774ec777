"""Text columns in pandas: fill, replace, assign, compare, combine, search.

Each result is compared with plain Python over the raw rows. What pandas refuses for every text column is refused here
in pandas' own words.
"""

from __future__ import annotations

from collections import Counter

import pytest


def column_of(rows, name: str) -> list[object]:
    """Return one field of the plain rows."""
    return [row[name] for row in rows]


def test_fillna_with_a_new_value(payments, rows) -> None:
    """A word that the column never held fills the nulls."""
    filled = payments["target_email"].fillna("nobody@example.com")
    assert filled.tolist() == [row["target_email"] or "nobody@example.com" for row in rows]
    assert filled.dtype == "str"


def test_replace_a_word_by_a_new_one(payments, rows) -> None:
    """`replace` with scalars, a dict, and a dict of columns."""
    expected = ["done" if row["status"] == "settled" else row["status"] for row in rows]
    assert payments["status"].replace("settled", "done").tolist() == expected
    assert payments["status"].replace({"settled": "done"}).tolist() == expected
    assert payments.replace({"status": {"settled": "done"}})["status"].tolist() == expected


def test_loc_assigns_a_scalar(payments, rows) -> None:
    """A new word by a boolean mask, and by a label."""
    payments.loc[payments["status"] == "expired", "status"] = "too late"
    payments.loc[0, "status"] = "first"
    expected = ["too late" if row["status"] == "expired" else row["status"] for row in rows]
    assert payments["status"].tolist() == ["first", *expected[1:]]
    assert payments["status"].dtype == "str"


def test_at_iloc_and_a_new_row(payments, rows) -> None:
    """Single cells by label and position, and a row at the end."""
    payments["note"] = payments["note"].fillna("")
    payments.at[1, "note"] = "by label"
    payments.iloc[2, payments.columns.get_loc("note")] = "by position"
    payments.loc[len(payments), ["payment_id", "note"]] = ["1", "at the end"]
    assert payments["note"].tolist()[1:3] == ["by label", "by position"]
    assert (payments["payment_id"].iloc[-1], payments["note"].iloc[-1]) == ("1", "at the end")
    assert len(payments) == len(rows) + 1


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


def test_ids_are_no_numbers(payments, rows) -> None:
    """An id equals no integer, and `>` with one is refused by pandas."""
    assert not (payments["payment_id"] == int(rows[0]["payment_id"])).any()
    assert (payments["payment_id"] == rows[0]["payment_id"]).sum() == 1
    with pytest.raises(TypeError, match=r"not supported between instances of 'str' and 'int'|Invalid comparison"):
        _ = payments["payment_id"] > 5


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


def test_value_counts_has_only_people_of_the_rows(payments, rows) -> None:
    """A subset lists the values of its own rows, and no one with a count of zero."""
    one = payments["counterparty_id"] == rows[0]["counterparty_id"]
    assert payments.loc[one, "counterparty_name"].value_counts().to_dict() == {rows[0]["counterparty_name"]: one.sum()}
    assert payments["status"].value_counts().to_dict() == Counter(column_of(rows, "status"))
    shares = payments["action"].value_counts(normalize=True)
    assert shares["pay"] == pytest.approx(column_of(rows, "action").count("pay") / len(rows))
