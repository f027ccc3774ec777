"""Tests of recurring against hand calculation, on every kind of frame."""

from datetime import date, timedelta

import pytest
from analyses.conftest import read_rows

from p2p_analytics.analyses.series import recurring

ANN = {"counterparty_id": "1", "counterparty_name": "Ann", "direction": "out", "note": "Rent"}
DATES = ("first_date", "last_date", "next_expected")


def pay(cents, *days, **more):
    """Return payments of one amount at noon of some days, or at some instants; to Ann unless others are given."""
    instants = [day if "T" in day else f"{day}T12:00:00Z" for day in days]
    return [ANN | {"amount_cents": cents, "created": instant} | more for instant in instants]


def read(rows, *names):
    """Return some columns of rows, dates as text whatever type the kind of frame has for them."""
    return [tuple(f"{row[name]:%Y-%m-%d}" if name in DATES else row[name] for name in names) for row in rows]


def test_one_series(payments):
    """Rent on the first of three months; rows that are pending, of another kind, or without amount do not count."""
    frame = payments(
        *pay(-90000, "2024-01-01", "2024-02-01", "2024-03-01"),
        *pay(90000, "2024-04-01", status="pending"),
        *pay(None, "2024-04-01"),
        *pay(90000, "2024-04-01", direction=None),
        *pay(90000, "2024-04-01", direction="IN"),
        *pay(90000, "2024-04-01", kind="transfer"),
        *pay(90000, "1969-12-01", "2200-01-01"),
    )
    found = read_rows(recurring(frame, as_of="2024-03-20"))
    assert [row | dict(zip(DATES, read([row], *DATES)[0], strict=True)) for row in found] == [
        {
            "counterparty_id": "1", "counterparty_name": "Ann", "direction": "out", "cadence": "monthly",
            "amount": 900.0, "payments": 3, "first_date": "2024-01-01", "last_date": "2024-03-01",
            "next_expected": "2024-04-01", "state": "active", "note": "Rent",
        }
    ]  # fmt: skip


CADENCES = {
    "weekly": (["2024-02-16", "2024-02-23", "2024-03-01"], "2024-03-08"),
    "fortnightly": (["2023-12-20", "2024-01-03", "2024-01-17"], "2024-01-31"),
    "monthly": (["2023-12-31", "2024-01-31", "2024-02-29"], "2024-03-31"),
    "quarterly": (["2023-05-31", "2023-08-31", "2023-11-30"], "2024-02-29"),
    "yearly": (["2020-02-29", "2021-02-28", "2022-02-28"], "2023-02-28"),
}


@pytest.mark.parametrize("cadence", list(CADENCES))
@pytest.mark.parametrize("direction", [pytest.param("in", marks=pytest.mark.full), "out"])
def test_each_cadence(payments, cadence, direction):
    """Three payments make a series; one on the last days of months stays there, in leap years too."""
    days, expected = CADENCES[cadence]
    found = read_rows(recurring(payments(*pay(5, *days, direction=direction)), as_of=days[-1]))
    assert read(found, "direction", "cadence", *DATES, "state") == [
        (direction, cadence, days[0], days[-1], expected, "active")
    ]
    for rows in ([], pay(5, *days[1:])):
        assert read_rows(recurring(payments(*rows), as_of=days[-1])) == []


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (["2022-12-30", "2023-01-30", "2023-02-28"], "2023-03-30"),  # shortened by February
        (["2024-02-29", "2024-03-31", "2024-04-30"], "2024-05-31"),
        (["2022-12-01", "2022-12-31", "2023-02-01", "2023-02-28"], "2023-03-28"),  # paid a day or two early
        (["2023-11-28", "2023-12-28", "2024-01-28"], "2024-02-28"),
        (["2018-02-28", "2019-02-28", "2020-02-29"], "2021-02-28"),
    ],
)
def test_the_next_date(build, days, expected):
    """A short month moves a date for once only."""
    table = recurring(build(pay(5, *days)), as_of="2020-01-01")
    assert read(table.to_dict("records"), "next_expected") == [(expected,)]


@pytest.mark.parametrize(
    ("cadence", "late", "ended"),
    [
        ("weekly", 9, 18),  # 8.75 and 17.5 days
        ("fortnightly", 18, 35),  # 17.5 and 35
        ("monthly", 39, 78),  # 31 days to March 31st: 38.75 and 77.5
        ("quarterly", 114, 228),  # 91 days to February 29th: 113.75 and 227.5
        ("yearly", 457, 913),  # 365 days: 456.25 and 912.5
    ],
)
def test_states_change_on_the_day(build, cadence, late, ended):
    """A series is late from 1.25 periods after its last date, and has ended from 2.5; the day is a day of the zone."""
    days, _ = CADENCES[cadence]
    frame = build(pay(5, *days))
    last = date.fromisoformat(days[-1])
    ends = [last + timedelta(days=number) for number in (late - 1, late, ended - 1, ended)]
    assert [recurring(frame, as_of=day)["state"].item() for day in ends] == ["active", "late", "late", "ended"]
    assert [recurring(frame, as_of=f"{year}-01-01")["state"].item() for year in ("0001", "9999")] == ["active", "ended"]
    evening = f"{last + timedelta(days=late - 1)}T23:30:00Z"
    assert recurring(frame, as_of=evening)["state"].item() == "active"
    assert recurring(frame, as_of=evening, tz="Asia/Kolkata")["state"].item() == "late"


