"""Currencies without cents, or with thousandths: no amount is off by a factor of ten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

import p2p_analytics as p2p

if TYPE_CHECKING:
    from pathlib import Path

    from p2p_analytics.history import History

HEADER: Final = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"


def read(folder: Path, amount: str, balance: str, currency: str, kind: str = "TRANSFER") -> History:
    """Return the history of a file with one row."""
    path = folder / "account.csv"
    row = f'{kind},Current,2024-01-01 10:00:00,2024-01-01 10:00:01,To Ada Quill,"{amount}",0,{currency},COMPLETED,'
    path.write_text(f'{HEADER}{row}"{balance}"\n', "utf-8")
    return p2p.read_statements(path, account="nora").history()


@pytest.mark.parametrize(
    ("row", "cents", "displayed"),
    [
        (("-1200", "8800", "JPY"), -120000, "¥1,200<"),
        (("-1,200", "8,800", "JPY"), -120000, "¥1,200<"),
        (("-1200.00", "8800.00", "JPY"), -120000, "¥1,200<"),
        (("-1.250", "8.750", "KWD"), -125, "KWD\N{NO-BREAK SPACE}1.250<"),
        (("-12.5", "88.5", "CHF"), -1250, "CHF\N{NO-BREAK SPACE}12.50<"),
    ],
)
def test_amounts_are_hundredths_of_the_unit(
    tmp_path: Path, row: tuple[str, str, str], cents: int, displayed: str
) -> None:
    """And are displayed with the decimals of the currency."""
    history = read(tmp_path, *row)
    assert history.payments["flow_cents"].tolist() == [cents]
    assert len(history.problems) == 0
    assert displayed in history._repr_html_()


def test_a_report_has_the_decimals_of_the_currency(tmp_path: Path) -> None:
    """An amount of 1.250 dinars has three."""
    history = read(tmp_path, "-1.250", "8.750", "KWD")
    assert "KWD\N{NO-BREAK SPACE}1.250<" in p2p.render_report(history, as_of="2024-02-01")


@pytest.mark.parametrize(("amount", "currency"), [("-1.255", "KWD"), ("-12.005", "USD"), ("-12.000", "CLP")])
def test_thousandths_are_not_guessed(tmp_path: Path, amount: str, currency: str) -> None:
    """An amount of thousandths is null, and a problem; so is one with a point that may separate thousands."""
    history = read(tmp_path, amount, "8.75", currency)
    assert history.payments["flow_cents"].isna().all()
    assert amount in history.problems["value"].tolist()
    assert set(history.problems["file"]) == {"account.csv"}


def test_transfers_alone_are_in_their_currency(tmp_path: Path) -> None:
    """Without a payment between people, the currency is that of the other rows; nothing is in dollars."""
    history = read(tmp_path, "100.00", "100.00", "GBP", kind="TOPUP")
    assert history.payments["kind"].tolist() == ["transfer"]
    card = history._repr_html_()
    assert "balance £100.00" in card
    assert card.count("£0.00") == 5
    assert "$" not in card
