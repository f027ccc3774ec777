"""Findings of the report: sentences about what stands out, with the figures of their tables; nothing is guessed."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from p2p_analytics.frames.schema import DOES_NOT_ADD_UP
from support.reports import (
    ask,
    find_sentences,
    list_findings,
    parse_findings,
    pay,
    read_report,
    read_year,
    report_history,
    spread,
)

pytestmark = pytest.mark.usefixtures("draw_nothing")
TOM = {"counterparty_id": "9", "counterparty_name": "Tom O'Hara <b>"}
EVIL = TOM["counterparty_name"]
OLDER = "requests that are 30 days old or older; the oldest"
PARTLY = "requests that are 30 days old or older, 1 of them of unknown amount; the oldest"


def test_nothing_stands_out() -> None:
    """Four equal people, a request of 29 days and another year of equal spending: there is no list."""
    request = ask(1, "2024-06-01", 900, status="pending", **TOM)  # 29 days before
    assert list_findings([*spread(), request]) == []


OPEN: dict[str, Any] = {"status": "pending", **TOM}
REQUESTS = [
    ask(1, "2021-04-12", 5000, **OPEN),
    ask(2, "2024-05-31", 2400, **OPEN),
    ask(3, "2024-05-01", 1000, status="pending"),
]
NEWCOMER = pay(4, "2020-01-01", 9900, 2, status="pending")  # a payment to a person without an account
NO_AMOUNT: dict[str, Any] = {"amount_cents": None, "flow_cents": None}
NOBODY: dict[str, Any] = {"counterparty_id": None, "counterparty_name": None}
UNNAMED: dict[str, Any] = {"counterparty_id": "77", "counterparty_name": None}
OPENED = "for $24.00 has been open for 30 days"
UNKNOWN = ask(5, "2024-01-01", 0, status="pending") | NO_AMOUNT


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        # 12 April 2021 to 30 June 2024: 263 + 365 + 365 + 182 = 1,175 days; 31 May to 30 June: 30 days.
        ([*REQUESTS, NEWCOMER], f"You are still owed $84.00 in 3 {OLDER}, to {EVIL}, is 1,175 days old."),
        ([REQUESTS[1], UNKNOWN], f"You are still owed $24.00 in 2 {PARTLY}, to Friend 1, is 181 days old."),
        (
            [ask(7, "2024-01-01", 0, status="pending"), UNKNOWN, UNKNOWN | {"payment_id": "6"}],
            f"You are still owed an unknown amount in 2 {OLDER}, to Friend 1, is 181 days old.",
        ),
        ([UNKNOWN], "A request to Friend 1 for an unknown amount has been open for 181 days."),
        ([REQUESTS[1]], f"A request to {EVIL} {OPENED}."),
        ([{**REQUESTS[1], "direction": "out", "flow_cents": -2400}], f"A request from {EVIL} {OPENED}."),
        ([ask(at, "2024-01-01", 0, status="pending") for at in range(2)], ""),  # nothing is owed
        *(
            ([ask(1, "2024-05-31", 2400, status="pending", **who)], f"A request to an unknown person {OPENED}.")
            for who in (NOBODY, UNNAMED)
        ),
    ],
)
def test_old_requests(rows: list[dict[str, Any]], sentence: str) -> None:
    """Requests of thirty days or more are added up, unknown amounts named; pending payments are no requests."""
    assert find_sentences(rows, "pending_requests") == [sentence] * bool(sentence)
    if rows[:1] == REQUESTS[:1]:
        assert find_sentences(report_history(rows), "pending_requests") == [sentence]


def _series(number: int, cents: int, last: int, **fields: Any) -> list[dict[str, Any]]:
    """Return a monthly series on the third of each month of 2023 until a month."""
    return [pay(number + at, f"{2023 + at // 12}-{at % 12 + 1:02}-03", cents, **fields) for at in range(last)]


def test_late_series() -> None:
    """Of series that are 1.25 to 2.5 periods behind, the largest is named; ended and active ones are not."""
    # Since 3 May: 58 of 31 days; since 3 June: 27 of 30; since 3 April: 88 of 30.
    late, ended = _series(10, 120000, 17, **TOM), _series(70, 80000, 16, person=3)
    active = _series(40, 500, 18, person=2)
    payment, expected = f"monthly payment of about $1,200.00 to {EVIL}", "was expected on 3 Jun 2024."
    assert find_sentences([*late, *active, *ended], "recurring") == [f"A {payment} {expected}"]
    also = _series(110, 600, 17, person=4)
    found = find_sentences([*late, *also], "recurring")
    assert found == [f"2 payments that recur are late; the largest, a {payment}, {expected}"]
    assert find_sentences([*active, *ended], "recurring") == []


def test_duplicates() -> None:
    """Payments that look like duplicates are counted and added up; large ones, and those of no money, are not."""
    twice = [pay(at, "2024-06-09", 9900, 7 + at // 2) for at in range(4)]
    large = [pay(20 + at, f"2024-06-1{at}", 100) for at in range(5)] + [pay(30, "2024-06-20", 500)]
    for rows, sentences in (
        (twice[:2], ["A payment of $99.00 looks like a duplicate, with Friend 7."]),
        (twice, ["2 payments, $198.00 together, look like duplicates; the last is with Friend 7."]),
        ([*large, *(pay(at, "2024-06-09", 0) for at in range(3))], []),
    ):
        assert find_sentences(rows, "unusual") == sentences


def test_what_others_can_see() -> None:
    """From a half on, the share of public payments is shown; it is that of all payments, as in the table."""
    half = [pay(at, "2022-05-05", 1000, at, audience="public" if at % 2 else "friends") for at in range(4)]
    unknown = pay(9, "2022-05-06", 1000, 7, audience=None)
    public = pay(10, "2022-05-07", 1000, 7, audience="public")
    said = ["50.0% of your payments are public."]
    for rows, sentences in ((half, said), ([*half, unknown], []), ([*half, unknown, public], said)):
        assert find_sentences(rows, "exposure") == sentences
    revealing = pay(9, "2022-05-06", 1000, 7, audience="public", note="therapist")
    assert list_findings([*spread(), revealing], "exposure", "sensitive_notes") == [
        ("sensitive_notes", "1 public payment has a note that reveals something private.")
    ]


def test_who_does_not_pay() -> None:
    """Of people with five ended requests or more, the one who paid the smallest share is named, from a half on."""
    states = ["settled", "settled", "cancelled", "expired", "cancelled", "pending"]
    asked = [ask(at, "2024-06-20", 1000, status=status, **TOM) for at, status in enumerate(states)]
    expected = [f"Of your 5 requests to {EVIL} that are not open any more, 2 were paid."]
    other = [ask(10 + at, "2024-06-20", 1000, status="settled" if at % 2 else "failed") for at in range(6)]
    assert find_sentences([*asked, *other], "request_outcomes") == expected
    assert find_sentences(asked[1:], "request_outcomes") == []  # four ended ones
    paid = [{**row, "status": "settled"} for row in asked[:3]]
    assert find_sentences([*paid, *asked[3:]], "request_outcomes") == []  # three of five
    named = ["Of your 5 requests to an unknown person that are not open any more, 0 were paid."]
    for who, sentences in ((NOBODY, []), (UNNAMED, named)):  # all who are not known are not one person
        unpaid = [ask(at, "2024-06-20", 1000, status="cancelled", **who) for at in range(5)]
        assert find_sentences(unpaid, "request_outcomes") == sentences


def _rent(**fields: Any) -> dict[str, Any]:
    return pay(1, "2022-06-01", 2000, **{"note": "Rent for June", **TOM, **fields})


def _notes(notes: str, *dollars: int) -> list[dict[str, Any]]:
    """Return payments with these notes, each to another person."""
    pairs = zip(notes.split(", "), dollars, strict=True)
    return [pay(at, "2022-05-05", cents * 100, at, note=note) for at, (note, cents) in enumerate(pairs)]


SHARE = "40.0% of what you sent"
OTHERS = spread(people=3)


@pytest.mark.parametrize(
    ("rows", "person", "category"),
    [
        ([*OTHERS, _rent()], f"Rent to {EVIL} is {SHARE}.", ""),
        ([*spread(cents=1001, people=3), _rent()], "", ""),
        ([*spread(people=2), _rent()], "", ""),
        ([*OTHERS, _rent(note="Something")], f"{SHARE} went to {EVIL}.", ""),
        # 1,599 of 2,000 is 79.95 % rent; 1,600 is 80 %, but 32 % of all.
        *(
            ([*OTHERS, pay(1, "2022-06-01", cents, note="Rent", **TOM), pay(2, "2022-06-02", 2000 - cents, **TOM)],
             f"{SHARE} went to {EVIL}.", "")
            for cents in (1599, 1600)
        ),
        ([*OTHERS, _rent(**NOBODY, note=None)], f"{SHARE} went to people who are not known.", ""),
        ([*OTHERS, _rent(**NOBODY)], f"Rent to people who are not known is {SHARE}.", ""),
        ([*OTHERS, _rent(**UNNAMED, note=None)], f"{SHARE} went to an unknown person.", ""),
        ([*OTHERS, _rent(**UNNAMED)], f"Rent to an unknown person is {SHARE}.", ""),
        (
            [*spread(people=2), _rent(**NOBODY | {"counterparty_name": "Ann"}),
             pay(5, "2022-06-01", 1000, **NOBODY | {"counterparty_name": "Kay"})],
            f"Rent to Ann is {SHARE}.", "",
        ),
        (
            [*spread(people=2), pay(1, "2022-06-01", 4000, 7), pay(2, "2022-06-01", 4000, 8, note="Rent")],
            f"{SHARE} went to Friend 7, and as much to Friend 8.", "",
        ),
        (_notes("Rent, Rent, Pizza, Taxi, Movie tickets", 10, 10, 10, 10, 10), "", f"Rent is {SHARE}."),
        (_notes("Rent, Rent, Pizza, Taxi", 10, 10, 10, 10), "", ""),
        (_notes("Rent, Rent, Pizza, Taxi, Movie tickets, Movie tickets", 10, 10, 10, 10, 9, -9), "", ""),
        (
            _notes("Rent, Rent, Pizza, Pizza, Taxi, Movie tickets", 20, 20, 20, 20, 10, 10),
            "", f"Food is {SHARE}, and rent as much.",
        ),
    ],
)  # fmt: skip
def test_the_largest_share(rows: list[dict[str, Any]], person: str, category: str) -> None:
    """From four tenths on, a person among at least four is named, and nearly their only category; else a category."""
    said = [("spend_by_friend", person)] * bool(person) + [("categories", category)] * bool(category)
    assert list_findings(rows, "spend_by_friend", "categories") == said
    if "Rent to" in person and "known" in person:
        assert list_findings(report_history(rows), "spend_by_friend", "categories") == said
        assert parse_findings(read_year(rows, as_of="2024-01-01").html) == said


@pytest.mark.parametrize(
    ("cents", "sentence"),
    [
        (1100, "Spending in 2024 until the end of May is 10.0% above that of the same months of 2023."),
        (1099, None),
        (901, None),
        (900, "Spending in 2024 until the end of May is 10.0% below that of the same months of 2023."),
        (0, None),
        (10000, "Spending in 2024 until the end of May is 900.0% above that of the same months of 2023."),
        (10001, "Spending in 2024 until the end of May is more than 10 times that of the same months of 2023."),
    ],
)
def test_the_same_months_of_the_year_before(cents: int, sentence: str | None) -> None:
    """Months that ended before the data are compared, if both years have payments; later ones are not."""
    older = pay(9, "2022-12-31", 1, 2)
    before = [pay(at, f"2023-0{at + 1}-10", 1000, at % 4) for at in range(5)]
    later = [pay(10, "2023-06-10", 50000, 1), pay(11, "2023-12-10", 50000, 2), pay(12, "2024-06-10", 77700, 3)]
    now = [pay(20 + at, f"2024-0{at + 1}-10", cents, at % 4) for at in range(5)]
    found = find_sentences([older, *before, *later, *now], "monthly_flow")
    assert found == ([sentence] if sentence else [])
    if cents == 1100:
        for early in ([], [pay(9, "2021-12-31", 1, 2)]):  # January 2023 may lack its first days, or all may be later
            assert find_sentences([*early, *before, *later, *now], "monthly_flow") == []


def test_privacy_mode_finds_nothing_about_what_it_hides() -> None:
    """Findings are about invented names and amounts; of strict months no ages are shown, and of notes nothing."""
    rent = [pay(at, f"2024-0{at + 1}-01", 50000, note="Rent", audience="public", **TOM) for at in range(4)]
    history = report_history([*rent, *spread(people=3), ask(9, "2021-04-12", 5000, **OPEN)])
    for strict in (False, True):
        page = read_report(history.masked(key=bytes(32), strict=strict)).html
        (found,) = re.findall(r'<ul class="findings">(.*?)</ul>', page, re.DOTALL)
        sections = set(re.findall(r'href="#(\w+)"', found))
        assert sections == {"spend_by_friend"} | (set() if strict else {"pending_requests"})
        assert "Hara" not in found
        assert "Rent" not in found


@pytest.mark.parametrize(
    ("day", "fields", "is_compared"),
    [
        ("2023-01-05", {}, False),
        ("2024-05-31", {}, False),
        ("2024-06-01", {}, True),  # this month has not ended, so it is not compared
        ("2023-02-05", {"direction": "in"}, True),
        ("2023-02-05", {"status": "pending"}, True),
    ],
)
def test_years_with_unknown_amounts_are_not_compared(day: str, fields: dict[str, Any], *, is_compared: bool) -> None:
    """An unknown amount of the compared months could be any, and payments can be missing where a file is wrong."""
    # Five dollars a month in 2023 and ten in 2024, which is twice as much.
    months = [pay(at, f"{2023 + at // 5}-0{at % 5 + 1}-10", 500 + at // 5 * 500, at % 4) for at in range(10)]
    history = report_history([*months, pay(10, "2022-12-31", 1), {**pay(11, day, 0, **fields), **NO_AMOUNT}])
    sentence = "Spending in 2024 until the end of May is 100.0% above that of the same months of 2023."
    assert find_sentences(history, "monthly_flow") == [sentence] * is_compared
    if day == "2023-02-05":
        assert (sentence in read_year(history, year=2024).text) == is_compared
    later = replace(history, fetched_at=datetime(2025, 1, 10, tzinfo=UTC))
    assert find_sentences(later, "monthly_flow") == ["Spending in 2024 was 100.0% above that of 2023."] * bool(fields)
    if day == "2024-06-01":
        wrong = report_history([*months, pay(10, "2022-12-31", 1)], [{"code": DOES_NOT_ADD_UP, "file": "may.csv"}])
        assert find_sentences(wrong, "monthly_flow") == []


@pytest.mark.parametrize(
    ("fields", "is_said"),
    [
        ({}, False),
        ({"direction": "in"}, True),
        ({"status": "failed"}, True),
        ({"amount_cents": 1, "flow_cents": -1}, True),
    ],
)
def test_no_share_of_a_sum_that_is_not_known(fields: dict[str, Any], *, is_said: bool) -> None:
    """An unknown amount that was sent could be any, so no person or category is said to have a large share."""
    # 20.01 of 50.01 or 50.02 dollars.
    unknown = {**pay(2, "2022-06-02", 0, 1), **NO_AMOUNT, **fields}
    rows = [*spread(people=3), pay(1, "2022-06-01", 2001, 7, note="Rent"), unknown]
    said = [("spend_by_friend", "Rent to Friend 7 is 40.0% of what you sent.")] * is_said
    assert list_findings(rows, "spend_by_friend", "categories") == said


def _read_figures(page: str) -> list[str]:
    """Return the amounts at the head of a page."""
    return re.findall(r"<dt>(?:Sent|Received|Net|Still open.*?)</dt><dd>(.*?)<", page)


SENT = {**pay(1, "2024-01-05", 0), **NO_AMOUNT}
ASKED = {**ask(3, "2024-06-20", 0, status="pending"), **NO_AMOUNT}


@pytest.mark.parametrize(
    ("rows", "figures", "opened"),
    [
        ([SENT], ["not known", "$0.00", "not known"], ["$0.00", "$0.00"]),
        (
            [SENT, pay(2, "2024-01-05", -500, direction="in"), ASKED],
            ["not known", "$5.00", "not known"],
            ["not known", "$0.00"],
        ),
        (
            [SENT, pay(4, "2024-01-05", 700), ASKED, ask(5, "2024-06-20", 300, status="pending")],
            ["$7.00", "$0.00", "−$7.00"],  # noqa: RUF001 - a minus sign
            ["$3.00", "$0.00"],
        ),
    ],
)
def test_sums_of_unknown_amounts_only_are_not_known(rows, figures, opened) -> None:
    """If no amount is known, the sum is not known, and the net neither."""
    assert _read_figures(read_report(rows, only=["status_mix"]).html) == figures + opened
    assert _read_figures(read_year(rows).html) == figures
