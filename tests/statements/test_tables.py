"""Text of a file to rows: blank lines, line numbers, several statements in one file, columns in any order."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.statements.reading.tables import read_regular

_A = (Path(__file__).parent / "samples/gen_a_2018.csv").read_text("utf-8")
_B = (Path(__file__).parent / "samples/gen_b_2019.csv").read_text("utf-8")
_E = (Path(__file__).parent / "samples/gen_e_business_2025.csv").read_text("utf-8").replace('"""', "")
_CELLS = ("a", " ", "é", "NA", '"q"', '"a,b"', '"l\nm"', '"\r\n"', '"a""b"', '"', 'a"b', '"a"b', ' "a"', "\u2028", "")


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("after", [1, 2, 7])
def test_blank_lines_are_no_rows(tmp_path: Path, after: int, line_break: str) -> None:
    """Below the header, between rows and at the end of the file."""
    lines = _A.split("\n")
    lines.insert(after, "")
    path = tmp_path / "a.csv"
    path.write_text(line_break.join(lines), "utf-8", newline="")
    statements = p2p.read_statements(path)
    assert statements.files[["rows", "notice"]].to_numpy().tolist() == [[6, 0]]
    assert sorted(statements.payments["line"]) == [line for line in range(2, 9) if line != after + 1][:6]


@pytest.mark.parametrize("ragged", [False, True])
def test_byte_order_marks_between_rows_are_no_part_of_an_id(tmp_path: Path, *, ragged: bool) -> None:
    """Where a tool has joined files, a line may begin with one; a copy of the file is known by its ids all the same."""
    lines = _E.split("\n")
    lines[2], lines[3] = "\ufeff" + lines[2], "\ufeff\ufeff" + lines[3] + "," * ragged
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("\r\n".join(lines), "utf-8", newline="")
    payments = p2p.read_statements(tmp_path).payments
    assert sorted(payments["payment_id"]) == ["4235000000000000711", "4235000000000000829"]
    assert sorted(payments["flow_cents"]) == [-1952, 2000]


def test_a_line_of_control_characters_ends_no_file(tmp_path: Path) -> None:
    """It is a row with too few cells; the rows below it are read."""
    lines = _A.split("\n")
    lines.insert(3, "\x01")
    (tmp_path / "a.csv").write_text("\n".join(lines) + '"open', "utf-8")
    statements = p2p.read_statements(tmp_path)
    assert sorted(statements.payments["line"]) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert statements.payments["payment_id"].str.isdecimal().sum() == 6
    assert "a quote is never closed: the rest of the file is in this cell" in statements.problems["problem"].tolist()


@pytest.mark.parametrize(
    ("end", "problems"),
    [
        (",", ["the row has 2 cells, the header 17"]),
        ('"",,', ["the row has 3 cells, the header 17"]),
        ("," * 16, []), (",\n", []), (",\r\n", []), ("", []),
    ],
)  # fmt: skip
def test_a_text_that_breaks_off_in_empty_cells(tmp_path: Path, end: str, problems: list[str]) -> None:
    """What the last row was to hold is lost, so it is a problem, like one that breaks off in other cells.

    A row of empty cells that ends with its line, or has as many as the header, holds nothing.
    """
    lines = _B.split("\n")[:3]
    (tmp_path / "b.csv").write_text("\n".join([*lines, end]), "utf-8", newline="")
    statements = p2p.read_statements(tmp_path)
    found = statements.problems.set_index("code")["problem"]
    assert found.drop("cut_off").tolist() == problems
    assert len(statements.payments) == 1


def test_both_readers_give_the_same_rows() -> None:
    """What Arrow reads at all is what the csv module reads, with the same line numbers."""
    chance = random.Random(5)  # noqa: S311 - the same cases each time
    count = 0
    for _ in range(300):
        text, line = _make_text(chance), chance.randint(2, 9)
        frame = read_regular(text.encode(), line, 3, ",")
        if frame is None:
            continue
        count += 1
        reader = csv.reader(io.StringIO(text, newline=""))
        expected, begin = [], line
        for cells in reader:
            expected.append((begin, *(cell or None for cell in cells)))
            begin = line + reader.line_num
        assert frame.rows() == expected, text
    assert count > 50


def _make_text(chance: random.Random) -> str:
    rows = [",".join(chance.choices(_CELLS, k=3)) for _ in range(chance.randint(1, 4))]
    return chance.choice(("\n", "\r\n")).join(rows)


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
