"""Tables by account: one below another, each with the months, shares, running sums and first rows of the account."""

from functools import partial

import pytest
from analyses.conftest import read_values

from p2p_analytics import monthly_flow, pending_ageing, spend_by_friend, status_mix
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
# Accounts in the order of their ids as text, an unknown one last. For pending_ageing only rows with payments.
EXPECTED = [
    (
        partial(spend_by_friend, top=1),
        ("counterparty_id", "sent", "received", "share_of_sent", "payments"),
        [
            ("", "1", 0.01, 0.0, 1.0, 1),
            ("10", "10", 2.0, 0.0, 2 / 7, 1),
            ("9", "1", 5.0, 0.0, 1.0, 1),
            (None, "1", 7.0, 0.0, 7 / 7.5, 1),
        ],
    ),
    (
        monthly_flow,
        ("month", "sent", "received", "running_net"),
        [
            ("", None, 0.01, 0.0, -0.01),
            ("10", "2024-01", 1.0, 0.0, -1.0),
            ("10", "2024-02", 0.0, 0.0, -1.0),
            ("10", "2024-03", 0.0, 0.0, -1.0),
            ("10", "2024-04", 4.0, 9.0, 4.0),
            ("10", None, 2.0, 0.0, 2.0),
            ("9", "2024-03", 5.0, 0.0, -5.0),
            (None, "2024-02", 7.0, 0.0, -7.0),
            (None, None, 0.5, 0.0, -7.5),
        ],
    ),
    (
        status_mix,
        ("status", "payments", "share"),
        [
            ("", "settled", 1, 1.0),
            ("10", "settled", 5, 5 / 7),
            ("10", "pending", 2, 2 / 7),
            ("9", "pending", 2, 2 / 3),
            ("9", "settled", 1, 1 / 3),
            (None, "settled", 2, 1.0),
        ],
    ),
    (
        partial(pending_ageing, as_of=AS_OF),
        ("direction", "band", "payments", "amount", "oldest_days"),
        [
            ("10", "in", "1 to 7 days", 1, 3.0, 1),
            ("10", "in", "no date", 1, 0.4, None),
            ("9", "in", "90 days or more", 1, 0.7, 181),
        ],
    ),
]


@pytest.mark.parametrize(("analysis", "names", "expected"), EXPECTED)
def test_each_account_alone(payments, build, analysis, names, expected):
    """The account is the first column, and may have only zeros; a frame without the column is refused."""
    rows = read_values(analysis(payments(*ROWS), by_account=True), "account_id", *names)
    if "band" in names:  # ten bands of each of five accounts, and one without a date
        assert ([row[0] for row in rows].count("88"), len(rows)) == (10, 51)
        rows = [row for row in rows if row[3]]
    assert rows == expected
    assert next(iter(analysis(build(ROWS), by_account=True))) == "account_id"
    assert read_values(analysis(payments(), by_account=True)) == []
    with pytest.raises(SchemaError, match=r"needs the columns account_id"):
        analysis(build(ROWS).drop(columns="account_id"), by_account=True)


def test_by_the_account_is_by_account(build):
    """The column would be there twice."""
    with pytest.raises(ConfigurationError, match="'account_id' is a column of the result"):
        status_mix(build(ROWS), by="account_id", by_account=True)
    assert next(iter(status_mix(build(ROWS), by="account_id"))) == "account_id"
