"""Which of several states of a payment replaces another, and whether an id is repeated."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.frames.merge import FETCHED_AT, has_repeats, rank_states


def test_the_last_state_is_the_newest_then_the_final_then_the_later_row() -> None:
    """A later fetch wins over a final state, a final state over a later row; an unknown status counts as pending."""
    rows = pa.table(
        {
            FETCHED_AT: [1, 0, 1, 0, 0],
            "status": ["pending", "settled", "cancelled", None, "failed"],
        }
    )
    assert rank_states(rows).to_pylist() == [3, 1, 4, 0, 2]


@given(ids=st.lists(st.text("019é", max_size=3), max_size=8), descend=st.booleans(), size=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_a_repeated_id_is_found_in_any_order(*, ids: list[str], descend: bool, size: int) -> None:
    """The answer is that of a set, whether the ids descend or not, and however they are split into chunks."""
    ids = sorted(ids, key=lambda each: (len(each), each), reverse=True) if descend else ids
    chunks = [ids[start : start + size] for start in range(0, len(ids), size)]
    assert has_repeats(pa.chunked_array(chunks, pa.large_string())) == (len(set(ids)) < len(ids))
