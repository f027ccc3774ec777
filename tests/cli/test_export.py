"""The command export: a table of an archive as CSV or Parquet, without a token."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from functools import partial

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.report import Range


def test_export_payments(archive_path, tmp_path, capsys) -> None:
    """As CSV and as Parquet, the rows of the archive, and a line that says so."""
    for name, read in (("p.csv", p2p.read_csv), ("p.parquet", p2p.read_parquet)):
        assert cli.main(["export", archive_path, str(tmp_path / name)]) == 0
        assert capsys.readouterr().out == f"2 rows of payments, in {tmp_path / name}\n"
        assert read(tmp_path / name)["payment_id"].tolist() == ["2", "1"]


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("people", "user_id", ["7", "8"]),
        ("friends", "user_id", ["8"]),
        ("problems", "payment_id", []),
        ("spend_by_friend", "sent", [5.0]),
        ("monthly_flow", "month", ["2024-05"]),
        ("status_mix", "status", ["pending", "settled"]),
        ("pending_ageing", "payments", [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("pending_requests", "age_days", [3.0]),
        ("categories", "category", ["uncategorised"]),
        ("spending_over_time", "sent", [5.0]),
        ("people_by_year", "people", [1]),
        ("request_outcomes", "still_open", [5.0]),
        ("time_to_settle", "payments", []),
        ("split_bills", "people", []),
        ("activity", "payments", [1 if at == 2 * 24 + 12 else 0 for at in range(168)]),
        ("unusual", "reason", []),
        ("recurring", "state", []),
        ("exposure", "month", ["2024-05"]),
        ("sensitive_notes", "reasons", []),
    ],
)
def test_export_a_table(archive_path, tmp_path, table, column, values) -> None:
    """Friends, problems and each analysis, as of the date that is given."""
    out = tmp_path / "t.parquet"
    assert cli.main(["export", archive_path, str(out), "--table", table, "--as-of", "2024-06-03T23:30:00"]) == 0
    assert pd.read_parquet(out)[column].tolist() == values


def test_every_table_has_every_ending(archive_path, tmp_path, capfdbinary) -> None:
    """A table has the same columns and number of rows in each kind of file, and on standard output."""
    from p2p_analytics.cli import _commands
    from p2p_analytics.cli.views import _export

    def read_sqlite(path: object) -> pd.DataFrame:
        with contextlib.closing(sqlite3.connect(path)) as database:
            (name,) = database.execute("SELECT name FROM sqlite_master").fetchone()
            return pd.read_sql(f'SELECT * FROM "{name}"', database)  # noqa: S608 - a name of the catalogue

    readers = {"jsonl": partial(pd.read_json, lines=True), "db": read_sqlite}
    history = p2p.open_archive(archive_path).history()
    chosen = Range(history, "", history.fetched_at)
    for name in (*_commands.FRAMES, *ANALYSES):
        options = argparse.Namespace(out="-", as_of=None, tz=None)
        table = _export._build_table(name, chosen, options)
        _export._write_table(name, table, history, options)
        assert len(p2p.read_csv(io.BytesIO(capfdbinary.readouterr().out))) == len(table)
        for ending, read in readers.items():
            options.out = str(tmp_path / f"t.{ending}")
            _export._write_table(name, table, history, options)
            found = read(options.out)
            assert (name, ending, len(found)) == (name, ending, len(table))
            assert len(found.columns) == len(table.columns) or found.empty


@pytest.mark.parametrize(("mode", "bands"), [([], "under 1 day"), (["strict"], "under 31 days")])
def test_tables_in_privacy_mode(archive_path, tmp_path, mode, bands) -> None:
    """Months are UTC's whatever the zone; ages are in bands of days or of months."""
    out = tmp_path / "t.parquet"
    private, plain = ["--privacy", *mode], ["--table", "monthly_flow", "--tz", "Pacific/Kiritimati"]
    assert cli.main(["export", archive_path, str(out), *plain, *private]) == 0
    real = p2p.open_archive(archive_path).history(privacy=False).payments
    assert pd.read_parquet(out)["month"].tolist() == p2p.monthly_flow(real)["month"].tolist()
    assert cli.main(["export", archive_path, str(out), "--table", "pending_ageing", *private]) == 0
    assert bands in pd.read_parquet(out)["band"].tolist()


