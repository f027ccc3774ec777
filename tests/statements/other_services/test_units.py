"""Currencies without cents, or with thousandths: no amount is off by a factor of ten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from support.frames import list_values

if TYPE_CHECKING:
    from pathlib import Path

    from p2p_analytics.history import History

HEADER = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"


def read(folder: Path, amount: str, balance: str, currency: str, kind: str = "TRANSFER") -> History:
    """Return the history of a file with one row."""
    row = f'{kind},Current,2024-01-01 10:00:00,2024-01-01 10:00:01,To Ada Quill,"{amount}",0,{currency},COMPLETED,'
    (folder / "account.csv").write_text(f'{HEADER}{row}"{balance}"\n', "utf-8")
    return p2p.read_statements(folder / "account.csv", account="nora").history()


@pytest.mark.parametrize(
    ("row", "cents", "displayed"),
    [
        (("-1200", "8800", "JPY"), -120000, "¥1,200<"),
        (("-1,200", "8,800", "JPY"), -120000, "¥1,200<"),
        (("-1200.00", "8800.00", "JPY"), -120000, "¥1,200<"),
        (("-1.250", "8.750", "KWD"), -125, "KWD\N{NO-BREAK SPACE}1.250<"),
        (("-12.5", "88.5", "CHF"), -1250, "CHF\N{NO-BREAK SPACE}12.50<"),
        # Thousandths are not guessed; nor is a point that may separate thousands.
        (("-1.255", "8.75", "KWD"), None, ""),
        (("-12.005", "8.75", "USD"), None, ""),
        (("-12.000", "8.75", "CLP"), None, ""),
    ],
)
def test_amounts_are_hundredths_of_the_unit(tmp_path, row, cents, displayed) -> None:
    """And are displayed with the decimals of the currency."""
    history = read(tmp_path, *row)
    assert list_values(history.payments["flow_cents"]) == [cents]
    assert (row[0] in history.problems["value"].tolist()) == (cents is None)
    assert cents is None or displayed in history._repr_html_()


def test_transfers_alone_are_in_their_currency(tmp_path: Path) -> None:
    """Without a payment between people, the currency is that of the other rows; nothing is in dollars."""
    history = read(tmp_path, "100.00", "100.00", "GBP", kind="TOPUP")
    assert history.payments["kind"].tolist() == ["transfer"]
    card = history._repr_html_()
    assert "balance £100.00" in card
    assert card.count("£0.00") == 5
    assert "$" not in card
