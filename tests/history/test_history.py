"""Building a history from one's own frames: a part of a wrong form is refused in one sentence."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import SchemaError
from support.archives.histories import history_of, payment

__all__ = ["history_of", "payment"]  # fixtures


@pytest.mark.parametrize("part", ["payments", "friends", "problems", "people"])
@pytest.mark.parametrize(
    ("form", "kind"),
    [
        (pl.from_pandas, "polars.DataFrame"),
        (lambda frame: frame.to_dict("records"), "list"),
        (lambda frame: frame.iloc[:, 0], "pandas.Series"),
        (lambda _frame: "people.csv", "str"),
    ],
    ids=["polars", "list", "column", "path"],
)
def test_a_part_that_is_no_pandas_frame_is_refused(history_of, payment, part: str, form, kind: str) -> None:
    """The error names the part, what was given and what to pass."""
    history = history_of(payment(1))
    with pytest.raises(SchemaError) as raised:
        p2p.History(**vars(history) | {part: form(getattr(history, part))})
    assert str(raised.value) == (
        f"History needs {part} as a pandas frame, not {kind}; pass {part} as load_history or p2p.read_csv gives them."
    )


@pytest.mark.parametrize(
    ("part", "column"),
    [("payments", "payment_id"), ("friends", "user_id"), ("problems", "code"), ("people", "user_id"),
     ("people", "also_named"), ("people", "phone")],
)  # fmt: skip
def test_a_part_without_a_needed_column_is_refused(history_of, payment, part: str, column: str) -> None:
    """The error names the part and the column."""
    history = history_of(payment(1))
    frame = getattr(history, part).drop(columns=column)
    with pytest.raises(SchemaError, match=rf"^History\.{part} needs the columns {column}; pass {part} as "):
        p2p.History(**vars(history) | {part: frame})


def test_people_need_no_mark_of_friends(history_of, payment) -> None:
    """`is_friend` is computed from the friends: Bo (8) is one, Ada is the user."""
    history = history_of(payment(1))
    people = history.people.drop(columns="is_friend")
    marks = p2p.History(**vars(history) | {"people": people}).people.set_index("user_id")["is_friend"]
    assert marks["8"]
    assert marks["7"] is pd.NA


def test_an_archive_refuses_friends_that_lack_columns(tmp_path, history_of, payment) -> None:
    """A history may lack columns that its analyses do not need; an archive keeps all of them."""
    history = history_of(payment(1))
    friends = history.friends.drop(columns="about")
    with pytest.raises(SchemaError, match="merge needs the columns about"):
        p2p.open_archive(tmp_path / "a").merge(p2p.History(**vars(history) | {"friends": friends}))