def test_dates_of_a_zone(payments):
    """Half past eleven at night in New York is the day before in UTC, in summer an hour earlier than in winter."""
    rows = pay(5, "2024-02-02T04:30:00Z", "2024-03-02T04:30:00Z", "2024-04-02T03:30:00Z")
    found = read_rows(recurring(payments(*rows), as_of="2024-04-02", tz="America/New_York"))
    assert read(found, *DATES) == [("2024-02-01", "2024-04-01", "2024-05-01")]
    assert read(read_rows(recurring(payments(*rows), as_of="2024-04-02")), *DATES) == [
        ("2024-02-02", "2024-04-02", "2024-05-02")
    ]


MONTHS = [f"2023-{month:02}-{day:02}" for month, day in enumerate((1, 3, 1, 2, 1, 1, 6, 1, 2, 1, 4, 1), 1)]


def test_people_and_order(payments):
    """Ids before names; the largest amount first, then id, name, direction, cadence and first date."""
    nameless = {"counterparty_id": None, "counterparty_name": None}
    weekly = ["2023-03-01", "2023-03-08", "2023-03-15"]
    rows = [
        *pay(700, *MONTHS[:6], note="Gym"),
        *pay(700, *MONTHS[:6], counterparty_name="Anne", direction="in"),
        *pay(700, *weekly, counterparty_id=None, counterparty_name="Bo"),
        *pay(700, *weekly, counterparty_id="2", counterparty_name="Bo"),
        *pay(900, *weekly, **nameless),
    ]
    names = ("counterparty_id", "counterparty_name", "direction", "amount", "cadence")
    expected = [
        (None, None, "out", 9.0, "weekly"),
        ("1", "Anne", "in", 7.0, "monthly"),
        ("1", "Anne", "out", 7.0, "monthly"),  # one name for one id
        ("2", "Bo", "out", 7.0, "weekly"),
        (None, "Bo", "out", 7.0, "weekly"),
    ]
    for order in (1, -1):
        assert read(read_rows(recurring(payments(*rows[::order]), as_of="2023-04-01")), *names) == expected


def test_two_series_with_one_person(build):
    """Series differ by amount, by note, by date, or in nothing; each payment belongs to one."""
    half = [day[:8] + f"{int(day[8:]) + 14}" for day in MONTHS]
    for other in (pay(25000, *MONTHS), pay(90000, *MONTHS, note="Garage"), pay(90000, *half), pay(90000, *MONTHS)):
        of_one = [*pay(90000, *MONTHS), *other]
        rows = [row | {"counterparty_id": person} for person in ("1", "2", "3") for row in of_one]
        table = recurring(build(rows), as_of="2024-01-01")
        assert read(table.to_dict("records"), "cadence", "payments", "state") == [("monthly", 12, "active")] * 6


