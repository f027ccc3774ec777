"""Files with difficult rows, as real services write them, of invented people; values are worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

import p2p_analytics as p2p

_CASES = Path(__file__).parent
_NORA = "Nora Quill"


@pytest.mark.parametrize(
    ("files", "account", "columns", "rows"),
    [
        (  # TRANSFER became Transfer: the rows of both files are the same transactions
            "revolut-words-1 revolut-words-2",
            "ada",
            "kind counterparty_name flow_cents",
            [
                ("transfer", None, 64000), ("merchant", "Corner Bakery", -3980), ("payment", "Theo Marsh", -6020),
                ("payment", "Theo Marsh", -10000),
            ],
        ),
        # A later export of a group replaces the earlier one: an amount was corrected, or a row deleted.
        (
            "splitwise-snapshot-s0 splitwise-snapshot-amount",
            _NORA,
            "kind flow_cents",
            [("merchant", 300), ("payment", 5000)],
        ),
        ("splitwise-snapshot-s0 splitwise-snapshot-deleted", _NORA, "kind flow_cents", [("merchant", 300)]),
        (  # the refund has the id of its payment in the month before
            "same-id-two-months-cashapp-p2p-1 same-id-two-months-cashapp-p2p-2",
            "ada",
            "flow_cents status",
            [(-4000, "settled"), (4000, "settled")],
        ),
        (
            "paypal-personal",
            "ada",
            "kind flow_cents",
            [("payment", 4500), ("merchant", -1250), ("transfer", -3250)],
        ),
        (
            "paypal-pt-br-2018",
            "ada",
            "kind counterparty_name flow_cents currency",
            [("payment", "Theo Marsh", 9461, "BRL"), ("payment", "Lena Ortiz", 4700, "BRL")],
        ),
        (
            "revolut-polish",
            "ada",
            "kind status counterparty_name flow_cents",
            [
                ("transfer", "settled", None, 150000), ("payment", "settled", "Jan Kowalski", -10000),
                ("merchant", "settled", "Kiosk", -2340),
            ],
        ),
        (  # the fee is outside of the source amount; a conversion is one row about two balances
            "wise-history",
            "ada",
            "currency kind status counterparty_name flow_cents",
            [
                ("EUR", "payment", "settled", "Theo Marsh", -13162), ("GBP", "payment", "settled", "Lena Ortiz", 8850),
                ("EUR", "asset", "settled", None, -25000), ("GBP", "asset", "settled", None, 21410),
                ("EUR", "payment", "cancelled", "Ravi Shah", -4762),
            ],
        ),
    ],
)  # fmt: skip
def test_rows_of_a_case(files, account, columns, rows):
    """In either order of the files; no id is twice, and a balance that a file states agrees."""
    for order in (1, -1):
        paths = [_CASES / f"{name}.csv" for name in files.split()][::order]
        found = p2p.read_statements(paths, account=account)
        frame = found.payments[columns.split()].astype(object)
        listed = [*frame.where(frame.notna(), None).itertuples(index=False, name=None)]
        assert sorted(listed, key=str) == sorted(rows, key=str)
        assert found.payments["payment_id"].is_unique
        assert found.reconciliation.iloc[-1:]["reconciled"].fillna(value=True).all()


@pytest.mark.parametrize(
    ("files", "account", "count"),
    [
        ("splitwise-groups-home splitwise-groups-trip", _NORA, 6),  # the totals of both groups need the equal rows
        ("wise-refund-date-1 wise-refund-date-2", "ada", 6),  # 03-05-2026 and 03/05/2026 are one day
        ("paypal-holds", "ada", None),  # the balance shows that a hold and a pending deposit moved it
        ("cash-app-reversed", "ada", None),
    ],
)
def test_cases_reconcile(files, account, count):
    """With this number of rows."""
    found = p2p.read_statements([_CASES / f"{name}.csv" for name in files.split()], account=account)
    assert len(found.payments) == (count or len(found.payments))
    assert found.reconciliation["difference_cents"].fillna(0).eq(0).all()


def test_reversals_of_cash_app():
    """PAYMENT REVERSED is the row of the money that came back: the verb decides."""
    found = p2p.read_statements(_CASES / "cash-app-reversed.csv", account="ada")
    assert found.reconciliation["moved_cents"].to_list() == [2000]
    net = found.payments.groupby("counterparty_name")["flow_cents"].sum().to_dict()
    assert net == {"Ravi Shah": -4000, "Rob": 6000}
    assert found.problems.empty
