"""Files of one account in order: gaps, overlaps and doubles worked out by hand, and copies that a spreadsheet saved."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics.statements.ledger.reconcile import reconcile
from support.statements.rows import describe_files, make_file

if TYPE_CHECKING:
    from p2p_analytics.statements import Statements


def _day(month: int, day: int = 1) -> datetime:
    return datetime(2024, month, day, tzinfo=UTC)


def _end(month: int, day: int) -> datetime:
    return _day(month, day) + timedelta(days=1, microseconds=-1)


def _find_seams(*files: pl.DataFrame, **options: Any) -> list[tuple[Any, ...]]:
    rows = pl.concat(files)
    frame = reconcile(rows, describe_files(rows, **options)).table
    names = ["file", "follows", "gap_cents", "note"]
    return [tuple(None if pd.isna(value) else value for value in row) for row in frame[names].itertuples(index=False)]


def _find_gaps(*files: pl.DataFrame, **options: Any) -> list[tuple[Any, ...]]:
    """Return file, file before, days, months and cents of each gap."""
    rows = pl.concat(files)
    problems = reconcile(rows, describe_files(rows, **options)).problems
    gaps = [problem for problem in problems if problem.code == "gap"]
    return [(gap.file, gap.other_file, *gap.details[:2], gap.cents) for gap in gaps]


def _find_doubles(*files: pl.DataFrame) -> list[tuple[Any, ...]]:
    rows = pl.concat(files)
    problems = reconcile(rows, describe_files(rows)).problems
    return [(each.file, each.other_file, each.details) for each in problems if each.code == "possible_double"]


JANUARY = make_file("january", [500, -200], opening=1000, closing=1300, start=_day(1, 30))
FEBRUARY = make_file("february", [-300], opening=1300, closing=1000, start=_day(2, 5))
MARCH = make_file("march", [40, 2], opening=1000, closing=1042, start=_day(3, 5))
DECEMBER = make_file("december", [40, 2], opening=1300, closing=1342, start=_day(12, 5))


def test_files_that_connect() -> None:
    """Closing balance = opening balance of the next file, whatever the order of the files."""
    expected = [("january", None, None, None), ("february", "january", 0, None), ("march", "february", 0, None)]
    assert _find_seams(JANUARY, FEBRUARY, MARCH) == expected
    assert _find_seams(MARCH, JANUARY, FEBRUARY) == expected


def test_a_missing_file() -> None:
    """Without February the balance falls by 3.00 between the two files, and a month has no rows."""
    assert _find_seams(JANUARY, MARCH)[1] == ("march", "january", -300, None)
    assert _find_gaps(JANUARY, MARCH) == [("march", "january", 0, 1, -300)]


def test_periods_that_the_files_name() -> None:
    """Days between two periods are counted, both ends included; a named period has quiet months without remark."""
    named = {"january": (_day(1), _end(1, 31)), "march": (_day(3), _end(3, 31))}
    assert _find_gaps(JANUARY, MARCH, periods=named) == [("march", "january", 29, 0, -300)]
    named["january"] = (_day(1), _end(2, 29))
    assert _find_gaps(JANUARY, MARCH, periods=named) == [("march", "january", 0, 0, -300)]


def _count_days(end: datetime, start: datetime) -> int:
    """Return how many days the gap between two files has that state these periods."""
    periods = {"january": (_day(1), end), "december": (start, _end(12, 31))}
    gaps = _find_gaps(JANUARY, DECEMBER, periods=periods)
    return gaps[0][2] if gaps else 0


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Tokyo", "Europe/London"])
def test_days_between_periods_in_any_zone(zone: str) -> None:
    """One day is left out: 1 February; 23 or 25 hours, or a clock that changes among more days, are days too."""

    def count(january: tuple[int, int], december: tuple[int, int]) -> int:
        last = datetime(2024, *january, 23, 59, 59, 999999, ZoneInfo(zone)).astimezone(UTC)
        return _count_days(last, datetime(2024, *december, tzinfo=ZoneInfo(zone)).astimezone(UTC))

    assert count((1, 31), (2, 1)) == 0
    assert count((1, 31), (2, 2)) == 1
    assert count((3, 9), (3, 11)) == 1
    assert count((3, 9), (3, 10)) == 0
    assert count((3, 1), (4, 20)) == 49
    assert count((10, 1), (11, 20)) == 49


@pytest.mark.parametrize(("hours", "days"), [(13, 0), (20, 0), (21, 1), (25, 1), (36, 1), (47, 2)])
def test_hours_between_periods(hours: int, days: int) -> None:
    """Part of a day is no day, except where a clock can have been changed by up to three hours."""
    end = _end(1, 31)
    assert _count_days(end, end + timedelta(microseconds=1, hours=hours)) == days


def test_an_overlap() -> None:
    """Both files have the payments b and c: the second one opens with the balance before b, 10.00 + 1.00."""
    first = [{"payment_id": name, "moved_cents": cents} for name, cents in (("a", 100), ("b", 20), ("c", -3))]
    last = [{"payment_id": name, "moved_cents": cents} for name, cents in (("b", 20), ("c", -3), ("d", 500))]
    one = make_file("one", first, opening=1000, closing=1117, start=_day(1, 1))
    other = make_file("other", last, opening=1100, closing=1617, start=_day(1, 2))
    assert _find_seams(one, other)[1] == ("other", "one", 0, "2 rows are in the file before too.")
    wrong = make_file("other", last, opening=1117, closing=1634, start=_day(1, 2))
    assert _find_seams(one, wrong)[1][2:] == (17, "2 rows are in the file before too.")


def test_a_payment_that_was_pending_in_the_file_before() -> None:
    """It settles after the overlap, so the overlap begins with the second row of both files, 10.00 + 5.00."""
    first = [{"payment_id": "late", "moved_cents": 0, "flow_cents": -40}, 500, {"payment_id": "b", "moved_cents": 20}]
    last = [{"payment_id": "b", "moved_cents": 20}, {"payment_id": "late", "moved_cents": -40}, 7]
    one = make_file("one", first, opening=1000, closing=1520, start=_day(1, 1))
    other = make_file("other", last, opening=1500, closing=1487, start=_day(1, 3))
    assert _find_seams(one, other)[1] == ("other", "one", 0, "2 rows are in the file before too.")


def test_a_file_inside_another() -> None:
    """A month inside a quarter has no row of its own, and the next month follows the quarter, which ends later."""
    ids = [{"payment_id": str(number), "moved_cents": number} for number in range(1, 5)]
    quarter = make_file("quarter", ids, opening=0, closing=10, start=_day(1, 1))
    month = make_file("month", ids[1:3], opening=1, closing=6, start=_day(1, 2))
    after = make_file("after", [7], opening=10, closing=17, start=_day(1, 9))
    assert _find_seams(after, month, quarter) == [
        ("quarter", None, None, None),
        ("month", "quarter", 0, "The file before has all of these rows."),
        ("after", "quarter", 0, None),
    ]


def test_the_same_days_without_a_common_row() -> None:
    """Files about the same days with different rows cannot follow each other; they can be doubles."""
    one = make_file("one", [1, 2, 3], opening=0, closing=6)
    other = make_file("other", [4, 5, 6], opening=0, closing=15)
    assert _find_seams(one, other)[1] == ("other", "one", None, None)
    assert _find_doubles(one, other) == _find_doubles(other, one) == [("other", "one", ("days",))]
    (problem,) = reconcile(rows := pl.concat([one, other]), describe_files(rows)).problems
    assert problem.sentence == (
        "is about the same days as 'one', and the files have no row in common: if they list the same transactions, "
        "these count twice, so leave one of the files out"
    )
    assert _find_doubles(one, other.with_columns(currency=pl.lit("EUR"))) == []
    assert _find_doubles(one, other.with_columns(account=pl.lit("theo"))) == []


@pytest.mark.parametrize(("hours", "is_double"), [(0, False), (24, False), (49, True), (95, True)])
def test_days_that_two_files_share(hours: int, *, is_double: bool) -> None:
    """One file has rows of 1 to 5 January, the other begins before them or at the last one, two, three or four.

    Two months may share the boundary day, and a payment that was begun in one can have the date of the next.
    """
    start = _day(1, 5) - timedelta(hours=hours)
    one, other = make_file("one", [1, 2, 3, 4, 5]), make_file("other", [6, 7, 8, 9, 10], start=start)
    assert bool(_find_doubles(one, other)) == is_double


_MOVED = [500, -200, 700, -300]


@pytest.mark.parametrize(
    ("moved", "opening", "is_double"),
    [
        (_MOVED, 1000, True),
        (_MOVED, 1001, False),
        ([*_MOVED, 5, 6, 7, 8], 1000, True),
        ([*_MOVED[:2], 5, 6], 1000, False),  # two of four
        ([500, -500, 500, -500], 1000, False),  # few different balances
    ],
)
def test_the_same_balances_with_other_ids(moved: list[int], opening: int, *, is_double: bool) -> None:
    """The dates are others, as those of days and months that were taken for each other."""
    one = make_file("one", moved if len(set(moved)) == 2 else _MOVED, opening=1000)
    other = make_file("other", moved, opening=opening, start=_day(6))
    assert _find_doubles(one, other) == ([("other", "one", ("balances",))] if is_double else [])
    ids = {f"other-{number}": f"one-{number}" for number in range(1, 5)}
    assert _find_doubles(one, other.with_columns(pl.col("payment_id").replace(ids))) == []


def test_balances_that_repeat_each_month() -> None:
    """Who pays the same persons each month, and is paid by them, has the same balances each month."""
    months = [make_file(f"{month}", _MOVED, opening=1000, start=_day(month)) for month in (1, 3, 5)]
    assert _find_doubles(*months) == []


def test_accounts_and_currencies_have_seams_of_their_own() -> None:
    """The file of another account or currency is not the one before."""
    euros = make_file("euros", [40], opening=0, closing=40, start=_day(2), currency="EUR")
    friend = make_file("friend", [{"moved_cents": 1, "account": "theo"}], opening=5, closing=6, start=_day(3))
    assert [seam[:3] for seam in _find_seams(JANUARY, euros, friend)] == [
        ("euros", None, None), ("january", None, None), ("friend", None, None),
    ]  # fmt: skip


def test_files_without_dates_come_last() -> None:
    """A file without a date has no period, so it follows nothing."""
    undated = make_file("undated", [{"moved_cents": 1, "date": None}], opening=0, closing=1)
    assert [seam[:2] for seam in _find_seams(undated, JANUARY, FEBRUARY)] == [
        ("january", None), ("february", "january"), ("undated", None),
    ]  # fmt: skip


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.data())
def test_any_split_connects(data: st.DataObject) -> None:
    """One history, cut into files at any rows and in any order, with or without overlaps, connects without a gap."""
    moved = data.draw(st.lists(st.integers(-5000, 5000), min_size=2, max_size=20))
    rows = [
        {"payment_id": str(number), "moved_cents": cents, "date": _day(1, number + 1)}
        for number, cents in enumerate(moved)
    ]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(rows) - 1), min_size=1)))
    files = []
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
        first = data.draw(st.integers(0, start))
        opening = sum(moved[:first])
        files.append(make_file(f"{number}", rows[first:end], opening=opening, closing=opening + sum(moved[first:end])))
    rows = pl.concat(data.draw(st.permutations(files)))
    frame = reconcile(rows, describe_files(rows)).table
    assert frame["reconciled"].all()
    assert frame["gap_cents"].dropna().eq(0).all()
    assert frame["gap_cents"].notna().sum() == len(files) - 1
    assert frame["suggestion"].isna().all()


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
