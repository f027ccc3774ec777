"""What holds for any payments: sums that have to agree, and changes that have to change nothing."""

from itertools import pairwise

import pandas as pd
import polars as pl
from analyses.conftest import read_rows
from hypothesis import given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from support.analyses.calls import pick
from support.analyses.containers import make_table, to_pandas
from support.analyses.records import NOTES, PEOPLE, WAYS, WORDS, make_record, make_town

CHOICES = {name: [*values, None] for name, values in {**WAYS, **PEOPLE, "note": NOTES, **WORDS}.items()}
ROW = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in CHOICES.items()})
RECORDS = st.lists(ROW, max_size=40).map(
    lambda rows: [make_record(**{**row, "payment_id": f"{number:02}"}) for number, row in enumerate(rows)]
)


def to_frame(records):
    """Return a pandas frame of records."""
    return to_pandas(make_table(records, {}))


def add_up(table, *columns):
    """Return the sums of columns of units, in cents."""
    return [sum(round(row[column] * 100) for row in read_rows(table)) for column in columns]


@settings(max_examples=5, deadline=None)
@given(records=RECORDS)
def test_every_partition_has_the_same_total(records):
    """By month, person, category, action, day or year: sums and the number of payments are the same in all."""
    frame, columns = to_frame(records), ["sent", "received", "payments"]
    tables = [p2p.spend_by_friend(frame), p2p.monthly_flow(frame, "Asia/Kathmandu"), p2p.categories(frame)]
    tables += [p2p.spending_over_time(frame, every="quarter", by=by) for by in (None, "counterparty", "category")]
    tables += [p2p.spending_over_time(frame, every="day", by="action", tz="America/New_York")]
    totals = [add_up(table, *columns) for table in tables]
    assert all(total == totals[0] for total in totals)
    dated = to_frame([record for record in records if record["date_created"] or record["date_completed"]])
    assert add_up(p2p.people_by_year(dated), *columns) == add_up(p2p.monthly_flow(dated), *columns)
    settled = [row for row in read_rows(p2p.status_mix(frame, by="direction")) if row["status"] == "settled"]
    found = [sum(row[name] for row in settled if row["direction"] in {"in", "out"}) for name in ("amount", "payments")]
    assert [round(found[0] * 100), found[1] * 100] == [totals[0][0] + totals[0][1], totals[0][2]]


WAYS_TO_JOIN = {
    "pandas": lambda pieces: pd.concat([to_frame(piece) for piece in pieces]),
    "Arrow chunks": lambda pieces: pd.concat(
        [make_table(piece, {}).to_pandas(types_mapper=pd.ArrowDtype) for piece in pieces], ignore_index=True
    ),
    "Polars chunks": lambda pieces: pl.concat(
        [pl.from_arrow(make_table(piece, {})) for piece in pieces], rechunk=False
    ),
}


def compare(frames, whole, number):
    """Compare each table but `categorise`, which keeps the rows in their order."""
    for label, call in pick(number).items():
        if not label.startswith("categorise"):
            expected = read_rows(call(whole))
            for name, frame in frames.items():
                assert read_rows(call(frame)) == expected, (label, name)


@settings(max_examples=2, deadline=None)
@given(
    records=RECORDS,
    places=st.lists(st.integers(0, 40), max_size=4),
    chance=st.randoms(use_true_random=False),
    number=st.integers(0, 6),
)
def test_order_and_chunks_change_nothing(records, places, chance, number):
    """The rows of a frame may be in any order, in one piece or in several, and some of them may be empty."""
    mixed = [*records]
    chance.shuffle(mixed)
    ends = [0, *sorted(place % (len(mixed) + 1) for place in places), len(mixed)]
    pieces = [mixed[begin:end] for begin, end in pairwise(ends)]
    compare({name: join(pieces) for name, join in WAYS_TO_JOIN.items()}, to_frame(records), number)


def test_more_chunks_than_are_kept():
    """Text in a chunk for each of many rows counts like that in one."""
    rows = make_town(3)[:150]
    compare({"scattered": WAYS_TO_JOIN["Arrow chunks"]([[row] for row in rows])}, to_frame(rows), 0)
