"""PAYMENTS in pandas: every cell equals the raw JSON, and a part holds only the people of its rows.

With categoricals, each row would carry the names of all people into every pickle, file and group.
"""

import io
import json
import pickle
from collections import Counter
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.history import History
from support.raw.payments import list_payments, to_row

ROW = 70
CUTS: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "slice": lambda frame: frame.iloc[ROW : ROW + 1],
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


@pytest.fixture(scope="module")
def town() -> tuple[History, list[dict[str, Any]]]:
    """Load one viewer's history twice: as frames, and as plain rows of its raw JSON, newest first."""
    with p2p.sandbox.SandboxServer(seed=7, people=12, years=2) as server:
        token = server.token(server.viewer)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
            history = p2p.load_history(client, privacy=False, progress=False)
        rows = [to_row(str(history.me.user.id), item) for item in list_payments(server.base_url, token)]
    rows.sort(key=lambda row: (row["date_created"], int(row["payment_id"])), reverse=True)
    assert len(rows) > 200
    return history, rows


def test_each_cell_equals_the_json(town) -> None:
    """Ids, words, cents, instants, and the viewer's perspective, computed from the JSON alone."""
    history, rows = town
    frame = history.payments[list(rows[0])]
    assert frame.astype(object).where(frame.notna(), None).to_dict("records") == rows


def test_a_subset_has_only_its_people(town) -> None:
    """No group or count of zero for other people, whether `observed` is given or not."""
    history, rows = town
    person = rows[0]["counterparty_id"]
    one = history.payments[history.payments["counterparty_id"] == person]
    expected = Counter((row["counterparty_name"], row["status"]) for row in rows if row["counterparty_id"] == person)
    for options in ({}, {"observed": False}):
        assert one.groupby(["counterparty_name", "status"], **options).size().to_dict() == expected
    assert one["counterparty_name"].value_counts().to_dict() == {rows[0]["counterparty_name"]: len(one)}


def others_in(content: bytes, frame: pd.DataFrame) -> list[str]:
    """Return the ids, names, notes and addresses of other rows that occur in the content and not in the row."""
    names = ["payment_id", "note", "actor_id", "actor_username", "actor_display_name", "counterparty_id",
             "counterparty_username", "counterparty_name", "target_email", "target_phone"]  # fmt: skip
    own = json.dumps(frame.iloc[ROW].astype("str").to_dict(), ensure_ascii=False)
    texts = {text for name in names for text in frame[name].dropna() if len(text) > 3} - {"null"}
    others = [text for text in texts if text not in own]
    assert len(others) > 200
    return [text for text in others if text.encode() in content]


@pytest.mark.parametrize("way", ["load_history", "read_parquet", "archive"])
def test_one_row_holds_its_own_people(way: str, town, tmp_path) -> None:
    """Each writer of pandas, for each way to cut the row out of columns of tables, of one chunk, and of several."""
    history, _ = town
    frame = history.payments
    if way == "read_parquet":
        p2p.to_parquet(frame, tmp_path / "p")
        frame = p2p.read_parquet(tmp_path / "p", privacy=False)
    elif way == "archive":
        archive = p2p.open_archive(tmp_path / "archive")
        archive.merge(history)
        frame = archive.history(privacy=False).payments
    counterparty = frame["counterparty_name"].iloc[ROW].encode()
    for cut in CUTS.values():
        row = cut(frame)
        files = {name: io.BytesIO() for name in WRITERS}
        for name, write in WRITERS.items():
            write(row, files[name])
        assert [name for name, file in files.items() if counterparty not in file.getvalue()] == []
        assert others_in(b"".join(file.getvalue() for file in files.values()), frame) == []


def test_files_of_this_package_hold_the_row_alone(town, tmp_path) -> None:
    """`to_csv` and `to_parquet` of a slice, and a pickle of a slice of an analysis."""
    history, _ = town
    row = history.payments.iloc[ROW : ROW + 1]
    p2p.to_csv(row, tmp_path / "p.csv")
    p2p.to_parquet(row, tmp_path / "p.parquet")
    for path in tmp_path.iterdir():
        assert others_in(path.read_bytes(), history.payments) == []
    friend = p2p.spend_by_friend(history.payments).iloc[1:2]
    names = set(history.payments["counterparty_name"]) - set(friend.iloc[0].astype("str"))
    assert [name for name in names if name.encode() in pickle.dumps(friend)] == []
