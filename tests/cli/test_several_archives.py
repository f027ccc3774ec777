"""The commands report, export and reminders with the archives of one person's several services."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from support.archives.statements import row, statements_of


@pytest.fixture
def _archives(tmp_path, monkeypatch) -> None:
    """Make two archives of Nora Quill in the current folder: an older one of Venmo, and one of Cash App."""
    monkeypatch.chdir(tmp_path)
    ask = {"action": "charge", "direction": "in", "status": "pending"}
    for folder, account, date, cents, name in (
        ("venmo", "nora-quill", "2024-05-01T12:00:00", 500, "Lena Ortiz"),
        ("cash", "noraq", "2025-02-03T10:00:00", 700, "Imani Cole"),
    ):
        own = {"account_id": account, "date": date, "amount_cents": cents}
        rows = row("1", "Theo Marsh", **own), row(f"{account} 2", name, **own | ask)
        p2p.open_archive(folder).import_(statements_of(*rows, account=account))


@pytest.mark.usefixtures("_archives")
def test_they_stand_in_one_table(capsys) -> None:
    """Rows keep their account, equal ids of two services are two payments, and a person is one."""
    assert cli.main(["export", "venmo", "cash", "all.csv", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert (values["archive"], values["archives"], values["rows"]) == ("venmo, cash", ["venmo", "cash"], 4)
    payments = p2p.read_csv(Path("all.csv"))
    assert set(payments["account_id"]) == {"nora-quill", "noraq"}
    assert payments["payment_id"].is_unique
    assert set(payments["kind"]) == {"payment"}
    assert cli.main(["export", "venmo", "cash", "people.jsonl", "--table", "spend_by_friend"]) == 0
    people = [json.loads(line) for line in Path("people.jsonl").read_text("utf-8").splitlines()]
    assert [each["counterparty_name"] for each in people].count("Theo Marsh") == 1
    assert cli.main(["export", "venmo", "cash", "balances.csv", "--table", "reconciliation"]) == 0


@pytest.mark.usefixtures("_archives")
def test_their_data_is_as_of_the_latest(capsys) -> None:
    """Requests of both are open, although one of the services was not used any more."""
    assert cli.main(["reminders", "venmo", "cash", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["as_of"].startswith("2025-02-03")
    assert [each["counterparty_name"] for each in values["reminders"]] == ["Lena Ortiz", "Imani Cole"]


@pytest.mark.usefixtures("_archives", "draw_nothing")
def test_a_report_of_several(capsys) -> None:
    """With the name of the person, once; privacy mode masks the whole."""
    assert cli.main(["report", "venmo", "cash"]) == 0
    assert capsys.readouterr().out.startswith("The report of 4 payments, in report.html")
    assert cli.main(["report", "venmo", "cash", "--privacy", "--out", "private.html"]) == 0
    assert "Theo" not in Path("private.html").read_text("utf-8")
    assert cli.main(["report", "venmo", "cash", "--template", "year", "--out", "year.html"]) == 0


@pytest.mark.usefixtures("_archives")
def test_one_that_is_missing_is_named(capsys) -> None:
    """Nothing is written without it."""
    assert cli.main(["report", "venmo", "nowhere"]) == 1
    assert "There is no archive in " in capsys.readouterr().err
    assert not Path("report.html").exists()