def test_rent_that_rises(build):
    """One series: a rise each year, late payments, a date missed, one paid twice on a day; the note changes."""
    days = [f"{year}-{month:02}-{1 + month % 3:02}" for year in (2021, 2022, 2023) for month in range(1, 13)]
    rows = [row for at, day in enumerate(days) for row in pay(90000 + 4000 * (at // 12), day, note=f"Rent {day[:7]}")]
    doubled = [*rows[:17], *rows[18:], rows[5]]
    table = recurring(build(doubled), as_of="2024-01-01")
    assert read(table.to_dict("records"), "cadence", "amount", "payments", *DATES, "note") == [
        ("monthly", 940.0, 35, "2021-01-02", "2023-12-01", "2024-01-01", "Rent 2021-01")
    ]


def test_amounts_that_vary(build):
    """Bills within 30 % of 80.00 are one series; the median of an even number is the mean of the middle two."""
    cents = [8000, 6200, 10300, 7100, 5700, 9900, 8800, 8010]
    rows = [row for amount, day in zip(cents, MONTHS, strict=False) for row in pay(amount, day, note="Power")]
    lunches = ["2023-01-09", "2023-01-30", "2023-02-05", "2023-04-28", "2023-05-02", "2023-06-30", "2023-07-04"]
    noise = [row for at, day in enumerate(lunches) for row in pay(300 + 700 * (at * 3 % 7), day, note="Lunch")]
    for more in ([], noise):
        (row,) = recurring(build(rows + more), as_of="2023-09-01").to_dict("records")
        assert (row["cadence"], row["amount"], row["payments"], row["note"]) == ("monthly", 80.05, 8, "Power")


@pytest.mark.parametrize(
    "cents",
    [
        [1000, 1000, 1000, 1300, 1300, 1690, 2190, 2190, 2190],
        [1150, 1495, 1495, 1943, 2234, 2234],
        [1000, 1100, 1250, 1450, 1700, 1950, 2200, 2500, 2800],
    ],
)
def test_amounts_that_drift(build, cents):
    """Of any six payments in a row, the largest is less than 1.9 times the smallest, though each step is small."""
    days = MONTHS[: len(cents)]
    rows = [row for amount, day in zip(cents, days, strict=True) for row in pay(amount, day)]
    for found in recurring(build(rows), as_of="2023-12-31").to_dict("records"):
        first, last = (days.index(f"{found[name]:%Y-%m-%d}") for name in ("first_date", "last_date"))
        among = cents[first : last + 1]
        assert found["payments"] == len(among) < len(cents)
        assert all(max(among[at : at + 6]) < 1.9 * min(among[at : at + 6]) for at in range(len(among)))


def test_a_rise_among_other_payments(build):
    """A fee that rises step by step is one series, though others, to this and another person, are of any amount."""
    first, cents = date(2022, 1, 1), [1000, 1000, 1000, 1040, 1090, 1130, 1180, 1230, 1290]
    fee = [row for amount, day in zip(cents, MONTHS, strict=False) for row in pay(amount, day, note=None)]
    for at in range(56):
        fee += pay(round(100 * 1.1**at), f"{first + timedelta(days=at * 259 % 1000)}", note=None)
    for at in range(800):
        day = first + timedelta(days=at * 17 % 1000)
        fee += pay(50 + at * 7919 % 90000, f"{day}", note=None, counterparty_id="0")
    table = recurring(build(fee), as_of="2023-12-31")
    assert read(table.to_dict("records"), "counterparty_id", "cadence", "amount", "payments") == [
        ("1", "monthly", 10.9, 9)
    ]


def test_breaks_of_a_series(build):
    """Lessons that pause for two months are one series."""
    first = date(2023, 1, 4)
    days = [f"{first + timedelta(days=7 * number)}" for number in range(52) if not 24 <= number < 33]
    table = recurring(build(pay(3000, *days, note="Lesson")), as_of="2023-12-28")
    assert read(table.to_dict("records"), "cadence", "payments", "state") == [("weekly", 43, "active")]


def test_the_note(build):
    """The most frequent note, the first in the alphabet of several; payments without a note do not count for it."""

    def find_note(*notes):
        rows = [row for day, note in zip(MONTHS, notes, strict=False) for row in pay(500, day, note=note)]
        (row,) = recurring(build(rows), as_of="2024-01-01").astype(object).to_dict("records")
        return row["note"] if isinstance(row["note"], str) else None

    assert find_note("b", "a", "a", "b", "", None) == "a"
    assert find_note("b", None, None, "") == "b"
    assert find_note(None, "", None, "") is None


@pytest.mark.parametrize(("notes", "found"), [(["tea"] * 3, 1), ([None] * 3, 0), (["beer", "taxi", "film"], 0)])
def test_notes_are_evidence(build, notes, found):
    """Among others, three equal payments a few days off a month are a series if they have one note."""
    days = ("2023-01-03", "2023-02-05", "2023-03-01")
    rows = [row for day, note in zip(days, notes, strict=True) for row in pay(1000, day, note=note)]
    for at in range(12):
        rows += pay(300 + 777 * at, f"2023-{1 + at % 4:02}-{10 + at * 7 % 18}", note=f"z{chr(97 + at)}")
    assert len(recurring(build(rows), as_of="2023-04-10")) == found


def test_payments_that_are_no_series(build):
    """Workdays, dates that are too far apart, other amounts, and every second month are none of the cadences."""
    first = date(2023, 1, 2)
    workdays = [first + timedelta(days=number) for number in range(200) if number % 7 < 5]
    bimonthly = [f"2023-{month:02}-05" for month in range(1, 13, 2)]
    for rows in (
        pay(450, *map(str, workdays)),
        pay(450, *bimonthly),
        pay(450, "2023-01-01", "2023-01-18", "2023-03-01"),
        [*pay(450, "2023-01-01"), *pay(4500, "2023-02-01"), *pay(45000, "2023-03-01")],
        [*pay(6000, "2023-01-05"), *pay(10000, "2023-04-05"), *pay(14000, "2023-07-05")],  # each less than 1.7 times
        pay(450, *["2023-01-01"] * 5),
    ):
        assert recurring(build(rows), as_of="2024-01-01").empty