NO_ZONE = (
    "--tz has no effect on {}: instants are in UTC; spending_over_time, monthly_flow, people_by_year, recurring, "
    "activity and exposure use it."
)
NO_AS_OF = "--as-of has no effect on {}: pending_ageing, pending_requests, split_bills and recurring use it."


@pytest.mark.parametrize(
    ("table", "lines"),
    [
        *((name, [NO_ZONE, NO_AS_OF]) for name in ("payments", "people", "friends", "problems")),
        ("spend_by_friend", [NO_ZONE, NO_AS_OF]),
        ("status_mix", [NO_ZONE, NO_AS_OF]),
        ("monthly_flow", [NO_AS_OF]),
        ("pending_ageing", [NO_ZONE]),
        ("pending_requests", [NO_ZONE]),
        ("split_bills", [NO_ZONE]),
        ("activity", [NO_AS_OF]),
    ],
)
def test_options_without_effect_are_named(archive_path, capsys, table: str, lines: list[str]) -> None:
    """Standard error has a line for each; the table on standard output is the one without these options."""
    used = ["--as-of", "2024-06-03"] if NO_AS_OF not in lines else ["--tz", "Asia/Tokyo"] * (NO_ZONE not in lines)
    assert cli.main(["export", archive_path, "-", "--table", table, *used]) == 0
    plain = capsys.readouterr()
    empty = f"The table {table} has no rows.\n" if table in {"problems", "split_bills"} else ""
    assert plain.err == empty
    both = ["--tz", "Asia/Tokyo", "--as-of", "2024-06-03"]
    assert cli.main(["export", archive_path, "-", "--table", table, *both]) == 0
    assert capsys.readouterr() == (plain.out, "".join(f"{line.format(table)}\n" for line in lines) + empty)
    assert cli.main(["export", archive_path, "-", "--table", table, *both, "--progress", "none"]) == 0
    assert capsys.readouterr() == (plain.out, "")


def test_a_workbook_is_in_the_zone(archive_path, tmp_path, capsys) -> None:
    """Instants in a workbook are in the zone, which has an effect; in privacy mode they stay in UTC."""
    for mode, zone, said in (
        ([], "Asia/Tokyo", ""),
        (["--privacy"], "UTC", "--tz has no effect in privacy mode: its days and months are in UTC.\n"),
    ):
        out = str(tmp_path / "p.xlsx")
        assert cli.main(["export", archive_path, out, "--table", "payments", "--tz", "Asia/Tokyo", *mode]) == 0
        assert capsys.readouterr().err == said
        assert f"date_created ({zone})" in pd.read_excel(out).columns


def test_a_zone_without_effect_in_privacy_mode_is_named(archive_path, capsys) -> None:
    """The dates of masked payments are days in UTC, whatever the zone."""
    assert cli.main(["export", archive_path, "-", "--table", "monthly_flow", "--tz", "Asia/Tokyo", "--privacy"]) == 0
    assert capsys.readouterr().err == "--tz has no effect in privacy mode: its days and months are in UTC.\n"


def test_wrong_use(archive_path, tmp_path, capsys) -> None:
    """A file of another kind, an unknown zone and an invalid date end with 2, and nothing is written."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["export", archive_path, "payments.ods"])
    assert caught.value.code == 2
    assert (
        "does not end in .csv, .parquet, .jsonl, .xlsx, .sqlite, .db, .beancount, .journal or .hledger"
        in capsys.readouterr().err
    )
    for option, wrong, said in (("--tz", "Foo", "no zone name"), ("--as-of", "yesterday", "no date")):
        with pytest.raises(SystemExit) as caught:
            cli.main(["export", archive_path, str(tmp_path / "p.csv"), option, wrong])
        assert caught.value.code == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "p.csv").exists()


def test_export_to_standard_output(archive_path, tmp_path, capfdbinary) -> None:
    """A table as CSV on standard output is the file's content, and nothing else is printed."""
    assert cli.main(["export", archive_path, str(tmp_path / "f.csv"), "--table", "status_mix"]) == 0
    capfdbinary.readouterr()
    assert cli.main(["export", archive_path, "-", "--table", "status_mix"]) == 0
    out, err = capfdbinary.readouterr()
    assert (out, err) == ((tmp_path / "f.csv").read_bytes(), b"")
    assert pd.read_csv(io.BytesIO(out))["status"].tolist() == ["pending", "settled"]


