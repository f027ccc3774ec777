"""The columns of a finished table as plots read them."""

from __future__ import annotations

import pandas as pd
import pytest

from p2p_analytics.plots._parts.style import Columns, read_columns


def test_the_columns_of_a_table() -> None:
    """They are lists with None for nulls, in their order; the first rows of them are such columns, too."""
    table = pd.DataFrame({"name": ["Ada", None, "Ben"], "amount": [1.5, 2.0, float("nan")], "payments": [1, 2, 3]})
    columns = read_columns(table, ["name"], what="a plot")
    assert dict(columns) == {"name": ["Ada", None, "Ben"], "amount": [1.5, 2.0, None], "payments": [1, 2, 3]}
    assert list(columns) == ["name", "amount", "payments"]
    assert len(columns) == 3
    assert columns.get("note", []) == []
    with pytest.raises(KeyError, match="note"):
        columns["note"]
    assert dict(columns.head(1)) == {"name": ["Ada"], "amount": [1.5], "payments": [1]}


def test_only_columns_that_are_asked_for_are_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask whether there is a column, or for another one, makes no list of it; a list is made once."""
    made = []

    def note(column: object) -> list[object]:
        made.append(column)
        return []

    monkeypatch.setattr("p2p_analytics.plots._parts.style._list_values", note)
    columns: Columns = read_columns(pd.DataFrame({"a": [1], "b": [2]}), ["a", "b"], what="a plot")
    assert "b" in columns
    assert not made
    assert columns["a"] is columns["a"]
    assert len(made) == 1
