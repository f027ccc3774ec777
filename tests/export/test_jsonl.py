"""JSON Lines: one row per line, read back equal with Python's own reader."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.schema import PAYMENTS
from support.frames import frame_from_rows
from support.hostile_texts import TEXTS

if TYPE_CHECKING:
    from pathlib import Path


def test_each_row_is_an_object(tmp_path: Path) -> None:
    """Ids are text, cents whole numbers, instants text in UTC; every column is there, null or not."""
    rows = [
        {"payment_id": "0123456789012345678", "amount_cents": 2**53 + 1, "date_created": "2024-05-31T18:30:00Z"},
        {"payment_id": "2", "note": "", "fee_cents": -5, "date_created": "2024-05-31T18:30:00.000001Z"},
    ]
    p2p.to_jsonl(frame_from_rows(rows, PAYMENTS), tmp_path / "p.jsonl")
    content = (tmp_path / "p.jsonl").read_bytes()
    assert content.endswith(b"}\n")
    read = [json.loads(line) for line in content.splitlines()]
    assert read == [dict.fromkeys(PAYMENTS) | row for row in rows]
    assert [list(row) for row in read] == [list(PAYMENTS)] * 2


def test_a_frame_may_have_a_column_of_payments(tmp_path: Path) -> None:
    """The table of an analysis is written as it is, also with a column named like the payments of a history."""
    p2p.to_jsonl(pd.DataFrame({"month": ["2024-05"], "payments": [3]}), tmp_path / "t.jsonl")
    assert (tmp_path / "t.jsonl").read_text("utf-8") == '{"month":"2024-05","payments":3}\n'


def test_hostile_texts_come_back(tmp_path: Path) -> None:
    """Every text stays on its line and comes back equal, and so do words that look like null."""
    texts = [*TEXTS, "", "null", "NaN", "\u0085", "\u2029", "\x7f", '"}\n{"'] * 400  # more than one batch
    p2p.to_jsonl(pd.DataFrame({"note": pd.Series(texts, dtype="str")}), tmp_path / "p.jsonl")
    lines = (tmp_path / "p.jsonl").read_bytes().split(b"\n")
    assert [json.loads(line)["note"] for line in lines[:-1]] == texts


def test_a_history_gives_its_payments_and_no_rows_an_empty_file(tmp_path: Path) -> None:
    """The rows of a frame of statements keep their columns; a frame without rows gives a file without lines."""
    frame = frame_from_rows([{"payment_id": "1", "file": "may.csv"}], {**PAYMENTS, "file": "str"})
    p2p.to_jsonl(frame, tmp_path / "p.jsonl")
    assert json.loads((tmp_path / "p.jsonl").read_bytes())["file"] == "may.csv"
    p2p.to_jsonl(frame.head(0), tmp_path / "p.jsonl")
    assert (tmp_path / "p.jsonl").read_bytes() == b""


def test_infinity_is_refused(tmp_path: Path) -> None:
    """JSON has no infinity; NaN is null, as everywhere."""
    p2p.to_jsonl(pd.DataFrame({"share": [0.5, float("nan")]}), tmp_path / "p.jsonl")
    assert (tmp_path / "p.jsonl").read_bytes() == b'{"share":0.5}\n{"share":null}\n'
    with pytest.raises(SchemaError, match="'share' holds infinity"):
        p2p.to_jsonl(pd.DataFrame({"share": [float("inf")]}), tmp_path / "q.jsonl")
    assert not (tmp_path / "q.jsonl").exists()
