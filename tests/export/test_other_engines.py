"""Frames of other engines than pandas are not written, and the error says what to pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest

from p2p_analytics.errors import SchemaError
from p2p_analytics.export import to_csv, to_jsonl, to_parquet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("write", [to_csv, to_parquet, to_jsonl])
@pytest.mark.parametrize(
    ("build", "advice"),
    [
        (pl.DataFrame, r"polars\.DataFrame: pass frame\.to_pandas\(\)"),
        (pl.LazyFrame, r"polars\.LazyFrame: pass frame\.collect\(\)\.to_pandas\(\)"),
        (lambda _: duckdb.connect().sql("SELECT 'secret' AS note"), r"duckdb\.DuckDBPyRelation: pass frame\.df\(\)"),
    ],
)
def test_frames_of_other_engines_are_refused(
    tmp_path: Path, write: Callable[..., None], build: Callable[..., Any], advice: str
) -> None:
    """A sentence says how to make a pandas frame of them, and nothing is written."""
    with pytest.raises(SchemaError, match=rf"^A file is made of a pandas frame, not of {advice}\.$"):
        write(build({"note": ["secret"]}), tmp_path / "payments")
    assert not [*tmp_path.iterdir()]
