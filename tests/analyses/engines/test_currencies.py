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
def test_the_currency_of_a_result(payments, name):
    """Another currency than dollars is one more column, the last; rows of other kinds may have any.

    A null is dollars in rows of the service or without a source; in rows of statements, it is unknown, "XXX".
    """

    def compute(*changes, **more):
        return read_rows(ANALYSES[name](payments(*({**row, **more} for row in (EURO, PENDING)), *changes)))

    pounds = {**EURO, "kind": "merchant", "currency": "GBP"}
    euros = compute(pounds, {**pounds, "kind": "asset", "status": "pending"})
    dollars = compute(currency="USD")
    assert euros == [{**row, "currency": "EUR"} for row in dollars]
    assert [list(row)[-1] for row in euros] == ["currency"] * len(euros)
    assert dollars == compute(currency=None, source="api") == compute(currency=None)
    assert compute(currency=None, source="statement") == [{**row, "currency": "XXX"} for row in dollars] != []


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


def read_mix(frame):
    """Return the mix of statuses by currency."""
    return [(row["currency"], row["status"], row["amount"]) for row in read_rows(p2p.status_mix(frame, by="currency"))]


def test_the_mix_of_statuses_by_currency(payments):
    """Grouped by currency, no amounts of two currencies are added."""
    frame = payments(EURO, PENDING, {**EURO, "currency": "GBP"})
    assert read_mix(frame) == [("EUR", "pending", 3.0), ("EUR", "settled", 12.5), ("GBP", "settled", 12.5)]


def test_an_unknown_currency_is_not_added_to_dollars(payments):
    """1.00 dollar, 2.00 euros and 4.00 of an unknown currency are three sums, and the advice selects one of them."""
    frame = payments(
        *(
            {**EURO, "source": "statement", "direction": "in", "currency": code, "flow_cents": cents}
            for code, cents in (("USD", 100), ("EUR", 200), (None, 400))
        )
    )
    message = (
        r"^monthly_flow needs payments in one currency, not in EUR and USD and an unknown one: select the rows of one, "
        r"like payments\[payments\['currency'\] == 'EUR'\], and fill in the currency of those without one if you know "
        r"it\.$"
    )
    with pytest.raises(SchemaError, match=message):
        read_rows(p2p.monthly_flow(frame))
    assert read_mix(frame) == [("EUR", "settled", 2.0), ("USD", "settled", 1.0), ("XXX", "settled", 4.0)]


def test_dollars_without_a_code_and_an_unknown_currency(build):
    """The advice keeps every row in dollars: 1.00 of the service without a code, and 2.00 of a statement with one."""
    rows = (("api", None, 100), ("statement", "USD", 200), ("statement", None, 400))
    frame = build(
        [{**EURO, "direction": "in", "source": source, "currency": code, "flow_cents": n} for source, code, n in rows]
    )
    with pytest.raises(SchemaError) as caught:
        p2p.monthly_flow(frame)
    condition = "payments['currency'].notna() | (payments['source'] != 'statement')"
    assert f"like payments[{condition}]," in str(caught.value)
    dollars = frame[frame["currency"].notna() | (frame["source"] != "statement")]
    assert p2p.monthly_flow(dollars)["received"].tolist() == [3.0]
