"""Fixed columns and dtypes of the PAYMENTS, STATEMENT, PEOPLE, FRIENDS and PROBLEMS frames.

Text is pandas ``str``; money is nullable ``Int64`` in cents; datetimes are ``datetime64[us, UTC]``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import pandas as pd
import pyarrow as pa
from narwhals.stable.v2 import dependencies
from pandas.api.types import pandas_dtype

from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.merge import has_repeats
from p2p_analytics.times import to_microseconds
from p2p_analytics.vocabulary import Action, Status

TEXT: Final = "str"
WHOLE: Final = "Int64"
FLAG: Final = "boolean"
INSTANT: Final = "datetime64[us, UTC]"

PAYMENTS: Final[Mapping[str, str]] = {
    "payment_id": TEXT, "status": TEXT, "action": TEXT, "amount_cents": WHOLE, "note": TEXT, "audience": TEXT,
    "medium": TEXT, "date_created": INSTANT, "date_completed": INSTANT,
    "actor_id": TEXT, "actor_username": TEXT, "actor_display_name": TEXT,
    "target_type": TEXT, "target_email": TEXT, "target_phone": TEXT,
    "target_user_id": TEXT, "target_user_username": TEXT, "target_user_display_name": TEXT,
    "fee_cents": WHOLE, "refund_payment_id": TEXT, "refund_amount_cents": WHOLE,
    "source": TEXT, "account_id": TEXT, "kind": TEXT, "currency": TEXT,
    "direction": TEXT, "counterparty_id": TEXT, "counterparty_username": TEXT, "counterparty_name": TEXT,
    "flow_cents": WHOLE,
}  # fmt: skip

# What statements know beside PAYMENTS: in frames of statements these columns follow the columns of PAYMENTS.
STATEMENT: Final[Mapping[str, str]] = {
    "type": TEXT, "funding_source": TEXT, "destination": TEXT, "tip_cents": WHOLE, "tax_cents": WHOLE,
    "balance_cents": WHOLE, "file": TEXT, "line": WHOLE,
}  # fmt: skip

PEOPLE: Final[Mapping[str, str]] = {
    "user_id": TEXT, "username": TEXT, "display_name": TEXT, "first_name": TEXT, "last_name": TEXT, "about": TEXT,
    "profile_picture_url": TEXT, "date_joined": INSTANT, "email": TEXT, "phone": TEXT, "is_friend": FLAG,
    "friends_count": WHOLE, "also_named": TEXT,
}  # fmt: skip

FRIENDS: Final[Mapping[str, str]] = {
    "user_id": TEXT, "username": TEXT, "first_name": TEXT, "last_name": TEXT,
    "display_name": TEXT, "about": TEXT, "profile_picture_url": TEXT,
}  # fmt: skip

# The code and the columns after it are data; the sentence is made of them last.
PROBLEMS: Final[Mapping[str, str]] = {
    "code": TEXT, "file": TEXT, "line": WHOLE, "payment_id": TEXT, "field": TEXT, "value": TEXT, "first_day": INSTANT,
    "last_day": INSTANT, "cents": WHOLE, "currency": TEXT, "other_file": TEXT, "problem": TEXT,
}  # fmt: skip

# Codes of problems of records of the service: the list may lack records, a value is lost, or it is kept.
INCOMPLETE: Final = "incomplete"
UNREADABLE: Final = "unreadable"
UNEXPECTED: Final = "unexpected"

# Codes of problems of statement files: the balances and the rows do not agree, or something is missing before a file.
DOES_NOT_ADD_UP: Final = "does_not_add_up"
GAP: Final = "gap"
CUT_OFF: Final = "cut_off"

# The values of the columns source and kind.
SOURCE_API: Final = "api"
SOURCE_STATEMENT: Final = "statement"
KIND_PAYMENT: Final = "payment"
KIND_TRANSFER: Final = "transfer"
KIND_UNKNOWN: Final = "unknown"
KINDS: Final = (
    KIND_PAYMENT, KIND_TRANSFER, "merchant", "card", "reward", "deposit", "fee", "asset", "hold", "notice",
    KIND_UNKNOWN,
)  # fmt: skip


def require(
    columns: Iterable[str], needed: Iterable[str], *, what: str, instead: str = "a frame as load_history gives it"
) -> None:
    """Raise a SchemaError that names the missing columns and a frame to pass instead."""
    present = set(columns)
    missing = [name for name in needed if name not in present]
    if missing:
        raise SchemaError(f"{what} needs the columns {', '.join(missing)}; pass {instead}.")


def advise_pandas(value: object) -> str:
    """Return the expression that gives a pandas frame of a value that is none."""
    if hasattr(value, "payments"):
        return "history.payments"
    # Of Spark, of Polars and Arrow, of DuckDB, and of lazy frames of Polars.
    ways = {"toPandas": "toPandas()", "to_pandas": "to_pandas()", "df": "df()", "collect": "collect().to_pandas()"}
    return next((f"frame.{way}" for name, way in ways.items() if hasattr(value, name)), "a pandas frame")


@contextmanager
def refuse_failing_query(native: object, *, what: str) -> Iterator[None]:
    """Raise a SchemaError without values of the data if the query of a lazy frame fails; other errors are raised."""
    try:
        yield
    except Exception as error:
        kinds = dependencies.is_polars_lazyframe, dependencies.is_duckdb_relation, dependencies.is_pyspark_dataframe
        if isinstance(error, SchemaError) or not any(is_kind(native) for is_kind in kinds):
            raise
        is_relation = dependencies.is_duckdb_relation(native)
        kind, advice = ("relation", "call its df()") if is_relation else ("lazy frame", "collect it")
        raise SchemaError(
            f"{what}: the {kind} cannot be computed ({type(error).__name__}): {advice} yourself to see why."
        ) from None


def frame_of_columns(columns: Mapping[str, list[Any]], schema: Mapping[str, str]) -> pd.DataFrame:
    """Return a frame with the columns and dtypes of a schema, in its order, from Python values; null is None."""
    frame: dict[str, pd.Series[Any]] = {}
    for name, dtype in schema.items():
        values = columns[name]
        if dtype == INSTANT:  # by whole microseconds, so that none is rounded
            microseconds = [None if value is None else to_microseconds(value) for value in values]
            instants = pd.array(microseconds, dtype="Int64").to_numpy("datetime64[us]", na_value="NaT")
            frame[name] = pd.Series(instants).dt.tz_localize("UTC")
            continue
        if dtype == TEXT:  # which cannot hold half of a surrogate pair; it becomes "?"
            values = [value and value.encode(errors="replace").decode() for value in values]
        frame[name] = pd.Series(pd.array(values, dtype=dtype))  # type: ignore[call-overload]
    return pd.DataFrame(frame)


def set_dtypes(frame: pd.DataFrame, dtypes: Mapping[Any, Any]) -> pd.DataFrame:
    """Return a frame with these dtypes; ``astype`` is slow, because it also converts columns that have theirs."""
    own = frame.dtypes.to_dict()
    others = {name: dtype for name, dtype in dtypes.items() if own[name] != parse_dtype(dtype)}
    return frame.assign(**{name: frame[name].astype(dtype) for name, dtype in others.items()})


@functools.cache
def parse_dtype(dtype: Any) -> Any:  # noqa: ANN401 - a name or a dtype of pandas
    """Return a dtype of pandas; looking one up by its name takes long where there are few rows."""
    return pandas_dtype(dtype)


def require_unique_ids(payments: pd.DataFrame, *, what: str) -> None:
    """Raise a SchemaError if two rows have one ``payment_id``: every sum would count that payment twice."""
    ids = payments["payment_id"].dropna()
    if not has_repeats(pa.array(ids)) if ids.dtype == TEXT else ids.is_unique:
        return
    repeated = ids[ids.duplicated()]
    surplus = f"{len(repeated):,} {'row' if len(repeated) == 1 else 'rows'} too many"
    raise SchemaError(
        f"{what} needs each payment once, but the payment_id {str(repeated.iloc[0])!r} is repeated ({surplus}): unite "
        "histories or frames with p2p.combine, not with pandas.concat."
    )


def select_payments(payments: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of PAYMENTS that are payments between people; a row without a kind is one."""
    if "kind" not in payments:
        return payments
    is_payment = payments["kind"].fillna(KIND_PAYMENT) == KIND_PAYMENT
    return payments if is_payment.all() else payments[is_payment]


