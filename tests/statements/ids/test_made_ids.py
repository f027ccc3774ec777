"""Ids of rows without one: they do not depend on how the caller reads the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p

if TYPE_CHECKING:
    from pathlib import Path

_SPLITWISE = "Date,Description,Category,Cost,Currency,Nora,Theo\n2024-03-31,Bread,General,4.00,EUR,2.00,-2.00\n"
_CASH_APP = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account\n"
    ",2024-03-31 02:30:00,P2P,USD,$25.50,$0,$25.50,,,,COMPLETE,lunch,Theo Marsh,\n"
    ",2024-01-31 12:00:00 CST,P2P,USD,$7.00,$0,$7.00,,,,COMPLETE,tea,Theo Marsh,\n"
)


def _write(folder: Path, text: str) -> Path:
    path = folder / "file.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("text", "account"), [(_CASH_APP, "ada"), (_SPLITWISE, "Nora")])
def test_the_zone_is_not_in_the_id(text, account, tmp_path):
    """A time that the clock of one zone skips, a time with a zone of its own, and a day: the payments stay the same."""
    path = _write(tmp_path, text)
    zones = ["UTC", "America/New_York", "Europe/Berlin", "Asia/Tokyo"]
    payments = [p2p.read_statements(path, tz=zone, account=account).payments for zone in zones]
    assert len({tuple(sorted(frame["payment_id"])) for frame in payments}) == 1
    assert len({tuple(frame["date_created"]) for frame in payments}) == len(zones)


def test_the_spelling_of_the_account_is_not_in_the_id(tmp_path):
    """An archive takes the same file once, whether its owner is "ada" or "@Ada"."""
    path = _write(tmp_path, _CASH_APP)
    archive = p2p.open_archive(tmp_path / "archive")
    plans = [
        archive.import_(p2p.read_statements(path, account=account, tz=zone))
        for account, zone in (("ada", "UTC"), ("@Ada", "America/New_York"))
    ]
    assert [plan.new for plan in plans] == [2, 0]
    assert sorted(archive.history().payments["flow_cents"]) == [700, 2550]
