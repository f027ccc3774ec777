"""The rule by which one of several states of a payment replaces another."""

from __future__ import annotations

import pyarrow as pa

from p2p_analytics.frames.merge import FETCHED_AT, rank_states


def test_the_last_state_is_the_newest_then_the_final_then_the_later_row() -> None:
    """A later fetch wins over a final state, a final state over a later row; an unknown status counts as pending."""
    rows = pa.table(
        {
            FETCHED_AT: [1, 0, 1, 0, 0],
            "status": ["pending", "settled", "cancelled", None, "failed"],
        }
    )
    assert rank_states(rows).to_pylist() == [3, 1, 4, 0, 2]


def test_no_rows_have_no_order() -> None:
    """An empty table gives no indexes."""
    rows = pa.table({FETCHED_AT: pa.array([], pa.int64()), "status": pa.array([], pa.string())})
    assert rank_states(rows).to_pylist() == []
