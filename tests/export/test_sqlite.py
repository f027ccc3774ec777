"""SQLite databases: tables read back equal, and the file is one that SQLite itself finds intact."""

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.analyses.build import build_table
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.export import write_database
from p2p_analytics.frames.schema import FRIENDS, PAYMENTS
from support.analyses.records import HOSTILE, make_record, make_town
from support.frames import frame_from_rows
from support.hostile_texts import TEXTS
from support.reports import payment_row, report_history

SAMPLE = Path(__file__).parents[1] / "statements" / "samples" / "gen_d_2024.csv"
AS_OF = "2025-03-01T12:00"


@contextlib.contextmanager
def open_database(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database that SQLite finds intact, with every reference of a row kept."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        yield database


def list_tables(database: sqlite3.Connection) -> list[str]:
    """Return the names of the tables of a database, without the ones of the full-text index."""
    found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'payments_fts%'")
    return [name for (name,) in found]


def read_rows(database: sqlite3.Connection, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table by their columns."""
    cursor = database.execute(f'SELECT * FROM "{name}"')  # noqa: S608 - a name of this file
    titles = [column[0] for column in cursor.description]
    return [dict(zip(titles, row, strict=True)) for row in cursor]


def assert_equal(found: list[dict[str, Any]], frame: pd.DataFrame) -> None:
    """Check names, order and values of rows; a number with decimals must be one in both."""
    for row, wanted in zip(found, frame.astype(object).where(frame.notna(), None).to_dict("records"), strict=True):
        assert list(row) == list(wanted)
        parsed = {name: parse(value, wanted[name]) for name, value in row.items()}
        assert parsed == wanted
        assert [name for name in parsed if isinstance(parsed[name], float) != isinstance(wanted[name], float)] == []


def parse(value: Any, like: object) -> Any:
    """Return a date or instant where one is expected."""
    return pd.Timestamp(datetime.fromisoformat(value)) if isinstance(like, pd.Timestamp) else value


@pytest.mark.parametrize(("sets", "tz"), [((), "America/New_York"), (("a mixture", "notes", "last years"), "UTC")])
def test_every_analysis_is_a_table(sets: tuple[str, ...], tz: str, tmp_path: Path) -> None:
    """It has the columns, the rows and the order of the analysis in the zone, also for hostile payments."""
    hostile = [record for name in sets for record in HOSTILE[name]()]
    payments = frame_from_rows(hostile or make_town(seed=3, people=5, years=2), PAYMENTS)
    parts = SimpleNamespace(friends=pd.DataFrame(columns=[*FRIENDS]), strict=False)
    p2p.to_sqlite(payments, tmp_path / "p.db", as_of=AS_OF, tz=tz)
    with open_database(tmp_path / "p.db") as database:
        assert list_tables(database) == ["about", "people", "payments", "friends", *ANALYSES]
        for name in ANALYSES:
            assert_equal(read_rows(database, name), build_table(name, payments, parts, as_of=AS_OF, tz=tz))


def test_payments_read_back_equal(tmp_path: Path) -> None:
    """Each value comes back: hostile texts, ids of 19 digits as text, whole cents, instants that sort, null and ''."""
    rows = [
        {"payment_id": f"{10**18 + at}", "note": text, "counterparty_name": text, "actor_username": text}
        for at, text in enumerate((*TEXTS, "", "\x00", 'a"b', "'; DROP TABLE payments; --"))
    ]
    rows += [
        {"payment_id": "007", "amount_cents": 2**63 - 1, "date_created": "2024-05-31T18:30:00Z"},
        {"payment_id": "007", "amount_cents": -1, "date_created": "2024-05-31T18:30:00.000001Z"},
        {},
    ]
    payments = frame_from_rows(rows, PAYMENTS).assign(is_mine=True, share=0.1)
    write_database({"payments": payments}, tmp_path / "one.db")
    p2p.to_sqlite(payments.iloc[:-3], tmp_path / "all.db", as_of=AS_OF)
    with open_database(tmp_path / "one.db") as database:
        assert list_tables(database) == ["payments"]
        assert_equal(read_rows(database, "payments"), payments)
        kinds = "SELECT typeof(payment_id), typeof(amount_cents), typeof(is_mine), typeof(share) FROM payments"
        found = database.execute(f"{kinds} WHERE payment_id = '007'").fetchall()
        assert found == [("text", "integer", "integer", "real")] * 2
        ordered = "SELECT date_created FROM payments WHERE date_created IS NOT NULL ORDER BY date_created"
        instants = [instant for (instant,) in database.execute(ordered)]
        assert instants == ["2024-05-31T18:30:00.000000Z", "2024-05-31T18:30:00.000001Z"]
    with open_database(tmp_path / "all.db") as database:
        found = read_rows(database, "payments")
        assert [row.pop("number") for row in found] == list(range(1, len(payments) - 2))
        assert_equal(found, payments.iloc[:-3])


def test_people_and_references(tmp_path: Path) -> None:
    """Every person of a payment is in `people`: those of the history as they are, the others by what payments say."""
    history = p2p.read_statements(SAMPLE).history()
    payments = history.payments.assign(counterparty_id=["7", "7", *[None] * (len(history.payments) - 2)])
    payments["counterparty_name"] = ["Ann", "Zoe", *["Ben"] * (len(payments) - 2)]
    p2p.to_sqlite(p2p.History(**{**vars(history), "payments": payments}), tmp_path / "p.db")
    with open_database(tmp_path / "p.db") as database:
        people = read_rows(database, "people")
        assert people[0]["user_id"] == "nora-quill"
        known = {name: value for name, value in people[1].items() if value is not None}
        assert (len(people), known) == (2, {"user_id": "7", "display_name": "Zoe"})
        with pytest.raises(sqlite3.IntegrityError):
            database.execute("PRAGMA foreign_keys = ON").connection.execute("DELETE FROM people WHERE user_id = '7'")
    doubled = pd.concat([history.people, history.people])
    with pytest.raises(SchemaError, match="cannot be referred to"):
        p2p.to_sqlite(p2p.History(**{**vars(history), "people": doubled}), tmp_path / "q.db")


def test_notes_are_searched(tmp_path: Path) -> None:
    """The index finds words of notes without regard to case and accents, also after the file was compacted."""
    notes = ["Crème brûlée", "RENT may", None, "rent", "=cmd|' /C calc'!A0", "\x00rent"]
    payments = frame_from_rows([{"payment_id": f"{at}", "note": note} for at, note in enumerate(notes)], PAYMENTS)
    p2p.to_sqlite(payments, tmp_path / "p.db", as_of=AS_OF)
    with open_database(tmp_path / "p.db") as database:
        database.execute("VACUUM")
        found = "SELECT rowid FROM payments_fts WHERE payments_fts MATCH ?"
        search = f"SELECT payment_id FROM payments WHERE number IN ({found})"  # noqa: S608 - a constant
        for words, expected in (("rent", ["1", "3"]), ("creme", ["0"]), ('"calc a0"', ["4"])):
            ids = [identifier for (identifier,) in database.execute(search, [words])]
            assert [identifier for identifier in ids if identifier != "5"] == expected
        database.execute("INSERT INTO payments_fts(payments_fts) VALUES ('integrity-check')")


def test_what_is_not_there_says_why(tmp_path: Path) -> None:
    """`about` says why sums are missing for payments in two currencies; ages of a strict history are in months."""
    payments = frame_from_rows([make_record(), make_record(payment_id="2", currency="EUR")], PAYMENTS)
    p2p.to_sqlite(payments, tmp_path / "p.db", as_of=AS_OF)
    with open_database(tmp_path / "p.db") as database:
        about = {row["name"]: row for row in read_rows(database, "about")}
        assert [*about] == ["payments", "people", "friends", *ANALYSES]
        assert about["payments"] == {"name": "payments", "rows": 2, "about": "one row per payment"}
        assert about["time_to_settle"]["rows"] == 0
        assert about["monthly_flow"]["rows"] is None
        assert "Month by month; not here: monthly_flow needs payments in one currency" in about["monthly_flow"]["about"]
        assert "monthly_flow" not in list_tables(database)
    p2p.to_sqlite(p2p.read_statements(SAMPLE).history().masked(strict=True), tmp_path / "s.db", tz="Asia/Tokyo")
    with open_database(tmp_path / "s.db") as database:
        assert read_rows(database, "pending_ageing")[0]["band"] == "under 31 days"


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """A failure leaves the earlier file, and no other; a file that is written is its owner's only."""
    payments, known = frame_from_rows([make_record()], PAYMENTS), {"as_of": AS_OF}
    (tmp_path / "p.db").write_bytes(b"earlier")
    for error, sentence, source, more in (
        (ConfigurationError, "need as_of=", payments, {}),
        (ConfigurationError, "zone", payments, {**known, "tz": "Mars/Base"}),
        (ConfigurationError, r"^end='soon' is not an instant", payments, {**known, "end": "soon"}),
        (SchemaError, "to_sqlite needs the columns status", payments.drop(columns="status"), known),
        (SchemaError, "pandas frame, not a polars", pl.from_pandas(payments), known),
        (SchemaError, "'note' holds", payments.assign(note=[["a"]]), known),
        (SchemaError, "'payments' has the names 'number' and 'number', which are", payments.assign(number=1), known),
        (SchemaError, r"'note' and 'Note', which are one in SQLite: rename one\.", payments.assign(Note="a"), known),
    ):
        with pytest.raises(error, match=sentence):
            p2p.to_sqlite(source, tmp_path / "p.db", **more)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("p.db", b"earlier")]
    with pytest.raises(ConfigurationError, match=r"Cannot write .*/none/p\.db: "):
        p2p.to_sqlite(payments, tmp_path / "none" / "p.db", as_of=AS_OF)
    p2p.to_sqlite(payments, tmp_path / "p.db", as_of=AS_OF)
    assert (tmp_path / "p.db").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["p.db"]


def test_what_recurs_is_judged_at_the_end_of_the_data(tmp_path: Path) -> None:
    """Data of April has no rent of May, which is not late because of a later as_of; frames do not say when they end."""
    # 20 May is 47 days after 3 April, and 1.25 months are 37.5.
    to_ben = {"flow_cents": -90000, "direction": "out", "counterparty_id": "2"}
    rent = [payment_row(at, f"2024-0{at}-03T12:00:00Z", **to_ben) for at in range(1, 5)]
    history = replace(report_history(rent), fetched_at=datetime(2024, 4, 30, tzinfo=UTC))
    for at, (source, end, state) in enumerate(
        ((history, None, "active"), (history, "2024-05-20", "late"), (history.payments, None, "late"))
    ):
        p2p.to_sqlite(source, tmp_path / f"{at}.db", as_of="2024-05-20", end=end)
        with open_database(tmp_path / f"{at}.db") as database:
            rows = read_rows(database, "recurring")
        assert [row["state"] for row in rows] == [state]
    assert_equal(rows, p2p.recurring(history.payments, as_of="2024-05-20"))


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["Rent", "rent"], r"^A database has the names 'Rent' and 'rent', which are one in SQLite: rename one\.$"),
        (["sqlite_x"], r"^A database has the name 'sqlite_x', which SQLite does not take: choose another one\.$"),
        *(([name], "which SQLite does not take") for name in ("a\0b", "a\ud800", "")),
        ([1], r"^A database has the name 1, which is not text: choose another one\.$"),
    ],
)
def test_names_that_sqlite_does_not_take(tmp_path: Path, names: list[Any], sentence: str) -> None:
    """They are refused in one sentence, and no file is left."""
    with pytest.raises(SchemaError, match=sentence):
        write_database(dict.fromkeys(names, pd.DataFrame({"a": [1]})), tmp_path / "p.db")
    assert list(tmp_path.iterdir()) == []


