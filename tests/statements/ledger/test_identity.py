"""Accounts of files, ids of rows without one, and ids that a service gives to several rows."""

from __future__ import annotations

import hashlib
from datetime import date
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


_SPLITWISE = "Date,Description,Category,Cost,Currency,Nora,Theo\n2024-03-31,Bread,General,4.00,EUR,2.00,-2.00\n"
_CASH_APP = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account\n"
    ",2024-03-31 02:30:00,P2P,USD,$25.50,$0,$25.50,,,,COMPLETE,lunch,Theo Marsh,\n"
    ",2024-01-31 12:00:00 CST,P2P,USD,$7.00,$0,$7.00,,,,COMPLETE,tea,Theo Marsh,\n"
)


def _write_made(folder: Path, text: str) -> Path:
    path = folder / "file.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("text", "account"), [(_CASH_APP, "ada"), (_SPLITWISE, "Nora")])
def test_the_zone_is_not_in_the_id(text, account, tmp_path):
    """A time that the clock of one zone skips, a time with a zone of its own, and a day: the payments stay the same."""
    path = _write_made(tmp_path, text)
    zones = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Tokyo"]
    payments = [p2p.read_statements(path, tz=zone, account=account).payments for zone in zones]
    assert len({tuple(sorted(frame["payment_id"])) for frame in payments}) == 1
    assert len({tuple(frame["date_created"]) for frame in payments}) == len(zones)


def test_the_spelling_of_the_account_is_not_in_the_id(tmp_path):
    """An archive takes the same file once, whether its owner is "ada" or "@Ada"."""
    path = _write_made(tmp_path, _CASH_APP)
    archive = p2p.open_archive(tmp_path / "archive")
    plans = [
        archive.import_(p2p.read_statements(path, account=account, tz=zone))
        for account, zone in (("ada", "UTC"), ("@Ada", "America/New_York"))
    ]
    assert [plan.new for plan in plans] == [2, 0]
    assert sorted(archive.history().payments["flow_cents"]) == [700, 2550]


_WISE = "TransferWise ID,Date,Amount,Currency,Description,Running Balance\n"
_CARD = [
    "CARD-9,03-03-2024,-80.00,EUR,Shop,20.00\n",
    "CARD-9,05-03-2024,50.00,EUR,Shop,70.00\n",
    "CARD-9,09-03-2024,20.00,EUR,Shop,90.00\n",
    "CARD-9,11-03-2024,20.00,EUR,Shop,110.00\n",
]
_FEE = [
    "TRANSFER-1,13-03-2024,-2.10,EUR,Wise fee,0\n",
    "TRANSFER-1,13-03-2024,-350.00,EUR,Sent,2.10\n",
    "TRANSFER-2,14-03-2024,5.00,EUR,Received,5.00\n",
    "TRANSFER-2,14-03-2024,5.00,EUR,Received,5.00\n",
]


def _read(folder: Path, *files: list[str]) -> dict[str, int]:
    paths = [folder / f"{number}.csv" for number in range(len(files))]
    for path, rows in zip(paths, files, strict=True):
        path.write_text(_WISE + "".join(rows), encoding="utf-8")
    payments = p2p.read_statements(paths, account="ada").payments
    return dict(zip(payments["payment_id"], payments["flow_cents"], strict=True))


def _number_day(year: int, month: int, day: int) -> str:
    return str((date(year, month, day) - date(1970, 1, 1)).days)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:8]


@pytest.mark.parametrize("at", range(1, len(_CARD)))
def test_refunds_have_the_same_ids_in_any_file(at, tmp_path):
    """A file with all rows, and one with the later rows only, in any order; the purchase keeps the id."""
    expected = {"CARD-9": -8000} | {
        f"CARD-9-{_hash(cents, 'EUR', _number_day(2024, 3, day))}": int(cents)
        for cents, day in (("5000", 5), ("2000", 9), ("2000", 11))
    }
    assert _read(tmp_path, _CARD, _CARD[at:]) == _read(tmp_path, _CARD[at:], _CARD) == expected
    assert _read(tmp_path, _CARD[:at], _CARD[at:]) == _read(tmp_path, _CARD[at:], _CARD[:at]) == expected


def test_problems_of_separated_ids_stay(tmp_path):
    """A problem of a refund, which gets an id of its own, is in the history and in the statements of the account."""
    rows = [_CARD[0], _CARD[1].replace(",70.00", ",abc")]
    (tmp_path / "wise.csv").write_text(_WISE + "".join(rows), encoding="utf-8")
    statements = p2p.read_statements(tmp_path / "wise.csv", account="ada")
    refund = f"CARD-9-{_hash('5000', 'EUR', _number_day(2024, 3, 5))}"
    for problems in (statements.problems, statements.history().problems, statements.select_account("ada").problems):
        assert problems[["line", "payment_id", "value"]].to_numpy().tolist() == [[3, refund, "abc"]]


@pytest.mark.parametrize("files", [[_FEE], [_FEE, _FEE[:1]], [_FEE[:1], _FEE], [_FEE[1:], _FEE]])
def test_the_amounts_of_an_id_are_transactions(files, tmp_path):
    """A fee with the id of its transfer is a row of its own; a row that is twice in the file is one payment."""
    fee = f"TRANSFER-1-{_hash('-210', 'EUR', '')}"
    assert _read(tmp_path, *files) == {"TRANSFER-1": -35000, fee: -210, "TRANSFER-2": 500}
