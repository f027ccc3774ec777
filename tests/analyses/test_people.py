"""Tests of people_by_year against hand calculation, on every kind of frame."""

from analyses.conftest import read_rows, read_values

from p2p_analytics.analyses.people import people_by_year


def make_payment(person, cents, completed, **more):
    """Return a settled payment to a person, from one if the cents are positive."""
    row = {"counterparty_id": person, "counterparty_name": f"name of {person}", "flow_cents": cents}
    return row | {"direction": "in" if (cents or 0) > 0 else "out", "completed": completed} | more


def test_people_come_and_go(payments):
    """Ann pays in 2019 and 2022, Bo in 2019 and 2020, six others once in 2022; 2021 is empty, and unknown is 0."""
    others = [make_payment(f"{number}", -100 * number, "2022-07-01T00:00:00Z") for number in range(1, 7)]
    found = people_by_year(
        payments(
            make_payment("ann", -300, "2019-12-31T23:59:59.999999Z"),
            make_payment("bo", 100, "2019-01-01T00:00:00Z"),
            make_payment("bo", 0, "2020-01-01T00:00:00Z"),
            make_payment("ann", 700, "2022-01-01T00:00:00Z"),
            *others,
            make_payment("6", None, "2022-12-31T23:59:59.999999Z"),
            make_payment("ann", -1, None),
            make_payment("ann", -1, "1969-12-31T23:59:59Z"),
            make_payment("ann", -1, "2200-01-01T00:00:00Z"),
            make_payment("cy", -1, "2019-05-05T00:00:00Z", status="pending"),
            make_payment("cy", -1, "2019-05-05T00:00:00Z", direction=None),
            make_payment("cy", -1, "2019-05-05T00:00:00Z", kind="card"),
        )
    )
    assert read_values(found) == [
        (2019, 2, 2, 0, 0.75, 1.0, 2, 3.0, 1.0),
        (2020, 1, 0, 1, 0.0, 0.0, 1, 0.0, 0.0),
        (2021, 0, 0, 1, 0.0, 0.0, 0, 0.0, 0.0),
        (2022, 7, 6, 0, 0.25, 0.8928571428571429, 8, 21.0, 7.0),  # 7 of 28; 7 + 6 + 5 + 4 + 3 of 28
    ]
    assert list(read_rows(found)[0]) == [
        "year", "people", "new", "lost", "top_person_share", "top_5_share", "payments", "sent", "received",
    ]  # fmt: skip
    assert read_rows(people_by_year(payments())) == []


def test_who_a_person_is(payments):
    """An id, whatever the names; without an id the name; an id is not a name."""
    day = "2020-06-01T00:00:00Z"
    frame = payments(
        make_payment("1", -1, day, counterparty_name="Ann"),
        make_payment("1", -1, day, counterparty_name="Anna"),
        make_payment("2", -1, day, counterparty_name="Ann"),
        make_payment(None, -1, day, counterparty_name="Ann"),
        make_payment(None, -1, day, counterparty_name="Ann"),
        make_payment(None, -1, day, counterparty_name="1"),
        make_payment(None, -1, day, counterparty_name=None),
    )
    assert read_values(people_by_year(frame), "people") == [(5,)]


def test_years_of_a_zone(payments):
    """In Kolkata, 2020 begins at 18:30 in UTC; who paid on both sides of that is not new."""
    rows = [
        make_payment("1", -1, "2019-12-31T18:29:59.999999Z"),
        make_payment("1", -1, "2019-12-31T18:30:00Z"),
        make_payment(None, -1, None, created="2019-12-31T18:30:00Z"),
    ]
    found = people_by_year(payments(*rows), tz="Asia/Kolkata")
    assert read_values(found, "year", "people", "new") == [(2019, 1, 1), (2020, 2, 1)]
    assert read_values(people_by_year(payments(*rows)), "year") == [(2019,)]
