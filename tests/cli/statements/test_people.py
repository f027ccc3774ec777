"""The command people: names in statements, the people behind them, and the file in which the user decides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from support.archives.statements import row, statements_of

WAYS = "another name, a user id, or user: and a username; leave it empty to keep the name apart"


@pytest.fixture
def folder(tmp_path, history_of, payment) -> str:
    """Return an archive in which the service lists one payment, to the person with the id 8."""
    folder = str(tmp_path / "a")
    p2p.open_archive(folder).merge(history_of(payment("c4"), account="7"))
    return folder


def _import(folder: str, *rows: dict[str, object]) -> None:
    p2p.open_archive(folder).import_(statements_of(*rows, account="7"))


def _row(payment_id: str, name: str) -> dict[str, object]:
    return row(payment_id, name, account_id="7", amount_cents=500)


def test_names_and_people_are_a_table(folder, capsys) -> None:
    """Matched names with the username, then suggestions with a question mark; others by name, and what to edit."""
    _import(folder, *(_row(key, name) for key, name in {"c1": "Bo", "c2": "BO", "c3": "Nobody", "c4": "Bo"}.items()))
    assert cli.main(["people", folder]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Name  Person  Evidence",
        "Bo    @u0     1 payment is known from both sides",
        "BO    Bo ?    Bo differs in case, accents, signs or order of words alone",
        "1 name matched to people, 1 with suggestions; 1 other is known by name only: Nobody",
        f"Suggestions are in {folder}/people.csv: remove the ? before a person to accept one.",
        f"To decide yourself, add a line to {folder}/people.csv: the name, a comma, and who it is ({WAYS}).",
    ]
    file = Path(folder) / "people.csv"
    file.write_text(file.read_text().replace("?", ""))
    assert cli.main(["people", folder, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert [values[key] for key in ("file", "matched", "suggested", "others")] == [str(file), 2, 0, 1]
    evidence = "1 payment is known from both sides"
    assert values["names"][1] == {
        "alias": "Bo", "person": "8", "username": "u0", "matched": "payments", "evidence": evidence, "payments": 1,
    }  # fmt: skip


def test_the_line_that_the_output_describes_is_taken(folder, capsys) -> None:
    """A file with a header only is explained: the user adds the name and the person."""
    _import(folder, _row("c1", "Roberta"))
    assert cli.main(["people", folder]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("0 names matched to people, 0 with suggestions; 1 other is known by name only: Roberta\n")
    assert "the name, a comma, and who it is" in printed
    with (Path(folder) / "people.csv").open("a") as file:
        file.write("Roberta,user:u0\n")
    assert cli.main(["people", folder]) == 0
    assert capsys.readouterr().out.splitlines()[1] == f"Roberta  @u0     {folder}/people.csv says so"


def test_names_cannot_control_the_terminal(folder, capsys) -> None:
    """Escape sequences, line breaks and marks of direction in names do not reach the output; long names are cut."""
    hostile = "\x1b[2Jx\r\ny\u202e\x07"
    _import(folder, _row("c1", hostile), _row("c2", hostile.upper()), _row("c3", "N" * 500), _row("c5", f"{hostile} Z"))
    assert cli.main(["people", folder]) == 0
    printed = capsys.readouterr().out
    assert not {"\x1b", "\r", "\u202e", "\x07"} & set(printed)
    assert max(map(len, printed.splitlines())) < 300


def test_an_archive_without_names(tmp_path, history_of, payment, capsys) -> None:
    """Without statements there is nothing to match, which the output says."""
    folder = str(tmp_path / "a")
    p2p.open_archive(folder).merge(history_of(payment("c4"), account="7"))
    assert cli.main(["people", folder]) == 0
    assert capsys.readouterr().out == (
        "No statement in this archive shows a name that the service does not list: nothing has to be matched.\n"
    )
