"""The account of files that name one: other addresses, and the account that the caller names."""

from __future__ import annotations

from pathlib import Path

import pytest

import p2p_analytics as p2p

_SAMPLE = Path(__file__).parents[1] / "samples" / "gen_d_2024.csv"
_ACTIVITY = (
    "Date,Time,TimeZone,Name,Type,Status,Currency,Gross,Fee,Net,From Email Address,To Email Address,Transaction ID\n"
)


def _receive(number: int, address: str) -> str:
    return (
        f"01/{12 + number}/2024,10:00:00,UTC,Theo Marsh,General Payment,Completed,USD,{number}.00,0,{number}.00,"
        f"theo@example.org,{address},T{number}\n"
    )


def _write(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(_ACTIVITY + text, encoding="utf-8")
    return folder


@pytest.fixture
def two_addresses(tmp_path):
    """Files of one account with two addresses, and T3 (3.00) in both: 10.00 together."""
    old, new = "nora@old.example", "nora@new.example"
    first = _receive(1, old) + _receive(2, old) + _receive(3, new)
    return _write(tmp_path, first=first, second=_receive(3, new) + _receive(4, new))


def test_addresses_with_a_payment_in_common_are_one_account(two_addresses):
    """The account has the address of most rows, which the first file has three of, and the second two."""
    statements = p2p.read_statements(two_addresses)
    assert statements.accounts == ["nora@old.example"]
    assert sorted(statements.payments["flow_cents"]) == [100, 200, 300, 400]
    (problem,) = statements.problems[statements.problems["field"] == "account"].itertuples()
    assert (problem.file, problem.line, problem.value) == ("second.csv", 2, "nora@new.example")


def test_addresses_without_a_payment_in_common_stay_two(tmp_path):
    """Payments with one id that differ in anything else are no payment in common."""
    ada, bea = _receive(1, "ada@example.org"), _receive(2, "bea@example.org").replace("T2", "T1")
    assert p2p.read_statements(_write(tmp_path, ada=ada, bea=bea)).accounts == ["ada@example.org", "bea@example.org"]


@pytest.mark.parametrize("name", ["nora", " @nora"])
def test_the_account_of_the_caller_is_that_of_all_files(name, two_addresses):
    """Each file that names another account is listed; "@" and spaces are no part of the name."""
    (two_addresses / "d.csv").write_bytes(_SAMPLE.read_bytes())
    statements = p2p.read_statements(two_addresses, account=name)
    assert statements.accounts == ["nora"]
    assert sum(statements.payments["payment_id"].str.startswith("T")) == 4
    listed = statements.problems[statements.problems["field"] == "account"]
    assert sorted(listed["value"]) == ["nora-quill", "nora@new.example", "nora@old.example"]
    assert statements.history().me.user.username is None


def test_another_spelling_of_the_account_is_no_problem():
    """The file's spelling stays, and the handle is the holder's."""
    statements = p2p.read_statements(_SAMPLE, account="@Nora-Quill")
    assert statements.accounts == ["nora-quill"]
    assert "account" not in set(statements.problems["field"])
    assert statements.history("nora-quill").me.user.username == "nora-quill"
