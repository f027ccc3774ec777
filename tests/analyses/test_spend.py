"""Tests of money sent and received per person."""

import types
from datetime import UTC, datetime

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from analyses.conftest import connect, read_rows, read_values

import p2p_analytics as p2p
from p2p_analytics.analyses import spend_by_friend
from p2p_analytics.errors import SchemaError

ADA = {"counterparty_id": "3000000000000000001", "counterparty_username": "ada", "counterparty_name": "Ada Quill"}
BEN = {"counterparty_id": "3000000000000000002", "counterparty_username": "ben", "counterparty_name": "Ben Moss"}
OTHER_BEN = {"counterparty_id": "3000000000000000003", "counterparty_username": None, "counterparty_name": "Ben Moss"}
NOBODY = {"counterparty_id": None, "counterparty_username": None, "counterparty_name": None}


def pay(person, cents, **more):
    """Return a settled payment to a person, or from one if the cents are positive."""
    return {**person, "flow_cents": cents, "direction": "in" if (cents or 0) > 0 else "out", **more}


def list_friends(*ids):
    """Return a FRIENDS frame with these ids."""
    return pd.DataFrame({"user_id": ids}, dtype="str")


def test_sent_received_net_and_shares(payments):
    """Each person has one row: settled money out and in, the difference, and the share of the total sent."""
    frame = payments(
        pay(ADA, -1010, created="2024-05-01T10:00:00Z"),
        pay(ADA, -2020, created="2024-05-03T10:00:00Z"),
        pay(ADA, 30, created="2024-05-02T10:00:00Z"),
        pay(BEN, -1010, created="2024-06-01T10:00:00Z"),
        pay(BEN, -99999, created="2024-01-01T10:00:00Z", status="pending"),
        pay(BEN, -99999, created="2024-01-01T10:00:00Z", status="failed"),
        pay(BEN, None, created=None),
        pay(ADA, None, created="2024-01-01T10:00:00Z", direction=None, amount_cents=700),
        *(pay(ADA, -700, created="2024-01-01T10:00:00Z") | more for more in ({"direction": "IN"}, {"kind": "card"})),
    )
    may = [datetime(2024, 5, day, 10, tzinfo=UTC) for day in (1, 3)]
    june = datetime(2024, 6, 1, 10, tzinfo=UTC)
    names = ["is_friend", "sent", "received", "net", "payments", "share_of_sent", "first_date", "last_date"]
    assert read_rows(spend_by_friend(frame, list_friends(ADA["counterparty_id"], "4"))) == [
        {**ADA, **dict(zip(names, (True, 30.3, 0.3, -30.0, 3, 0.75, *may), strict=True))},
        {**BEN, **dict(zip(names, (False, 10.1, 0.0, -10.1, 2, 0.25, june, june), strict=True))},
    ]


def test_people_and_order(payments):
    """Namesakes with ids are two rows, without ids one; equal sums are ordered by id, then by name, nulls last."""
    frame = payments(
        pay(OTHER_BEN, -500),
        pay(BEN, -500),
        pay(ADA, 900),
        pay(NOBODY | {"counterparty_name": "Cleo Ray"}, -300),
        pay(NOBODY | {"counterparty_name": "Dov Lane"}, -300),
        pay(NOBODY | {"counterparty_name": "Cleo Ray"}, 100),
        pay(NOBODY, -50),
        pay(NOBODY, -50),
    )
    names = ("counterparty_id", "counterparty_name", "sent", "received", "payments")
    assert read_values(spend_by_friend(frame, list_friends("1")), *names, "is_friend") == [
        (BEN["counterparty_id"], "Ben Moss", 5.0, 0.0, 1, False),
        (OTHER_BEN["counterparty_id"], "Ben Moss", 5.0, 0.0, 1, False),
        (None, "Cleo Ray", 3.0, 1.0, 2, None),
        (None, "Dov Lane", 3.0, 0.0, 1, None),
        (None, None, 1.0, 0.0, 2, None),
        (ADA["counterparty_id"], "Ada Quill", 0.0, 9.0, 1, False),
    ]
    assert read_values(spend_by_friend(frame), "is_friend") == [(None,)] * 6


