"""The command people: names in statements, the people behind them, and the file in which the user decides."""

import json
from pathlib import Path

import pytest

import p2p_analytics as p2p
from support.archives.statements import row, statements_of

WAYS = "another name, a user id, or user: and a username; leave it empty to keep the name apart"


@pytest.fixture(autouse=True)
def _archive(_own_folder, history_of, payment) -> None:
    """Make an archive in which the service lists one payment, to the person with the id 8."""
    p2p.open_archive("a").merge(history_of(payment("c4"), account="7"))


def import_names(**names: str) -> None:
    """Import a payment to each name."""
    rows = [row(key, name, account_id="7", amount_cents=500) for key, name in names.items()]
    p2p.open_archive("a").import_(statements_of(*rows, account="7"))


def test_names_and_people_are_a_table(run) -> None:
    """Matched names with the username, then suggestions with a question mark; others by name, and the line to add."""
    import_names(c1="Bo", c2="BO", c3="Nobody", c4="Bo")
    assert run("people a").out.splitlines() == [
        "Name  Person  Evidence",
        "Bo    @u0     1 payment is known from both sides",
        "BO    Bo ?    Bo differs in case, accents, signs or order of words alone",
        "1 name matched to people, 1 with suggestions; 1 other is known by name only: Nobody",
        "Suggestions are in a/people.csv: remove the ? before a person to accept one.",
        f"To decide yourself, add a line to a/people.csv: the name, a comma, and who it is ({WAYS}).",
    ]
    Path("a/people.csv").write_text(Path("a/people.csv").read_text().replace("?", ""))
    values = json.loads(run("people a --json").out)
    assert [values[key] for key in ("file", "matched", "suggested", "others")] == ["a/people.csv", 2, 0, 1]
    assert values["names"][1] == {
        "alias": "Bo", "person": "8", "username": "u0", "matched": "payments",
        "evidence": "1 payment is known from both sides", "payments": 1,
    }  # fmt: skip
    with Path("a/people.csv").open("a") as file:
        file.write("Nobody,user:u0\n")
    assert f"Nobody  @u0     {Path.cwd()}/a/people.csv says so" in run("people a").out.splitlines()


def test_names_cannot_control_the_terminal(run) -> None:
    """Escape sequences, line breaks and marks of direction in names do not reach the output; long names are cut."""
    hostile = "\x1b[2Jx\r\ny\u202e\x07"
    import_names(c1=hostile, c2=hostile.upper(), c3="N" * 500, c5=f"{hostile} Z")
    out = run("people a").out
    assert not {"\x1b", "\r", "\u202e", "\x07"} & set(out)
    assert max(map(len, out.splitlines())) < 300


def test_an_archive_without_names(run) -> None:
    """Without statements there is nothing to match, which the output says."""
    said = "No statement in this archive shows a name that the service does not list: nothing has to be matched.\n"
    assert run("people a") == (0, said, "")
