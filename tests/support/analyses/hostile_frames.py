"""Six payments with the tables that they give, worked out by hand, and frames that hold them in unusual ways."""

import datetime as dt
import io
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import p2p_analytics as p2p

Change = Callable[[pd.DataFrame], Any]

ADA = {"counterparty_id": "3000000000000000001", "counterparty_username": "ada", "counterparty_name": "Ada Quill"}
BEN = {"counterparty_id": "0042", "counterparty_username": "ben", "counterparty_name": "Ben Moss"}
ADDRESS = {"counterparty_id": None, "counterparty_username": None, "counterparty_name": "cleo@example.org"}
ROWS: list[dict[str, Any]] = [
    {**ADA, "direction": "out", "flow_cents": -1010, "created": "2024-05-31T22:30:00Z",
     "completed": "2024-06-01T00:30:00.000001Z"},
    {**ADA, "direction": "in", "flow_cents": 250, "created": "2024-04-01T00:00:00Z", "action": "charge",
     "completed": "2024-04-01T00:00:00Z"},
    {**ADDRESS, "direction": "out", "flow_cents": -330, "created": "2024-04-30T23:59:59.999999Z"},
    {**BEN, "direction": "in", "flow_cents": 700, "created": "2024-06-23T12:00:00Z", "status": "pending",
     "action": "charge", "note": "=tent, 2 nights"},
    {**BEN, "direction": "out", "flow_cents": -5, "created": "2024-06-30T11:00:00Z", "status": "pending"},
    {**BEN, "direction": "out", "flow_cents": -9999, "created": "2024-06-01T00:00:00Z", "status": "failed"},
]  # fmt: skip
AS_OF = "2024-06-30 12:00"


def _utc(*parts: int) -> dt.datetime:
    return dt.datetime(*parts, tzinfo=dt.UTC)


EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "spend_by_friend": [
        (*ADA.values(), None, 10.1, 2.5, -7.6, 2, 1010 / 1340, _utc(2024, 4, 1), _utc(2024, 5, 31, 22, 30)),
        (*ADDRESS.values(), None, 3.3, 0.0, -3.3, 1, 330 / 1340, *[_utc(2024, 4, 30, 23, 59, 59, 999999)] * 2),
    ],
    "status_mix": [
        ("charge", "pending", 1, 0.5, 7.0, 700 / 950),
        ("charge", "settled", 1, 0.5, 2.5, 250 / 950),
        ("pay", "settled", 2, 0.5, 13.4, 1340 / 11344),
        ("pay", "failed", 1, 0.25, 99.99, 9999 / 11344),
        ("pay", "pending", 1, 0.25, 0.05, 5 / 11344),
    ],
    "monthly_flow": [
        ("2024-04", 3.3, 2.5, -0.8, 2, -0.8),
        ("2024-05", 0.0, 0.0, 0.0, 0, -0.8),
        ("2024-06", 10.1, 0.0, -10.1, 1, -10.9),
    ],
    "pending_ageing": [
        ("in", "under 1 day", 0, 0.0, None),
        ("in", "1 to 7 days", 0, 0.0, None),
        ("in", "7 to 30 days", 1, 7.0, 7),
        ("in", "30 to 90 days", 0, 0.0, None),
        ("in", "90 days or more", 0, 0.0, None),
        ("out", "under 1 day", 1, 0.05, 0),
        ("out", "1 to 7 days", 0, 0.0, None),
        ("out", "7 to 30 days", 0, 0.0, None),
        ("out", "30 to 90 days", 0, 0.0, None),
        ("out", "90 days or more", 0, 0.0, None),
    ],
    "pending_requests": [
        ("003", "in", *BEN.values(), "=tent, 2 nights", 7.0, _utc(2024, 6, 23, 12), 7),
        ("004", "out", *BEN.values(), None, 0.05, _utc(2024, 6, 30, 11), 0),
    ],
}
ANALYSES: dict[str, Callable[[Any], Any]] = {
    "spend_by_friend": p2p.spend_by_friend,
    "status_mix": p2p.status_mix,
    "monthly_flow": p2p.monthly_flow,
    "pending_ageing": lambda frame: p2p.pending_ageing(frame, AS_OF),
    "pending_requests": lambda frame: p2p.pending_requests(frame, AS_OF),
}