def are_open_requests(ids: pd.Series[Any], payments: pd.DataFrame) -> pd.Series[bool]:
    """Return whether each id belongs to a request that is still open; a payment to someone who has not joined is none.

    A null is none.
    """
    is_open = (payments["status"] == Status.PENDING.value) & (payments["action"] == Action.CHARGE.value)
    # As objects, which are looked up by their hash; pandas would make a list of text in Arrow first.
    return ids.notna() & ids.astype(object).isin(payments.loc[is_open, "payment_id"].dropna().astype(object))


def count_other_kinds(payments: pd.DataFrame) -> dict[str, int]:
    """Return the number of rows of PAYMENTS of each kind other than payment, the most frequent first."""
    if "kind" not in payments:
        return {}
    counts = payments.loc[payments["kind"] != KIND_PAYMENT, "kind"].value_counts()
    return dict(sorted(((str(kind), int(count)) for kind, count in counts.items()), key=lambda item: (-item[1], item)))


def is_from_statements(payments: pd.DataFrame) -> bool:
    """Return whether there are rows of PAYMENTS, and all of them come from statement files only."""
    return len(payments) > 0 and "source" in payments and bool((payments["source"] == SOURCE_STATEMENT).all())


def list_wrong_files(problems: pd.DataFrame) -> list[str]:
    """Return the statement files that do not add up, in their order."""
    return _list_files(problems, DOES_NOT_ADD_UP)


def list_files_after_gaps(problems: pd.DataFrame) -> list[str]:
    """Return the statement files before which a file or rows may be missing, in their order."""
    return _list_files(problems, GAP)


def list_cut_off_files(problems: pd.DataFrame) -> list[str]:
    """Return the statement files without their last rows, in their order."""
    return _list_files(problems, CUT_OFF)


def _list_files(problems: pd.DataFrame, code: str) -> list[str]:
    return [*dict.fromkeys(problems.loc[problems["code"] == code, "file"].dropna())]
