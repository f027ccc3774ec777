"""Which state counts, and which file holds it: the rules against plain Python, on any rows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from unittest import mock

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics.archive import _service
from p2p_analytics.archive.tables import arrow_schema
from p2p_analytics.frames.merge import keep_newest

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
DATES = st.one_of(st.none(), st.integers(0, 60 * 24).map(lambda hour: EPOCH + timedelta(hours=hour)))
STATES = st.fixed_dictionaries(
    {
        "payment_id": st.integers(1, 12).map(str),
        "status": st.sampled_from(["pending", "settled", "cancelled", None]),
        "date_created": DATES,
        "fetched_at": st.integers(0, 3).map(lambda hour: EPOCH + timedelta(hours=hour)),
        "medium": st.sampled_from([None, "web", "api"]),
        "fee_cents": st.sampled_from([None, 25]),
    }
)


def table(rows: list[dict[str, object]]) -> pa.Table:
    """Return rows with the archive's types, the columns that are not given null."""
    return pa.Table.from_pylist(rows, schema=arrow_schema("payments"))


@given(st.lists(STATES, max_size=40))
@settings(max_examples=20)
def test_each_payment_once_in_its_newest_state(rows: list[dict[str, object]]) -> None:
    """The state is the maximum in plain Python; fields that lists omit keep their last value; newest first."""
    found = keep_newest(table(rows)).to_pylist()
    expected = {}
    for payment_id in {row["payment_id"] for row in rows}:
        states = [row for row in rows if row["payment_id"] == payment_id]
        states.sort(key=lambda row: (row["fetched_at"], row["status"] not in {"pending", None}))
        told = {name: [row[name] for row in states if row[name] is not None] for name in ("medium", "fee_cents")}
        expected[payment_id] = states[-1] | {name: values[-1] if values else None for name, values in told.items()}
    assert {row["payment_id"]: {name: row[name] for name in expected[row["payment_id"]]} for row in found} == expected
    age = [(row["date_created"] or EPOCH - timedelta(1), len(row["payment_id"]), row["payment_id"]) for row in found]
    assert age == sorted(age, reverse=True)


@given(st.lists(DATES, min_size=1, max_size=80), st.integers(1, 20))
@settings(max_examples=20)
def test_files_hold_whole_days_and_every_row(dates: list[datetime | None], most: int) -> None:
    """Cut into files, each row is in the one that its date says, none is lost, and no file is empty."""
    rows = [{"payment_id": str(number), "date_created": moment} for number, moment in enumerate(dates)]
    rows = keep_newest(table([row | {"fetched_at": EPOCH} for row in rows]))
    with mock.patch.multiple(_service, MOST_ROWS=most, _USUAL_ROWS=most):
        pieces = [(start, piece.to_pylist()) for start, piece in _service.split_rows(rows, None)]
    starts = [start for start, _ in pieces]
    assert starts == [None, *sorted(set(starts[1:]))]
    found = sorted(int(row["payment_id"]) for _, piece in pieces for row in piece)
    assert found == list(range(len(dates)))
    for (start, piece), end in zip(pieces, [*starts[1:], date.max], strict=True):
        days = [row["date_created"] and row["date_created"].date() for row in piece]
        assert len(days) > 0
        assert all((day is None and start is None) or (day and (start or date.min) <= day < end) for day in days)


def test_columns_of_one_value_in_each_file(tmp_path, history_of, payment, monkeypatch) -> None:
    """A text that all rows of a file share, another in the next file, none in the third, or several, are restored."""
    monkeypatch.setattr(_service, "MOST_ROWS", 2)
    monkeypatch.setattr(_service, "_USUAL_ROWS", 2)
    notes = ["rent", "rent", "taxi", "taxi", None, None, "rent", None, "a", "b"]
    items = [
        payment(number, note=note, date_created=f"2024-05-{number // 2 + 10}T1{number % 2}:00:00")
        for number, note in enumerate(notes)
    ]
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(*items))
    restored = archive.history().payments.sort_values("payment_id", key=lambda ids: ids.astype(int))
    assert [note if isinstance(note, str) else None for note in restored["note"]] == notes
    assert [entry.rows for entry in archive._folder.read_manifest().service.payments] == [2, 2, 2, 2, 2]
