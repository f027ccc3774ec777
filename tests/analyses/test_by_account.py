"""Tables by account are the tables of each account's rows, one below another."""

import pytest
from analyses.conftest import payments_frame, read_rows

from p2p_analytics.analyses import monthly_flow, pending_ageing, spend_by_friend, status_mix
from p2p_analytics.errors import ConfigurationError, SchemaError

AS_OF = "2024-06-30T12:00"
SETTLED = {"direction": "out", "counterparty_id": "1", "counterparty_name": "Bo"}
NOBODY = {"counterparty_id": None, "counterparty_name": None}
PENDING = {"status": "pending", "direction": "in", "created": "2024-06-29T11:00:00Z"}
# Account 10 comes before 9, as text; one account is unknown, and one has nothing but another kind of payment.
ROWS = [
    {"account_id": "9", **SETTLED, "flow_cents": -500, "created": "2024-03-31T23:30:00Z"},
    {"account_id": "10", **SETTLED, "flow_cents": -100, "created": "2024-01-05T00:00:00Z"},
    {"account_id": "10", **SETTLED, "flow_cents": -200, "created": "2024-04-01T00:00:00Z", "counterparty_id": "2"},
    {"account_id": "10", **SETTLED, "flow_cents": -200, "created": None, "counterparty_id": None},
    {"account_id": "10", **SETTLED, "flow_cents": 900, "direction": "in", "created": "2024-04-30T21:00:00Z"},
    {"account_id": "10", **SETTLED, "flow_cents": -200, "created": "2024-04-02T00:00:00Z", "counterparty_id": "10"},
    {"account_id": None, **SETTLED, "flow_cents": -700, "created": "2024-02-01T00:00:00Z"},
    {"account_id": None, **SETTLED, "flow_cents": -50, "created": None} | NOBODY,
    {"account_id": "", **SETTLED, "flow_cents": -1, "created": None},
    {"account_id": "10", **PENDING, "amount_cents": 300},
    {"account_id": "10", **PENDING, "amount_cents": 40, "created": None},
    {"account_id": "9", **PENDING, "amount_cents": -70, "created": "2024-01-01T00:00:00Z"},
    {"account_id": "9", **PENDING, "amount_cents": 5, "direction": None},
    {"account_id": "88", "kind": "transfer", "flow_cents": -5, "direction": "out", "created": "2019-01-01T00:00:00Z"},
]  # fmt: skip
ANALYSES = {
    "spend_by_friend": spend_by_friend,
    "spend_by_friend, top": lambda frame, **how: spend_by_friend(frame, top=2, **how),
    "monthly_flow": monthly_flow,
    "monthly_flow, zone": lambda frame, **how: monthly_flow(frame, "Asia/Tokyo", **how),
    "status_mix": status_mix,
    "status_mix, note": lambda frame, **how: status_mix(frame, by="direction", **how),
    "pending_ageing": lambda frame, **how: pending_ageing(frame, AS_OF, **how),
    "pending_ageing, edges": lambda frame, **how: pending_ageing(frame, AS_OF, edges=[2], **how),
}


@pytest.mark.parametrize("name", ANALYSES)
def test_tables_of_accounts_below_one_another(payments, build, name):
    """In the order of their ids as text, an unknown account last; each has its own months, shares and first rows."""
    expected = [
        {"account_id": account, **row}
        for account in ("", "10", "88", "9", None)
        for row in read_rows(ANALYSES[name](build([row for row in ROWS if row["account_id"] == account])))
    ]
    found = read_rows(ANALYSES[name](payments(*ROWS), by_account=True))
    assert found == expected
    assert list(found[0]) == list(expected[0])
    assert read_rows(ANALYSES[name](payments(), by_account=True)) == []


def read(table, *names):
    """Return some columns of each row."""
    return [tuple(row[name] for name in names) for row in read_rows(table)]


def test_each_account_alone():
    """Months without gaps, running sums, shares and first rows are those of the account; one may have only zeros."""
    frame = payments_frame(ROWS)
    assert read(monthly_flow(frame, by_account=True), "account_id", "month", "sent", "received", "running_net") == [
        ("", None, 0.01, 0.0, -0.01),
        ("10", "2024-01", 1.0, 0.0, -1.0),
        ("10", "2024-02", 0.0, 0.0, -1.0),
        ("10", "2024-03", 0.0, 0.0, -1.0),
        ("10", "2024-04", 4.0, 9.0, 4.0),
        ("10", None, 2.0, 0.0, 2.0),
        ("9", "2024-03", 5.0, 0.0, -5.0),
        (None, "2024-02", 7.0, 0.0, -7.0),
        (None, None, 0.5, 0.0, -7.5),
    ]
    people = spend_by_friend(frame, top=1, by_account=True)
    assert read(people, "account_id", "counterparty_id", "sent", "received", "share_of_sent", "payments") == [
        ("", "1", 0.01, 0.0, 1.0, 1),
        ("10", "10", 2.0, 0.0, 2 / 7, 1),
        ("9", "1", 5.0, 0.0, 1.0, 1),
        (None, "1", 7.0, 0.0, 7 / 7.5, 1),
    ]
    assert read(status_mix(frame, by_account=True), "account_id", "status", "payments", "share") == [
        ("", "settled", 1, 1.0),
        ("10", "settled", 5, 5 / 7),
        ("10", "pending", 2, 2 / 7),
        ("9", "pending", 2, 2 / 3),
        ("9", "settled", 1, 1 / 3),
        (None, "settled", 2, 1.0),
    ]
    ages = read(pending_ageing(frame, AS_OF, by_account=True), "account_id", "band", "payments", "amount")
    assert [(account, band, amount) for account, band, number, amount in ages if number] == [
        ("10", "1 to 7 days", 3.0),
        ("10", "no date", 0.4),
        ("9", "90 days or more", 0.7),
    ]
    assert [number for account, _, number, _ in ages if account == "88"] == [0] * 10


@pytest.mark.parametrize("name", ANALYSES)
def test_the_account_is_needed(build, name):
    """A frame without the column is refused, and without the argument the column does not matter."""
    frame = build(ROWS).drop(columns="account_id")
    with pytest.raises(SchemaError, match=r"needs the columns account_id"):
        ANALYSES[name](frame, by_account=True)
    assert len(ANALYSES[name](frame)) > 1


def test_by_the_account_is_by_account(build):
    """The column would be there twice."""
    with pytest.raises(ConfigurationError, match="'account_id' is a column of the result"):
        status_mix(build(ROWS), by="account_id", by_account=True)
    assert next(iter(status_mix(build(ROWS), by="account_id"))) == "account_id"
