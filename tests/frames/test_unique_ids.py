"""Ids of payments that are repeated, in each kind of column."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.schema import require_unique_ids

DTYPES = ["str", "string", "object", "category", "int64", pd.ArrowDtype(pa.string())]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_repeated_id_is_refused(dtype: object) -> None:
    """The message names it and counts the surplus; ids that differ, and nulls, are accepted, in any dtype."""
    values = [11, 12, 13] if dtype == "int64" else ["11", "12", None, None]
    require_unique_ids(pd.DataFrame({"payment_id": pd.Series(values, dtype=dtype)}), what="History")
    repeated = pd.DataFrame({"payment_id": pd.Series([*values, values[1], values[1]], dtype=dtype)})
    with pytest.raises(SchemaError, match=r"History needs each payment once, .* '12' is repeated \(2 rows too many\)"):
        require_unique_ids(repeated, what="History")
