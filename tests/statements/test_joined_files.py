"""Statements that a user has put into one file, in any order of columns, and files without a row."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

import p2p_analytics as p2p

_SAMPLES = Path(__file__).parent / "samples"
# Transactions and balances of the sample of each generation.
_PARTS = {
    "a_2018": [6, None, None],
    "b_2019": [3, 4000, 5925],
    "c_2021": [6, 10000, 23300],
    "d_2024": [6, 125000, 101826],
}


def _read_sample(generation: str) -> str:
    return (_SAMPLES / f"gen_{generation}.csv").read_text("utf-8")


@pytest.mark.parametrize("order", [("a_2018", "b_2019", "c_2021", "d_2024"), ("d_2024", "c_2021", "b_2019")], ids=str)
def test_each_statement_of_a_joined_file_is_checked(tmp_path, order):
    """Lines before the second header belong to it: they have its number of cells, and no part is irregular."""
    path = tmp_path / "joined.csv"
    path.write_text("".join(map(_read_sample, order)), "utf-8")
    statements = p2p.read_statements(path)
    assert statements.accounts == ["nora-quill"]
    # The word "Boost Cashback", and the years between the parts.
    assert statements.problems["field"].tolist() == ["type", *["balance"] * (len(order) - 1)]
    assert statements.problems["problem"].str.contains("months without rows").sum() == len(order) - 1
    files = statements.files.assign(transactions=statements.files["rows"] - statements.files["notice"])
    parts = [path.name, *(f"{path.name} (part {number})" for number in range(2, len(order) + 1))]
    assert files["file"].tolist() == parts
    found = files[["transactions", "opening_cents", "closing_cents"]].astype(object)
    assert found.where(found.notna(), None).to_numpy().tolist() == [_PARTS[generation] for generation in order]
    assert len(statements.payments) == files["transactions"].sum()
    checks = statements.reconciliation.dropna(subset=["opening_cents"])["reconciled"]
    assert checks.tolist() == [True, True, True]


def test_a_row_before_the_second_header_that_is_no_title_stays_irregular(tmp_path):
    """A transaction with too many cells stays a problem of its own part."""
    first, second = _read_sample("c_2021"), _read_sample("d_2024")
    row = ",2410000000000000999,2021-08-31T10:00:00,Payment,Complete,Ice cream,Theo Marsh,Nora Quill,+ $4.00"
    path = tmp_path / "joined.csv"
    path.write_text(f"{first}{row}{',' * 13}moved\n{second}", "utf-8")
    statements = p2p.read_statements(path)
    assert statements.problems["field"].tolist() == ["row", "type", "balance", "balance"]
    assert statements.problems["problem"].str.contains("months without rows").sum() == 1  # from 2021 to 2024
    assert statements.reconciliation["reconciled"].tolist() == [False, True]


@pytest.mark.parametrize("generation", _PARTS)
def test_columns_in_any_order(tmp_path, generation):
    """Columns are found by name, also quoted ones between other separators, in a file with other line ends."""
    rows = list(csv.reader(io.StringIO(_read_sample(generation), newline="")))
    header = next(place for place, row in enumerate(rows) if "Type" in row)
    order = list(range(len(rows[header])))
    random.Random(generation).shuffle(order)  # noqa: S311 - an order of columns
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t", lineterminator="\r", quoting=csv.QUOTE_ALL).writerows(
        [*rows[:header], *([row[place] for place in order] for row in rows[header:])]
    )
    path = tmp_path / "other.tsv"
    path.write_text(text.getvalue(), "utf-16", newline="")
    statements, original = p2p.read_statements(path), p2p.read_statements(_SAMPLES / f"gen_{generation}.csv")
    columns = [name for name in original.payments if name not in {"file", "line"}]
    assert statements.payments[columns].equals(original.payments[columns])
    assert statements.reconciliation["reconciled"].equals(original.reconciliation["reconciled"])


def test_a_file_without_rows_has_the_account_of_the_caller(tmp_path):
    """A header alone is a statement of no payments; the account argument gives it a history."""
    path = tmp_path / "new.csv"
    path.write_text("".join(_read_sample("d_2024").splitlines(keepends=True)[:3]), "utf-8")
    statements = p2p.read_statements(path, account="nora-quill")
    assert statements.files[["account", "rows"]].to_numpy().tolist() == [["nora-quill", 0]]
    assert statements.accounts == ["nora-quill"]
    history = statements.history()
    assert (history.me.user.id, history.me.balance_cents, len(history.payments)) == ("nora-quill", None, 0)
