"""Text of cells: exact cents, UTC instants, and problems for everything else."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from p2p_analytics.statements import list_unreadable, parse_instants, parse_money
from p2p_analytics.statements.formats.instants import list_orders

_UTC = ZoneInfo("UTC")
_NEW_YORK = ZoneInfo("America/New_York")
_PLACES = pl.DataFrame({"file": ["a.csv"], "line": [7]})


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("- $1,234.56", -123456), ("+ $45.00", 4500), ("$42.50", 4250), ("$-5.00", -500), ("-$5.00", -500),
        ("5.00-", -500), ("0", 0), ("- $0.48", -48), ("10", 1000), ("42.5", 4250), (".75", 75), ("\u2212$3.00", -300),
        ("\u2013 3.00", -300), ("\u00a0$5 ", 500), ("\u20ac1,000.00", 100000), ("5 EUR", 500), ("1'234.50", 123450),
        ("$1,234,567,890.12", 123456789012), ("92,233,720,368,547,758.07", 2**63 - 1),
        ("-92233720368547758.07", -(2**63) + 1), ("", None), ("  ", None), ("(None)", None), ("(none)", None),
        (None, None),
    ],
)  # fmt: skip
def test_amounts_are_exact_cents(text, cents):
    """An amount is the same number of cents in every spelling; an empty cell is null, and no problem."""
    cells = pl.Series([text], dtype=pl.String)
    found = parse_money(cells)
    assert (found.dtype, found.to_list()) == (pl.Int64, [cents])
    assert list_unreadable(_PLACES, cells, found, field="amount", code="not_an_amount") == []


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
    (problem,) = list_unreadable(_PLACES, cells, cents, field="amount", code="not_an_amount")
    assert problem[:6] == ("not_an_amount", "a.csv", 7, None, "amount", text[:100])
    assert problem.sentence == "is not an amount"


@pytest.mark.parametrize(
    ("texts", "options", "cents"),
    [  # With a decimal comma, a point separates thousands; the symbol of another currency makes an amount unreadable.
        (["1.234,56", "-12,3 \u20ac", "1 000,00", "7"], {"decimal_comma": True}, [123456, -1230, 100000, 700]),
        (["\u20ac5", "$5", "5"], {"symbol": "$"}, [None, 500, 500]),
        ([], {}, []),
    ],
)
def test_what_the_file_says_about_its_amounts(texts, options, cents):
    """Its decimal sign and its currency."""
    found = parse_money(pl.Series(texts, dtype=pl.String), **options)
    assert (found.dtype, found.to_list()) == (pl.Int64, cents)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2017-04-25T03:15:53", "2017-04-25T07:15:53"), ("2017-04-25 03:15", "2017-04-25T07:15"),
        ("2017-04-25", "2017-04-25T04:00"), ("2017-04-25T03:15:53Z", "2017-04-25T03:15:53"),
        ("2017-04-25T03:15:53.120+02:00", "2017-04-25T01:15:53.120"),
        ("2017-04-25 03:15:53 CDT", "2017-04-25T08:15:53"), ("2017-04-25 03:15:53 (PST)", "2017-04-25T11:15:53"),
        ("2017-04-25 03:15:53 GMT+0100", "2017-04-25T02:15:53"), ("4/25/2017, 3:15:53 PM", "2017-04-25T19:15:53"),
        ("04/25/2017 12:30 AM", "2017-04-25T04:30"), ("04-25-2017 03:15 Europe/Berlin", "2017-04-25T01:15"),
        # The clock skips 02:00 to 03:00 on 10 March 2024, and shows 01:00 to 02:00 twice on 3 November.
        ("2024-03-10T02:30:00", "2024-03-10T07:30"), ("2024-11-03T01:30:00", "2024-11-03T05:30"),
        # Samoa skipped 30 December 2011; until then it was ten hours behind UTC.
        ("2011-12-30 10:00 Pacific/Apia", "2011-12-30T20:00"),
    ],
)  # fmt: skip
def test_datetimes_are_instants(text, instant):
    """A datetime without a zone is in New York here, four hours behind UTC in summer; a zone in the cell wins."""
    expected = datetime.fromisoformat(f"{instant}Z")
    assert parse_instants(pl.Series([text]), tz=_NEW_YORK).to_list() == [expected]
    mixed = parse_instants(pl.Series([text, "2020-01-01T00:00Z"]), tz=_NEW_YORK)
    assert mixed.to_list() == [expected, datetime(2020, 1, 1, tzinfo=UTC)]


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10", "2024-05-31T24:00:00", "2024-05-31T10:60", "10:00",
        "2024-05-31 13:00 PM", "5/1/24", "2024-05-31 10:00 XYZ", "2024-05-31 10:00 Europe/Nowhere", "1899-12-31",
        "2200-01-01", "2024-05-31T10:00:60", "2024-05-31 10:00 +25:00", "31/12/2024", "noon", "3.18E+18",
        None,
    ],
)  # fmt: skip
def test_other_text_is_no_datetime(text):
    """Dates that do not exist, unknown zones and other text are null, with the type of dates."""
    found = parse_instants(pl.Series([text], dtype=pl.String), tz=_UTC)
    assert (found.dtype, found.to_list()) == (pl.Datetime("us", "UTC"), [None])


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


@pytest.mark.parametrize("times", [1, 5])
def test_repeated_amounts_are_as_single_ones(times: int) -> None:
    """Each distinct text is parsed once, by the same rules."""
    cells = pl.Series(["€5", "$5", None, "1.234"] * times)
    assert parse_money(cells, symbol="$").to_list() == [None, 500, None, None] * times
    assert parse_money(cells, decimal_comma=True).to_list() == [500, 500, None, 123400] * times
