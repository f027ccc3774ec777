"""Payments in another currency than US dollars: named in the result, and looked at only where a payment counts."""

from functools import partial

import pytest
from analyses.conftest import read_rows

import p2p_analytics as p2p
from p2p_analytics.errors import SchemaError

ANALYSES = {
    "spend_by_friend": p2p.spend_by_friend,
    "monthly_flow": p2p.monthly_flow,
    "status_mix": p2p.status_mix,
    "pending_ageing": partial(p2p.pending_ageing, as_of="2024-07-01"),
    "pending_requests": partial(p2p.pending_requests, as_of="2024-07-01"),
}
EURO = {
    "kind": "payment", "currency": "EUR", "direction": "out", "flow_cents": -1250, "counterparty_name": "Ada Quill",
    "created": "2024-06-01T10:00:00Z",
}  # fmt: skip
PENDING = {**EURO, "status": "pending", "direction": "in", "flow_cents": 300}


@pytest.mark.parametrize("name", ANALYSES)
def test_the_result_names_another_currency_than_dollars(payments, name):
    """Every row has the currency in one more column, the last; in dollars, there is no such column."""
    table = read_rows(ANALYSES[name](payments(EURO, PENDING)))
    assert table
    assert [list(row)[-1] for row in table] == ["currency"] * len(table)
    assert {row["currency"] for row in table} == {"EUR"}
    dollars = read_rows(ANALYSES[name](payments(*({**row, "currency": "USD"} for row in (EURO, PENDING)))))
    assert dollars == [{key: value for key, value in row.items() if key != "currency"} for row in table]


@pytest.mark.parametrize("name", ANALYSES)
def test_rows_of_other_kinds_may_have_any_currency(payments, name):
    """A purchase or a conversion does not count, so its currency does not matter."""
    pounds = {**EURO, "kind": "merchant", "currency": "GBP"}
    mixed = payments(EURO, PENDING, pounds, {**pounds, "kind": "asset", "status": "pending"})
    assert read_rows(ANALYSES[name](mixed)) == read_rows(ANALYSES[name](payments(EURO, PENDING)))


def test_only_the_statuses_that_count_need_one_currency(payments):
    """Settled euros and pending pounds are two tables; the mix of statuses counts both, and refuses them."""
    frame = payments(EURO, {**PENDING, "currency": "GBP"}, {**EURO, "currency": "CHF", "direction": None})
    (person,) = read_rows(p2p.spend_by_friend(frame))
    assert (person["sent"], person["currency"]) == (12.5, "EUR")
    (request,) = read_rows(ANALYSES["pending_requests"](frame))
    assert (request["amount"], request["currency"]) == (3.0, "GBP")
    with pytest.raises(
        SchemaError, match=r"^status_mix needs payments in one currency, not in CHF and EUR and GBP: .*== 'CHF'\]\.$"
    ):
        read_rows(p2p.status_mix(frame))


def test_the_mix_of_statuses_by_currency(payments):
    """Grouped by currency, no amounts of two currencies are added."""
    table = read_rows(p2p.status_mix(payments(EURO, PENDING, {**EURO, "currency": "GBP"}), by="currency"))
    assert [(row["currency"], row["status"], row["amount"]) for row in table] == [
        ("EUR", "pending", 3.0),
        ("EUR", "settled", 12.5),
        ("GBP", "settled", 12.5),
    ]
    assert len(table[0]) == 6


STATED = {**EURO, "source": "statement", "direction": "in"}


@pytest.mark.parametrize("name", ANALYSES)
def test_a_null_currency_is_unknown_in_statements_only(payments, name):
    """Rows of the service and rows without a source are in dollars; amounts of statements are in a currency "XXX"."""
    rows = [{**row, "currency": None} for row in (EURO, PENDING)]
    for source in ("api", None):
        assert "currency" not in read_rows(ANALYSES[name](payments(*({**row, "source": source} for row in rows))))[0]
    unknown = read_rows(ANALYSES[name](payments(*({**row, "source": "statement"} for row in rows))))
    assert [row["currency"] for row in unknown] == ["XXX"] * len(unknown)
    assert unknown


def test_an_unknown_currency_is_not_added_to_dollars(payments):
    """1.00 dollar, 2.00 euros and 4.00 of an unknown currency are three sums, and the advice selects one of them."""
    frame = payments(
        {**STATED, "currency": "USD", "flow_cents": 100},
        {**STATED, "currency": "EUR", "flow_cents": 200},
        {**STATED, "currency": None, "flow_cents": 400},
    )
    message = (
        r"^monthly_flow needs payments in one currency, not in EUR and USD and an unknown one: select the rows of one, "
        r"like payments\[payments\['currency'\] == 'EUR'\], and fill in the currency of those without one if you know "
        r"it\.$"
    )
    with pytest.raises(SchemaError, match=message):
        read_rows(p2p.monthly_flow(frame))
    by_currency = read_rows(p2p.status_mix(frame, by="currency"))
    assert [(row["currency"], row["amount"]) for row in by_currency] == [("EUR", 2.0), ("USD", 1.0), ("XXX", 4.0)]


def test_dollars_without_a_code_and_an_unknown_currency(build):
    """The advice keeps every row in dollars: 1.00 of the service without a code, and 2.00 of a statement with one."""
    frame = build(
        [
            {**STATED, "source": "api", "currency": None, "flow_cents": 100},
            {**STATED, "currency": "USD", "flow_cents": 200},
            {**STATED, "currency": None, "flow_cents": 400},
        ]
    )
    condition = "payments['currency'].notna() | (payments['source'] != 'statement')"
    with pytest.raises(SchemaError) as caught:
        p2p.monthly_flow(frame)
    assert f"like payments[{condition}]," in str(caught.value)
    dollars = frame[frame["currency"].notna() | (frame["source"] != "statement")]
    assert p2p.monthly_flow(dollars)["received"].tolist() == [3.0]
