"""One row, cut out by pandas and written by pandas, holds the people of that row and no others.

Before, text columns were categoricals: each row carried the names of all people into every pickle and file.
"""

from __future__ import annotations

import io
import json
import pickle
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

import p2p_analytics as p2p

if TYPE_CHECKING:
    from collections.abc import Callable

    from p2p_analytics.history import History

ROW = 70
CUTS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "iloc list": lambda frame: frame.iloc[[ROW]],
    "iloc slice": lambda frame: frame.iloc[ROW : ROW + 1],
    "loc": lambda frame: frame.loc[[ROW]],
    "mask": lambda frame: frame[frame["payment_id"] == frame["payment_id"].iloc[ROW]],
    "query": lambda frame: frame.query("payment_id == @frame.payment_id.iloc[@ROW]"),
    "head": lambda frame: frame.iloc[ROW:].head(1),
    "copy": lambda frame: frame.iloc[ROW : ROW + 1].copy(),
    "reset": lambda frame: frame.iloc[ROW : ROW + 1].reset_index(drop=True),
    "index": lambda frame: frame.set_index("payment_id").iloc[ROW : ROW + 1],
    "category": lambda frame: frame.iloc[ROW : ROW + 1].astype({"actor_display_name": "category"}),
    "after concat": lambda frame: pd.concat([frame, frame], ignore_index=True).iloc[ROW : ROW + 1],
}
WRITERS: dict[str, Callable[[pd.DataFrame, io.BytesIO], Any]] = {
    "pickle": lambda row, file: row.to_pickle(file),
    "old pickle": lambda row, file: row.to_pickle(file, protocol=2),
    "series": lambda row, file: file.write(pickle.dumps([row[name] for name in row])),
    "parquet": lambda row, file: row.to_parquet(file),
    "csv": lambda row, file: row.to_csv(file),
    "json": lambda row, file: row.to_json(file, orient="records", date_format="iso", force_ascii=False),
    "html": lambda row, file: file.write(row.to_html(escape=False).encode()),
    "xml": lambda row, file: row.to_xml(file, parser="etree"),
}
# Arrow cuts no buffer inside a block of 64 bytes, so a file of Arrow's own format may hold the ends of adjacent cells
# of a slice. A row that was taken, and not sliced, has buffers of its own.
TAKEN = ("iloc list", "mask", "query")


@pytest.fixture(params=["load_history", "read_parquet", "archive"])
def source(request: pytest.FixtureRequest) -> str:
    """Return three ways into memory: columns taken from tables of values, of one chunk, and of several."""
    return request.param


def others_in(content: bytes, frame: pd.DataFrame) -> list[str]:
    """Return the ids, names, notes and addresses of other rows that occur in the content and not in the row."""
    names = ["payment_id", "note", "actor_id", "actor_username", "actor_display_name", "counterparty_id",
             "counterparty_username", "counterparty_name", "target_email", "target_phone"]  # fmt: skip
    own = json.dumps(frame.iloc[ROW].astype("str").to_dict(), ensure_ascii=False)
    texts = {text for name in names for text in frame[name].dropna() if len(text) > 3} - {"null"}
    others = [text for text in texts if text not in own]
    assert len(others) > 200
    return [text for text in others if text.encode() in content]


@pytest.mark.parametrize("cut", CUTS)
def test_one_row_holds_its_own_people(frames, source: str, cut: str) -> None:
    """Each writer of pandas, for each way to cut the row out."""
    frame = frames[source][0]
    row = CUTS[cut](frame)
    assert len(row) == 1
    files = {name: io.BytesIO() for name in WRITERS}
    for name, write in WRITERS.items():
        write(row, files[name])
    counterparty = frame["counterparty_name"].iloc[ROW].encode()
    assert [name for name, file in files.items() if counterparty not in file.getvalue()] == []
    assert others_in(b"".join(file.getvalue() for file in files.values()), frame) == []


@pytest.mark.parametrize("cut", TAKEN)
def test_arrow_files_of_a_row_that_was_taken(frames, source: str, cut: str) -> None:
    """Feather and Arrow streams hold the row alone if it was selected by a mask or a list."""
    frame = frames[source][0]
    row = CUTS[cut](frame).reset_index(drop=True)
    feather, stream = io.BytesIO(), io.BytesIO()
    row.to_feather(feather, compression="uncompressed")
    table = pa.Table.from_pandas(row)
    with pa.ipc.new_stream(stream, table.schema) as file:
        file.write_table(table)
    for content in (feather.getvalue(), stream.getvalue()):
        assert frame["counterparty_name"].iloc[ROW].encode() in content
        assert others_in(content, frame) == []


def test_files_of_this_package_hold_the_slice_alone(frames, source: str, tmp_path) -> None:
    """`to_csv` and `to_parquet` of a slice, and an archive's files of a history of one row."""
    frame = frames[source][0]
    row = frame.iloc[ROW : ROW + 1]
    p2p.to_csv(row, tmp_path / "p.csv")
    p2p.to_parquet(row, tmp_path / "p.parquet")
    for path in tmp_path.iterdir():
        assert others_in(path.read_bytes(), frame) == []


def test_one_person_of_people(frames, source: str) -> None:
    """The same for PEOPLE."""
    people = frames[source][1]
    row = people.iloc[2:3]
    others = [
        text
        for name in ("user_id", "username", "display_name")
        for text in people[name]
        if text not in set(row.iloc[0])
    ]
    for write in (pd.DataFrame.to_pickle, pd.DataFrame.to_parquet, pd.DataFrame.to_csv):
        file = io.BytesIO()
        write(row, file)
        assert row["username"].iloc[0].encode() in file.getvalue()
        assert [text for text in others if text.encode() in file.getvalue()] == []


def test_tables_of_the_analyses_hold_their_own_people(history: History) -> None:
    """The same for one row of a finished table."""
    for table in (p2p.spend_by_friend(history.payments), p2p.pending_requests(history.payments, as_of="2026-01-01")):
        row = table.iloc[1:2]
        own = set(row.iloc[0].astype("str"))
        others = [text for text in history.payments["counterparty_name"].unique() if text not in own]
        content = pickle.dumps(row)
        assert row["counterparty_name"].iloc[0].encode() in content
        assert [text for text in others if text.encode() in content] == []
