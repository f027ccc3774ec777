"""Tests of every analysis: dtypes, kinds of frames, inputs, and exact amounts."""

import random

import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from p2p_analytics.analyses import monthly_flow, pending_ageing, pending_requests, spend_by_friend, status_mix
from p2p_analytics.errors import SchemaError

AS_OF = "2024-06-30T12:00:00Z"
ANALYSES = {
    "spend_by_friend": spend_by_friend,
    "status_mix": status_mix,
    "pending_ageing": lambda frame: pending_ageing(frame, as_of=AS_OF),
    "pending_requests": lambda frame: pending_requests(frame, as_of=AS_OF),
    "monthly_flow": monthly_flow,
}
ONE_OF_EACH = [
    {"direction": "out", "flow_cents": -1000, "counterparty_id": "1", "created": "2024-05-01T00:00:00Z"},
    {"direction": "in", "flow_cents": 1000, "status": "pending", "created": "2024-05-01T00:00:00Z"},
]
DTYPES = {
    "spend_by_friend": {
        "counterparty_id": "str", "counterparty_username": "str", "counterparty_name": "str", "is_friend": "boolean",
        "sent": "float64", "received": "float64", "net": "float64", "payments": "int64", "share_of_sent": "float64",
        "first_date": "datetime64[us, UTC]", "last_date": "datetime64[us, UTC]",
    },
    "status_mix": {
        "action": "str", "status": "str", "payments": "int64", "share": "float64", "amount": "float64",
        "share_of_amount": "float64",
    },
    "pending_ageing": {
        "direction": "str", "band": "str", "payments": "int64", "amount": "float64", "oldest_days": "Int64",
    },
    "pending_requests": {
        "payment_id": "str", "direction": "str", "counterparty_id": "str", "counterparty_username": "str",
        "counterparty_name": "str", "note": "str", "amount": "float64",
        "date_created": "datetime64[us, UTC]", "age_days": "Int64",
    },
    "monthly_flow": {
        "month": "str", "sent": "float64", "received": "float64", "net": "float64", "payments": "int64",
        "running_net": "float64",
    },
}  # fmt: skip


@pytest.mark.parametrize("rows", [[], ONE_OF_EACH[:1], ONE_OF_EACH], ids=["empty", "one row", "two rows"])
@pytest.mark.parametrize("name", ANALYSES)
def test_columns_and_dtypes_never_change(build, name, rows):
    """Every result has the same columns and dtypes, and a plain index; the input stays as it is."""
    frame = build(rows)
    before = frame.copy(deep=True)
    table = ANALYSES[name](frame)
    assert {column: str(dtype) for column, dtype in table.dtypes.items()} == DTYPES[name]
    assert list(table.index) == list(range(len(table)))
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("name", ANALYSES)
def test_each_kind_of_frame_gives_its_own_kind(build, name):
    """Polars frames give Polars tables with the same types, empty or not, and lazy frames stay lazy."""
    filled, empty = (pl.from_pandas(build(rows)) for rows in (ONE_OF_EACH, []))
    table, lazy = ANALYSES[name](filled), ANALYSES[name](filled.lazy())
    assert (type(table), type(lazy)) == (pl.DataFrame, pl.LazyFrame)
    assert lazy.collect().equals(table)
    assert ANALYSES[name](empty).schema == table.schema
    assert list(table.columns) == list(DTYPES[name])


def test_every_amount_and_share_is_exact(build):
    """In two hundred rows, amounts are cents / 100 and shares part / whole to the last digit, on pandas and Polars."""
    chance = random.Random(4)  # noqa: S311 - no secret
    sizes = [chance.randrange(1, 10**6) for _ in range(200)]
    frame = build(
        [
            {
                "status": status, "direction": "out", "flow_cents": -size, "amount_cents": size, "action": f"{at:03d}",
                "counterparty_id": f"{at}", "created": f"2{at % 180:03d}-01-01T00:00:00Z",
            }
            for at, size in enumerate(sizes)
            for status in ("settled", "pending")
        ]
    )  # fmt: skip
    for kind in (frame, pl.from_pandas(frame)):
        people = spend_by_friend(kind)
        assert list(people["sent"]) == [size / 100 for size in sorted(sizes, reverse=True)]
        assert list(people["share_of_sent"]) == [size / sum(sizes) for size in sorted(sizes, reverse=True)]
        assert list(status_mix(kind)["amount"]) == [size / 100 for size in sizes for _ in range(2)]
        assert list(status_mix(kind, by="direction")["amount"]) == [sum(sizes) / 100] * 2
        assert sorted(pending_requests(kind, as_of="2300-01-01")["amount"]) == sorted(size / 100 for size in sizes)
        assert {net for net in monthly_flow(kind)["net"] if net} == {
            -sum(sizes[at] for at in range(200) if at % 180 == year) / 100 for year in range(180)
        }


COLUMNS = (
    "payment_id", "status", "direction", "counterparty_id", "counterparty_name", "flow_cents", "amount_cents",
    "counterparty_username", "date_created", "date_completed", "note", "action", "kind", "currency",
)  # fmt: skip


@pytest.mark.parametrize("name", ANALYSES)
def test_polars_columns_of_nothing_but_nulls(build, name):
    """Untyped columns of nulls, one or all, give the same result as typed columns of nulls."""
    rows = [*ONE_OF_EACH, {"direction": "out", "flow_cents": -5, "status": "pending"}]
    for bare in (*([column] for column in COLUMNS), COLUMNS):
        typed = pl.from_pandas(build(rows))
        typed = typed.with_columns(pl.lit(None, dtype=typed.schema[column]).alias(column) for column in bare)
        untyped = typed.with_columns(pl.lit(None).alias(column) for column in bare)
        assert untyped.schema[bare[0]] == pl.Null
        assert_frame_equal(ANALYSES[name](untyped.lazy()).collect(), ANALYSES[name](typed))


@pytest.mark.parametrize("thing", [[{"status": "settled"}], None])
def test_other_things_are_refused(thing):
    """In one sentence."""
    with pytest.raises(SchemaError, match="needs a pandas or Polars frame"):
        status_mix(thing)
