"""The command export: a table of an archive as a file, or its payments as a workbook, database or ledger."""

import contextlib
import inspect
import io
import json
import os
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.errors import ConfigurationError
from support.archives.statements import row, statements_of

pytestmark = pytest.mark.usefixtures("archive")
TABLES = ("payments", "people", "friends", "problems", *ANALYSES)


def read_table(text: str) -> pd.DataFrame:
    """Return the table of CSV text."""
    return pd.read_csv(io.StringIO(text))


def test_every_table_is_a_file_and_goes_to_standard_output(run) -> None:
    """The content is the same; a table that has no rows is announced, unless progress is off."""
    known = {"payments": 2, "people": 2, "activity": 168, "split_bills": 0}
    for name in TABLES:
        code, out, err = run(f"export a - --table {name}")
        rows = len(read_table(out))
        assert (code, rows, err) == (0, known.get(name, rows), "" if rows else f"The table {name} has no rows.\n")
        if name in known:
            assert run(f"export a t.csv --table {name}") == (0, f"{rows} rows of {name}, in t.csv\n", "")
            assert Path("t.csv").read_bytes().decode() == out


def test_the_ending_decides_the_kind_of_table(run) -> None:
    """A workbook and a database hold the one table; an analysis is as of the given moment."""
    for name in ("t.csv", "t.parquet", "t.jsonl", "t.xlsx", "t.sqlite", "t.db"):
        assert run(f"export a {name} --table pending_requests --as-of 2024-06-03T23:30:00").code == 0
    for table in (pd.read_parquet("t.parquet"), p2p.read_csv("t.csv"), pd.read_excel("t.xlsx")):
        assert table["age_days"].tolist() == [3]
    assert json.loads(Path("t.jsonl").read_text())["age_days"] == 3
    with zipfile.ZipFile("t.xlsx") as parts:
        assert [name for name in parts.namelist() if "sheet" in name] == ["xl/worksheets/sheet1.xml"]
    for name in ("t.sqlite", "t.db"):
        with contextlib.closing(sqlite3.connect(name)) as database:
            assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("pending_requests",)]
            assert database.execute("SELECT age_days FROM pending_requests").fetchall() == [(3,)]


def test_all_payments_as_a_workbook_database_or_ledger(run) -> None:
    """The file is that of the function, for the payments of the archive and its date."""
    history = p2p.open_archive("a").history()
    for ending, write in {
        "jsonl": p2p.to_jsonl, "beancount": p2p.to_beancount, "journal": p2p.to_hledger, "hledger": p2p.to_hledger,
        "xlsx": p2p.to_excel, "sqlite": p2p.to_sqlite,
    }.items():  # fmt: skip
        write(history, Path("expected"))
        part = "the settled ones of " if ending in {"beancount", "journal", "hledger"} else ""
        assert run(f"export a p.{ending}") == (0, f"{part}2 rows of payments, in p.{ending}\n", "")
        assert Path(f"p.{ending}").read_bytes() == Path("expected").read_bytes()
    assert run("export a p.journal --table payments").code == 0
    code, _, err = run("export a p.journal --table friends")
    assert (code, err) == (2, "p2p-analytics: A ledger is made of payments, not of friends: leave out --table.\n")


def test_tables_in_privacy_mode(run) -> None:
    """Months are UTC's whatever the zone, also in a workbook; ages are in bands of days or of months."""
    unused = "--tz has no effect in privacy mode: its days and months are in UTC.\n"
    for mode, said, bands in (
        ("", "Privacy mode: names and amounts are invented.", "under 1 day"),
        ("strict", "Strict privacy mode: names and amounts are invented, dates are months.", "under 31 days"),
    ):
        code, out, err = run(f"export a t.csv --table monthly_flow --tz Pacific/Kiritimati --privacy {mode}")
        assert (code, out.splitlines()[1], err) == (0, said, unused)
        assert p2p.read_csv("t.csv")["month"].tolist() == ["2024-05"]
        assert run(f"export a t.csv --table pending_ageing --privacy {mode}").code == 0
        assert bands in p2p.read_csv("t.csv")["band"].tolist()
    for mode, zone, said in (("", "Asia/Tokyo", ""), ("--privacy", "UTC", unused)):
        assert run(f"export a p.xlsx --table payments --tz Asia/Tokyo {mode}").err == said
        assert f"date_created ({zone})" in pd.read_excel("p.xlsx").columns


