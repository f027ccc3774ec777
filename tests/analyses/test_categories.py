"""Tests of categorise, categories, and the table of rules, on every kind of frame."""

from functools import partial

import pandas as pd
import polars as pl
import pytest
from analyses.conftest import read_rows, read_values

import p2p_analytics as p2p
from p2p_analytics.analyses.category import categories, categorise
from p2p_analytics.analyses.spending import spending_over_time
from p2p_analytics.errors import ConfigurationError, SchemaError


def make_rules(*rows):
    """Return a table of rules."""
    return pd.DataFrame(rows, columns=["pattern", "category", "person"][: len(rows[0])], dtype=object)


def find(frame, rules):
    """Return the category of each row, from a column or a frame."""
    found = categorise(frame, rules)
    if isinstance(found, pd.Series):
        assert found.name == "category"
        assert found.dtype == "str"
        assert found.index.equals(frame.index)
        found = found.to_frame()
    return [row["category"] for row in read_rows(found)]


RULES = make_rules(
    ("rent", "home"), ("bar tab", "drinks"), ("c++", "books"), ("café", "coffee"), ("$", "money"), ("no. 5", "scent"),
    ("🍳", "food"), ("🏋️‍♀️", "sport"), ("☕️", "coffee"), ("👨‍👩‍👧", "family"), ("💇🏽", "hair"), ("🇯🇵", "travel"),
    ("1️⃣", "first"), ("🏴", "pirates"), ("pizza 🍕", "food"), ("İZMİR", "travel"), ("οδος", "street"),
)  # fmt: skip
# A letter with a combining accent, a cook, a family with one more child, Benin and Poland, and England are others.
NOTES_OF = {
    "home": ["rent", "RENT!", "May's rent,2024", "rent_may", "#rent", "😀rent😀", "❤️rent"],
    None: [
        "rental", "parents", "rent5", "грент", "rent\u0301", "bar-tab", "ac++", "cafe", "nox 5", "👩‍🍳", "👨‍👩‍👧‍👦",
        "👨", "🇧🇯🇵🇱", "1", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "🏴‍☠️", "pizza", "IZMIR", "", " ", None,
    ],
    "drinks": ["bar \t\n TAB"],
    "books": ["c++", "c++11"],
    "coffee": ["CAFÉ", "cafe\u0301", "☕", "☕︎", "☕️☕️"],
    "money": ["20$"],
    "scent": ["no. 5"],
    "food": ["eggs🍳eggs", "👩🏽‍🍳 🍳", "pizza 🍕s"],
    "sport": ["🏋", "🏋️", "🏋🏿‍♂️", "🏋🏿"],
    "family": ["👨‍👩‍👧"],
    "hair": ["💇", "💇🏿‍♀️"],
    "travel": ["🇯🇵", "🇧🇷🇯🇵", "İZMİR", "i\u0307zmi\u0307r"],
    "first": ["1⃣"],
    "pirates": ["🏴"],
    "street": ["ΟΔΟΣ", "οδοσ"],
}  # fmt: skip
NOTES = {note: category for category, notes in NOTES_OF.items() for note in notes}


def test_patterns(payments):
    """Words match on borders, emoji in any style but not inside another emoji; special characters mean themselves."""
    frame = payments(*({"note": note} for note in NOTES))
    assert dict(zip(NOTES, find(frame, RULES), strict=True)) == NOTES


def test_the_order_of_rules(payments):
    """Rules with a person come first, by exact id or by name; then the first of the table wins."""
    rules = make_rules(
        ("pizza night", "parties", None),
        ("pizza", "food", ""),
        (None, "rent", " ANN  quill"),
        ("taxi", "transport", "0042"),
        ("", "gifts", "0042"),
        ("night", "late", float("nan")),
        (None, "capitals", "aB"),
    )
    frame = payments(
        {"note": "Pizza night", "counterparty_id": "1", "counterparty_name": "Bo"},
        {"note": "pizza at night", "counterparty_id": "1"},
        {"note": "night pizza"},
        {"note": "good night", "counterparty_id": "42"},
        {"note": "pizza", "counterparty_id": "7", "counterparty_name": "Ann Quill"},
        {"note": None, "counterparty_id": None, "counterparty_name": "ann\u00a0quill "},
        {"note": "taxi", "counterparty_id": "0042", "counterparty_name": "Ann Moss"},
        {"note": "pizza", "counterparty_id": "0042"},
        {"note": "pizza", "counterparty_id": "2", "counterparty_name": "0042"},
        {"note": "taxi", "status": None, "direction": None},
        {"counterparty_id": "aB"},
        {"counterparty_id": "ab"},
    )
    assert find(frame, rules) == [
        "parties", "food", "food", "late", "rent", "rent", "transport", "gifts", "gifts", None, "capitals", None,
    ]  # fmt: skip


def test_every_row_and_column_is_kept(build):
    """A column of a pandas frame can be assigned; other frames have the category last, in place of an earlier one."""
    frame = build([{"note": "rent"}, {"note": "x"}]).set_axis([9, 9]).assign(category="old", own=1)
    assigned = frame.assign(category=categorise(frame))
    assert assigned["category"].tolist()[0] == "rent"
    assert assigned["category"].isna().tolist() == [False, True]
    table = categorise(pl.from_pandas(frame))
    assert table.columns == [*frame.columns.drop("category"), "category"]
    assert table["category"].to_list() == ["rent", None]
    assert isinstance(categorise(pl.from_pandas(frame).lazy()), pl.LazyFrame)
    assert categorise(frame.drop(columns=["note"])).isna().all()
    assert categorise(frame.iloc[:0]).dtype == "str"
    with pytest.raises(SchemaError, match="distinct column names, not two columns note"):
        p2p.categorise(pd.DataFrame([["a", "b"]], columns=["note", "note"]))
    with pytest.raises(SchemaError, match="categorise needs text in the column note, not int64"):
        categorise(frame.assign(note=1))


