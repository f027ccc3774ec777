"""Payments in another currency than US dollars: named in the result, and looked at only where a payment counts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

    Builder = Callable[..., Any]
    Reader = Callable[..., list[dict[str, Any]]]

ANALYSES: Final[dict[str, Callable[..., Any]]] = {
    "spend_by_friend": p2p.spend_by_friend,
    "monthly_flow": p2p.monthly_flow,
    "status_mix": p2p.status_mix,
    "pending_ageing": partial(p2p.pending_ageing, as_of="2024-07-01"),
    "pending_requests": partial(p2p.pending_requests, as_of="2024-07-01"),
}
EURO: Final = {
    "kind": "payment", "currency": "EUR", "direction": "out", "flow_cents": -1250, "counterparty_name": "Ada Quill",
    "created": "2024-06-01T10:00:00Z",
}  # fmt: skip
PENDING: Final = {**EURO, "status": "pending", "direction": "in", "flow_cents": 300}


@pytest.mark.parametrize("name", ANALYSES)
def test_the_result_names_another_currency_than_dollars(payments: Builder, rows_of: Reader, name: str) -> None:
    """Every row has the currency in one more column, the last; in dollars, there is no such column."""
    table = rows_of(ANALYSES[name](payments(EURO, PENDING)))
    assert table
    assert [list(row)[-1] for row in table] == ["currency"] * len(table)
    assert {row["currency"] for row in table} == {"EUR"}
    dollars = rows_of(ANALYSES[name](payments(*({**row, "currency": "USD"} for row in (EURO, PENDING)))))
    assert dollars == [{key: value for key, value in row.items() if key != "currency"} for row in table]


@pytest.mark.parametrize("name", ANALYSES)
def test_rows_of_other_kinds_may_have_any_currency(payments: Builder, rows_of: Reader, name: str) -> None:
    """A purchase or a conversion does not count, so its currency does not matter."""
    pounds = {**EURO, "kind": "merchant", "currency": "GBP"}
    mixed = payments(EURO, PENDING, pounds, {**pounds, "kind": "asset", "status": "pending"})
    assert rows_of(ANALYSES[name](mixed)) == rows_of(ANALYSES[name](payments(EURO, PENDING)))


def test_only_the_statuses_that_count_need_one_currency(payments: Builder, rows_of: Reader) -> None:
    """Settled euros and pending pounds are two tables; the mix of statuses counts both, and refuses them."""
    frame = payments(EURO, {**PENDING, "currency": "GBP"}, {**EURO, "currency": "CHF", "direction": None})
    (person,) = rows_of(p2p.spend_by_friend(frame))
    assert (person["sent"], person["currency"]) == (12.5, "EUR")
    (request,) = rows_of(ANALYSES["pending_requests"](frame))
    assert (request["amount"], request["currency"]) == (3.0, "GBP")
    with pytest.raises(
        SchemaError, match=r"^status_mix needs payments in one currency, not in CHF and EUR and GBP: .*== 'CHF'\]\.$"
    ):
        rows_of(p2p.status_mix(frame))


def test_the_mix_of_statuses_by_currency(payments: Builder, rows_of: Reader) -> None:
    """Grouped by currency, no amounts of two currencies are added."""
    table = rows_of(p2p.status_mix(payments(EURO, PENDING, {**EURO, "currency": "GBP"}), by="currency"))
    assert [(row["currency"], row["status"], row["amount"]) for row in table] == [
        ("EUR", "pending", 3.0),
        ("EUR", "settled", 12.5),
        ("GBP", "settled", 12.5),
    ]
    assert len(table[0]) == 6
