"""Files of one account about several balances: those of two services, two products or two groups never connect."""

from __future__ import annotations

from pathlib import Path

import pytest

import p2p_analytics as p2p

_SAMPLES = Path(__file__).parent / "samples"
_OWN = Path(__file__).parents[1] / "samples" / "gen_d_2024.csv"
_REVOLUT = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
_SPLITWISE = "Date,Description,Category,Cost,Currency,Nora Quill,{}\n2024-01-0{},Tea,Food,8.00,USD,{},{}\n"


def _revolut(folder: Path, name: str, month: int, amounts: list[tuple[str, str]], product: str = "Current") -> Path:
    rows = [
        f"TRANSFER,{product},2024-0{month}-0{day} 10:00:00,2024-0{month}-0{day} 10:00:00,To Theo Marsh,{amount},0.00,"
        f"USD,COMPLETED,{balance}\n"
        for day, (amount, balance) in enumerate(amounts, 1)
    ]
    path = folder / name
    path.write_text(_REVOLUT + "".join(rows), encoding="utf-8")
    return path


def _list_seams(statements: p2p.Statements) -> list[tuple[object, object, object]]:
    frame = statements.reconciliation
    frame = frame.assign(file=[Path(name).name for name in frame["file"]])[["file", "gap_cents", "note"]].astype(object)
    return list(frame.where(frame.notna(), None).itertuples(index=False, name=None))


def test_two_services_in_one_account():
    """The balance of the one does not follow that of the other, and neither is that of the account."""
    paypal = _SAMPLES / "paypal_statement_en.csv"
    found = p2p.read_statements([_OWN, paypal], account="nora-quill")
    assert found.accounts == ["nora-quill"]
    assert found.reconciliation["follows"].isna().all()
    assert found.reconciliation["gap_cents"].isna().all()
    assert "between the file before and this one" not in " ".join(found.reconciliation["note"].dropna())
    assert found.history().me.balance_cents is None
    assert p2p.read_statements(_OWN).history().me.balance_cents == 101826
    assert p2p.read_statements(paypal).history().me.balance_cents is None  # in euros and dollars


def test_two_products_of_one_service(tmp_path):
    """Current, then 10 dollars saved: 70.00 and 10.00 do not follow each other; a third file follows the first."""
    first = _revolut(tmp_path, "first.csv", 1, [("-20.00", "80.00"), ("-10.00", "70.00")])
    saved = _revolut(tmp_path, "saved.csv", 2, [("10.00", "10.00"), ("5.00", "15.00")], "Savings")
    third = _revolut(tmp_path, "third.csv", 2, [("-5.00", "65.00"), ("-5.00", "60.00")])
    found = p2p.read_statements([first, saved, third], account="nora-quill")
    assert _list_seams(found) == [("first.csv", None, None), ("third.csv", 0, None), ("saved.csv", None, None)]
    assert found.history().me.balance_cents is None
    assert p2p.read_statements([first, third], account="nora-quill").history().me.balance_cents == 6000


@pytest.mark.parametrize("other", ["Lena Ortiz", "Theo Marsh"])
def test_two_groups_of_splitwise(other, tmp_path):
    """Each group starts at 0, also one of the same members with other rows that was exported on the same day."""
    (tmp_path / "one.csv").write_text(
        _SPLITWISE.format("Theo Marsh", 1, "4.00", "-4.00") + "2024-01-31,Total balance,,,USD,4.00,-4.00\n"
    )
    (tmp_path / "two.csv").write_text(
        _SPLITWISE.format(other, 5, "-4.00", "4.00") + "2024-01-31,Total balance,,,USD,-4.00,4.00\n"
    )
    found = p2p.read_statements(tmp_path, account="Nora Quill")
    assert found.reconciliation["gap_cents"].isna().all()
    assert found.reconciliation["reconciled"].tolist() == [True, True]
    assert found.history().me.balance_cents is None


def test_generations_of_one_service_connect(tmp_path):
    """A CSV file closes with 1,018.26, and a JSON history opens with it."""
    rows = (
        '{"transactions": [{"id": "9", "type": "direct_deposit", "datetime_created": "2024-06-01T10:00:00", '
        '"amount": 1.0, "direct_deposit": {}}], "start_balance": 1018.26, "end_balance": 1019.26}'
    )
    (tmp_path / "later.json").write_text(rows, encoding="utf-8")
    found = p2p.read_statements([_OWN, tmp_path / "later.json"], account="nora-quill")
    assert found.reconciliation["gap_cents"].dropna().to_list() == [0]
    assert found.history().me.balance_cents == 101926
