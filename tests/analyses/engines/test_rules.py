"""Tests of every analysis: dtypes, kinds of frames, inputs, and arithmetic."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from p2p_analytics.analyses import monthly_flow, pending_ageing, pending_requests, spend_by_friend, status_mix
from p2p_analytics.errors import SchemaError
from p2p_analytics.times import from_microseconds, parse_instant

if TYPE_CHECKING:
    from collections.abc import Callable

    Builder = Callable[..., Any]


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
@pytest.mark.parametrize("name", list(ANALYSES))
def test_columns_and_dtypes_never_change(build: Builder, name: str, rows: list[dict[str, Any]]) -> None:
    """Every result has the same columns and dtypes, and a plain index."""
    table = ANALYSES[name](build(rows))
    assert {column: str(dtype) for column, dtype in table.dtypes.items()} == DTYPES[name]
    assert list(table.index) == list(range(len(table)))


@pytest.mark.parametrize("name", list(ANALYSES))
def test_each_kind_of_frame_gives_its_own_kind(build: Builder, name: str) -> None:
    """Polars frames give Polars tables with the same types, empty or not, and lazy frames stay lazy."""
    filled, empty = (pl.from_pandas(build(rows)) for rows in (ONE_OF_EACH, []))
    table, lazy = ANALYSES[name](filled), ANALYSES[name](filled.lazy())
    assert isinstance(table, pl.DataFrame)
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().equals(table)
    assert ANALYSES[name](empty).schema == table.schema
    assert list(table.columns) == list(DTYPES[name])


@pytest.mark.parametrize("name", list(ANALYSES))
def test_inputs_are_never_changed(build: Builder, name: str) -> None:
    """An analysis does not change its input."""
    frame = build(ONE_OF_EACH)
    before = frame.copy(deep=True)
    ANALYSES[name](frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("name", list(ANALYSES))
def test_other_things_are_refused(name: str) -> None:
    """Anything but a pandas or Polars frame is refused in one sentence, including Arrow tables."""
    for thing in ([{"status": "settled"}], None, pl.DataFrame({"status": ["settled"]}).to_arrow()):
        with pytest.raises(SchemaError, match="needs a pandas or Polars frame"):
            ANALYSES[name](thing)


FIRST, LAST = 1_262_304_000_000_000, 1_451_606_400_000_000  # 2010 to 2016
PAYMENT = st.fixed_dictionaries(
    {
        "status": st.sampled_from(["settled", "settled", "pending", "failed"]),
        "direction": st.sampled_from(["in", "out"]),
        "size": st.integers(0, 10**9),
        "who": st.sampled_from(["11", "12", "13"]),
        "created_us": st.integers(FIRST, LAST),
        "waits_us": st.one_of(st.none(), st.integers(0, 10**14)),
    }
)


def test_every_amount_and_share_is_exact(build: Builder) -> None:
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
        mix = status_mix(kind.assign(action="pay") if kind is frame else kind.with_columns(action=pl.lit("pay")))
        assert list(mix["amount"]) == [sum(sizes) / 100] * 2
        assert list(status_mix(kind)["amount"]) == [size / 100 for size in sizes for _ in range(2)]
        requests = pending_requests(kind, as_of="2300-01-01").to_dict(
            **({"orient": "list"} if kind is frame else {"as_series": False})
        )
        assert {round(amount * 100): amount for amount in requests["amount"]} == {size: size / 100 for size in sizes}
        flow = monthly_flow(kind)
        assert {net for net in flow["net"] if net} == {
            -sum(sizes[at] for at in range(200) if at % 180 == year) / 100 for year in range(180)
        }


COLUMNS = (
    "payment_id", "status", "direction", "counterparty_id", "counterparty_name", "flow_cents", "amount_cents",
    "counterparty_username", "date_created", "date_completed", "note", "action", "kind", "currency",
)  # fmt: skip


@pytest.mark.parametrize("name", list(ANALYSES))
@pytest.mark.parametrize("lazy", [False, True])
def test_polars_columns_of_nothing_but_nulls(build: Builder, name: str, lazy: bool) -> None:  # noqa: FBT001 - a parameter
    """Untyped columns of nulls, one or all, give the same result as typed columns of nulls."""
    rows = [*ONE_OF_EACH, {"direction": "out", "flow_cents": -5, "status": "pending"}]
    for bare in (*([column] for column in COLUMNS), COLUMNS):
        typed = pl.from_pandas(build(rows))
        typed = typed.with_columns(pl.lit(None, dtype=typed.schema[column]).alias(column) for column in bare)
        untyped = typed.with_columns(pl.lit(None).alias(column) for column in bare)
        assert untyped.schema[bare[0]] == pl.Null
        found = ANALYSES[name](untyped.lazy() if lazy else untyped)
        assert_frame_equal(found.collect() if lazy else found, ANALYSES[name](typed))


@pytest.mark.parametrize("name", list(ANALYSES))
def test_two_columns_of_one_name(build: Builder, name: str) -> None:
    """A frame with two columns of the same name is refused in one sentence."""
    frame = build(ONE_OF_EACH)
    with pytest.raises(SchemaError, match=f"{name} needs a frame with distinct column names"):
        ANALYSES[name](pd.concat([frame, frame[["status"]]], axis="columns"))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.lists(PAYMENT, max_size=25), tz=st.sampled_from(["UTC", "America/New_York", "Australia/Lord_Howe"]))
def test_against_plain_arithmetic(build: Builder, kind: str, drawn: list[dict[str, Any]], tz: str) -> None:
    """Sums per person, month and age equal sums in plain Python, to the cent."""
    frame = build(
        [
            {
                "status": row["status"],
                "direction": row["direction"],
                "flow_cents": row["size"] if row["direction"] == "in" else -row["size"],
                "counterparty_id": row["who"],
            }
            for row in drawn
        ]
    ).assign(
        date_created=_instants([row["created_us"] for row in drawn]),
        date_completed=_instants([_completion_us(row) for row in drawn]),
    )
    frame = frame if kind == "pandas" else pl.from_pandas(frame)
    people, months, open_cents, counts = defaultdict(int), defaultdict(int), defaultdict(int), defaultdict(int)
    as_of = parse_instant(AS_OF)
    for row in drawn:
        flow = row["size"] if row["direction"] == "in" else -row["size"]
        counts[row["status"]] += 1
        if row["status"] == "settled":
            people[row["who"]] += flow
            moved = row["created_us"] if _completion_us(row) is None else _completion_us(row)
            months[f"{from_microseconds(moved).astimezone(ZoneInfo(tz)):%Y-%m}"] += flow
        if row["status"] == "pending":
            young = as_of - from_microseconds(row["created_us"]) < timedelta(days=4000)
            open_cents[row["direction"], "under 4000 days" if young else "4000 days or more"] += row["size"]

    assert _read(spend_by_friend(frame), "counterparty_id", "net") == people
    flow = _read(monthly_flow(frame, tz=tz), "month", "net")
    assert {month: net for month, net in flow.items() if month in months} == months
    assert not any(net for month, net in flow.items() if month not in months)
    ages = pending_ageing(frame, as_of=as_of, edges=[4000])
    found = dict(zip(zip(ages["direction"], ages["band"], strict=True), map(_cents, ages["amount"]), strict=True))
    assert {key: value for key, value in found.items() if value} == {k: v for k, v in open_cents.items() if v}
    mix = status_mix(frame)
    assert dict(zip(mix["status"], mix["payments"], strict=True)) == counts


def _instants(microseconds: list[int | None]) -> pd.Series:
    return pd.Series(pd.array(microseconds, "Int64").to_numpy("datetime64[us]", na_value="NaT")).dt.tz_localize("UTC")


def _completion_us(row: dict[str, Any]) -> int | None:
    return None if row["waits_us"] is None else row["created_us"] + row["waits_us"]


def _read(table: pd.DataFrame | pl.DataFrame, key: str, value: str) -> dict[str, int]:
    return dict(zip(table[key], map(_cents, table[value]), strict=True))


def _cents(units: float) -> int:
    return round(units * 100)
