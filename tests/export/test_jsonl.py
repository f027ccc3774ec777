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


def test_other_frames(tmp_path: Path) -> None:
    """A frame may have a column named like the payments of a history, NaN is null, and no rows give an empty file."""
    for frame, content in (
        (pd.DataFrame({"month": ["2024-05"], "payments": [3]}), '{"month":"2024-05","payments":3}\n'),
        (pd.DataFrame({"share": [0.5, float("nan")]}), '{"share":0.5}\n{"share":null}\n'),
        (frame_from_rows([], {**PAYMENTS, "file": "str"}), ""),
    ):
        p2p.to_jsonl(frame, tmp_path / "t.jsonl")
        assert (tmp_path / "t.jsonl").read_text("utf-8") == content
    with pytest.raises(SchemaError, match="'share' holds infinity"):
        p2p.to_jsonl(pd.DataFrame({"share": [float("inf")]}), tmp_path / "q.jsonl")
    assert not (tmp_path / "q.jsonl").exists()


def test_hostile_texts_come_back(tmp_path: Path) -> None:
    """Every text stays on its line and comes back equal, and so do words that look like null."""
    texts = [*TEXTS, "", "null", "NaN", "\u0085", "\u2029", "\x7f", '"}\n{"'] * 400  # more than one batch
    p2p.to_jsonl(pd.DataFrame({"note": pd.Series(texts, dtype="str")}), tmp_path / "p.jsonl")
    lines = (tmp_path / "p.jsonl").read_bytes().split(b"\n")
    assert [json.loads(line)["note"] for line in lines[:-1]] == texts
