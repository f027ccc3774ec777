"""Text of a file to rows: Arrow and the csv module read it alike, and blank lines are no rows."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.statements._quick_csv import read_regular

_A = (Path(__file__).parent / "samples/gen_a_2018.csv").read_text("utf-8")
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


def test_both_readers_give_the_same_rows() -> None:
    """What Arrow reads at all is what the csv module reads, with the same line numbers."""
    chance = random.Random(5)  # noqa: S311 - the same cases each time
    count = 0
    for _ in range(3000):
        rows = [",".join(chance.choices(_CELLS, k=3)) for _ in range(chance.randint(1, 5))]
        text = chance.choice(("\n", "\r\n")).join(rows)
        table = read_regular(text.encode(), 7, 3, ",")
        if table is None:
            continue
        count += 1
        reader = csv.reader(io.StringIO(text, newline=""))
        expected, begin = [], 7
        for cells in reader:
            expected.append([begin, *(cell or None for cell in cells)])
            begin = 7 + reader.line_num
        found = [list(row.values()) for row in table.to_pylist()]
        assert found == expected, text
    assert count > 300


def test_a_title_with_a_comma_can_hide_no_amount(tmp_path: Path) -> None:
    """It has an empty cell too many; a payment with one is never claimed to reconcile."""
    c = (Path(__file__).parent / "samples/gen_c_2021.csv").read_text("utf-8")
    path = tmp_path / "c.csv"
    for old, new, reconciled in (
        ("Cryptocurrency summary,", "Cryptocurrency summary (values as of June 1, 2021),", True),
        ("dog sitting,", "dog sitting,,", False),
    ):
        path.write_text(c.replace(old, new), "utf-8")
        statements = p2p.read_statements(path)
        assert statements.reconciliation["reconciled"].tolist() == [reconciled]
        assert statements.problems["field"].iloc[0] == "row"
