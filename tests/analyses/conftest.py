"""Builders of frames from literal rows, and a reader of results, for every kind of frame."""

import duckdb
import polars as pl
import pytest

from p2p_analytics.frames.arrow import table_of
from p2p_analytics.frames.schema import FRIENDS, PAYMENTS
from p2p_analytics.times import parse_instant
from support.analyses.containers import read_rows
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


def friends_frame(ids):
    """Return a FRIENDS frame with these ids."""
    return frame_from_rows([{"user_id": identifier} for identifier in ids], FRIENDS)


def as_objects(frame):
    """Return the frame with every column as Python objects, and None for null."""
    return frame.astype(object).where(frame.notna(), None)


def as_arrow(frame):
    """Return the frame with every column in its pyarrow-backed dtype."""
    return frame.convert_dtypes(dtype_backend="pyarrow")


def as_categories(frame):
    """Return the frame with every text column as a categorical."""
    return frame.astype({name: "category" for name, dtype in frame.dtypes.items() if dtype == "str"})


def connect(zone="UTC"):
    """Return a connection of DuckDB in a time zone."""
    return duckdb.connect().execute(f"SET TimeZone = '{zone}'")


KINDS = {
    "pandas": lambda frame: frame,
    "pandas objects": as_objects,
    "pandas pyarrow": as_arrow,
    "pandas categories": as_categories,
    "pandas odd index": lambda frame: frame.set_axis([7] * len(frame)),
    "polars": pl.from_pandas,
    "polars categories": lambda frame: pl.from_pandas(as_categories(frame)),
    "polars lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "duckdb": lambda frame: connect().from_arrow(table_of(frame)),
}


def read_values(table):
    """Return the rows of a result as tuples."""
    return [tuple(row.values()) for row in read_rows(table)]


# The other kinds are other dtypes of these; `make test-all` runs them.
USUAL = {"pandas", "polars", "polars lazy", "duckdb"}
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
def friends(convert):
    """Return a function that builds a friends frame from ids."""
    return lambda *ids: convert(friends_frame(list(ids)))


@pytest.fixture
def build():
    """Return a function that builds a pandas payments frame from literal rows."""
    return payments_frame
