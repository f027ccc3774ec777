"""Column and text operations of the mask that do not depend on the key."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from pandas.api import types

from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.schema import INCOMPLETE, UNEXPECTED, UNREADABLE

Unit: TypeAlias = Literal["D", "M"]

_INTEGER_BYTES: Final = 8
NOT_SHOWN: Final = "not shown in privacy mode"
_QUOTES: Final = re.compile(r"[\"'\d]")  # a sentence without them quotes no value
_CODE: Final = re.compile(r"[a-z]+(_[a-z]+)*")  # of a problem
_OF_RECORDS: Final = (INCOMPLETE, UNREADABLE, UNEXPECTED)
_ROW_IDS: Final = ("payment_id", "user_id")  # the first of them that a table has identifies its rows


def widen_integers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with all integers 64 bits wide; raise a SchemaError for a dtype that cannot be masked."""
    wide: dict[str, str] = {}
    for name, dtype in frame.dtypes.items():
        if isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
            raise SchemaError(
                f"Column {name!r} has dtype {dtype}, which privacy mode cannot mask: convert it to datetimes or text."
            )
        if types.is_integer_dtype(dtype) and dtype.itemsize < _INTEGER_BYTES:
            wide[str(name)] = "Int64" if types.is_extension_array_dtype(dtype) else "int64"
    return frame.astype(wide)


def split_name(name: str) -> dict[str, str]:
    """Return the four names of a person that a pseudonym gives."""
    first, _, last = name.partition(" ")
    handle = name.lower().replace(" ", "-")
    return {"display_name": name, "username": handle, "first_name": first, "last_name": last}


def hide_quotes(problem: str) -> str:
    """Return the description of a problem, or a placeholder if it may quote the value."""
    return NOT_SHOWN if _QUOTES.search(problem) else problem


def mask_sentences(problems: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    """Return the codes of PROBLEMS, and the sentences: for a file, only the words of the code.

    The sentence about a file can quote other files, people, ids and amounts.
    """
    codes = map_values(to_text(problems["code"]), lambda code: code if _CODE.fullmatch(code) else NOT_SHOWN)
    words = codes.str.replace("_", " ").fillna(NOT_SHOWN)
    sentences = map_values(to_text(problems["problem"]), hide_quotes)
    return {"code": codes, "problem": sentences.where(codes.isin(_OF_RECORDS), words)}


def replace_text(text: str | None, form: Callable[[str], str]) -> str | None:
    """Return the pseudonym of a text; null stays null, and blank text becomes empty."""
    return None if text is None else form(text) if text.strip() else ""


def to_text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column as text."""
    return column.astype("str")


def map_values(column: pd.Series[Any], change: Callable[[Any], Any]) -> pd.Series[Any]:
    """Apply a function to each distinct value; nulls stay."""
    changed = {value: change(value) for value in column.dropna().unique().tolist()}
    return pd.Series([changed.get(value) for value in column.tolist()], dtype=column.dtype)


def floor_instants(column: pd.Series[Any], unit: Unit) -> pd.Series[Any]:
    """Return datetimes at the start of their day or month, in UTC if they are aware."""
    aware = isinstance(column.dtype, pd.DatetimeTZDtype)
    plain = column.dt.tz_convert("UTC").dt.tz_localize(None) if aware else column
    instants = plain.to_numpy()
    starts = pd.Series(instants.astype(f"datetime64[{unit}]").astype(instants.dtype))
    return starts.dt.tz_localize("UTC") if aware else starts


def floor_microseconds(column: pd.Series[Any], unit: Unit) -> pd.Series[Any]:
    """Return whole microseconds since 1970 at the start of their day or month."""
    instants = column.fillna(0).to_numpy("int64").astype("datetime64[us]")
    starts = instants.astype(f"datetime64[{unit}]").astype("datetime64[us]").astype("int64")
    return pd.Series(starts, dtype="Int64").where(column.notna())


def map_rows(column: pd.Series[Any], payment_ids: pd.Series[Any], change: Callable[[Any, str], Any]) -> pd.Series[Any]:
    """Apply a function to each value and the payment id of its row; nulls stay."""
    rows = zip(column.tolist(), payment_ids.fillna("").tolist(), column.isna().tolist(), strict=True)
    return pd.Series([None if null else change(value, row) for value, row, null in rows], dtype=column.dtype)


def reorder(masked: pd.DataFrame) -> pd.DataFrame:
    """Sort rows with an id by their pseudonym; in a table with dates, only among the rows of each date.

    The rows of a date keep its positions, so a table that is sorted by date stays sorted.
    """
    name = next((name for name in _ROW_IDS if name in masked), None)
    if name is None:
        return masked
    keys = masked[[name]].set_axis(["id"], axis=1).astype("str")
    keys["group"] = masked["date_created"].factorize()[0] if "date_created" in masked else 0
    places = keys["group"].argsort(kind="stable").to_numpy()
    order = np.empty(len(masked), np.int64)
    order[places] = keys.sort_values(["group", "id"], ascending=[True, False], kind="stable").index
    return masked.take(order).reset_index(drop=True)


def restore_dtype(column: pd.Series[Any], given: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column in the dtype of the unmasked one, with the masked values as categories."""
    if given.dtype.name == "category":
        return column.astype("str").astype("category")
    return column.astype(given.dtype)