TEXTS = [
    "payment_id", "status", "action", "note", "direction", "kind", "currency", "counterparty_id",
    "counterparty_username", "counterparty_name",
]  # fmt: skip
CENTS, DATES = ["amount_cents", "flow_cents"], ["date_created", "date_completed"]


def astype(names: list[str], dtype: Any) -> Change:
    """Return a change of the dtype of some columns."""
    return lambda frame: frame.astype(dict.fromkeys(names, dtype))


def each(names: list[str], convert: Callable[[pd.Series], Any]) -> Change:
    """Return a change of some columns by a function."""
    return lambda frame: frame.assign(**{name: convert(frame[name]) for name in names})


def objects(convert: Callable[[Any], Any]) -> Callable[[pd.Series], pd.Series]:
    """Return a function that converts the values of a column to Python objects, and nulls to None."""
    return lambda column: pd.Series([None if pd.isna(x) else convert(x) for x in column], column.index, dtype=object)


def fill(names: list[str], value: Any) -> Change:
    """Return a change of all values of some columns to others."""
    return lambda frame: frame.assign(**dict.fromkeys(names, value))


def in_polars(*columns: pl.Expr | pl.Series) -> Change:
    """Return a change to a frame of Polars with some columns."""
    return lambda frame: pl.from_pandas(frame).with_columns(*columns)


def in_lazy_polars(*columns: pl.Expr | pl.Series) -> Change:
    """Return a change to a lazy frame of Polars with some columns."""
    return lambda frame: pl.from_pandas(frame).lazy().with_columns(*columns)


def through_pandas_csv(frame: pd.DataFrame, **options: Any) -> pd.DataFrame:
    """Return the frame as pandas reads it from a CSV file of its own."""
    return pd.read_csv(io.StringIO(frame.to_csv(index=False)), **options)


def through_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame as it comes back from a CSV file of ours."""
    with tempfile.TemporaryDirectory() as folder:
        p2p.to_csv(frame, Path(folder, "payments.csv"))
        return p2p.read_csv(Path(folder, "payments.csv"))


def through_parquet(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame as pandas reads it from a Parquet file with dictionary-encoded text."""
    return pd.read_parquet(io.BytesIO(frame.astype(dict.fromkeys(TEXTS, "category")).to_parquet()))


