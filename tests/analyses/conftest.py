"""Builders of frames from literal rows, and a reader of results, for every kind of frame."""

import polars as pl
import pytest

from p2p_analytics.frames.arrow import table_of
from p2p_analytics.frames.schema import PAYMENTS
from p2p_analytics.times import parse_instant
from support.analyses.containers import connect, read_rows
from support.frames import frame_from_rows


def payments_frame(rows):
    """Return a PAYMENTS frame of literal rows; ``created`` and ``completed`` are datetime texts."""
    filled = []
    for number, row in enumerate(rows):
        full = {"payment_id": f"{number:03d}", "status": "settled", "action": "pay", **row}
        for name in ("created", "completed"):
            full[f"date_{name}"] = parse_instant(full[name]) if full.get(name) else None
        if "amount_cents" not in full and full.get("flow_cents") is not None:
            full["amount_cents"] = abs(full["flow_cents"])
        filled.append(full)
    return frame_from_rows(filled, PAYMENTS)


def as_categories(frame):
    """Return the frame with every text column as a categorical."""
    return frame.astype({name: "category" for name, dtype in frame.dtypes.items() if dtype == "str"})


KINDS = {
    "pandas": lambda frame: frame,
    "pandas objects": lambda frame: frame.astype(object).where(frame.notna(), None),
    "pandas pyarrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "pandas categories": as_categories,
    "pandas odd index": lambda frame: frame.set_axis([7] * len(frame)),
    "polars": pl.from_pandas,
    "polars categories": lambda frame: pl.from_pandas(as_categories(frame)),
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lambda frame: connect().from_arrow(table_of(frame)),
}


def read_values(table, *names):
    """Return the rows of a result as tuples: of some columns, or of all."""
    return [tuple(row[name] for name in names or row) for row in read_rows(table)]


# The other kinds are other dtypes of these, and frames of Polars, by which pandas frames are computed, too. `make
# test-all` runs them, and `engines` compares every analysis of each engine with pandas.
USUAL = {"pandas", "duckdb"}
PARAMS = [kind if kind in USUAL else pytest.param(kind, marks=pytest.mark.all_frames) for kind in KINDS]


@pytest.fixture(params=PARAMS)
def convert(request):
    """Return a function that converts a pandas frame; parametrized over the kinds of frames."""
    return KINDS[request.param]


@pytest.fixture
def payments(convert):
    """Return a function that builds a payments frame from literal rows."""
    return lambda *rows: convert(payments_frame(list(rows)))


@pytest.fixture
def build():
    """Return a function that builds a pandas payments frame from literal rows."""
    return payments_frame
