"""Tests of the series that the town plants."""

from collections import Counter
from datetime import UTC, date, datetime

import pytest

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.errors import UnknownPersonError
from p2p_analytics.sandbox.storage.rows import Payment
from p2p_analytics.sandbox.town import build
from p2p_analytics.sandbox.town.planted import describe_series
from p2p_analytics.sandbox.town.timeline import Series, to_microseconds

ME, OTHER = 1, 2


def test_what_is_planted() -> None:
    """Every cadence, direction and state, and two series with one person; all other payments keep all but their ids."""
    plain, town = build.build(21), build.build(21, series=True)
    before, after = (
        Counter(payment._replace(payment_id=0, refund_of=None) for payment in built.payments) for built in (plain, town)
    )
    assert before <= after
    assert after.total() > before.total() + 500
    assert plain.people[0]._replace(balance_cents=0) == town.people[0]._replace(balance_cents=0)
    mine = describe_series(town.series, town.people[0].user_id, town.now.date())
    assert {one.cadence for one in mine} == {"weekly", "fortnightly", "monthly", "quarterly", "yearly"}
    assert {one.direction for one in mine} == {"in", "out"}
    assert {one.state for one in mine} == {"active", "late", "ended"}
    assert max(Counter((one.person, one.direction) for one in mine).values()) > 1
    settled = {str(payment.payment_id) for payment in town.payments if payment.status == "settled"}
    for one in mine:
        assert set(one.payment_ids) <= settled
        assert sorted(one.dates) == list(one.dates)
        assert len(one.dates) == len(one.payment_ids)
    (rent,) = (one for one in mine if one.note == "Rent 🏠")
    assert (rent.direction, len(rent.dates)) == ("out", 48)
    always = describe_series(plain.series, plain.people[0].user_id, date(2025, 6, 30))
    assert [one.note for one in always] == ["Rent 🏠", "Internet"]


def make_series(cadence: str, *days: date, status: str = "settled") -> Series:
    """Return a series of payments of 5.00 from the user."""
    moments = [datetime(day.year, day.month, day.day, 12, tzinfo=UTC) for day in days]
    payments = [
        Payment(
            payment_id=number, status=status, action="pay", amount_cents=500, note="Tea", audience="private",
            medium="api", spelling=0, created_us=to_microseconds(moment), completed_us=None, actor_id=ME,
            target_type="user", target_user_id=OTHER,
        )
        for number, moment in enumerate(moments)
    ]  # fmt: skip
    return Series(ME, OTHER, cadence, "Tea", payments)


@pytest.mark.parametrize(
    ("cadence", "last", "late_from", "ended_from"),
    [
        ("weekly", date(2024, 6, 1), date(2024, 6, 10), date(2024, 6, 19)),  # 8.75 and 17.5 days
        ("monthly", date(2024, 6, 10), date(2024, 7, 18), date(2024, 8, 24)),  # 37.5 and 75 days
        ("monthly", date(2024, 1, 31), date(2024, 3, 8), date(2024, 4, 13)),  # to February 29th: 36.25 and 72.5 days
        ("yearly", date(2023, 3, 1), date(2024, 6, 1), date(2025, 9, 1)),  # 366 days: 457.5 and 915
    ],
)
def test_states(cadence: str, last: date, late_from: date, ended_from: date) -> None:
    """A series is late from 1.25 periods after its last date, and has ended from 2.5."""
    series = [make_series(cadence, last)]
    days = [late_from.toordinal() - 1, late_from.toordinal(), ended_from.toordinal() - 1, ended_from.toordinal()]
    found = [describe_series(series, OTHER, date.fromordinal(day))[0].state for day in days]
    assert found == ["active", "late", "late", "ended"]


def test_what_a_series_says() -> None:
    """Both people see a series, from their side; others, and series without settled payments, do not show."""
    days = date(2024, 6, 1), date(2024, 6, 8)
    series = [make_series("weekly", *days), make_series("monthly", days[0], status="pending")]
    mine = describe_series(series, ME, date(2024, 6, 9))
    assert mine == [("2", "out", "weekly", 500, "Tea", ("0", "1"), days, "active")]
    assert [(one.person, one.direction) for one in describe_series(series, OTHER, date(2024, 6, 9))] == [("1", "in")]
    assert describe_series(series, 3, date(2024, 6, 9)) == []


def test_a_server_lists_what_it_planted() -> None:
    """The server's list is that of the town it was built from; a later day ends every series."""
    with SandboxServer(5, people=3, years=1, series=True) as server:
        built = build.build(5, people=3, years=1, series=True)
        expected = describe_series(built.series, int(server.people[0].user_id), date(2025, 6, 30))
        assert server.planted_series(server.viewer) == expected
        assert {one.state for one in server.planted_series(server.viewer, date(2031, 1, 1))} == {"ended"}
        with pytest.raises(UnknownPersonError):
            server.planted_series("nobody")
