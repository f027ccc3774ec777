"""Generated JSON histories: every row is in one counted kind, or the file is refused with a sentence."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics.errors import StatementError
from p2p_analytics.frames.schema import KINDS

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.sampled_from(
    ["payment", "refund", "transfer", "capture", "disbursement", "internal_balance_transfer", "fee", "pay", "charge",
     "settled", "pending", "expired", "add_funds", "balance", "held", "bank", "nora", "theo", "user", "email",
     "2024-05-31T18:30:00", "12.30", "3.18E+18", "=1+1"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["id", "type", "datetime_created", "note", "amount", "payment", "refund", "transfer", "capture", "actor", "target",
     "user", "username", "display_name", "status", "action", "funding_source", "source", "destination", "name",
     "authorization", "merchant", "amount_fee_cents", "email", "phone"]
)  # fmt: skip
ROW = st.recursive(WORDS | ANYTHING, lambda inner: st.dictionaries(NAMES, inner, max_size=8), max_leaves=25)
ENCODING = st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])
BALANCE = st.none() | st.floats() | st.integers() | WORDS


@pytest.mark.parametrize("examples", [10, pytest.param(1_000, marks=pytest.mark.soak)])
def test_any_rows(examples: int) -> None:
    """The kinds of a file sum to its rows: one for each transaction and one for the balances."""

    @settings(max_examples=examples, deadline=None, derandomize=True)
    @given(st.lists(ROW, max_size=6), BALANCE, BALANCE, ENCODING, st.booleans())
    def check(rows: list[object], start: object, end: object, encoding: str, one_line: bool) -> None:  # noqa: FBT001 - generated
        body = {"data": {"transactions": rows, "start_balance": start, "end_balance": end}}
        text = json.dumps(body, indent=None if one_line else 1, ensure_ascii=one_line)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "history.json"
            path.write_bytes(text.encode(encoding, "replace"))
            try:
                found = p2p.read_statements(path)
            except StatementError as error:
                assert str(error).startswith(str(path))  # noqa: PT017 - it may also be read
                return
        assert found.files["rows"].sum() == len(rows) + 1
        assert (found.files[list(KINDS)].sum(axis=1) == found.files["rows"]).all()
        assert len(found.payments) <= len(rows)
        ids = found.payments["payment_id"]
        assert ids.notna().all()
        assert ids.is_unique

    check()
