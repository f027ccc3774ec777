"""Tests of money sent and received per person."""

from __future__ import annotations

import types
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.analyses import spend_by_friend
from p2p_analytics.errors import ConfigurationError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Builder = Callable[..., Any]
    Reader = Callable[..., list[dict[str, Any]]]


ADA = {"counterparty_id": "3000000000000000001", "counterparty_username": "ada", "counterparty_name": "Ada Quill"}
BEN = {"counterparty_id": "3000000000000000002", "counterparty_username": "ben", "counterparty_name": "Ben Moss"}
OTHER_BEN = {"counterparty_id": "3000000000000000003", "counterparty_username": None, "counterparty_name": "Ben Moss"}
OUT, IN = {"direction": "out"}, {"direction": "in"}


def test_sent_received_net_and_shares(payments: Builder, friends: Builder, rows_of: Reader) -> None:
    """Each person has one row: settled money out and in, the difference, and the share of the total sent."""
    frame = payments(
        {**ADA, **OUT, "flow_cents": -1010, "created": "2024-05-01T10:00:00Z"},
        {**ADA, **OUT, "flow_cents": -2020, "created": "2024-05-03T10:00:00Z"},
        {**ADA, **IN, "flow_cents": 30, "created": "2024-05-02T10:00:00Z"},
        {**BEN, **OUT, "flow_cents": -1010, "created": "2024-06-01T10:00:00Z"},
        {**BEN, **OUT, "flow_cents": -99999, "created": "2024-01-01T10:00:00Z", "status": "pending"},
        {**BEN, **OUT, "flow_cents": -99999, "created": "2024-01-01T10:00:00Z", "status": "failed"},
    )
    assert rows_of(spend_by_friend(frame, friends(ADA["counterparty_id"], "4"))) == [
        {
            **ADA,
            "is_friend": True,
            "sent": 30.3,
            "received": 0.3,
            "net": -30.0,
            "payments": 3,
            "share_of_sent": 0.75,
            "first_date": datetime(2024, 5, 1, 10, tzinfo=UTC),
            "last_date": datetime(2024, 5, 3, 10, tzinfo=UTC),
        },
        {
            **BEN,
            "is_friend": False,
            "sent": 10.1,
            "received": 0.0,
            "net": -10.1,
            "payments": 1,
            "share_of_sent": 0.25,
            "first_date": datetime(2024, 6, 1, 10, tzinfo=UTC),
            "last_date": datetime(2024, 6, 1, 10, tzinfo=UTC),
        },
    ]


def test_two_people_of_one_name_and_ties(payments: Builder, rows_of: Reader) -> None:
    """Two friends with one display name stay two rows, and equal sums are ordered by id."""
    frame = payments(
        {**OTHER_BEN, **OUT, "flow_cents": -500},
        {**BEN, **OUT, "flow_cents": -500},
        {**ADA, **IN, "flow_cents": 900},
    )
    rows = rows_of(spend_by_friend(frame))
    assert [(row["counterparty_id"], row["sent"]) for row in rows] == [
        (BEN["counterparty_id"], 5.0),
        (OTHER_BEN["counterparty_id"], 5.0),
        (ADA["counterparty_id"], 0.0),
    ]
    assert [row["is_friend"] for row in rows] == [None, None, None]


def test_numeric_friend_ids_are_refused(payments: Builder) -> None:
    """No text equals a number, so no person would be a friend; pandas.read_csv makes such frames."""
    for friends in (pl.DataFrame({"user_id": [8]}), pl.DataFrame({"user_id": [8]}).to_pandas()):
        with pytest.raises(SchemaError, match=r"friends needs text in the column user_id, not (int|Int)64"):
            spend_by_friend(payments({**BEN, **OUT, "flow_cents": -500}), friends)


def test_people_without_an_id(payments: Builder, friends: Builder, rows_of: Reader) -> None:
    """People without an id are grouped by name, with a null is_friend; all null names form one row."""
    nobody = {"counterparty_id": None}
    frame = payments(
        {**nobody, "counterparty_name": "Cleo Ray", **OUT, "flow_cents": -300},
        {**nobody, "counterparty_name": "Dov Lane", **OUT, "flow_cents": -200},
        {**nobody, "counterparty_name": "Cleo Ray", **IN, "flow_cents": 100},
        {**nobody, "counterparty_name": None, **OUT, "flow_cents": -50},
        {**nobody, "counterparty_name": None, **OUT, "flow_cents": -50},
    )
    rows = rows_of(spend_by_friend(frame, friends("1")))
    assert [
        (row["counterparty_id"], row["counterparty_name"], row["sent"], row["received"], row["payments"])
        for row in rows
    ] == [
        (None, "Cleo Ray", 3.0, 1.0, 2),
        (None, "Dov Lane", 2.0, 0.0, 1),
        (None, None, 1.0, 0.0, 2),
    ]
    assert [row["is_friend"] for row in rows] == [None, None, None]


def test_one_person_under_two_names(payments: Builder, rows_of: Reader) -> None:
    """A person who changed name or username is one row, with the last of each in the alphabet."""
    frame = payments(
        {**BEN, **OUT, "flow_cents": -100},
        {**BEN, "counterparty_name": "Benjamin Moss", **OUT, "flow_cents": -100},
        {**BEN, "counterparty_username": "aben", **OUT, "flow_cents": -100},
        {**BEN, "counterparty_username": None, "counterparty_name": None, **OUT, "flow_cents": -100},
    )
    rows = rows_of(spend_by_friend(frame))
    assert [(row["counterparty_username"], row["counterparty_name"], row["sent"]) for row in rows] == [
        ("ben", "Benjamin Moss", 4.0)
    ]


