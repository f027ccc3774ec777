"""One row, cut out by pandas and written by pandas, holds the people of that row and no others.

With categoricals, each row would carry the names of all people into every pickle and file.
"""

from __future__ import annotations

import io
import json
import pickle
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import p2p_analytics as p2p

if TYPE_CHECKING:
    from collections.abc import Callable

    from p2p_analytics.history import History

ROW = 70
CUTS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "iloc list": lambda frame: frame.iloc[[ROW]],
    "iloc slice": lambda frame: frame.iloc[ROW : ROW + 1],
    "mask": lambda frame: frame[frame["payment_id"] == frame["payment_id"].iloc[ROW]],
    "category": lambda frame: frame.iloc[ROW : ROW + 1].astype({"actor_display_name": "category"}),
    "after concat": lambda frame: pd.concat([frame, frame], ignore_index=True).iloc[ROW : ROW + 1],
}
WRITERS: dict[str, Callable[[pd.DataFrame, io.BytesIO], Any]] = {
    "pickle": lambda row, file: row.to_pickle(file),
    "series": lambda row, file: file.write(pickle.dumps([row[name] for name in row])),
    "parquet": lambda row, file: row.to_parquet(file),
    "csv": lambda row, file: row.to_csv(file),
    "json": lambda row, file: row.to_json(file, orient="records", date_format="iso", force_ascii=False),
    "html": lambda row, file: file.write(row.to_html(escape=False).encode()),
}


@pytest.fixture(params=["load_history", "read_parquet", "archive"])
def frame(request: pytest.FixtureRequest, history: History, tmp_path) -> pd.DataFrame:
    """Return PAYMENTS by three ways into memory: columns taken from tables, of one chunk, and of several."""
    if request.param == "load_history":
        return history.payments
    if request.param == "read_parquet":
        p2p.to_parquet(history.payments, tmp_path / "p")
        return p2p.read_parquet(tmp_path / "p", privacy=False)
    archive = p2p.open_archive(tmp_path / "archive")
    archive.merge(history)
    return archive.history(privacy=False).payments


def others_in(content: bytes, frame: pd.DataFrame) -> list[str]:
    """Return the ids, names, notes and addresses of other rows that occur in the content and not in the row."""
    names = ["payment_id", "note", "actor_id", "actor_username", "actor_display_name", "counterparty_id",
             "counterparty_username", "counterparty_name", "target_email", "target_phone"]  # fmt: skip
    own = json.dumps(frame.iloc[ROW].astype("str").to_dict(), ensure_ascii=False)
    texts = {text for name in names for text in frame[name].dropna() if len(text) > 3} - {"null"}
    others = [text for text in texts if text not in own]
    assert len(others) > 200
    return [text for text in others if text.encode() in content]


def test_one_row_holds_its_own_people(frame: pd.DataFrame) -> None:
    """Each writer of pandas, for each way to cut the row out."""
    counterparty = frame["counterparty_name"].iloc[ROW].encode()
    for cut in CUTS.values():
        row = cut(frame)
        files = {name: io.BytesIO() for name in WRITERS}
        for name, write in WRITERS.items():
            write(row, files[name])
        assert [name for name, file in files.items() if counterparty not in file.getvalue()] == []
        assert others_in(b"".join(file.getvalue() for file in files.values()), frame) == []


def test_files_of_this_package_hold_the_slice_alone(history: History, tmp_path) -> None:
    """`to_csv` and `to_parquet` of a slice."""
    row = history.payments.iloc[ROW : ROW + 1]
    p2p.to_csv(row, tmp_path / "p.csv")
    p2p.to_parquet(row, tmp_path / "p.parquet")
    for path in tmp_path.iterdir():
        assert others_in(path.read_bytes(), history.payments) == []


def test_tables_of_the_analyses_hold_their_own_people(history: History) -> None:
    """The same for one row of a finished table, and of PEOPLE."""
    names = history.payments["counterparty_name"].unique()
    pending = p2p.pending_requests(history.payments, as_of="2026-01-01")
    people = history.people.rename(columns={"display_name": "counterparty_name"})
    for table in (p2p.spend_by_friend(history.payments), pending, people):
        row = table.iloc[1:2]
        own = set(row.iloc[0].astype("str"))
        content = pickle.dumps(row)
        assert row["counterparty_name"].iloc[0].encode() in content
        assert [text for text in names if text not in own and text.encode() in content] == []