def test_one_person_under_two_names(payments):
    """A person who changed name or username is one row, with the last of each in the alphabet."""
    frame = payments(
        pay(BEN, -100),
        pay(BEN | {"counterparty_name": "Benjamin Moss"}, -100),
        pay(BEN | {"counterparty_username": "aben"}, -100),
        pay(BEN | {"counterparty_username": None, "counterparty_name": None}, -100),
    )
    found = read_values(spend_by_friend(frame), "counterparty_username", "counterparty_name", "sent")
    assert found == [("ben", "Benjamin Moss", 4.0)]


def test_top_limits_rows_not_shares(payments):
    """``top`` gives the largest rows, with shares of the whole, which are exact: 5 * (1 / 7) is not 5 / 7."""
    frame = payments(pay(ADA, -100), pay(BEN, -500), pay(OTHER_BEN, -100))
    ids = [BEN["counterparty_id"], ADA["counterparty_id"]]
    shares = read_values(spend_by_friend(frame, top=2), "counterparty_id", "share_of_sent")
    assert shares == [(ids[0], 5 / 7), (ids[1], 1 / 7)]
    assert [len(read_values(spend_by_friend(frame, top=top))) for top in (99, 10**30, np.int64(2))] == [3, 3, 2]


def test_nothing_sent_has_no_shares(payments):
    """If nothing was sent, every share is 0 and nothing is divided by zero."""
    frame = payments(pay(ADA, 100), pay(BEN, 0))
    assert read_values(spend_by_friend(frame), "share_of_sent") == [(0.0,), (0.0,)]


def test_cents_stay_exact(payments):
    """The sum of a thousand tenths is exact; with binary fractions it would not be."""
    assert read_values(spend_by_friend(payments(*[pay(ADA, -10)] * 1000, pay(ADA, -7))), "sent") == [(100.07,)]


def test_kinds_of_friends(build):
    """They may be another kind of frame than the payments; of a column is_friend, only rows where it is true count."""
    frame = build([pay(ADA, -30), pay(BEN, -20)])
    ids = [ADA["counterparty_id"], BEN["counterparty_id"]]
    people = pd.DataFrame({"user_id": ids, "is_friend": [False, True]})
    for kind, is_friend in (
        (people, [False, True]),
        (people.assign(is_friend=pd.array([None, True], "boolean")), [False, True]),
        (pl.from_pandas(people), [False, True]),
        (connect().sql(f"SELECT '{ids[0]}' AS user_id"), [True, False]),
        (pl.DataFrame({"user_id": [ids[0], ids[0], None]}), [True, False]),
    ):
        assert spend_by_friend(frame, kind)["is_friend"].tolist() == is_friend
    for numbers in (pl.DataFrame({"user_id": [8]}), pd.DataFrame({"user_id": [8]})):  # no text equals a number
        with pytest.raises(SchemaError, match=r"friends needs text in the column user_id, not (int|Int)64"):
            spend_by_friend(frame, numbers)


def test_other_objects_are_refused(build, tmp_path):
    """The message names what to pass in place of the object."""
    history = types.SimpleNamespace(payments=build([]), friends=None)
    for thing, match in (
        (None, "needs a pandas or Polars frame, a DuckDB relation or a PySpark DataFrame, not NoneType"),
        ([], "not list"),
        (history, r"pass history\.payments\."),
        (pl.DataFrame({"status": ["settled"]}).to_arrow(), r"not Table: pass polars\.from_arrow\(table\)\.$"),
        (duckdb.connect(), r'not DuckDBPyConnection: pass connection\.table\("payments"\)\.$'),
        (p2p.open_archive(tmp_path / "archive"), r'not Archive: pass archive\.scan\("pandas"\)\.$'),
    ):
        with pytest.raises(SchemaError, match=match):
            spend_by_friend(thing)
    with pytest.raises(SchemaError, match=r"pass history\.friends\."):
        spend_by_friend(build([]), history)