def name_takers(argument: str) -> str:
    """Return the analyses that take an argument: "a, b and c"."""
    names = [name for name in ANALYSES if argument in inspect.signature(getattr(p2p, name)).parameters]
    return f"{', '.join(names[:-1])} and {names[-1]}"


NO_ZONE = f"--tz has no effect on {{}}: instants are in UTC; {name_takers('tz')} use it.\n"
NO_AS_OF = f"--as-of has no effect on {{}}: {name_takers('as_of')} use it.\n"


def test_options_without_effect_are_named(run) -> None:
    """Standard error has a line for each, and the table on standard output is the one without these options."""
    for table, lines in {
        "payments": NO_ZONE + NO_AS_OF, "spend_by_friend": NO_ZONE + NO_AS_OF, "monthly_flow": NO_AS_OF,
        "pending_ageing": NO_ZONE, "recurring": "The table {} has no rows.\n",
    }.items():  # fmt: skip
        words = f"export a - --table {table} --tz Asia/Tokyo --as-of 2024-06-03"
        assert run(words).err == lines.replace("{}", table)
        assert run(f"{words} --progress none").err == ""
        if lines == NO_ZONE + NO_AS_OF:
            assert "--tz" not in run(f"export a - --table {table} --tz Asia/Tokyo --since 2024-05-01").err
            assert run(words).out == run(f"export a - --table {table}").out


def test_progress_and_the_summary_as_json(run) -> None:
    """Logged progress goes to standard error, line by line; `--json` prints the documented keys on one line."""
    code, out, err = run("export a - --progress log")
    assert (code, len(read_table(out)), err) == (0, 2, "Reading a ...\nWriting 2 rows of payments ...\n")
    code, out, err = run("export a f.csv --table friends --json --privacy strict")
    expected = {"archive": "a", "file": "f.csv", "table": "friends", "rows": 1, "privacy": "strict"}
    assert (code, json.loads(out), out.count("\n"), err) == (0, expected, 1, "")


def test_a_reader_that_closes_the_pipe(history_of, payment) -> None:
    """A reader such as head may close the pipe early: the exit code is 1, and nothing is printed."""
    p2p.open_archive("b").merge(history_of(*(payment(number, note="x" * 200) for number in range(1, 500))))
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "p2p_analytics", "export", "b", "-"]
    found = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=60)  # noqa: S603 - ours
    os.close(writing)
    assert (found.returncode, found.stderr) == (1, b"")


def test_some_days_and_one_currency(run, history_of, payment) -> None:
    """Sums need one currency, which the message names as an option; days that have no payment are announced."""
    history = history_of(*(payment(day, date_created=f"2024-05-0{day}T12:00:00") for day in (1, 2, 3)))
    history.payments.loc[history.payments["payment_id"] == "3", "currency"] = "GBP"
    p2p.open_archive("b").merge(history)
    code, _, err = run("export b - --table status_mix")
    said = "p2p-analytics: The payments of b are in USD (2) and GBP (1), which status_mix does not add: choose one, "
    assert (code, err) == (1, f"{said}like --currency USD.\n")
    assert read_table(run("export b - --table status_mix --currency usd").out)["payments"].sum() == 2
    chosen = run("export b - --since 2024-05-02 --until 2024-05-02")
    assert read_table(chosen.out)["payment_id"].tolist() == [2]
    none = run("export b - --until 2023-12-31")
    days = "No payment is in these days: those of b are from 2024-05-01 to 2024-05-03.\n"
    assert (none.out.count("\n"), none.err) == (1, f"{days}The table payments has no rows.\n")
    for given, said in (("--currency USD", "--currency has"), ("--since 2024-05-02", "--since and --until have")):
        err = run(f"export b - --table friends {given}").err
        assert err == f"{said} no effect on friends: only payments, problems and analyses are selected.\n"


