"""Files of one account in order: gaps, overlaps and doubles worked out by hand, and copies that a spreadsheet saved."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics.statements.ledger.reconcile import Reconciled, reconcile
from support.frames import list_rows
from support.statements.files import CASH_APP, REVOLUT, SPLITWISE
from support.statements.rows import describe_files, make_file


def _day(month: int, day: int = 1) -> datetime:
    return datetime(2024, month, day, tzinfo=UTC)


def _end(month: int, day: int) -> datetime:
    return _day(month, day) + timedelta(days=1, microseconds=-1)


def _reconcile(*files: pl.DataFrame, **options: Any) -> Reconciled:
    rows = pl.concat(files)
    return reconcile(rows, describe_files(rows, **options))


def _find_seams(*files: pl.DataFrame) -> list[tuple[Any, ...]]:
    return list_rows(_reconcile(*files).table, "file", "follows", "gap_cents", "note")


def _find_gaps(*files: pl.DataFrame, **options: Any) -> list[tuple[Any, ...]]:
    """Return file, file before, days, months and cents of each gap."""
    problems = _reconcile(*files, **options).problems
    return [(gap.file, gap.other_file, *gap.details[:2], gap.cents) for gap in problems if gap.code == "gap"]


def _find_doubles(*files: pl.DataFrame) -> list[tuple[Any, ...]]:
    problems = _reconcile(*files).problems
    return [(each.file, each.other_file, each.details) for each in problems if each.code == "possible_double"]


JANUARY = make_file("january", [500, -200], opening=1000, closing=1300, start=_day(1, 30))
FEBRUARY = make_file("february", [-300], opening=1300, closing=1000, start=_day(2, 5))
MARCH = make_file("march", [40, 2], opening=1000, closing=1042, start=_day(3, 5))
DECEMBER = make_file("december", [40, 2], opening=1300, closing=1342, start=_day(12, 5))


def test_a_missing_file() -> None:
    """Without February the balance falls by 3.00 between the two files, and a month has no rows."""
    assert _find_seams(JANUARY, MARCH)[1] == ("march", "january", -300, None)
    assert _find_gaps(JANUARY, MARCH) == [("march", "january", 0, 1, -300)]
    # Days between two stated periods are counted, both ends included; these have quiet months without remark.
    for end, days in (((1, 31), 29), ((2, 29), 0)):
        named = {"january": (_day(1), _end(*end)), "march": (_day(3), _end(3, 31))}
        assert _find_gaps(JANUARY, MARCH, periods=named) == [("march", "january", days, 0, -300)]


def _count_days(end: datetime, start: datetime) -> int:
    """Return how many days the gap between two files has that state these periods."""
    periods = {"january": (_day(1), end), "december": (start, _end(12, 31))}
    gaps = _find_gaps(JANUARY, DECEMBER, periods=periods)
    return gaps[0][2] if gaps else 0


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Tokyo", "Europe/London"])
@pytest.mark.parametrize(
    ("last", "first", "days"),
    [
        ((1, 31), (2, 1), 0), ((1, 31), (2, 2), 1), ((3, 9), (3, 11), 1), ((3, 9), (3, 10), 0), ((3, 1), (4, 20), 49),
        ((10, 1), (11, 20), 49),
    ],
)  # fmt: skip
def test_days_between_periods_in_any_zone(zone: str, last: tuple[int, int], first: tuple[int, int], days: int) -> None:
    """Only whole days are counted, also of 23 or 25 hours, and where the clock changes among more days."""
    end = datetime(2024, *last, 23, 59, 59, 999999, ZoneInfo(zone)).astimezone(UTC)
    assert _count_days(end, datetime(2024, *first, tzinfo=ZoneInfo(zone)).astimezone(UTC)) == days


@pytest.mark.parametrize(("hours", "days"), [(13, 0), (20, 0), (21, 1), (25, 1), (36, 1), (47, 2)])
def test_hours_between_periods(hours: int, days: int) -> None:
    """Part of a day is no day, except where a clock can have been changed by up to three hours."""
    assert _count_days(_end(1, 31), _day(2) + timedelta(hours=hours)) == days


def _list_payments(**moved: int) -> list[dict[str, Any]]:
    return [{"payment_id": name, "moved_cents": cents} for name, cents in moved.items()]


_LATE = {"payment_id": "late", "moved_cents": 0, "flow_cents": -40}  # it settles after the overlap


@pytest.mark.parametrize(
    ("first", "last", "day", "opening", "gap"),
    [
        # Both files have b and c: the second one opens with the balance before b, 10.00 + 1.00.
        (_list_payments(a=100, b=20, c=-3), _list_payments(b=20, c=-3, d=500), 2, 1100, 0),
        (_list_payments(a=100, b=20, c=-3), _list_payments(b=20, c=-3, d=500), 2, 1117, 17),
        # The overlap begins with the second row of both files, 10.00 + 5.00.
        ([_LATE, *_list_payments(a=500, b=20)], _list_payments(b=20, late=-40, d=7), 3, 1500, 0),
    ],
)
def test_an_overlap(first, last, day, opening, gap) -> None:
    """The balance that counts is the one before the first row that is settled in both files."""
    closing = [start + sum(each["moved_cents"] for each in rows) for start, rows in ((1000, first), (opening, last))]
    one = make_file("one", first, opening=1000, closing=closing[0], start=_day(1, 1))
    other = make_file("other", last, opening=opening, closing=closing[1], start=_day(1, day))
    assert _find_seams(one, other)[1] == ("other", "one", gap, "2 rows are in the file before too.")


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
    (problem,) = _reconcile(one, other).problems
    assert problem.sentence == (
        "is about the same days as 'one', and the files have no row in common: if they list the same transactions, "
        "these count twice, so leave one of the files out"
    )
    assert _find_doubles(one, other.with_columns(currency=pl.lit("EUR"))) == []
    assert _find_doubles(one, other.with_columns(account=pl.lit("theo"))) == []


@pytest.mark.parametrize(("hours", "is_double"), [(0, False), (24, False), (49, True), (95, True)])
def test_days_that_two_files_share(hours: int, *, is_double: bool) -> None:
    """Two months may share the boundary day, and a payment that was begun in one can have the date of the next."""
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
    # Who pays the same persons each month, and is paid by them, has the same balances each month.
    assert _find_doubles(*(make_file(f"{month}", _MOVED, opening=1000, start=_day(month)) for month in (1, 3, 5))) == []


def test_accounts_and_currencies_have_seams_of_their_own() -> None:
    """The file of another account or currency is not the one before; one without a date follows nothing."""
    euros = make_file("euros", [40], opening=0, closing=40, start=_day(2), currency="EUR")
    friend = make_file("friend", [{"moved_cents": 1, "account": "theo"}], opening=5, closing=6, start=_day(3))
    undated = make_file("undated", [{"moved_cents": 1, "date": None}], opening=0, closing=1)
    assert [seam[:2] for seam in _find_seams(undated, JANUARY, euros, FEBRUARY, friend)] == [
        ("euros", None), ("january", None), ("february", "january"), ("undated", None), ("friend", None),
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
    frame = _reconcile(*data.draw(st.permutations(files))).table
    assert frame["reconciled"].all()
    assert frame["gap_cents"].dropna().eq(0).all()
    assert frame["gap_cents"].notna().sum() == len(files) - 1
    assert frame["suggestion"].isna().all()


_ALIKE = (
    "{} like rows of 'a.csv' with other amounts or times, as in a copy that a spreadsheet has saved: the rows of both "
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


def _spend(text: str, cents: int) -> str:
    """Return an expense of Splitwise that Nora paid for both."""
    return f"2024-05-03,{text},General,{cents * 2 / 100:.2f},EUR,{cents / 100:.2f},-{cents / 100:.2f}"


@pytest.fixture
def read_files(tmp_path, write):
    """Return a function that writes the files a.csv, b.csv and so on, and reads the folder."""

    def read_files(header: str, *files: list[str]) -> p2p.Statements:
        for name, rows in zip("abcd", files, strict=False):
            write(f"{name}.csv", "\n".join([header.rstrip("\n"), *rows]) + "\n")
        return p2p.read_statements(tmp_path, account="Nora")

    return read_files


def _list_copies(statements: p2p.Statements) -> list[tuple[object, ...]]:
    copies = statements.problems[statements.problems["problem"].str.contains("look")]
    assert copies["payment_id"].isna().all()
    return list_rows(copies, "file", "line", "problem")


def test_many_rows_of_one_minute(read_files) -> None:
    """20,000 rows that all look alike are compared file by file: their 100 million pairs would fill the memory."""
    rows = ([_buy(1, 100 * units + 20, whole=whole) for units in range(1, 10_001)] for whole in (False, True))
    assert _list_copies(read_files(REVOLUT, *rows)) == [("b.csv", 2, _ALIKE.format("10,000 rows look"))]


def test_one_row_in_many_files(tmp_path, write) -> None:
    """Rows of one minute in more than 30 files are frequent, and no sign of a copy."""
    for number in range(31):
        path = write(f"{number:02}.csv", f"{REVOLUT}{_buy(1, 500 + number)}\n")
    assert _list_copies(p2p.read_statements(tmp_path, account="Nora")) == []
    path.unlink()
    assert len(_list_copies(p2p.read_statements(tmp_path, account="Nora"))) == 29  # each with 00.csv, of 5.00


_MAY = [(1, 345), (2, 700), (3, 120), (4, 999), (9, 450)]
_MAY_ROWS = [_buy(*each) for each in _MAY]
_PAIR = [_charge("-$8.40"), _charge("$3.20")]  # a purchase and its refund have one id
_MONTHS = [*(_buy(*each) for each in ((1, 345), (2, 700), (3, 100))), _buy(30, 100).replace("2024-05", "2024-06")]


@pytest.mark.parametrize(
    ("header", "files", "line", "words"),
    [
        (REVOLUT, [_MAY_ROWS, [_buy(*each, time=" 11:05") for each in _MAY]], 2, "5 rows look"),
        (REVOLUT, [_MAY_ROWS, [_buy(*each, time="") for each in _MAY]], 2, "5 rows look"),
        # 7.00 is the same amount, and its row is one payment.
        (REVOLUT, [_MAY_ROWS, [_buy(*each, whole=True) for each in _MAY]], 2, "4 rows look"),
        (CASH_APP, [_PAIR, [_charge("-$8", "10:00 EDT"), _charge("$3", "10:00 EDT")]], 2, "2 rows look"),
        (CASH_APP, [_PAIR, [_charge("-$8", "00:00:00 UTC"), _charge("$3", "00:00:00 UTC")]], 2, "2 rows look"),
        # One month of two; the file of one row has a problem too, and the sentence is about one.
        (REVOLUT, [[_buy(3, 120)], _MONTHS], 4, "1 row looks"),
    ],
)
def test_a_copy_with_other_amounts_or_times(read_files, header, files, line, words) -> None:
    """One problem for the later file, at its first such row; all rows are counted."""
    statements = read_files(header, *files)
    assert len(statements.payments) == sum(map(len, files)) - (words == "4 rows look")
    assert _list_copies(statements) == [("b.csv", line, _ALIKE.format(words))]
    assert "a.csv" not in statements.masked().problems["problem"].str.cat()


_WISE = "TransferWise ID,Date,Amount,Currency,Description,Payment Reference,Running Balance,Payee Name,Total fees"


@pytest.mark.parametrize(
    ("header", "files"),
    [
        # Two purchases, in both files.
        (REVOLUT, [[_buy(1, 345), _buy(1, 400)], [_buy(1, 345), _buy(1, 400), _buy(2, 500)]]),
        (REVOLUT, [[_buy(1, 345), _buy(1, 400, time=" 12:06:13")], [_buy(1, 400, time=" 12:06:13"), _buy(2, 345)]]),
        (REVOLUT, [[_buy(1, 345)], [_buy(1, 400, time=" 11:06:13")]]),  # another minute
        (REVOLUT, [[_buy(1, 345)], [_buy(1, 400, shop="Bakery")]]),
        (REVOLUT, [[_buy(1, 345)], [_buy(1, -400)]]),  # the other direction
        (REVOLUT, [[_buy(1, 345)], [_buy(3, 400, time="")]]),
        (REVOLUT, [[_buy(1, 345)], [_buy(1, 400).replace("EUR", "GBP")]]),
        (REVOLUT, [[_buy(1, 345)], [_buy(1, 400).replace("COMPLETED", "PENDING")]]),
        (REVOLUT, [[_buy(each, each) for each in range(1, 9)],
                   [_buy(1, 345), *(_buy(each, 7, shop="Bus") for each in range(2, 9))]]),
        # Two groups with one friend: other texts are other expenses; the same text with another amount is one, too.
        (f"{SPLITWISE},Nora,Theo", [[_spend("Lunch", 1010), _spend("Tram", 240)],
                                    [_spend("Coffee", 400), _spend("Tram", 320)]]),
        # Ids that end in eight digits are not ids of further amounts, which end in a hash of the amount.
        (_WISE, [[f"TRANSFER-1234567{end},EUR,Sent money to Bo,,100.00,Bo,0.00"]
                 for end in ("1,04-05-2024,-10.40", "2,04-05-2024,-10.00")]),
    ],
)  # fmt: skip
def test_files_that_are_no_copies(read_files, header, files) -> None:
    """Different purchases at one shop on one day are what they are."""
    assert _list_copies(read_files(header, *files)) == []


@pytest.mark.parametrize(("others", "is_double"), [(4, True), (5, True), (6, False)])
def test_half_of_the_rows_have_equal_balances(others: int, *, is_double: bool) -> None:
    """Five equal ones of nine, ten and eleven."""
    moved = [500, -200, 700, -300, 250]
    one = make_file("one", [*moved, *range(11, 11 + others)], opening=1000)
    other = make_file("other", [*moved, *range(31, 31 + others)], opening=1000, start=_day(3, 6))
    assert bool(_find_doubles(one, other)) == is_double
