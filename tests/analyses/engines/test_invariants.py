"""What holds for any payments: sums that have to agree, and changes that have to change nothing."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from support.analyses.cases import pick
from support.analyses.containers import make_table, read_rows, to_pandas
from support.analyses.records import NOTES, PEOPLE, WAYS, WORDS, make_record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from support.analyses.records import Record

CHOICES = {**WAYS, **PEOPLE, "note": NOTES}
HOSTILE = {name: [*values, None] for name, values in {**CHOICES, **WORDS}.items()}
ACCOUNTS = ("1", "2", "3", "4")
# Those of which every column comes from settled payments.
OF_SETTLED = {
    "spend_by_friend", "monthly_flow", "spending_over_time", "people_by_year", "activity", "categories", "unusual",
    "time_to_settle",
}  # fmt: skip


def make_rows(choices: dict[str, list[Any]], most: int = 40) -> st.SearchStrategy[list[Record]]:
    """Return a strategy of records with distinct ids and values out of these."""
    row = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in choices.items()})
    return st.lists(row, max_size=most).map(
        lambda rows: [make_record(**{**row, "payment_id": f"{number:02}"}) for number, row in enumerate(rows)]
    )


def to_frame(records: Sequence[Record]) -> pd.DataFrame:
    """Return a pandas frame of records."""
    return to_pandas(make_table(records, {}))


def add_up(table: Any, *columns: str) -> list[int]:
    """Return the sums of columns of units, in cents."""
    return [sum(round(row[column] * 100) for row in read_rows(table)) for column in columns]


def see(payment: Record, account: str) -> Record:
    """Return a payment between two accounts as one of them sees it."""
    is_actor = payment["actor"] == account
    values = {name: value for name, value in payment.items() if name not in {"actor", "target"}}
    other = payment["target"] if is_actor else payment["actor"]
    direction = "out" if is_actor == (payment["action"] == "pay") else "in"
    return make_record(**values, direction=direction, counterparty_id=other, counterparty_name=f"Account {other}")


PAYMENT = st.fixed_dictionaries(
    {
        **{name: st.sampled_from(WAYS[name]) for name in WAYS if name != "direction"},
        "actor": st.sampled_from(ACCOUNTS),
        "target": st.sampled_from(ACCOUNTS),
    }
).filter(lambda payment: payment["actor"] != payment["target"])


@settings(max_examples=5, deadline=None)
@given(payments=st.lists(PAYMENT, max_size=40), every=st.sampled_from(["day", "week", "month"]))
def test_flows_of_a_closed_town_sum_to_zero(payments: list[Record], every: Any) -> None:
    """One account receives what another one sends, in each period; as much is open on one side as on the other."""
    net: dict[Any, int] = {}
    sums: dict[str, int] = {}
    for account in ACCOUNTS:
        seen = [see(payment, account) for payment in payments if account in {payment["actor"], payment["target"]}]
        frame = to_frame(seen)
        for row in read_rows(p2p.spending_over_time(frame, every=every, tz="Pacific/Apia")):
            net[row["period"]] = net.get(row["period"], 0) + round(row["net"] * 100)
        for row in read_rows(p2p.pending_ageing(frame, "2025-06-30")):
            sums[row["direction"]] = sums.get(row["direction"], 0) + round(row["amount"] * 100)
        assert add_up(p2p.spend_by_friend(frame), "net") == add_up(p2p.monthly_flow(frame), "net")
    assert set(net.values()) <= {0}
    assert sums["in"] == sums["out"]


@settings(max_examples=8, deadline=None)
@given(records=make_rows(HOSTILE))
def test_every_partition_has_the_same_total(records: list[Record]) -> None:
    """By month, person, category, action, day or year: sums and the number of payments are the same in all."""
    frame, columns = to_frame(records), ["sent", "received", "payments"]
    tables = [p2p.spend_by_friend(frame), p2p.monthly_flow(frame, "Asia/Kathmandu"), p2p.categories(frame)]
    tables += [p2p.spending_over_time(frame, every="quarter", by=by) for by in (None, "counterparty", "category")]
    tables += [p2p.spending_over_time(frame, every="day", by="action", tz="America/New_York")]
    totals = [add_up(table, *columns) for table in tables]
    assert all(total == totals[0] for total in totals)
    dated = [record for record in records if record["date_created"] or record["date_completed"]]
    years = p2p.people_by_year(to_frame(dated))
    assert add_up(years, *columns) == add_up(p2p.monthly_flow(to_frame(dated)), *columns)
    settled = [row for row in read_rows(p2p.status_mix(frame, by="direction")) if row["status"] == "settled"]
    found = [sum(row[name] for row in settled if row["direction"] in {"in", "out"}) for name in ("amount", "payments")]
    assert [round(found[0] * 100), found[1] * 100] == [totals[0][0] + totals[0][1], totals[0][2]]


@settings(max_examples=4, deadline=None)
@given(
    records=make_rows(CHOICES, 25),
    other=st.sampled_from(["cancelled", "failed", "expired", "pending", "Settled", None]),
    more=make_rows({name: values for name, values in CHOICES.items() if name != "status"}, 3),
    number=st.integers(0, 6),
)
def test_a_cancelled_payment_moves_no_money(
    records: list[Record], other: str | None, more: list[Record], number: int
) -> None:
    """Payments of another status change no table of settled payments, and nothing that was collected."""
    added = [{**record, "status": other, "payment_id": f"x{number}"} for number, record in enumerate(more)]
    before, after = to_frame(records), to_frame([*records, *added])
    for case in pick(number):
        if case.name in OF_SETTLED:
            arguments = ("Australia/Lord_Howe",) * case.has_zone
            assert read_rows(case.run(after, *arguments)) == read_rows(case.run(before, *arguments)), case.name
    outcomes = [p2p.request_outcomes(frame) for frame in (before, after)]
    assert add_up(outcomes[0], "collected") == add_up(outcomes[1], "collected")


def cut(rows: list[Record], places: list[int]) -> list[list[Record]]:
    """Return the pieces of a list between some places, empty ones too."""
    ends = [0, *sorted(place % (len(rows) + 1) for place in places), len(rows)]
    return [rows[begin:end] for begin, end in pairwise(ends)]


WAYS_TO_JOIN: dict[str, Callable[[list[list[Record]]], Any]] = {
    "pandas": lambda pieces: pd.concat([to_frame(piece) for piece in pieces]),
    "Arrow chunks": lambda pieces: pd.concat(
        [make_table(piece, {}).to_pandas(types_mapper=pd.ArrowDtype) for piece in pieces], ignore_index=True
    ),
    "Polars chunks": lambda pieces: pl.concat(
        [pl.from_arrow(make_table(piece, {})) for piece in pieces], rechunk=False
    ),
    "LazyFrame": lambda pieces: pl.concat([pl.from_arrow(make_table(piece, {})).lazy() for piece in pieces]),
}


@settings(max_examples=3, deadline=None)
@given(
    records=make_rows(HOSTILE),
    places=st.lists(st.integers(0, 40), max_size=4),
    chance=st.randoms(use_true_random=False),
    number=st.integers(0, 6),
)
def test_order_and_chunks_change_nothing(records: list[Record], places: list[int], chance: Any, number: int) -> None:
    """The rows of a frame may be in any order, in one piece or in several, of which some are empty."""
    whole, mixed = to_frame(records), [*records]
    chance.shuffle(mixed)
    frames = {name: join(cut(mixed, places)) for name, join in WAYS_TO_JOIN.items()}
    for case in pick(number):
        if case.name == "categorise":
            continue
        arguments = ("America/New_York",) * case.has_zone
        expected = read_rows(case.run(whole, *arguments))
        for name, frame in frames.items():
            assert read_rows(case.run(frame, *arguments)) == expected, (case.name, name)


def test_more_chunks_than_are_kept() -> None:
    """Text in a chunk for each of many rows counts like that in one."""
    values = {name: [*choices, None] for name, choices in CHOICES.items()}
    rows = [
        make_record(payment_id=f"{at:03}", **{name: each[at % len(each)] for name, each in values.items()})
        for at in range(150)
    ]
    scattered = WAYS_TO_JOIN["Arrow chunks"]([[row] for row in rows])
    for case in pick(0):
        if case.name == "categorise":
            continue
        arguments = ("America/New_York",) * case.has_zone
        assert read_rows(case.run(scattered, *arguments)) == read_rows(case.run(to_frame(rows), *arguments)), case.name
