"""The commands report, export and reminders with the archives of one person's several services."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import p2p_analytics as p2p
from support.archives.statements import row, statements_of


@pytest.fixture(autouse=True)
def _archives(_own_folder) -> None:
    """Make two archives of Nora Quill in the current folder: an older one of Venmo, and one of Cash App."""
    ask = {"action": "charge", "direction": "in", "status": "pending"}
    for folder, account, date, cents, name in (
        ("venmo", "nora-quill", "2024-05-01T12:00:00", 500, "Lena Ortiz"),
        ("cash", "noraq", "2025-02-03T10:00:00", 700, "Imani Cole"),
    ):
        own = {"account_id": account, "date": date, "amount_cents": cents}
        rows = row("1", "Theo Marsh", **own), row(f"{account} 2", name, **own | ask)
        p2p.open_archive(folder).import_(statements_of(*rows, account=account))


def test_they_stand_in_one_table(run) -> None:
    """Rows keep their account, equal ids of two services are two payments, and a person is one."""
    values = json.loads(run("export venmo cash all.csv --json").out)
    assert (values["archive"], values["archives"], values["rows"]) == ("venmo, cash", ["venmo", "cash"], 4)
    payments = p2p.read_csv("all.csv")
    assert set(payments["account_id"]) == {"nora-quill", "noraq"}
    assert payments["payment_id"].is_unique
    assert run("export venmo cash people.csv --table spend_by_friend").code == 0
    assert p2p.read_csv("people.csv")["counterparty_name"].tolist().count("Theo Marsh") == 1
    assert run("export venmo cash balances.csv --table reconciliation").code == 0
    assert len(p2p.read_csv("balances.csv")) == 2


def test_their_data_is_as_of_the_latest(run) -> None:
    """Requests of both are open, although one of the services was not used any more."""
    values = json.loads(run("reminders venmo cash --json").out)
    assert values["as_of"].startswith("2025-02-03")
    assert [each["counterparty_name"] for each in values["reminders"]] == ["Lena Ortiz", "Imani Cole"]


@pytest.mark.usefixtures("draw_nothing")
def test_a_report_of_several(run) -> None:
    """Privacy mode masks the whole; nothing is written if one is missing."""
    code, _, err = run("report venmo nowhere")
    assert (code, "There is no archive in " in err, Path("report.html").exists()) == (1, True, False)
    assert run("report venmo cash").out.startswith("The report of 4 payments, in report.html")
    assert run("report venmo cash --privacy --out private.html").code == 0
    assert "Theo" not in Path("private.html").read_text("utf-8")
    assert run("report venmo cash --template year --out year.html").code == 0
