"""The currency of rows without one: dollars of the service, unknown in statements, in every view."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import narwhals.stable.v2 as nw
import pandas as pd
import pytest
from matplotlib.figure import Figure

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.row_currencies import code_expression, count_currencies, fill_codes, list_currencies
from p2p_analytics.frames.schema import FRIENDS, PAYMENTS, PROBLEMS
from p2p_analytics.records import Me, User
from support.frames import frame_from_rows

ROWS: Final = [
    {"source": "api", "currency": None, "flow_cents": 100},
    {"source": None, "currency": None, "flow_cents": 200},
    {"source": "statement", "currency": None, "flow_cents": 400},
    {"source": "statement", "currency": "EUR", "flow_cents": 800},
]
CODES: Final = ["USD", "USD", "XXX", "EUR"]


def _payments(rows: list[dict[str, Any]]) -> pd.DataFrame:
    usual = {"status": "settled", "action": "pay", "kind": "payment", "direction": "in", "counterparty_name": "Theo"}
    moment = pd.Timestamp("2024-02-03T12:00:00Z")
    filled = [
        {**usual, "payment_id": f"{at}", "date_created": moment, "amount_cents": row["flow_cents"], **row}
        for at, row in enumerate(rows)
    ]
    return frame_from_rows(filled, PAYMENTS)


def _history(rows: list[dict[str, Any]]) -> p2p.History:
    return p2p.History(
        me=Me(user=User(id="nora", display_name="Nora Quill"), balance_cents=1200),
        payments=_payments(rows),
        friends=frame_from_rows([], FRIENDS),
        fetched_at=datetime(2024, 3, 1, tzinfo=UTC),
        problems=frame_from_rows([], PROBLEMS),
    )


@pytest.mark.parametrize("columns", [["currency", "source"], ["currency"], ["source"], []])
def test_the_currency_of_each_row(columns: list[str]) -> None:
    """A null is in dollars unless a statement says it; both implementations of the rule agree."""
    frame = _payments(ROWS)[["payment_id", *columns]]
    expected = {
        2: CODES,
        1: ["USD", "USD", "USD", "EUR"] if columns == ["currency"] else ["USD", "USD", "XXX", "XXX"],
        0: ["USD"] * 4,
    }[len(columns)]
    assert fill_codes(frame).tolist() == expected
    assert fill_codes(frame.astype(object)).tolist() == expected
    polars = nw.from_native(frame).lazy(backend="polars")
    assert polars.with_columns(code=code_expression(frame.columns)).collect()["code"].to_list() == expected


def test_currencies_are_counted_and_listed() -> None:
    """Two payments in dollars, then the others in alphabetical order."""
    assert count_currencies(_payments(ROWS)) == {"USD": 2, "EUR": 1, "XXX": 1}
    assert list_currencies(_payments(ROWS)) == ["EUR", "USD", "XXX"]


def test_the_card_adds_no_unknown_currency() -> None:
    """The sentence names it, and the advice selects a known one; a history in it alone has no dollar sign."""
    text = _history(ROWS)._repr_html_()
    assert "No sums: the payments are in USD (2), EUR (1) and unknown (1)." in text
    assert "history.select_currency(&#x27;USD&#x27;)" in text
    alone = _history(ROWS).select_currency("XXX")
    assert alone.payments["payment_id"].tolist() == ["2"]
    text = alone._repr_html_()
    assert "¤4.00" in text
    assert "$" not in text
    assert _history(ROWS).select_currency("USD").payments["flow_cents"].sum() == 300
    with pytest.raises(ConfigurationError, match=r"its rows are in 'EUR', 'USD', 'XXX'\.$"):
        _history(ROWS).select_currency("GBP")


def test_no_view_of_an_unknown_currency_names_dollars() -> None:
    """Report, plot and explorer have the sign for any currency, and the words say that it is unknown."""
    history = _history(ROWS[2:3])
    page = p2p.render_report(history, as_of="2024-03-01").split("</style>")[1].split("<script>")[0]
    explorer = p2p.Explorer(_history(ROWS))
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