def test_any_other_names_are_taken(tmp_path: Path) -> None:
    """Other letters than those of ASCII have no case, and tables of any content may be called people and payments."""
    tables = {
        name: pd.DataFrame({"é": [1], "É": [2], 'a\n"b"': [3], "sqlite_": [4]})
        for name in ("people", "payments", "Ä", "ä", "; --")
    }
    write_database(tables, tmp_path / "p.db")
    with open_database(tmp_path / "p.db") as database:
        assert list_tables(database) == [*tables]
        for name in tables:
            assert read_rows(database, name) == [{"é": 1, "É": 2, 'a\n"b"': 3, "sqlite_": 4}]


@pytest.mark.parametrize("strict", [False, True])
def test_the_months_of_a_private_history_are_in_utc(tmp_path: Path, *, strict: bool) -> None:
    """Its days begin at midnight in UTC, which the zone would move into the month before."""
    sent = payment_row(1, "2024-05-01T12:00:00Z", flow_cents=-500, direction="out", counterparty_id="2")
    p2p.to_sqlite(report_history([sent]).masked(strict=strict), tmp_path / "p.db", tz="America/New_York")
    with open_database(tmp_path / "p.db") as database:
        assert [tuple(row) for row in database.execute("SELECT month FROM monthly_flow")] == [("2024-05",)]
