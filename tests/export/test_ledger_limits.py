"""Ledgers of masked histories, of many currencies, and of days at the ends of the calendar."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from beancount.core import data

import p2p_analytics as p2p
from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.schema import PAYMENTS, STATEMENT
from support.frames import frame_from_rows
from support.statements.ledgers import ask_hledger, load_beancount, make_row, needs_hledger

SAMPLES = Path(__file__).parents[1] / "statements" / "samples"


@pytest.mark.parametrize("strict", [False, True])
def test_a_masked_ledger_has_the_accounts_of_the_original(tmp_path: Path, *, strict: bool) -> None:
    """What one's own balance paid stays on it, what a card paid does not; balances, masked one by one, decide nothing.

    The balance of 0 beside the third row would say that the row moved nothing.
    """
    transfer = {"kind": "transfer", "counterparty_id": None, "counterparty_name": None, "balance_cents": 0}
    rows = [
        make_row(-1000, "2025-01-01", funding_source="Venmo balance"),
        make_row(-2000, "2025-01-01", payment_id="2", funding_source="Visa *1559", balance_cents=0),
        make_row(-3000, "2025-01-01", payment_id="3", **transfer, funding_source="Venmo balance", destination="Sand"),
        make_row(4000, "2025-01-01", payment_id="4", **transfer, funding_source="Sand", destination="Venmo balance"),
    ]
    frame = frame_from_rows([row | {"file": "a.csv", "line": 9} for row in rows], {**PAYMENTS, **STATEMENT})
    history = p2p.read_statements(SAMPLES / "gen_d_2024.csv").history()
    private = replace(history, payments=frame).masked(strict=strict)
    p2p.to_beancount(private, tmp_path / "p.beancount")
    entries, _ = load_beancount(tmp_path / "p.beancount")
    postings = sorted(
        tuple((posting.account, posting.units.number > 0) for posting in entry.postings)
        for entry in entries
        if isinstance(entry, data.Transaction)
    )
    assert postings == [
        (("Assets:P2P", False), ("Assets:Transfers", True)),
        (("Assets:P2P", False), ("Expenses:People", True)),
        (("Assets:P2P", True), ("Assets:Transfers", False)),
        (("Assets:Transfers", False), ("Expenses:People", True)),
    ]


@needs_hledger
def test_each_currency_is_a_commodity(tmp_path: Path) -> None:
    """Amounts of different words are never added; words that ledgers do not take get names, which remarks explain."""
    codes = ["USD", "USDC", "PYUSD", "CA$", "CA", "usd", "$", "XXX", None, "1INCH", "NULL", "US\nD 1", "X" * 30, "T1"]
    rows = [
        make_row(-(2**at), "2025-01-01", payment_id=f"{at}", currency=code, tip_cents=1)
        for at, code in enumerate(codes)
    ]
    frame = frame_from_rows(rows, {**PAYMENTS, **STATEMENT})
    p2p.to_beancount(frame, tmp_path / "p.beancount")
    p2p.to_hledger(frame, tmp_path / "p.journal")
    _, balances = load_beancount(tmp_path / "p.beancount")
    # Words that are no name end in the first six digits of the SHA-256 of their UTF-8.
    names = ["USD", "USDC", "PYUSD", "CA-DA44C5", "CA", "USD-D60FBD", "XXX-09FC96", "XXX", "XXX", "XXX-1INCH-7A19D7"]
    names += ["XXX-NULL-FB3290", "USD1-417ACE", "X" * 16 + "-40037B", "T1"]
    expected = dict.fromkeys(names, Decimal(0))
    for at, name in enumerate(names):
        expected[name] += Decimal(2**at) / 100
    assert {code: amount for (account, code), amount in balances.items() if account == "Expenses:People"} == expected
    assert ask_hledger(tmp_path / "p.journal") == balances
    for path in tmp_path.iterdir():
        remarks = [line for line in path.read_text("utf-8").splitlines() if line.startswith("; ")]
        assert len(remarks) == 7
        assert "; CA-DA44C5 is the currency 'CA$', which is no name of a commodity." in remarks
        assert "; USD1-417ACE is the currency 'US\\nD 1', which is no name of a commodity." in remarks


@pytest.mark.parametrize("others", [[], ["CA"], ["CA", "C", "$"]])
def test_the_name_of_a_commodity_does_not_depend_on_others(others: list[str], tmp_path: Path) -> None:
    """A file of one year and a file of another, with more currencies, have the same name for the same currency."""
    codes = ["CA$", *others]
    rows = [make_row(-100, "2025-01-01", payment_id=f"{at}", currency=code) for at, code in enumerate(codes)]
    p2p.to_beancount(frame_from_rows(rows, {**PAYMENTS, **STATEMENT}), tmp_path / "p.beancount")
    assert "; CA-DA44C5 is the currency 'CA$'," in (tmp_path / "p.beancount").read_text("utf-8")


def test_two_currencies_with_one_name_are_refused(tmp_path: Path) -> None:
    """The first six digits of two hashes are equal: the amounts would be added up."""
    rows = [make_row(-100, "2025-01-01", payment_id=code, currency=code) for code in ("£₿~", "¥=₼")]
    with pytest.raises(SchemaError, match=r"£₿~ and ¥=₼ have the same name in a ledger, XXX-AEC4F8: write one"):
        p2p.to_beancount(frame_from_rows(rows, {**PAYMENTS, **STATEMENT}), tmp_path / "p.beancount")
    assert not [*tmp_path.iterdir()]


@needs_hledger
@pytest.mark.parametrize("tz", ["Asia/Tokyo", "America/New_York", "UTC"])
def test_days_at_the_ends_of_the_calendar(tz: str, tmp_path: Path) -> None:
    """A day that the zone would put outside of the calendar is that in UTC."""
    rows = [
        make_row(-100, "0001-01-01", date_completed="0001-01-01T00:00:01Z"),
        make_row(-200, "9999-12-31", date_completed="9999-12-31T23:59:59Z"),
    ]
    frame = frame_from_rows(rows, PAYMENTS)
    p2p.to_beancount(frame, tmp_path / "p.beancount", tz=tz)
    entries, _ = load_beancount(tmp_path / "p.beancount")
    days = [str(entry.date) for entry in entries if isinstance(entry, data.Transaction)]
    assert days[-1] == "9999-12-31"
    assert days[0] == "0001-01-01"
    p2p.to_hledger(frame, tmp_path / "p.journal", tz=tz)
    assert ask_hledger(tmp_path / "p.journal")["Expenses:People", "USD"] == Decimal("3.00")