class Ledger(pd.DataFrame):
    """A subclass of DataFrame, as GeoPandas has one."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return Ledger


INDIA = dt.timezone(dt.timedelta(hours=5, minutes=30))
NEW_IN_EXPORTS = ["kind", "currency", "account_id"]
OTHER_KINDS = {"kind": "transfer", "flow_cents": -777, "amount_cents": 777}
RIGHT: dict[str, Change] = {
    "as loaded": lambda frame: frame,
    # dtypes of text
    "objects": lambda frame: frame.astype(object).where(frame.notna(), None),
    "objects with NaN": lambda frame: frame.astype(object).where(frame.notna(), float("nan")),
    "pyarrow dtypes": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "nullable dtypes": lambda frame: frame.convert_dtypes(dtype_backend="numpy_nullable"),
    "text in Python": astype(TEXTS, "string[python]"),
    "str in Python": astype(TEXTS, pd.StringDtype("python", na_value=np.nan)),
    "categories": astype(TEXTS, "category"),
    "text as string_view": astype(TEXTS, pd.ArrowDtype(pa.string_view())),
    "Arrow dictionaries": astype(TEXTS, pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    "subclass of text": each(["counterparty_name"], objects(np.str_)),
    # dtypes of cents
    "numpy integers": astype(CENTS, "int64"),
    "whole floats": astype(CENTS, "float64"),
    "nullable floats": astype(CENTS, "Float64"),
    "integers as objects": each(CENTS, objects(int)),
    "decimals": each(CENTS, objects(lambda cents: Decimal(int(cents)))),
    # dates
    "naive dates": each(DATES, lambda column: column.dt.tz_localize(None)),
    "nanoseconds": astype(DATES, "datetime64[ns, UTC]"),
    "zone of New York": each(DATES, lambda column: column.dt.tz_convert("America/New_York")),
    "fixed offset": each(DATES, lambda column: column.dt.tz_convert(INDIA)),
    "zones as Arrow": astype(DATES, pd.ArrowDtype(pa.timestamp("ns", "Asia/Kolkata"))),
    "dates as objects": each(DATES, objects(lambda moment: moment.to_pydatetime())),
    "several zones": each(
        DATES, objects(lambda moment: moment.tz_convert([INDIA, ZoneInfo("America/New_York")][moment.day % 2]))
    ),
    "naive and aware": each(
        DATES, objects(lambda moment: moment.tz_localize(None) if moment.day % 2 else moment.to_pydatetime())
    ),
    "numpy datetimes": each(DATES, objects(lambda moment: moment.to_datetime64())),
    # indexes
    "duplicate index": lambda frame: frame.set_axis([7] * len(frame)),
    "MultiIndex": lambda frame: frame.set_index(["status", "action"], drop=False),
    "index named like a column": lambda frame: frame.set_index("payment_id", drop=False),
    # columns
    "extra columns": lambda frame: frame.assign(share=1, month="x", sent_cents=None, number=b"", date_x=1),
    "columns that are not named by text": lambda frame: frame.set_axis(
        [name if name in {*TEXTS, *CENTS, *DATES} else number for number, name in enumerate(frame.columns)], axis=1
    ),
    "two unneeded columns of one name": lambda frame: frame.rename(columns={"audience": "medium"}),
    "columns in another order": lambda frame: frame[sorted(frame.columns, reverse=True)],
    "older export": lambda frame: frame.drop(columns=NEW_IN_EXPORTS),
    # rows
    "oldest first": lambda frame: frame.iloc[::-1],
    "concat with an empty frame": lambda frame: pd.concat([frame, frame.iloc[:0].astype(object)]),
    "concat with an older export": lambda frame: pd.concat([frame[:3], frame[3:].drop(columns=NEW_IN_EXPORTS)]),
    "rows of other kinds": lambda frame: pd.concat([frame, frame.assign(**OTHER_KINDS), frame.assign(kind="card")]),
    "filtered": lambda frame: pd.concat([frame, frame.assign(source="x")])[lambda both: both["source"] != "x"],
    "subclass of DataFrame": Ledger,
    # files
    "to_csv and read_csv": through_csv,
    "pandas.read_csv with dtypes": lambda frame: through_pandas_csv(
        frame, dtype=dict.fromkeys(TEXTS, "str"), parse_dates=DATES, date_format="ISO8601"
    ),
    "pandas.read_parquet": through_parquet,
    # other engines
    "Polars": in_polars(),
    "Polars lazy": in_lazy_polars(),
    "Polars categories": in_polars(pl.col(TEXTS).cast(pl.Categorical)),
    "Polars enums": in_polars(pl.col("status").cast(pl.Enum(["x", "pending", "settled", "failed"]))),
    "Polars small integers": in_polars(pl.col(CENTS).cast(pl.Int32)),
    "Polars naive dates": in_polars(pl.col(DATES).dt.replace_time_zone(None)),
    "Polars nanoseconds": in_polars(pl.col(DATES).dt.cast_time_unit("ns")),
    "Polars zone of Apia": in_polars(pl.col(DATES).dt.convert_time_zone("Pacific/Apia")),
}  # fmt: skip

BEYOND = "whole cents in the column (flow|amount)_cents"
TOO_LARGE = r"amounts of 2\*\*53 cents or more, one or all together"
FRACTIONS = "fractions, infinity or more than 64 bits; amounts are counted in cents"
OUTSIDE = "not dates outside the calendar; correct"
REFUSED: dict[str, tuple[Change, str]] = {
    "pandas.read_csv": (through_pandas_csv, "not (.*64|str); pandas.read_csv guesses types, p2p.read_csv keeps them"),
    "pandas.read_csv, dates as text": (
        lambda frame: through_pandas_csv(frame, dtype=dict.fromkeys(TEXTS, "str")),
        "needs datetimes in the column date_created, not str",
    ),
    # text
    "numbers among text": (each(["status"], objects(lambda word: 7 if word == "failed" else word)), "not int and str"),
    "numbers as categories": (fill(["status"], pd.Categorical(range(6))), "needs text in the column status"),
    "bytes": (each(["status"], objects(str.encode)), "needs text in the column status, not binary"),
    "half a surrogate pair": (each(["status"], objects(lambda word: word + "\ud83c")), "not text that is not valid U"),
    "lists": (each(["status"], objects(lambda word: [word])), "needs text in the column status"),
    # cents
    "units": (each(CENTS, lambda column: column / 100), f"column (flow|amount)_cents, not {FRACTIONS}"),
    "infinity": (fill(CENTS, np.inf), FRACTIONS),
    "cents as text": (astype(CENTS, "str"), f"needs {BEYOND}, not str"),
    "flags": (fill(CENTS, value=True), f"needs {BEYOND}, not bool"),
    "half cents in decimals": (each(CENTS, objects(lambda cents: Decimal(int(cents)) / 2 + Decimal("0.1"))), FRACTIONS),
    "2**62": (fill(CENTS, 2**62), TOO_LARGE),
    "2**53 in all": (fill(CENTS, 2**52), TOO_LARGE),
    "the least integer": (fill(CENTS, -(2**63)), TOO_LARGE),
    "unsigned": (fill(CENTS, np.uint64(2**63)), TOO_LARGE),
    "2**70": (fill(CENTS, pd.Series([2**70] * 6, dtype=object)), TOO_LARGE),
    "1e300": (fill(CENTS, 1e300), FRACTIONS),
    # dates
    "dates as numbers": (each(DATES, lambda column: column.astype("int64", errors="ignore").fillna(0)), "datetimes"),
    "periods": (
        each(DATES, lambda column: column.dt.tz_localize(None).dt.to_period("D")), "needs datetimes in the column date_"
    ),
    "dates and text": (each(DATES, objects(lambda moment: str(moment) if moment.day == 1 else moment)), "datetimes"),
    "dates beyond int64": (fill(DATES, pd.Series([np.datetime64(10**14, "s")] * 6)), OUTSIDE),
    "dates before mankind": (fill(DATES, pd.Series([np.datetime64(-(2**63) + 1, "us")] * 6)), OUTSIDE),
    # columns
    "MultiIndex columns": (
        lambda frame: frame.set_axis(pd.MultiIndex.from_product([["a"], frame.columns]), axis=1), "needs the columns"
    ),
    "columns in the index": (
        lambda frame: frame.set_index(["status", "date_created"]), r"pass frame.reset_index\(\), because the index"
    ),
    "two statuses": (lambda frame: pd.concat([frame, frame[["status"]]], axis=1), "not two columns status; rename or"),
    "columns": (lambda frame: frame["status"], "not Series"),
    "groups": (lambda frame: frame.groupby("status"), "not DataFrameGroupBy"),
    "rows": (lambda frame: frame.to_dict("records"), "not list"),
    "NumPy": (lambda frame: frame.to_numpy(), "not ndarray"),
    "Arrow": (pa.Table.from_pandas, "not Table"),
    # currencies
    "currencies": (fill(["currency"], ["USD", "EUR"] * 3), "in one currency, not in EUR and USD: select the rows"),
    "some without a currency": (fill(["currency"], ["GBP", None] * 3), "in one currency, not in GBP and USD"),
    "currencies as categories": (fill(["currency"], pd.Categorical(["USD", "EUR"] * 3)), "not in EUR and USD"),
    # Polars
    "Polars ids as numbers": (in_polars(pl.lit(3).alias("status")), "needs text in the column status, not Int32"),
    "Polars units": (in_polars(pl.col(CENTS) / 100), f"{BEYOND}, not Float64"),
    "Polars 2**62": (in_polars(*(pl.lit(2**62).alias(name) for name in CENTS)), TOO_LARGE),
    "Polars unsigned": (in_polars(*(pl.lit(2**63, pl.UInt64).alias(name) for name in CENTS)), TOO_LARGE),
    "Polars lazy 2**62": (in_lazy_polars(*(pl.lit(2**62).alias(name) for name in CENTS)), TOO_LARGE),
    "Polars dates as text": (in_polars(pl.col(DATES).cast(pl.String)), "needs datetimes in the column"),
    "Polars dates beyond int64": (
        in_polars(*(pl.lit(10**16).cast(pl.Datetime("ms", "UTC")).alias(name) for name in DATES)), OUTSIDE
    ),
    "Polars currencies": (in_polars(pl.Series("currency", ["USD", "EUR"] * 3)), "not in EUR and USD"),
    "Polars lazy currencies": (in_lazy_polars(pl.Series("currency", ["JPY", "EUR"] * 3)), "not in EUR and JPY"),
    "Polars series": (lambda frame: pl.from_pandas(frame)["status"], "not Series"),
}  # fmt: skip
