"""Payments in another currency than US dollars: named in the result, and looked at only where a payment counts."""

import pytest
from analyses.conftest import read_rows, read_values

import p2p_analytics as p2p
from p2p_analytics.errors import SchemaError
from support.analyses.calls import CALLS, WITHOUT_MONEY

EURO = {
    "kind": "payment", "currency": "EUR", "direction": "out", "flow_cents": -1250, "counterparty_name": "Ada Quill",
    "created": "2024-06-01T10:00:00Z",
}  # fmt: skip
PENDING = {**EURO, "status": "pending", "direction": "in", "flow_cents": 300}


@pytest.mark.parametrize("label", CALLS)
def test_the_currency_of_each_table(build, label):
    """Another currency than dollars is one more column, the last; tables without money take several currencies."""
    frame = build([EURO, PENDING])
    if label.startswith(WITHOUT_MONEY):
        assert "currency" not in CALLS[label](frame.assign(currency=["EUR", "GBP"]))
        return
    if not label.startswith("status_mix"):
        frame = frame.assign(status="pending" if label.startswith("pending") else "settled", action="charge")
        with pytest.raises(SchemaError, match="needs payments in one currency, not in EUR and GBP"):
            CALLS[label](frame.assign(currency=["EUR", "GBP"]))
    euros, dollars = CALLS[label](frame), CALLS[label](frame.assign(currency="USD"))
    assert list(euros) == [*dollars, "currency"]
    assert read_rows(euros) == [{**row, "currency": "EUR"} for row in read_rows(dollars)]


def test_the_currency_without_a_code(payments):
    """Rows of other kinds may have any; a null is dollars, but in rows of statements it is unknown, "XXX"."""

    def compute(*changes, **more):
        table = p2p.spend_by_friend(payments(*({**row, **more} for row in (EURO, PENDING)), *changes))
        return [tuple(row.get(name) for name in ("sent", "currency")) for row in read_rows(table)]

    pounds = {**EURO, "kind": "merchant", "currency": "GBP"}
    assert compute(pounds, {**pounds, "kind": "asset", "status": "pending"}) == [(12.5, "EUR")]
    assert compute(currency=None, source="api") == compute(currency=None) == [(12.5, None)]
    assert compute(currency=None, source="statement") == [(12.5, "XXX")]


def test_only_the_statuses_that_count_need_one_currency(payments):
    """Settled euros and pending pounds are two tables; the mix of statuses counts both, and refuses them."""
    frame = payments(EURO, {**PENDING, "currency": "GBP"}, {**EURO, "currency": "CHF", "direction": None})
    assert read_values(p2p.spend_by_friend(frame), "sent", "currency") == [(12.5, "EUR")]
    assert read_values(p2p.pending_requests(frame, "2024-07-01"), "amount", "currency") == [(3.0, "GBP")]
    with pytest.raises(
        SchemaError, match=r"^status_mix needs payments in one currency, not in CHF and EUR and GBP: .*== 'CHF'\]\.$"
    ):
        read_rows(p2p.status_mix(frame))


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
    assert read_values(p2p.status_mix(frame, by="currency"), "currency", "status", "amount") == [
        ("EUR", "settled", 2.0),
        ("USD", "settled", 1.0),
        ("XXX", "settled", 4.0),
    ]


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
