"""Sample files of other services against the rows that were worked out by hand, beside each."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from support.statements.tables import read_text

_SAMPLES = Path(__file__).parent / "samples"
_EXPECTED = sorted(_SAMPLES.glob("*.expected.csv"))


def _to_text(column: pl.Series) -> list[str]:
    if column.dtype == pl.Datetime("us", "UTC"):
        texts = column.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f")
        return [text.removesuffix(".000000").replace(".500000", ".500") if text else "" for text in texts]
    return ["" if value is None else str(value) for value in column]


@pytest.mark.parametrize("path", _EXPECTED, ids=lambda path: path.name.removesuffix(".expected.csv"))
def test_sample(path):
    """A sample gives exactly the rows of the file of expected values, without a change of order."""
    sample = path.with_name(path.name.replace(".expected", ""))
    account = "nora quill" if sample.name.startswith("splitwise") else None
    rows = read_text(sample.read_text(encoding="utf-8"), account=account).rows
    with path.open(encoding="utf-8", newline="") as lines:
        expected = list(csv.DictReader(lines))
    names = list(expected[0])
    columns = (_to_text(rows[name]) for name in names)
    assert [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)] == expected
