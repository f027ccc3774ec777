"""Ids of payments: repeated, searched for and joined in any dtype, and the state that replaces another."""

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.arrow import is_among
from p2p_analytics.frames.merge import FETCHED_AT, has_repeats, rank_states
from p2p_analytics.frames.schema import TEXT, are_open_requests, require_unique_ids

DTYPES = ["str", "string", "object", "category", pd.ArrowDtype(pa.string())]


def test_the_last_state_is_the_newest_then_the_final_then_the_later_row() -> None:
    """A later fetch wins over a final state, a final state over a later row; an unknown status counts as pending."""
    rows = pa.table(
        {FETCHED_AT: [1, 0, 1, 0, 0], "status": ["pending", "settled", "cancelled", None, "failed"]},
    )
    assert rank_states(rows).to_pylist() == [3, 1, 4, 0, 2]


@given(ids=st.lists(st.text("019é", max_size=3), max_size=8), descend=st.booleans(), size=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_a_repeated_id_is_found_in_any_order(*, ids: list[str], descend: bool, size: int) -> None:
    """A set gives the same answer, whether the ids descend or not, and however they are split into chunks."""
    ids = sorted(ids, key=lambda each: (len(each), each), reverse=True) if descend else ids
    chunks = [ids[start : start + size] for start in range(0, len(ids), size)]
    assert has_repeats(pa.chunked_array(chunks, pa.large_string())) == (len(set(ids)) < len(ids))


@pytest.mark.parametrize("dtype", [*DTYPES, "int64"])
def test_a_repeated_id_is_refused(dtype: object) -> None:
    """The message names it and counts the surplus; ids that differ, and nulls, are accepted, in any dtype."""
    values = [11, 12, 13] if dtype == "int64" else ["11", "12", None, None]
    require_unique_ids(pd.DataFrame({"payment_id": pd.Series(values, dtype=dtype)}), what="History")
    repeated = pd.DataFrame({"payment_id": pd.Series([*values, values[1], values[1]], dtype=dtype)})
    with pytest.raises(SchemaError, match=r"History needs each payment once, .* '12' is repeated \(2 rows too many\)"):
        require_unique_ids(repeated, what="History")


@pytest.mark.parametrize(("of_ids", "of_payments"), [*zip(DTYPES, DTYPES[1:] + DTYPES[:1], strict=True)])
def test_open_requests(of_ids: object, of_payments: object) -> None:
    """A request that is pending is one; a payment, an id that is not known, and a null are none, in any dtypes."""
    payments = pd.DataFrame(
        {
            "payment_id": pd.Series(["1", "2", "3", None], dtype=of_payments),
            "status": ["pending", "pending", "settled", "pending"],
            "action": ["charge", "pay", "charge", "charge"],
        }
    )
    ids = pd.Series(["3", None, "1", "2", "9", "1"], index=[5, 4, 3, 2, 1, 0], dtype=of_ids)
    found = are_open_requests(ids, payments)
    assert found.tolist() == [False, False, True, False, False, True]
    assert found.index.tolist() == ids.index.tolist()


def test_texts_among_others() -> None:
    """A text is found wherever it is among the others, also in joined columns; a null is only among nulls."""
    for texts, others, expected in (
        (["a", "b", "a", None], ["a", "c"], [True, False, True, False]), (["a", None], [None], [False, True]),
        (["a", None], [], [False, False]), ([], ["a"], []),
    ):  # fmt: skip
        columns = [pd.Series(values, dtype=TEXT) for values in (texts, others)]
        assert is_among(*columns).tolist() == expected
        assert is_among(pd.concat([columns[0]] * 2), pd.concat([columns[1]] * 2)).tolist() == expected * 2