def test_categories(payments):
    """Sums of settled payments, the largest sent first, payments without a category last."""
    frame = payments(
        {"note": "pizza", "flow_cents": -1000, "direction": "out"},
        {"note": "sushi", "flow_cents": 400, "direction": "in"},
        {"note": "rent", "flow_cents": -3000, "direction": "out"},
        {"note": "beer", "flow_cents": None, "direction": "in"},
        {"note": "cab", "flow_cents": 1, "direction": "in"},
        {"note": "?", "flow_cents": -4000, "direction": "out"},
        {"note": "rent", "flow_cents": -9999, "direction": "out", "status": "pending"},
        {"note": "rent", "flow_cents": -9999, "direction": None},
        {"note": "rent", "flow_cents": -9999, "direction": "out", "kind": "merchant"},
    )
    assert read_values(categories(frame)) == [
        ("rent", 30.0, 0.0, -30.0, 1, 0.375),
        ("food", 10.0, 4.0, -6.0, 2, 0.125),
        ("drinks", 0.0, 0.0, 0.0, 1, 0.0),
        ("transport", 0.0, 0.01, 0.01, 1, 0.0),
        ("uncategorised", 40.0, 0.0, -40.0, 1, 0.5),
    ]
    rules = make_rules(("sushi", "treats"))
    assert read_values(categories(frame, rules), "category", "payments") == [("treats", 1), ("uncategorised", 5)]
    assert read_values(categories(frame, rules.iloc[:0]), "category", "payments") == [("uncategorised", 6)]
    assert read_values(categories(payments())) == []


def test_spending_by_category(payments):
    """Every category is in every period, in alphabetical order, and payments without one are last."""
    frame = payments(
        {"note": "zoo", "flow_cents": -100, "direction": "out", "created": "2024-01-05T00:00:00Z"},
        {"note": "rent", "flow_cents": -300, "direction": "out", "created": "2024-01-05T00:00:00Z"},
        {"note": "vet", "flow_cents": 500, "direction": "in", "created": "2024-02-29T23:59:59Z"},
        {"note": "rent", "flow_cents": -9, "direction": "out", "created": "2024-02-05T00:00:00Z", "kind": "card"},
    )
    rules = make_rules(("rent", "home"), ("vet", "zebras"))
    rows = read_rows(spending_over_time(frame, by="category", rules=rules))
    assert [(row["period"].month, *list(row.values())[1:]) for row in rows] == [
        (1, "home", 3.0, 0.0, -3.0, 1),
        (1, "zebras", 0.0, 0.0, 0.0, 0),
        (1, "uncategorised", 1.0, 0.0, -1.0, 1),
        (2, "home", 0.0, 0.0, 0.0, 0),
        (2, "zebras", 0.0, 5.0, 5.0, 1),
        (2, "uncategorised", 0.0, 0.0, 0.0, 0),
    ]
    defaults = read_values(spending_over_time(frame, every="year", by="category"), "category")
    assert defaults == [("health",), ("rent",), ("uncategorised",)]


BAD_RULES = [
    ([("rent", "home")], "not a pandas frame with the columns pattern and category"),
    (pl.DataFrame({"pattern": ["a"], "category": ["b"]}), "not a pandas frame"),
    (pd.DataFrame({"pattern": ["a"]}), "not a pandas frame with the columns"),
    (pd.DataFrame([["a", "b", "c"]], columns=["pattern", "category", "category"]), "not a pandas frame with the"),
    (make_rules(("a", "b"), ("c", None)), "Row 1 of the rules needs a category"),
    (make_rules((" ", "b", None)), "Row 0 of the rules needs a category, and a pattern or a person"),
    (
        make_rules(("a", "b", 3000000000000000001)),
        "Row 0 of the rules holds 3000000000000000001, which is not text: wr",
    ),
    (make_rules((["a"], "b")), r"holds \['a'\], which is not text"),
    (make_rules(("\ud83c", "b")), "is not valid Unicode"),
]


@pytest.mark.parametrize("at", range(len(BAD_RULES)))
def test_bad_rules(build, at):
    """One sentence names the row and what to do, at the call, whatever the frame holds."""
    rules, said = BAD_RULES[at]
    for analysis in (categorise, categories, partial(spending_over_time, by="category")):
        with pytest.raises(ConfigurationError, match=said) as caught:
            analysis(build([]), rules=rules)
        assert "\n" not in str(caught.value)


def test_the_default_table(build):
    """Every pattern is there once and finds its own category; a changed copy changes nothing else."""
    rules = p2p.default_rules()
    assert list(rules.columns) == ["pattern", "category"]
    assert not rules.duplicated("pattern").any()
    frame = build([{"note": pattern} for pattern in rules["pattern"]])
    alone = [categorise(frame.iloc[[at]], rules.iloc[[at]]).item() for at in (0, 40, len(rules) - 1)]
    assert alone == [rules["category"][at] for at in (0, 40, len(rules) - 1)]
    found = categorise(frame)
    differing = rules[found.ne(rules["category"])]
    assert differing.empty, differing.assign(found=found)
    meals = build([{"note": note} for note in ("Dinner 🍕 🍷", "🍷 lunch", "🍷🍷", "pub 🍔", "moving van")])
    assert [*categorise(meals)] == ["food", "food", "drinks", "drinks", "household"]
    rules["category"] = "x"
    assert set(categorise(frame)) == set(found)
