"""Files with difficult rows, as real services write them, of invented people; values are worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import p2p_analytics as p2p

_CASES = Path(__file__).parent


def _read(*names: str, account: str = "ada") -> p2p.Statements:
    return p2p.read_statements([_CASES / f"{name}.csv" for name in names], account=account)


def _rows(statements: p2p.Statements, *columns: str) -> list[tuple[object, ...]]:
    """Return columns of payments, the oldest first."""
    frame = statements.payments[list(columns)][::-1].astype(object)
    return list(frame.where(frame.notna(), None).itertuples(index=False, name=None))


@pytest.mark.parametrize("order", [1, -1])
def test_revolut_renamed_its_types(order):
    """TRANSFER became Transfer: the three rows of both files are three transactions."""
    found = _read(*("revolut-words-1", "revolut-words-2")[::order])
    assert _rows(found, "kind", "counterparty_name", "flow_cents") == [
        ("transfer", None, 64000),
        ("merchant", "Corner Bakery", -3980),
        ("payment", "Theo Marsh", -6020),
        ("payment", "Theo Marsh", -10000),
    ]
    assert found.reconciliation["reconciled"].all()


@pytest.mark.parametrize(
    ("later", "rows"),
    [
        ("splitwise-snapshot-amount", [("merchant", 300), ("payment", 5000)]),
        ("splitwise-snapshot-deleted", [("merchant", 300)]),
    ],
)
def test_a_later_export_of_a_group_replaces_the_earlier_one(later, rows):
    """An amount was corrected, or a row deleted: the earlier row is gone."""
    found = _read("splitwise-snapshot-s0", later, account="Nora Quill")
    assert _rows(found, "kind", "flow_cents") == rows


def test_two_groups_of_the_same_people():
    """Equal rows of two groups are two transactions each, because the totals of both files need them."""
    found = _read("splitwise-groups-home", "splitwise-groups-trip", account="Nora Quill")
    assert len(found.payments) == 6
    assert found.reconciliation["reconciled"].all()


def test_a_refund_with_the_id_of_its_payment_in_the_next_month():
    """Payment and refund are two transactions, which cancel out."""
    found = _read("same-id-two-months-cashapp-p2p-1", "same-id-two-months-cashapp-p2p-2")
    assert _rows(found, "flow_cents", "status") == [(-4000, "settled"), (4000, "settled")]
    assert found.payments["payment_id"].is_unique


def test_dates_of_wise_in_two_spellings():
    """03-05-2026 and 03/05/2026 are one day; a card payment and its refund share an id."""
    found = _read("wise-refund-date-1", "wise-refund-date-2")
    assert len(found.payments) == 6
    assert found.reconciliation["reconciled"].all()


def test_reversals_of_cash_app():
    """PAYMENT REVERSED is the row of the money that came back: the verb decides."""
    found = _read("cash-app-reversed")
    assert found.reconciliation["moved_cents"].to_list() == [2000]
    net = found.payments.groupby("counterparty_name")["flow_cents"].sum().to_dict()
    assert net == {"Ravi Shah": -4000, "Rob": 6000}
    assert found.problems.empty


def test_the_personal_download_of_paypal():
    """Amount, Fees and Total are gross, fee and net."""
    found = _read("paypal-personal")
    assert _rows(found, "kind", "flow_cents") == [("payment", 4500), ("merchant", -1250), ("transfer", -3250)]
    assert found.reconciliation["reconciled"].to_list() == [True]


def test_holds_of_paypal():
    """The balance shows that a hold and a pending deposit moved it."""
    found = _read("paypal-holds")
    assert found.reconciliation["difference_cents"].to_list() == [0]


def test_paypal_in_portuguese_of_2018():
    """Two payments received, 47.00 and 94.61 after the fees."""
    found = _read("paypal-pt-br-2018")
    assert _rows(found, "kind", "counterparty_name", "flow_cents", "currency") == [
        ("payment", "Theo Marsh", 9461, "BRL"),
        ("payment", "Lena Ortiz", 4700, "BRL"),
    ]


def test_revolut_in_polish():
    """States and types are Polish words: a row with a balance and a date of completion is settled."""
    found = _read("revolut-polish")
    assert _rows(found, "kind", "status", "counterparty_name", "flow_cents") == [
        ("transfer", "settled", None, 150000),
        ("payment", "settled", "Jan Kowalski", -10000),
        ("merchant", "settled", "Kiosk", -2340),
    ]
    assert found.reconciliation["reconciled"].to_list() == [True]
    assert found.problems.empty


def test_the_transaction_history_of_wise():
    """The fee is outside of the source amount; a conversion is one row about two balances."""
    found = _read("wise-history")
    assert sorted(_rows(found, "currency", "kind", "status", "counterparty_name", "flow_cents"), key=str) == [
        ("EUR", "asset", "settled", None, -25000),
        ("EUR", "payment", "cancelled", "Ravi Shah", -4762),
        ("EUR", "payment", "settled", "Theo Marsh", -13162),
        ("GBP", "asset", "settled", None, 21410),
        ("GBP", "payment", "settled", "Lena Ortiz", 8850),
    ]
    assert found.payments["payment_id"].is_unique
