"""The commands report, export and reminders with the archives of one person's several services."""

from __future__ import annotations

import json
from datetime import UTC, datetime
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
    p2p.open_archive("venmo").import_(
        statements_of(row("1", "Theo Marsh", amount_cents=500), row("2", "Lena Ortiz", **ask), account="nora-quill")
    )
    later = datetime(2025, 2, 3, 10, tzinfo=UTC)
    p2p.open_archive("cash").import_(
        statements_of(
            row("1", "Theo Marsh", amount_cents=700, date_created=later, date_completed=later),
            row("3", "Imani Cole", date_created=later, **ask),
            account="noraq",
        )
    )


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
