"""Text of cells: exact cents, UTC instants, and problems for everything else."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from p2p_analytics.statements.formats.cells import list_orders, parse_instants, parse_money
from p2p_analytics.statements.problems import list_unreadable

_UTC = ZoneInfo("UTC")
_NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("- $1,234.56", -123456), ("+ $45.00", 4500), ("$42.50", 4250), ("$-5.00", -500), ("-$5.00", -500),
        ("5.00-", -500), ("0", 0), ("- $0.48", -48), ("10", 1000), ("42.5", 4250), (".75", 75), ("\u2212$3.00", -300),
        ("\u2013 3.00", -300), ("\u00a0$5 ", 500), ("\u20ac1,000.00", 100000), ("5 EUR", 500), ("1'234.50", 123450),
        ("$1,234,567,890.12", 123456789012), ("92,233,720,368,547,758.07", 2**63 - 1),
        ("-92233720368547758.07", -(2**63) + 1),
    ],
)  # fmt: skip
def test_amounts_are_exact_cents(text, cents):
    """An amount is the same number of cents in every spelling."""
    assert parse_money(pl.Series([text])).to_list() == [cents]


@pytest.mark.parametrize(
    "text",
    [
        "12,34", "1,23.4", "1,2345.00", "--5", "-5-", "+-5", "92233720368547758.08", "-92233720368547758.08", "1e5",
        "1.2E+3", "$", "5.", "-", "5.001", "\u0663", "5\u00bd", "(5.00)", "five", "$5 $6", "0x10", "NaN", "5\n6",
        "1,234", "9" * 400,
    ],
)  # fmt: skip
def test_other_text_is_no_amount(text):
    """Text that is not exactly an amount of at most 64 bits of cents is null, and a problem that quotes it."""
    cells = pl.Series([text])
    cents = parse_money(cells, decimal_comma=text == "1,234")
    assert cents.to_list() == [None]
    places = pl.DataFrame({"file": ["a.csv"], "line": [7]})
    (problem,) = list_unreadable(places, cells, cents, field="amount", code="not_an_amount")
    assert problem[:6] == ("not_an_amount", "a.csv", 7, None, "amount", text[:100])
    assert problem.sentence == "is not an amount"


@pytest.mark.parametrize("text", ["", "  ", "(None)", "(none)", None])
def test_a_cell_without_text_is_no_problem(text):
    """Empty cells and the word for "empty" are null without a problem."""
    cells = pl.Series([text], dtype=pl.String)
    cents = parse_money(cells)
    assert cents.to_list() == [None]
    places = pl.DataFrame({"file": ["a.csv"], "line": [7]})
    assert list_unreadable(places, cells, cents, field="amount", code="not_an_amount") == []


@pytest.mark.parametrize(
    ("text", "cents"), [("1.234,56", 123456), ("-12,3 \u20ac", -1230), ("1 000,00", 100000), ("7", 700)]
)
def test_decimal_commas(text, cents):
    """With a decimal comma, a point separates thousands."""
    assert parse_money(pl.Series([text]), decimal_comma=True).to_list() == [cents]


def test_only_one_currency_symbol():
    """Where an amount has one currency, the symbol of another makes it unreadable."""
    assert parse_money(pl.Series(["\u20ac5", "$5", "5"]), symbol="$").to_list() == [None, 500, 500]


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2017-04-25T03:15:53", datetime(2017, 4, 25, 7, 15, 53, tzinfo=UTC)),
        ("2017-04-25 03:15", datetime(2017, 4, 25, 7, 15, tzinfo=UTC)),
        ("2017-04-25", datetime(2017, 4, 25, 4, tzinfo=UTC)),
        ("2017-04-25T03:15:53Z", datetime(2017, 4, 25, 3, 15, 53, tzinfo=UTC)),
        ("2017-04-25T03:15:53.120+02:00", datetime(2017, 4, 25, 1, 15, 53, 120000, tzinfo=UTC)),
        ("2017-04-25 03:15:53 CDT", datetime(2017, 4, 25, 8, 15, 53, tzinfo=UTC)),
        ("2017-04-25 03:15:53 (PST)", datetime(2017, 4, 25, 11, 15, 53, tzinfo=UTC)),
        ("2017-04-25 03:15:53 GMT+0100", datetime(2017, 4, 25, 2, 15, 53, tzinfo=UTC)),
        ("4/25/2017, 3:15:53 PM", datetime(2017, 4, 25, 19, 15, 53, tzinfo=UTC)),
        ("04/25/2017 12:30 AM", datetime(2017, 4, 25, 4, 30, tzinfo=UTC)),
        ("04-25-2017 03:15 Europe/Berlin", datetime(2017, 4, 25, 1, 15, tzinfo=UTC)),
        # The clock skips 02:00 to 03:00 on 10 March 2024, and shows 01:00 to 02:00 twice on 3 November.
        ("2024-03-10T02:30:00", datetime(2024, 3, 10, 7, 30, tzinfo=UTC)),
        ("2024-11-03T01:30:00", datetime(2024, 11, 3, 5, 30, tzinfo=UTC)),
        # Samoa skipped 30 December 2011; until then it was ten hours behind UTC.
        ("2011-12-30 10:00 Pacific/Apia", datetime(2011, 12, 30, 20, tzinfo=UTC)),
    ],
)
def test_datetimes_are_instants(text, instant):
    """A datetime without a zone is in New York here, four hours behind UTC in summer; a zone in the cell wins."""
    assert parse_instants(pl.Series([text]), tz=_NEW_YORK).to_list() == [instant]
    mixed = parse_instants(pl.Series([text, "2020-01-01T00:00Z"]), tz=_NEW_YORK)
    assert mixed.to_list() == [instant, datetime(2020, 1, 1, tzinfo=UTC)]


def test_days_before_months():
    """The order of day and month is that of the file; a zone may be in a column of its own."""
    cells = pl.Series(["31/05/2024 10:00", "1.2.2024"])
    instants = parse_instants(cells, tz=_UTC, order="dmy", zones=pl.Series(["PDT", None]))
    assert instants.to_list() == [datetime(2024, 5, 31, 17, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC)]


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10", "2024-05-31T24:00:00", "2024-05-31T10:60", "10:00",
        "2024-05-31 13:00 PM", "5/1/24", "2024-05-31 10:00 XYZ", "2024-05-31 10:00 Europe/Nowhere", "1899-12-31",
        "2200-01-01", "2024-05-31T10:00:60", "2024-05-31 10:00 +25:00", "31/12/2024", "noon", "3.18E+18",
    ],
)  # fmt: skip
def test_other_text_is_no_datetime(text):
    """Dates that do not exist, unknown zones and other text are null."""
    assert parse_instants(pl.Series([text]), tz=_UTC).to_list() == [None]


@pytest.mark.parametrize(
    ("cells", "orders"),
    [
        (["1/2/2024", "12/12/2024"], ["mdy", "dmy"]), (["1/2/2024", "13/2/2024"], ["dmy"]),
        (["1/2/2024", "2/13/2024"], ["mdy"]), (["13/2/2024", "2/13/2024"], []), (["2024-01-02"], ["mdy", "dmy"]),
        ([], ["mdy", "dmy"]),
    ],
)  # fmt: skip
def test_orders_of_day_and_month(cells, orders):
    """Both orders are possible until a number above 12 excludes one."""
    assert list_orders(pl.Series(cells, dtype=pl.String)) == orders


def test_empty_columns():
    """Columns without rows or text have the types of the others."""
    for cells in (pl.Series([], dtype=pl.String), pl.Series([None], dtype=pl.String)):
        assert parse_money(cells).dtype == pl.Int64
        assert parse_instants(cells, tz=_UTC).dtype == pl.Datetime("us", "UTC")
