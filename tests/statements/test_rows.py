"""Text of a file to rows: Arrow and the csv module read it alike, and blank lines are no rows."""

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
        ("," * 16, []),
        (",\n", []),
        (",\r\n", []),
        ("", []),
    ],
)
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


def test_a_title_with_a_comma_can_hide_no_amount(tmp_path: Path) -> None:
    """It has an empty cell too many, behind the last column; a payment with one is never claimed to reconcile."""
    c = (Path(__file__).parent / "samples/gen_c_2021.csv").read_text("utf-8")
    path = tmp_path / "c.csv"
    for old, new, reconciled in (
        ("Cryptocurrency summary,", "Cryptocurrency summary (values as of June 1, 2021),", True),
        ("dog sitting,", "dog sitting,,", False),
    ):
        path.write_text(c.replace(old, new), "utf-8")
        statements = p2p.read_statements(path)
        assert statements.reconciliation["reconciled"].tolist() == [reconciled]
        assert statements.problems.empty == reconciled
