"""Ids that a service gives to several rows, such as a payment and its refunds, in files that overlap."""

from __future__ import annotations

import hashlib
from datetime import date
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p

if TYPE_CHECKING:
    from pathlib import Path

_WISE = "TransferWise ID,Date,Amount,Currency,Description,Running Balance\n"
_CARD = [
    "CARD-9,03-03-2024,-80.00,EUR,Shop,20.00\n",
    "CARD-9,05-03-2024,50.00,EUR,Shop,70.00\n",
    "CARD-9,09-03-2024,20.00,EUR,Shop,90.00\n",
    "CARD-9,11-03-2024,20.00,EUR,Shop,110.00\n",
]
_FEE = [
    "TRANSFER-1,13-03-2024,-2.10,EUR,Wise fee,0\n",
    "TRANSFER-1,13-03-2024,-350.00,EUR,Sent,2.10\n",
    "TRANSFER-2,14-03-2024,5.00,EUR,Received,5.00\n",
    "TRANSFER-2,14-03-2024,5.00,EUR,Received,5.00\n",
]


def _read(folder: Path, *files: list[str]) -> dict[str, int]:
    paths = [folder / f"{number}.csv" for number in range(len(files))]
    for path, rows in zip(paths, files, strict=True):
        path.write_text(_WISE + "".join(rows), encoding="utf-8")
    payments = p2p.read_statements(paths, account="ada").payments
    return dict(zip(payments["payment_id"], payments["flow_cents"], strict=True))


def _number_day(year: int, month: int, day: int) -> str:
    return str((date(year, month, day) - date(1970, 1, 1)).days)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:8]


@pytest.mark.parametrize("at", range(1, len(_CARD)))
def test_refunds_have_the_same_ids_in_any_file(at, tmp_path):
    """A file with all rows, and one with the later rows only, in any order; the purchase keeps the id."""
    expected = {"CARD-9": -8000} | {
        f"CARD-9-{_hash(cents, 'EUR', _number_day(2024, 3, day))}": int(cents)
        for cents, day in (("5000", 5), ("2000", 9), ("2000", 11))
    }
    assert _read(tmp_path, _CARD, _CARD[at:]) == _read(tmp_path, _CARD[at:], _CARD) == expected
    assert _read(tmp_path, _CARD[:at], _CARD[at:]) == _read(tmp_path, _CARD[at:], _CARD[:at]) == expected


def test_problems_of_separated_ids_stay(tmp_path):
    """A problem of a refund, which gets an id of its own, is in the history and in the statements of the account."""
    rows = [_CARD[0], _CARD[1].replace(",70.00", ",abc")]
    (tmp_path / "wise.csv").write_text(_WISE + "".join(rows), encoding="utf-8")
    statements = p2p.read_statements(tmp_path / "wise.csv", account="ada")
    refund = f"CARD-9-{_hash('5000', 'EUR', _number_day(2024, 3, 5))}"
    for problems in (statements.problems, statements.history().problems, statements.select_account("ada").problems):
        assert problems[["line", "payment_id", "value"]].to_numpy().tolist() == [[3, refund, "abc"]]


@pytest.mark.parametrize("files", [[_FEE], [_FEE, _FEE[:1]], [_FEE[:1], _FEE], [_FEE[1:], _FEE]])
def test_the_amounts_of_an_id_are_transactions(files, tmp_path):
    """A fee with the id of its transfer is a row of its own; a row that is twice in the file is one payment."""
    fee = f"TRANSFER-1-{_hash('-210', 'EUR', '')}"
    assert _read(tmp_path, *files) == {"TRANSFER-1": -35000, fee: -210, "TRANSFER-2": 500}