def test_what_recurs_is_judged_at_the_end_of_the_days(run, history_of, payment) -> None:
    """A series of payments until a day is not late because of later days."""
    rows = [payment(at, date_created=f"2024-0{at}-03T12:00:00") for at in range(1, 5)]
    p2p.open_archive("b").merge(history_of(*rows))
    # 2 May is 29 days after 3 April, and 20 May 47: 1.25 months are 37.5.
    for until, state in (("", "late"), ("--until 2024-05-02", "active")):
        table = read_table(run(f"export b - --table recurring --as-of 2024-05-20 {until}").out)
        assert table["state"].tolist() == [state]
        assert run(f"export b p.xlsx --as-of 2024-05-20 {until}").code == 0
        assert pd.read_excel("p.xlsx", sheet_name="recurring")["state"].tolist() == [state]


# ---- the folder of an archive


def read_folder(path: str) -> dict[str, bytes]:
    """Return the content of each file of a folder."""
    return {each.name: each.read_bytes() for each in Path(path).iterdir()}


def test_no_command_writes_into_an_archive(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither over a part of it nor beside them, whatever the command and the kind of file; one sentence says so."""
    before = read_folder("a")
    payments = next(name for name in sorted(before) if name.startswith("payments-"))
    said = (
        f"p2p-analytics: a is the folder of an archive, because it has the file {payments}, and other files do not "
        "belong into it: name another folder."
    )
    endings = ("csv", "parquet", "jsonl", "xlsx", "sqlite", "db", "beancount", "journal")
    for line in (
        *(f"export a a/{name}" for name in (payments, "people.csv", *(f"new.{ending}" for ending in endings))),
        "report a --out a/report.html --only status_mix", "report a --template year --out a/year.md", "demo --out a",
        "demo --out a --statements", "sandbox --statements a --years 1 --people 3", "sandbox --db a/lock",
    ):  # fmt: skip
        code, out, err = run(line)
        assert (code, out, err.splitlines()[-1]) == (1, "", said), line
    monkeypatch.chdir("a")
    assert "is the folder of an archive" in run("export . payments.csv").err
    assert read_folder(".") == before


def test_functions_write_into_no_archive() -> None:
    """Also where the manifest is broken, and where only statements were imported; other folders are as they were."""
    p2p.open_archive("b").import_(statements_of(row(1)))
    frame = pd.DataFrame({"a": [1]})
    for folder, manifest in (("a", None), ("b", None), ("a", b"{}")):
        if manifest is not None:
            Path(folder, "manifest.json").write_bytes(manifest)
        before = read_folder(folder)
        for name in ("manifest.json", "lock", next(name for name in before if name.endswith(".parquet"))):
            with pytest.raises(ConfigurationError, match="is the folder of an archive"):
                p2p.to_csv(frame, Path(folder, name))
        assert read_folder(folder) == before
    Path("manifest.json").write_bytes(b"of another program")
    p2p.to_csv(frame, "manifest.json")
    assert Path("manifest.json").read_bytes() == b'"a"\n1\n'


def test_days_at_the_ends_of_the_calendar(run, history_of, payment) -> None:
    """A day that the zone would put outside of the calendar is that in UTC."""
    ends = [payment(at, date_created=moment) for at, moment in ((1, "0001-01-01T00:00:00"), (2, "9999-12-31T23:59:59"))]
    p2p.open_archive("b").merge(history_of(*ends))
    for zone in ("Asia/Tokyo", "America/New_York"):
        err = run(f"export b - --until 2024-05-01 --since 2024-05-01 --tz {zone}").err
        assert "are from 0001-01-01 to 9999-12-31.\n" in err
