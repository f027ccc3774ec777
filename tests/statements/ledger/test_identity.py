"""Accounts of files, ids of rows without one, and ids that a service gives to several rows."""

import hashlib
from datetime import date

import pytest

import p2p_analytics as p2p
from support.frames import list_rows
from support.statements.files import CASH_APP, SAMPLES, SPLITWISE, WISE

_SAMPLE = SAMPLES["gen_d_2024"]
_ACTIVITY = (
    "Date,Time,TimeZone,Name,Type,Status,Currency,Gross,Fee,Net,From Email Address,To Email Address,Transaction ID\n"
)


def _receive(number: int, address: str) -> str:
    return (
        f"01/{12 + number}/2024,10:00:00,UTC,Theo Marsh,General Payment,Completed,USD,{number}.00,0,{number}.00,"
        f"theo@example.org,{address},T{number}\n"
    )


@pytest.fixture
def two_addresses(tmp_path, write):
    """Write files of one account with two addresses, and T3 (3.00) in both: 10.00 together."""
    old, new = "nora@old.example", "nora@new.example"
    write("first.csv", _ACTIVITY + _receive(1, old) + _receive(2, old) + _receive(3, new))
    write("second.csv", _ACTIVITY + _receive(3, new) + _receive(4, new))
    return tmp_path


def test_addresses_with_a_payment_in_common_are_one_account(two_addresses):
    """The account has the address of most rows, which the first file has three of, and the second two."""
    statements = p2p.read_statements(two_addresses)
    assert statements.accounts == ["nora@old.example"]
    assert sorted(statements.payments["flow_cents"]) == [100, 200, 300, 400]
    problems = statements.problems[statements.problems["field"] == "account"]
    assert list_rows(problems, "file", "line", "value") == [("second.csv", 2, "nora@new.example")]


def test_addresses_without_a_payment_in_common_stay_two(tmp_path, write):
    """Payments with one id that differ in anything else are no payment in common."""
    write("ada.csv", _ACTIVITY + _receive(1, "ada@example.org"))
    write("bea.csv", _ACTIVITY + _receive(2, "bea@example.org").replace("T2", "T1"))
    assert p2p.read_statements(tmp_path).accounts == ["ada@example.org", "bea@example.org"]


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


_GROUP = f"{SPLITWISE},Nora,Theo\n2024-03-31,Bread,General,4.00,EUR,2.00,-2.00\n"
_WALLET = (
    f"{CASH_APP},2024-03-31 02:30:00,P2P,USD,$25.50,$0,$25.50,,,,COMPLETE,lunch,Theo Marsh,\n"
    ",2024-01-31 12:00:00 CST,P2P,USD,$7.00,$0,$7.00,,,,COMPLETE,tea,Theo Marsh,\n"
)


@pytest.mark.parametrize(("text", "account"), [(_WALLET, "ada"), (_GROUP, "Nora")])
def test_the_zone_is_not_in_the_id(text, account, read):
    """A time that the clock of one zone skips, a time with a zone of its own, and a day: the payments stay the same."""
    zones = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Tokyo"]
    payments = [read(text, tz=zone, account=account).payments for zone in zones]
    assert len({tuple(sorted(frame["payment_id"])) for frame in payments}) == 1
    assert len({tuple(frame["date_created"]) for frame in payments}) == len(zones)


def test_the_spelling_of_the_account_is_not_in_the_id(tmp_path, read):
    """An archive takes the same file once, whether its owner is "ada" or "@Ada"."""
    archive = p2p.open_archive(tmp_path / "archive")
    plans = [
        archive.import_(read(_WALLET, account=account, tz=zone))
        for account, zone in (("ada", "UTC"), ("@Ada", "America/New_York"))
    ]
    assert [plan.new for plan in plans] == [2, 0]
    assert sorted(archive.history().payments["flow_cents"]) == [700, 2550]


_CARD = [
    "CARD-9,03-03-2024,-80.00,EUR,Shop,20.00\n", "CARD-9,05-03-2024,50.00,EUR,Shop,70.00\n",
    "CARD-9,09-03-2024,20.00,EUR,Shop,90.00\n", "CARD-9,11-03-2024,20.00,EUR,Shop,110.00\n",
]  # fmt: skip
_FEE = [
    "TRANSFER-1,13-03-2024,-2.10,EUR,Wise fee,0\n", "TRANSFER-1,13-03-2024,-350.00,EUR,Sent,2.10\n",
    "TRANSFER-2,14-03-2024,5.00,EUR,Received,5.00\n", "TRANSFER-2,14-03-2024,5.00,EUR,Received,5.00\n",
]  # fmt: skip


@pytest.fixture
def read_ids(write):
    """Return a function that reads files of these rows, and returns the flow of each id."""

    def read_ids(*files: list[str]) -> dict[str, int]:
        paths = [write(f"{number}.csv", WISE + "".join(rows)) for number, rows in enumerate(files)]
        payments = p2p.read_statements(paths, account="ada").payments
        return dict(list_rows(payments, "payment_id", "flow_cents"))

    return read_ids


def _hash(cents: str, day: int | None = None) -> str:
    """Return the hash of an amount in euros, perhaps of a day of March 2024."""
    number = "" if day is None else str((date(2024, 3, day) - date(1970, 1, 1)).days)
    return hashlib.sha256(f"{cents}\x1fEUR\x1f{number}".encode()).hexdigest()[:8]


@pytest.mark.parametrize("at", range(1, len(_CARD)))
def test_refunds_have_the_same_ids_in_any_file(at, read_ids):
    """A file with all rows, and one with the later rows only, in any order; the purchase keeps the id."""
    expected = {"CARD-9": -8000} | {
        f"CARD-9-{_hash(cents, day)}": int(cents) for cents, day in (("5000", 5), ("2000", 9), ("2000", 11))
    }
    assert read_ids(_CARD, _CARD[at:]) == read_ids(_CARD[at:], _CARD) == expected
    assert read_ids(_CARD[:at], _CARD[at:]) == read_ids(_CARD[at:], _CARD[:at]) == expected


@pytest.mark.parametrize("files", [[_FEE], [_FEE, _FEE[:1]], [_FEE[:1], _FEE], [_FEE[1:], _FEE]])
def test_the_amounts_of_an_id_are_transactions(files, read_ids):
    """A fee with the id of its transfer is a row of its own; a row that is twice in the file is one payment."""
    fee = f"TRANSFER-1-{_hash('-210')}"
    assert read_ids(*files) == {"TRANSFER-1": -35000, fee: -210, "TRANSFER-2": 500}
