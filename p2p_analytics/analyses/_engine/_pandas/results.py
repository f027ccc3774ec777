"""Results as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from pandas.api.extensions import ExtensionDtype

from p2p_analytics.analyses._engine._polars.results import set_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    import narwhals.stable.v2 as nw

    from p2p_analytics.analyses._engine._kinds import Kind


def to_result(frame: nw.LazyFrame[Any], native: object, schema: Mapping[str, Kind]) -> pd.DataFrame:
    """Return a result column by column: ``to_pandas`` returns other dtypes, and takes longer."""
    _ = native
    table = set_types(frame, schema).collect()
    columns = {}
    for name, kind in schema.items():
        dtype: Any = pd.api.types.pandas_dtype(kind.pandas)
        column = table.get_column(name)
        is_extension = isinstance(dtype, ExtensionDtype)
        columns[name] = dtype.__from_arrow__(column.to_arrow()) if is_extension else column.to_numpy().astype(dtype)
    return pd.DataFrame(columns)
