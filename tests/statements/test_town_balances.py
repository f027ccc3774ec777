"""The files of an invented town, with a file or a row too many or too few, and its bank."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import p2p_analytics as p2p

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Return the files of all periods of one person, which overlap by some days."""
    with p2p.sandbox.SandboxServer(seed=7) as server:
        return [server.statement(server.viewer, start, end) for start, end in server.statement_periods()]


def _read(texts: Sequence[str], folder: Path) -> p2p.Statements:
    for number, text in enumerate(texts):
        (folder / f"{number:02d}.csv").write_text(text, encoding="utf-8", newline="")
    return p2p.read_statements(folder)


def _find_row(text: str) -> list[str]:
    """Return the first line of a completed payment in one line, as cells."""
    lines = (line for line in text.splitlines() if ",Payment,Complete," in line and '"' not in line)
    return next(lines).split(",")


def test_a_whole_town(texts: list[str], tmp_path: Path) -> None:
    """Every file adds up and follows the one before without a gap, and every payment has a balance."""
    statements = _read(texts, tmp_path)
    table = statements.reconciliation
    assert table["reconciled"].all()
    assert table["gap_cents"].tolist() == [pd.NA, *[0] * (len(texts) - 1)]
    assert table["suggestion"].isna().all()
    assert statements.payments["balance_cents"].notna().all()


def test_the_ledger_of_a_whole_town(texts: list[str], tmp_path: Path) -> None:
    """One's own account goes from the opening to the closing balance; without a file, a comment says that rows lack."""

    def add_up(statements: p2p.Statements) -> tuple[int, str]:
        p2p.to_beancount(statements.payments, tmp_path / "p.beancount")
        ledger = (tmp_path / "p.beancount").read_text("utf-8")
        amounts = re.findall(r"(?m)^  Assets:P2P  (-?\d+)\.(\d\d) USD$", ledger)
        return sum(int(units + cents) for units, cents in amounts), ledger

    statements = _read(texts, tmp_path)
    total, ledger = add_up(statements)
    assert total == statements.reconciliation["closing_cents"].tolist()[-1]
    assert "\n; " not in ledger
    (tmp_path / "05.csv").unlink()
    statements = p2p.read_statements(tmp_path / "*.csv")
    total, ledger = add_up(statements)
    missing = total - statements.reconciliation["closing_cents"].tolist()[-1]
    assert missing == -statements.reconciliation["gap_cents"].fillna(0).sum()
    assert ledger.splitlines()[1].startswith("; Assets:P2P: the statements state ")


def test_a_file_that_is_missing(texts: list[str], tmp_path: Path) -> None:
    """Without the sixth file, the seventh opens with another balance than the fifth closes with."""
    statements = _read([*texts[:5], *texts[6:]], tmp_path)
    table = statements.reconciliation
    assert table["reconciled"].all()
    (row,) = table[table["gap_cents"].fillna(0) != 0].to_dict("records")
    assert row["gap_cents"] == row["opening_cents"] - table["closing_cents"][4]
    assert row["file"].endswith("05.csv")
    (problem,) = statements.problems[statements.problems["code"] == "gap"].to_dict("records")
    assert (problem["file"], problem["cents"]) == (row["file"], row["gap_cents"])
    assert problem["problem"].startswith("a file or rows may be missing after '04.csv': ")


def test_a_row_that_is_there_twice(texts: list[str], tmp_path: Path) -> None:
    """A payment with another id than its copy is suggested, with the amount that it is too much."""
    cells = _find_row(texts[8])
    copy = [*cells[:1], str(int(cells[1]) + 1), *cells[2:]]
    row = ",".join(cells)
    table = _read(
        [*texts[:8], texts[8].replace(row, f"{row}\r\n{','.join(copy)}"), *texts[9:]], tmp_path
    ).reconciliation
    (wrong,) = table[~table["reconciled"]].to_dict("records")
    assert wrong["file"].endswith("08.csv")
    assert f"without {copy[1]}" in wrong["suggestion"].split("; ")
    assert f"without {cells[1]}" in wrong["suggestion"].split("; ")


def test_the_bank_of_a_town(texts: list[str], tmp_path: Path) -> None:
    """All transfers are found at a bank that books them up to three days later; one that it lacks is named."""
    statements = _read(texts, tmp_path)
    payments = statements.payments
    transfers = payments[(payments["kind"] == "transfer") & (payments["status"] == "settled")].reset_index(drop=True)
    bookings: list[dict[str, Any]] = []
    for number, transfer in transfers.iterrows():
        day = transfer["date_created"] + pd.Timedelta(days=hash(number) % 4)
        fee = 0 if pd.isna(transfer["fee_cents"]) or transfer["flow_cents"] > 0 else transfer["fee_cents"]
        cents = -transfer["flow_cents"] - fee
        bookings.append({"Date": f"{day:%Y-%m-%d}", "Description": "VENMO", "Amount": f"{cents / 100:.2f}"})
    assert len(bookings) > 20
    matches = p2p.match_bank(statements, pd.DataFrame([*bookings[:9], *bookings[10:]]))
    assert matches["state"].value_counts().to_dict() == {"paired": len(bookings) - 1, "only in statement": 1}
    (lone,) = matches[matches["state"] != "paired"]["payment_id"]
    assert lone == transfers["payment_id"][9]
    paired = matches[matches["state"] == "paired"]
    assert paired["days"].between(0, 3).all()
