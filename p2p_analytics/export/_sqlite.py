"""Payments, people and analyses as an SQLite database."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from typing import TYPE_CHECKING, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.export._analyses import analyse
from p2p_analytics.files import atomic_path
from p2p_analytics.frames.arrow import table_of
from p2p_analytics.frames.schema import PEOPLE, set_dtypes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    from p2p_analytics.history import History

_ROWS_AT_ONCE: Final = 8_192
_TYPES: Final = {"int64": "INTEGER", "bool": "INTEGER", "double": "REAL"}  # the others are text
_PAYMENTS: Final = "payments"
_NUMBER: Final = "number"
_NO_COLUMN: Final = re.compile(r"\A\Z|[\0\ud800-\udfff]")
_NO_TABLE: Final = re.compile(rf"{_NO_COLUMN.pattern}|\Asqlite_", re.ASCII | re.IGNORECASE)  # as its own ones begin
# The id columns of the people of a payment, each with the columns of the person's names.
_SIDES: Final = {
    "counterparty_id": ("counterparty_username", "counterparty_name"),
    "actor_id": ("actor_username", "actor_display_name"),
    "target_user_id": ("target_user_username", "target_user_display_name"),
}
_LINKS: Final = (
    *(f"CREATE INDEX payments_{column} ON payments({column})" for column in ("payment_id", "date_created", *_SIDES)),
    # The option names the table with double quotes, because Datasette looks for these.
    'CREATE VIRTUAL TABLE payments_fts USING fts5(note, content="payments", content_rowid="number")',
    "INSERT INTO payments_fts(payments_fts) VALUES ('rebuild')",
)


def to_sqlite(
    source: History | pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    as_of: datetime | date | str | None = None,
    end: datetime | date | str | None = None,
    tz: str | ZoneInfo = "UTC",
) -> None:
    """Write payments, people and the analyses as an SQLite database.

    The table ``payments`` has the columns of the frame, after ``number``, which counts its rows. Ids are text, money is
    whole cents, instants are text in UTC that sorts, such as ``2024-05-31T18:30:00Z``, and flags are 0 or 1. Its
    counterparty, actor and target refer to ``people``, which also has a row for each id that only payments name.
    ``payments_fts`` is a full-text index of the notes. Each analysis is a table of its name. ``about`` lists all tables
    with their number of rows, and states why an analysis is missing.

    Parameters
    ----------
    source : History or pandas.DataFrame
        PAYMENTS alone need ``as_of``; the people are the ones that they name, and no person is a friend.
    path : str or os.PathLike
        The file; an existing one is replaced as a whole.
    as_of, end : datetime, date or str, optional
        As in `to_excel`.
    tz : str or ZoneInfo
        The zone of days and months; a private history is in UTC.

    Raises
    ------
    SchemaError
        The frame lacks a column, a column cannot be written without loss, SQLite takes two names of columns for one,
        or a person is there twice.
    ConfigurationError
        A frame is given without ``as_of``, the zone is unknown, or the file cannot be written.
    """
    found = analyse(source, as_of=as_of, end=end, tz=tz, what="to_sqlite")
    tables = {
        "people": _add_people(found.people, found.payments),
        "payments": found.payments,
        "friends": found.friends,
    }
    notes = {"payments": "one row per payment", "people": "one row per person", "friends": "one row per friend"}
    _write(found.list_tables(tables, notes, title="name"), path, linked=True)


def write_database(tables: Mapping[str, pd.DataFrame], path: str | os.PathLike[str]) -> None:
    """Write tables by their names as an SQLite database; values are as `to_sqlite` writes them.

    Raises
    ------
    SchemaError
        A column cannot be written without loss, a name is not text or SQLite does not take it, or takes two for one.
    ConfigurationError
        The file cannot be written.
    """
    _write(tables, path, linked=False)


def _add_people(people: pd.DataFrame | None, payments: pd.DataFrame) -> pd.DataFrame:
    """Return PEOPLE with a row for each id that only payments name, under the last name of the alphabet."""
    known = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in PEOPLE.items()}) if people is None else people
    if known["user_id"].isna().any() or not known["user_id"].is_unique:
        raise SchemaError("A person without an id, or with the id of another one, cannot be referred to: drop the row.")
    sides = [
        payments[[number, *names]].set_axis(["user_id", "username", "display_name"], axis="columns")
        for number, names in _SIDES.items()
    ]
    named = pd.concat(sides, ignore_index=True).drop_duplicates()
    named = named[named["user_id"].notna() & ~named["user_id"].isin(known["user_id"])]
    if named.empty:
        return known
    added = named.sort_values(["user_id", "username", "display_name"], na_position="first").groupby("user_id").last()
    dtypes = known.dtypes.to_dict()
    rows = set_dtypes(added.reset_index().reindex(columns=list(known)), dtypes)
    return pd.concat([known, rows], ignore_index=True)


def _write(tables: Mapping[str, pd.DataFrame], path: str | os.PathLike[str], *, linked: bool) -> None:
    """Write tables; if they are linked, payments are numbered and indexed, and refer to people."""
    ready = {name: table_of(frame) for name, frame in tables.items()}
    _require_names(tables, _NO_TABLE, what="A database")
    for name, table in ready.items():
        numbered = [_NUMBER] if linked and name == _PAYMENTS else []
        _require_names([*numbered, *table.column_names], _NO_COLUMN, what=f"The table {name!r}")
    with atomic_path(path) as temporary:
        try:
            with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as database:
                # The file is new and replaces another one only when it is complete, so it needs no journal. Sorting
                # stays in memory, because temporary files could be read.
                for setting in ("journal_mode = OFF", "synchronous = OFF", "temp_store = MEMORY", "foreign_keys = ON"):
                    database.execute(f"PRAGMA {setting}")
                database.execute("BEGIN")
                for name, table in ready.items():
                    _fill(database, name, table, linked=linked)
                if linked:
                    for statement in _LINKS:
                        database.execute(statement)
                database.execute("COMMIT")
        except sqlite3.Error as error:
            raise ConfigurationError(f"Cannot write {path}: {str(error).rstrip('.')}.") from None


def _require_names(names: Iterable[object], refused: re.Pattern[str], *, what: str) -> None:
    """Raise a SchemaError for a name that is refused or no text, and for two that differ in the case of ASCII only."""
    seen: dict[bytes, str] = {}
    for name in names:
        if not isinstance(name, str):
            raise SchemaError(f"{what} has the name {name!r}, which is not text: choose another one.")
        if refused.search(name):
            raise SchemaError(f"{what} has the name {name[:60]!r}, which SQLite does not take: choose another one.")
        key = name.encode().lower()
        if key in seen:
            raise SchemaError(f"{what} has the names {seen[key]!r} and {name!r}, which are one in SQLite: rename one.")
        seen[key] = name


def _fill(database: sqlite3.Connection, name: str, table: pa.Table, *, linked: bool) -> None:
    """Create a table and insert its rows."""
    declared = [f"{_NUMBER} INTEGER PRIMARY KEY"] if linked and name == _PAYMENTS else []
    for field in table.schema:
        words = [_quote(field.name), _TYPES.get(str(field.type), "TEXT")]
        if linked and (name, field.name) == ("people", "user_id"):
            words.append("PRIMARY KEY")
        if linked and name == _PAYMENTS and field.name in _SIDES:
            words.append("REFERENCES people(user_id)")
        declared.append(" ".join(words))
    joined = ",\n  ".join(declared)
    database.execute(f"CREATE TABLE {_quote(name)} (\n  {joined}\n)")
    places = ", ".join(["?"] * len(table.column_names))
    insert = f"INSERT INTO {_quote(name)} ({', '.join(map(_quote, table.column_names))}) VALUES ({places})"  # noqa: S608 - quoted names
    ready = pa.table([_to_storage(column) for column in table.columns], names=table.column_names)
    for batch in ready.to_batches(max_chunksize=_ROWS_AT_ONCE):
        database.executemany(insert, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _quote(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def _to_storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return dates and instants as text; instants of a column have the same number of digits, so that they sort."""
    if pa.types.is_date(column.type):
        return column.cast(pa.string())
    if not pa.types.is_timestamp(column.type):
        return column
    exact = column.cast(pa.timestamp("us"))
    whole = exact.cast(pa.timestamp("s"), safe=False)
    is_whole = pc.all(pc.equal(whole.cast(exact.type), exact), min_count=0).as_py()
    text = (whole if is_whole else exact).cast(pa.string())
    return pc.binary_join_element_wise(pc.utf8_replace_slice(text, start=10, stop=11, replacement="T"), "Z", "")
