"""Copies of a file with other amounts or times: a problem, because their rows count twice; other files are none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p

if TYPE_CHECKING:
    from p2p_analytics.statements import Statements

_SAMPLES = Path(__file__).parents[1] / "other_services" / "samples"
_REVOLUT = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance"
_CASH_APP = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account"
)
_SPLITWISE = "Date,Description,Category,Cost,Currency,Nora,Theo"
_ALIKE = (
    "{} like rows of '{}' with other amounts or times, as in a copy that a spreadsheet has saved: the rows of both "
    "files are counted, so leave one of the two files out (in an archive: p2p-analytics undo ARCHIVE if the last "
    "import brought one of them, else a new archive without it)"
)


def _buy(day: int, cents: int, *, time: str = " 11:05:13", shop: str = "Deli", whole: bool = False) -> str:
    """Return a row of Revolut, perhaps with a rounded amount."""
    amount = f"-{(cents + 50) // 100}" if whole else f"{-cents / 100:.2f}"
    return f"CARD_PAYMENT,Current,2024-05-{day:02}{time},2024-05-{day:02}{time},{shop},{amount},0.00,EUR,COMPLETED,"


def _charge(amount: str, time: str = "10:00:00 EDT") -> str:
    """Return a row of Cash App of the id x1."""
    return f"x1,2024-05-04 {time},Cash Card,USD,{amount},$0,{amount},,,,CARD CHARGED,,Deli,Visa 1111"


def _spend(day: int, text: str, cents: int) -> str:
    """Return an expense of Splitwise that Nora paid for both."""
    return f"2024-05-{day:02},{text},General,{cents * 2 / 100:.2f},EUR,{cents / 100:.2f},-{cents / 100:.2f}"


def _read(folder: Path, header: str, *files: list[str]) -> Statements:
    for name, rows in zip("abcd", files, strict=False):
        (folder / f"{name}.csv").write_text("\n".join([header, *rows]) + "\n", "utf-8")
    return p2p.read_statements(folder, account="Nora")


def _list_copies(statements: Statements) -> list[list[object]]:
    copies = statements.problems[statements.problems["problem"].str.contains("look")]
    assert copies["payment_id"].isna().all()
    return copies[["file", "line", "problem"]].to_numpy().tolist()


_MAY = [(1, 345), (2, 700), (3, 120), (4, 999), (9, 450)]


def test_many_rows_of_one_minute(tmp_path) -> None:
    """20,000 rows that all look alike are compared file by file: their 100 million pairs would fill the memory."""
    rows = ([_buy(1, 100 * units + 20, whole=whole) for units in range(1, 10_001)] for whole in (False, True))
    statements = _read(tmp_path, _REVOLUT, *rows)
    assert _list_copies(statements) == [["b.csv", 2, _ALIKE.format("10,000 rows look", "a.csv")]]


def test_one_row_in_many_files(tmp_path) -> None:
    """Rows of one minute in more than 30 files are frequent, and no sign of a copy."""
    for number in range(31):
        row = _buy(1, 500 + number)
        (tmp_path / f"{number:02}.csv").write_text(f"{_REVOLUT}\n{row}\n", "utf-8")
    assert _list_copies(p2p.read_statements(tmp_path, account="Nora")) == []
    (tmp_path / "30.csv").unlink()
    assert len(_list_copies(p2p.read_statements(tmp_path, account="Nora"))) == 29  # each with 00.csv, of 5.00


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({"time": " 11:05"}, 5),  # without seconds
        ({"time": ""}, 5),
        ({"whole": True}, 4),  # 7.00 is the same amount
    ],
)
def test_a_copy_of_a_file_without_ids(tmp_path, changes, count) -> None:
    """One problem for the later file, at its first such row; all rows are counted."""
    rows = [_buy(*each) for each in _MAY], [_buy(*each, **changes) for each in _MAY]
    statements = _read(tmp_path, _REVOLUT, *rows)
    assert len(statements.payments) == 5 + count
    assert _list_copies(statements) == [["b.csv", 2, _ALIKE.format(f"{count} rows look", "a.csv")]]
    assert "a.csv" not in statements.masked().problems["problem"].str.cat()


@pytest.mark.parametrize("time", ["10:00:00 EDT", "10:00 EDT", "00:00:00 UTC"])
def test_a_copy_of_a_file_with_a_shared_id(tmp_path, time) -> None:
    """A purchase of 8.40 and its refund of 3.20 have one id, and so have the 8 and 3 of the copy."""
    statements = _read(
        tmp_path, _CASH_APP, [_charge("-$8.40"), _charge("$3.20")], [_charge("-$8", time), _charge("$3", time)]
    )
    assert sorted(statements.payments["flow_cents"]) == [-840, -800, 300, 320]
    assert _list_copies(statements) == [["b.csv", 2, _ALIKE.format("2 rows look", "a.csv")]]


def test_a_copy_of_one_month_of_two(tmp_path) -> None:
    """The file of one row has a problem too, and the sentence is about one."""
    june = _buy(31, 100).replace("2024-05", "2024-06").replace("06-31", "06-30")
    statements = _read(tmp_path, _REVOLUT, [_buy(3, 120)], [_buy(1, 345), _buy(2, 700), _buy(3, 100), june])
    assert _list_copies(statements) == [["b.csv", 4, _ALIKE.format("1 row looks", "a.csv")]]


@pytest.mark.parametrize(
    "files",
    [
        [[_buy(1, 345), _buy(1, 400)], [_buy(1, 345), _buy(1, 400), _buy(2, 500)]],  # two purchases, in both files
        [[_buy(1, 345), _buy(1, 400, time=" 12:06:13")], [_buy(1, 400, time=" 12:06:13"), _buy(2, 345)]],
        [[_buy(1, 345)], [_buy(1, 400, time=" 11:06:13")]],  # another minute
        [[_buy(1, 345)], [_buy(1, 400, shop="Bakery")]],
        [[_buy(1, 345)], [_buy(1, -400)]],  # the other direction
        [[_buy(1, 345)], [_buy(3, 400, time="")]],
        [[_buy(1, 345)], [_buy(1, 400).replace("EUR", "GBP")]],
        [[_buy(1, 345)], [_buy(1, 400).replace("COMPLETED", "PENDING")]],
        [
            [_buy(each, each) for each in range(1, 9)],
            [_buy(1, 345), *(_buy(each, 7, shop="Bus") for each in range(2, 9))],
        ],
    ],
)
def test_files_that_are_no_copies(tmp_path, files) -> None:
    """Different purchases at one shop on one day are what they are."""
    assert _list_copies(_read(tmp_path, _REVOLUT, *files)) == []


def test_two_groups_with_one_friend_on_one_day(tmp_path) -> None:
    """Other texts are other expenses; the same text with another amount is one, too."""
    home, paris = [_spend(3, "Lunch", 1010), _spend(3, "Tram", 240)], [_spend(3, "Coffee", 400), _spend(3, "Tram", 320)]
    assert _list_copies(_read(tmp_path, _SPLITWISE, home, paris)) == []


def test_equal_amounts_of_two_products(tmp_path) -> None:
    """Interest of one moment in two accounts: nothing is lost from one row to the other, as in a copy."""
    current = [_buy(day, 30 + day, time=" 00:00:00", shop="Interest") for day in range(1, 20)]
    savings = [
        _buy(day, 30 + day // 2, time=" 00:00:00", shop="Interest").replace("Current", "Savings")
        for day in range(1, 20)
    ]
    assert _list_copies(_read(tmp_path, _REVOLUT, current, savings)) == []


def test_ids_that_end_in_eight_digits(tmp_path) -> None:
    """They are not taken for ids of further amounts, which end in a hash of the amount."""
    header = "TransferWise ID,Date,Amount,Currency,Description,Payment Reference,Running Balance,Payee Name,Total fees"
    first, later = (
        [f"TRANSFER-1234567{number},04-05-2024,{amount},EUR,Sent money to Bo,,100.00,Bo,0.00"]
        for number, amount in ((1, "-10.40"), (2, "-10.00"))
    )
    assert _list_copies(_read(tmp_path, header, first, later)) == []


@pytest.mark.parametrize("name", ["cash_app_2023", "revolut_en", "revolut_pt", "splitwise_en", "wise", "wise_2021"])
def test_any_legal_parts_of_a_sample(tmp_path, name) -> None:
    """Files of whole days that overlap or follow each other are no copies."""
    header, *lines = (_SAMPLES / f"{name}.csv").read_text("utf-8").splitlines(keepends=True)
    for first in range(1, len(lines), max(1, len(lines) // 3)):
        (tmp_path / "a.csv").write_text(header + "".join(lines[:first]), "utf-8")
        for start in {max(0, first - 3), first}:
            (tmp_path / "b.csv").write_text(header + "".join(lines[start:]), "utf-8")
            assert _list_copies(p2p.read_statements(tmp_path, account="Nora Quill")) == [], (first, start)