def test_an_empty_table_is_announced(archive_path, capsys) -> None:
    """Standard output has the names of the columns only, and standard error a sentence; not without progress."""
    assert cli.main(["export", archive_path, "-", "--table", "split_bills"]) == 0
    printed = capsys.readouterr()
    assert (printed.out.count("\n"), printed.err) == (1, "The table split_bills has no rows.\n")
    assert cli.main(["export", archive_path, "-", "--table", "split_bills", "--progress", "none"]) == 0
    assert capsys.readouterr() == (printed.out, "")


def test_progress_stays_out_of_the_table(archive_path, capfdbinary) -> None:
    """Logged progress goes to standard error, line by line and without control characters."""
    assert cli.main(["export", archive_path, "-", "--progress", "log"]) == 0
    out, err = capfdbinary.readouterr()
    assert len(pd.read_csv(io.BytesIO(out))) == 2
    assert err.decode() == f"Reading {archive_path} ...\nWriting 2 rows of payments ...\n"


def test_a_reader_that_closes_the_pipe(tmp_path, history_of, payment) -> None:
    """A reader such as head may close the pipe early: the exit code is 1, and nothing is printed."""
    p2p.open_archive(tmp_path / "a").merge(history_of(*(payment(number, note="x" * 200) for number in range(1, 2_000))))
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(  # noqa: S603 - our own interpreter and words
        [sys.executable, "-m", "p2p_analytics", "export", str(tmp_path / "a"), "-"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.close(writing)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, "")


def test_the_summary_as_json(archive_path, tmp_path, capsys) -> None:
    """`--json` prints the documented keys on one line."""
    out = str(tmp_path / "f.csv")
    assert cli.main(["export", archive_path, out, "--table", "friends", "--json", "--privacy", "strict"]) == 0
    printed = capsys.readouterr()
    expected = {"archive": archive_path, "file": out, "table": "friends", "rows": 1, "privacy": "strict"}
    assert (json.loads(printed.out), printed.out.count("\n"), printed.err) == (expected, 1, "")


def test_a_masked_table_is_announced(archive_path, tmp_path, capsys) -> None:
    """In privacy mode the summary says that names and amounts are invented."""
    assert cli.main(["export", archive_path, str(tmp_path / "f.csv"), "--privacy"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == "Privacy mode: names and amounts are invented."


@pytest.mark.parametrize("ending", ["jsonl", "beancount", "journal", "hledger", "xlsx", "sqlite", "db"])
def test_the_ending_decides_the_kind_of_file(ending: str, archive_path, tmp_path, capsys) -> None:
    """The file is that of the function, for the payments of the archive and its date."""
    history = p2p.open_archive(archive_path).history()
    writers = {
        "jsonl": p2p.to_jsonl,
        "beancount": p2p.to_beancount,
        **dict.fromkeys(("journal", "hledger"), p2p.to_hledger),
        "xlsx": p2p.to_excel,
        **dict.fromkeys(("sqlite", "db"), p2p.to_sqlite),
    }
    writers[ending](history, tmp_path / "expected")
    assert cli.main(["export", archive_path, str(tmp_path / f"p.{ending}")]) == 0
    assert (tmp_path / f"p.{ending}").read_bytes() == (tmp_path / "expected").read_bytes()
    part = "the settled ones of " if writers[ending] in {p2p.to_beancount, p2p.to_hledger} else ""
    assert capsys.readouterr().out == f"{part}2 rows of payments, in {tmp_path / f'p.{ending}'}\n"


def test_a_table_in_a_workbook_database_or_ledger(archive_path, tmp_path, capsys) -> None:
    """A workbook or database can hold one table; a ledger of another table than payments is wrong use."""
    assert cli.main(["export", archive_path, str(tmp_path / "p.xlsx"), "--table", "monthly_flow"]) == 0
    with zipfile.ZipFile(tmp_path / "p.xlsx") as parts:
        assert [name for name in parts.namelist() if "sheet" in name] == ["xl/worksheets/sheet1.xml"]
    assert cli.main(["export", archive_path, str(tmp_path / "p.db"), "--table", "monthly_flow"]) == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "p.db")) as database:
        assert database.execute("SELECT name, type FROM sqlite_master").fetchall() == [("monthly_flow", "table")]
        assert database.execute("SELECT month, sent FROM monthly_flow").fetchall() == [("2024-05", 5.0)]
    assert cli.main(["export", archive_path, str(tmp_path / "p.journal"), "--table", "payments"]) == 0
    assert "Assets:P2P" in (tmp_path / "p.journal").read_text("utf-8")
    capsys.readouterr()
    assert cli.main(["export", archive_path, str(tmp_path / "p.journal"), "--table", "friends"]) == 2
    assert "A ledger is made of payments, not of friends: leave out --table." in capsys.readouterr().err


def test_some_days_and_one_currency(tmp_path, history_of, payment, capsys) -> None:
    """Sums need one currency, which the message names as an option; days that have no payment are announced."""
    dollars = payment(1), payment(2, date_created="2024-05-02T12:00:00")
    history = history_of(*dollars, payment(3, date_created="2024-05-03T12:00:00"))
    history.payments.loc[history.payments["payment_id"] == "3", "currency"] = "GBP"
    p2p.open_archive(tmp_path / "a").merge(history)
    sums = ["export", str(tmp_path / "a"), "-", "--table", "status_mix"]
    assert cli.main(sums) == 1
    assert capsys.readouterr().err == (
        f"p2p-analytics: The payments of {tmp_path / 'a'} are in USD (2) and GBP (1), which status_mix does not add: "
        "choose one, like --currency USD.\n"
    )
    assert cli.main([*sums, "--currency", "usd"]) == 0
    assert pd.read_csv(io.StringIO(capsys.readouterr().out))["payments"].sum() == 2
    rows = ["export", str(tmp_path / "a"), "-", "--since", "2024-05-02"]
    assert cli.main([*rows, "--until", "2024-05-02"]) == 0
    assert pd.read_csv(io.StringIO(capsys.readouterr().out))["payment_id"].tolist() == [2]
    assert cli.main(["export", str(tmp_path / "a"), "-", "--until", "2023-12-31"]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1
    assert captured.err.splitlines() == [
        f"No payment is in these days: those of {tmp_path / 'a'} are from 2024-05-01 to 2024-05-03.",
        "The table payments has no rows.",
    ]
    assert cli.main(["export", str(tmp_path / "a"), "-", "--table", "friends", "--currency", "USD"]) == 0
    assert (
        capsys.readouterr().err
        == "--currency has no effect on friends: only payments, problems and analyses are selected.\n"
    )


def test_what_recurs_is_judged_at_the_end_of_the_days(tmp_path, history_of, payment, capsys) -> None:
    """A series of payments until a day is not late because of later days."""
    rows = [payment(at, date_created=f"2024-0{at}-03T12:00:00") for at in range(1, 5)]
    p2p.open_archive(tmp_path / "a").merge(history_of(*rows))
    words = ["export", str(tmp_path / "a"), "-", "--table", "recurring", "--as-of", "2024-05-20"]
    # 2 May is 29 days after 3 April, and 20 May 47: 1.25 months are 37.5.
    for until, state in (([], "late"), (["--until", "2024-05-02"], "active")):
        assert cli.main([*words, *until]) == 0
        assert pd.read_csv(io.StringIO(capsys.readouterr().out))["state"].tolist() == [state]
        book = str(tmp_path / "p.xlsx")
        assert cli.main(["export", str(tmp_path / "a"), book, "--as-of", "2024-05-20", *until]) == 0
        assert pd.read_excel(book, sheet_name="recurring")["state"].tolist() == [state]
        capsys.readouterr()


def test_days_at_the_ends_of_the_calendar(tmp_path, history_of, payment, capsys) -> None:
    """A day that the zone would put outside of the calendar is that in UTC."""
    ends = [payment(at, date_created=moment) for at, moment in ((1, "0001-01-01T00:00:00"), (2, "9999-12-31T23:59:59"))]
    p2p.open_archive(tmp_path / "a").merge(history_of(*ends))
    command = ["export", str(tmp_path / "a"), "-", "--until", "2024-05-01", "--since", "2024-05-01", "--tz"]
    for zone in ("Asia/Tokyo", "America/New_York"):
        assert cli.main([*command, zone]) == 0
        assert "are from 0001-01-01 to 9999-12-31.\n" in capsys.readouterr().err
