"""The currency of rows without one: dollars of the service, unknown in statements, in every view."""

import narwhals.stable.v2 as nw
import pytest
from matplotlib.figure import Figure

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames.row_currencies import (
    code_expression,
    count_currencies,
    fill_codes,
    find_currency,
    list_currencies,
)
from support.reports import payment_row, report_history

NOON = "2024-02-03T12:00:00Z"
ROWS = [
    payment_row(at, NOON, source=source, currency=currency, flow_cents=cents, direction="in", counterparty_name="Theo")
    for at, (source, currency, cents) in enumerate(
        [("api", None, 100), (None, None, 200), ("statement", None, 400), ("statement", "EUR", 800)]
    )
]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["currency", "source"], ["USD", "USD", "XXX", "EUR"]),
        (["currency"], ["USD", "USD", "USD", "EUR"]),
        (["source"], ["USD", "USD", "XXX", "XXX"]),
        ([], ["USD", "USD", "USD", "USD"]),
    ],
)
def test_the_currency_of_each_row(columns: list[str], expected: list[str]) -> None:
    """A null is in dollars unless a statement says it; both implementations of the rule agree."""
    frame = report_history(ROWS).payments[["payment_id", *columns]]
    assert fill_codes(frame).tolist() == expected
    assert fill_codes(frame.astype(object)).tolist() == expected
    polars = nw.from_native(frame).lazy(backend="polars")
    assert polars.with_columns(code=code_expression(frame.columns)).collect()["code"].to_list() == expected


def test_currencies_are_counted_and_listed() -> None:
    """Two payments in dollars, then the others in alphabetical order."""
    payments = report_history(ROWS).payments
    assert count_currencies(payments) == {"USD": 2, "EUR": 1, "XXX": 1}
    assert list_currencies(payments) == ["EUR", "USD", "XXX"]


def test_the_currency_of_all_payments() -> None:
    """Payments between people decide; without one all rows do, if they agree, and else it is US dollars."""
    history = report_history([*ROWS[3:], payment_row(4, NOON, currency="GBP", kind="transfer", flow_cents=1)])
    payments, transfers = history.payments, history.payments.assign(kind="transfer")
    found = [find_currency(each, what="It", advice="") for each in (payments, transfers[1:], transfers, payments[:0])]
    assert found == ["EUR", "GBP", "USD", "USD"]
    with pytest.raises(SchemaError, match=r" not in EUR \(1\) and GBP \(1\): Use 'EUR'\.$"):
        find_currency(payments.assign(kind="payment"), what="It", advice="Use {}")


def test_the_card_adds_no_unknown_currency() -> None:
    """The sentence names it, and the advice selects a known one; a history in it alone has no dollar sign."""
    history = report_history(ROWS)
    text = history._repr_html_()
    assert "No sums: the payments are in USD (2), EUR (1) and unknown (1)." in text
    assert "history.select_currency(&#x27;USD&#x27;)" in text
    alone = history.select_currency("XXX")
    assert alone.payments["payment_id"].tolist() == ["2"]
    text = alone._repr_html_()
    assert "¤4.00" in text
    assert "$" not in text
    assert history.select_currency("USD").payments["flow_cents"].sum() == 300
    with pytest.raises(ConfigurationError, match=r"its rows are in 'EUR', 'USD', 'XXX'\.$"):
        history.select_currency("GBP")


def test_no_view_of_an_unknown_currency_names_dollars() -> None:
    """Report, plot and explorer have the sign for any currency, and the words say that it is unknown."""
    history = report_history(ROWS[2:3])
    page = p2p.render_report(history, as_of="2024-03-01").split("</style>")[1].split("<script>")[0]
    explorer = p2p.Explorer(report_history(ROWS))
    assert explorer.currency.options == (("USD", "USD"), ("EUR", "EUR"), ("unknown", "XXX"))
    explorer.currency.value = "XXX"
    for shown in (page, explorer._table.value):
        assert "¤4.00" in shown
        assert "$" not in shown
    assert "in an unknown currency, exact" in page
    flow = p2p.monthly_flow(history.payments)
    for table in (flow, flow.assign(currency=None)):
        ax = p2p.plots.monthly_flow(table, ax=Figure().subplots())
        assert ax.get_ylabel() == "Settled payments, an unknown currency"