def test_top_limits_rows_not_shares(payments: Builder, rows_of: Reader) -> None:
    """``top`` gives the largest rows, with shares of the whole."""
    frame = payments(
        {**ADA, **OUT, "flow_cents": -100}, {**BEN, **OUT, "flow_cents": -250}, {**OTHER_BEN, **OUT, "flow_cents": -150}
    )
    rows = rows_of(spend_by_friend(frame, top=2))
    assert [(row["counterparty_id"], row["share_of_sent"]) for row in rows] == [
        (BEN["counterparty_id"], 0.5),
        (OTHER_BEN["counterparty_id"], 0.3),
    ]
    assert len(rows_of(spend_by_friend(frame, top=99))) == 3
    assert len(rows_of(spend_by_friend(frame, top=10**30))) == 3
    assert len(rows_of(spend_by_friend(frame, top=np.int64(2)))) == 2


def test_nothing_sent_has_no_shares(payments: Builder, rows_of: Reader) -> None:
    """If nothing was sent, every share is 0 and nothing is divided by zero."""
    frame = payments({**ADA, **IN, "flow_cents": 100}, {**BEN, **OUT, "flow_cents": 0})
    assert [row["share_of_sent"] for row in rows_of(spend_by_friend(frame))] == [0.0, 0.0]


def test_amounts_and_directions_that_are_not_known(payments: Builder, rows_of: Reader) -> None:
    """A settled payment without an amount counts as 0; one without a direction is excluded."""
    frame = payments(
        {**ADA, **OUT, "flow_cents": None},
        {**ADA, **OUT, "flow_cents": -100},
        {**ADA, "direction": None, "flow_cents": None, "amount_cents": 700},
    )
    assert [(row["sent"], row["payments"]) for row in rows_of(spend_by_friend(frame))] == [(1.0, 2)]


def test_cents_stay_exact(payments: Builder, rows_of: Reader) -> None:
    """The sum of a thousand tenths is exact; with binary fractions it would not be."""
    frame = payments(*[{**ADA, **OUT, "flow_cents": -10} for _ in range(1000)], {**ADA, **OUT, "flow_cents": -7})
    assert rows_of(spend_by_friend(frame))[0]["sent"] == 100.07


def test_friends_may_be_another_kind_of_frame(build: Builder, rows_of: Reader) -> None:
    """Friends and payments may be different kinds of frames; a friend listed twice counts once."""
    frame = build([{**ADA, **OUT, "flow_cents": -10}])
    friends = pl.DataFrame({"user_id": [ADA["counterparty_id"], ADA["counterparty_id"], None]})
    assert [row["is_friend"] for row in rows_of(spend_by_friend(frame, friends))] == [True]


@pytest.mark.parametrize("top", [0, -1, True, 2.0, "5", np.int64(0), np.float64(2), np.True_])
def test_bad_top(build: Builder, top: object) -> None:
    """A ``top`` that is not a whole number from 1 is refused in one sentence."""
    with pytest.raises(ConfigurationError, match="give the number of rows"):
        spend_by_friend(build([]), top=top)


def test_missing_columns_are_named(build: Builder) -> None:
    """A frame without a needed column is refused, and the message names the column."""
    with pytest.raises(SchemaError, match="spend_by_friend needs the columns flow_cents;"):
        spend_by_friend(build([]).drop(columns="flow_cents"))
    with pytest.raises(SchemaError, match="not list"):
        spend_by_friend([])


def test_a_frame_of_people_has_a_column_for_friends(build: Builder) -> None:
    """Of a frame with is_friend, such as history.people, only rows where it is true are friends."""
    frame = build([{**ADA, **OUT, "flow_cents": -30}, {**BEN, **OUT, "flow_cents": -20}])
    people = pd.DataFrame({"user_id": [ADA["counterparty_id"], BEN["counterparty_id"]], "is_friend": [False, True]})
    for kind in (people, people.assign(is_friend=pd.array([None, True], "boolean")), pl.from_pandas(people)):
        assert spend_by_friend(frame, kind)["is_friend"].tolist() == [False, True]


def test_a_history_is_not_a_frame(build: Builder) -> None:
    """A whole history is refused, and the message names the frame to pass."""
    history = types.SimpleNamespace(payments=build([]), friends=None)
    with pytest.raises(SchemaError, match=r"pass history\.payments\."):
        spend_by_friend(history)
    with pytest.raises(SchemaError, match=r"pass history\.friends\."):
        spend_by_friend(build([]), history)


def test_objects_that_give_frames_are_not_frames() -> None:
    """The message says what to pass in place of each."""
    table = pl.DataFrame({"status": ["settled"]}).to_arrow()
    with pytest.raises(SchemaError, match=r"not Table: pass polars\.from_arrow\(table\)\.$"):
        spend_by_friend(table)
    with pytest.raises(SchemaError, match=r'not DuckDBPyConnection: pass connection\.table\("payments"\)\.$'):
        spend_by_friend(duckdb.connect())


def test_an_archive_is_not_a_frame(tmp_path: Path) -> None:
    """The message says how to scan it."""
    with pytest.raises(SchemaError, match=r'not Archive: pass archive\.scan\("pandas"\)\.$'):
        spend_by_friend(p2p.open_archive(tmp_path / "archive"))
