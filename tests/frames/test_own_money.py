"""The one rule for which funding sources and destinations are the balance of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from p2p_analytics.frames.own_money import is_bank_or_card, is_own_money

if TYPE_CHECKING:
    from pathlib import Path

HEADER = '" ID",Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination'


@pytest.mark.parametrize(
    ("source", "is_own", "is_other"),
    [
        ("Venmo balance", True, False),
        ("Your Cash", True, False),
        (" BALANCE ", True, False),
        ("Cash", True, False),
        ("First Cash", False, True),
        ("Moneycash", False, True),
        ("Bank of Imbalance", False, True),
        ("Bank of Sand *1234", False, True),
        ("Cash Card *1234", False, True),
        ("Nora's balance sheet", False, True),
        ("", False, False),
        ("  ", False, False),
        (None, False, False),
    ],
)
def test_words_at_the_end_decide(source: str | None, *, is_own: bool, is_other: bool) -> None:
    """A source that is cash, or ends in balance or your cash, is one's own money; without one nothing else is named."""
    assert (is_own_money(source or ""), is_bank_or_card(source)) == (is_own, is_other)


@pytest.mark.parametrize(
    ("source", "moved", "account"), [("Your Cash", -500, "Assets:P2P"), ("Visa *1234", 0, "Assets:Transfers")]
)
def test_statement_and_ledger_agree(tmp_path: Path, source: str, moved: int, account: str) -> None:
    """A row that one's own money paid moves the balance, in the reconciliation and in the ledger."""
    row = f'2410000000000000117,2018-01-02T10:00:00,Payment,Complete,tea,Ada,Bo,"- $5.00",,{source},'
    (tmp_path / "s.csv").write_text(f"{HEADER}\n{row}", "utf-8")
    statements = p2p.read_statements(tmp_path / "s.csv", account="ada")
    assert statements.reconciliation["moved_cents"].tolist() == [moved]
    p2p.to_beancount(statements.payments, tmp_path / "p.beancount")
    assert f"  {account}  -5.00 USD" in (tmp_path / "p.beancount").read_text("utf-8")
