"""Text of a file to rows: blank lines, line numbers, several statements in one file, columns in any order."""

import csv
import io
import random
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.statements.reading.tables import read_regular
from support.frames import list_rows
from support.statements.files import SAMPLES, read_sample

_A, _B, _C, _D, _E = map(read_sample, ("gen_a_2018", "gen_b_2019", "gen_c_2021", "gen_d_2024", "gen_e_business_2025"))
_CELLS = ("a", " ", "é", "NA", '"q"', '"a,b"', '"l\nm"', '"\r\n"', '"a""b"', '"', 'a"b', '"a"b', ' "a"', "\u2028", "")


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("after", [1, 2, 7])
def test_blank_lines_are_no_rows(read, after: int, line_break: str) -> None:
    """Below the header, between rows and at the end of the file."""
    lines = _A.split("\n")
    lines.insert(after, "")
    statements = read(line_break.join(lines))
    assert list_rows(statements.files, "rows", "notice") == [(6, 0)]
    assert sorted(statements.payments["line"]) == [line for line in range(2, 9) if line != after + 1][:6]


@pytest.mark.parametrize("surplus", ["", ","])
def test_byte_order_marks_between_rows_are_no_part_of_an_id(tmp_path: Path, write, surplus: str) -> None:
    """Where a tool has joined files, a line may begin with one; a copy of the file is known by its ids all the same."""
    lines = _E.replace('"""', "").split("\n")
    lines[2], lines[3] = f"\ufeff{lines[2]}", f"\ufeff\ufeff{lines[3]}{surplus}"
    for name in ("a.csv", "b.csv"):
        write(name, "\r\n".join(lines))
    payments = p2p.read_statements(tmp_path).payments
    assert sorted(payments["payment_id"]) == ["4235000000000000711", "4235000000000000829"]
    assert sorted(payments["flow_cents"]) == [-1952, 2000]


def test_a_line_of_control_characters_ends_no_file(read) -> None:
    """It is a row with too few cells; the rows below it are read."""
    lines = _A.split("\n")
    lines.insert(3, "\x01")
    statements = read("\n".join(lines) + '"open')
    assert sorted(statements.payments["line"]) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert statements.payments["payment_id"].str.isdecimal().sum() == 6
    assert "a quote is never closed: the rest of the file is in this cell" in statements.problems["problem"].tolist()


@pytest.mark.parametrize(
    ("end", "problems"),
    [
        (",", ["the row has 2 cells, the header 17"]), ('"",,', ["the row has 3 cells, the header 17"]),
        ("," * 16, []), (",\n", []), (",\r\n", []), ("", []),
    ],
)  # fmt: skip
def test_a_text_that_breaks_off_in_empty_cells(read, end: str, problems: list[str]) -> None:
    """The rest of the last row is lost; a row that ends with its line, or is as wide as the header, holds nothing."""
    statements = read("\n".join([*_B.split("\n")[:3], end]))
    found = statements.problems.set_index("code")["problem"]
    assert found.drop("cut_off").tolist() == problems
    assert len(statements.payments) == 1


def test_both_readers_give_the_same_rows() -> None:
    """What Arrow reads at all is what the csv module reads, with the same line numbers."""
    chance = random.Random(5)  # noqa: S311 - the same cases each time
    count = 0
    for _ in range(300):
        rows = [",".join(chance.choices(_CELLS, k=3)) for _ in range(chance.randint(1, 4))]
        text, line = chance.choice(("\n", "\r\n")).join(rows), chance.randint(2, 9)
        table = read_regular(text.encode(), line, 3, ",")
        if table is None:
            continue
        count += 1
        reader = csv.reader(io.StringIO(text, newline=""))
        expected, begin = [], line
        for cells in reader:
            expected.append((begin, *(cell or None for cell in cells)))
            begin = line + reader.line_num
        assert list(zip(*table.to_pydict().values(), strict=True)) == expected, text
    assert count > 50


# Transactions and balances of the sample of each generation.
_PARTS = {_A: (6, None, None), _B: (3, 4000, 5925), _C: (6, 10000, 23300), _D: (6, 125000, 101826)}


@pytest.mark.parametrize("texts", [(_A, _B, _C, _D), (_D, _C, _B)], ids=["oldest first", "newest first"])
def test_each_statement_of_a_joined_file_is_checked(read, texts):
    """Lines before the second header belong to it, also after a byte order mark, and no part is irregular."""
    statements = read("\ufeff".join(texts))
    assert statements.accounts == ["nora-quill"]
    # The word "Boost Cashback", and the years between the parts.
    assert statements.problems["code"].tolist() == ["unknown_type", *["gap"] * (len(texts) - 1)]
    files = statements.files.assign(transactions=statements.files["rows"] - statements.files["notice"])
    assert list_rows(files, "file", "transactions", "opening_cents", "closing_cents") == [
        ("file.csv" if number == 1 else f"file.csv (part {number})", *_PARTS[text])
        for number, text in enumerate(texts, 1)
    ]
    assert len(statements.payments) == files["transactions"].sum()
    checks = statements.reconciliation.dropna(subset=["opening_cents"])["reconciled"]
    assert checks.tolist() == [True, True, True]


def test_a_row_before_the_second_header_that_is_no_title_stays_irregular(read):
    """A transaction with too many cells stays a problem of its own part."""
    row = ",2410000000000000999,2021-08-31T10:00:00,Payment,Complete,Ice cream,Theo Marsh,Nora Quill,+ $4.00"
    statements = read(f"{_C}{row}{',' * 13}moved\n{_D}")
    assert statements.problems["code"].tolist() == ["row_width", "unknown_type", "does_not_add_up", "gap"]
    assert statements.reconciliation["reconciled"].tolist() == [False, True]


@pytest.mark.parametrize("name", ["gen_a_2018", "gen_b_2019", "gen_c_2021", "gen_d_2024"])
def test_columns_in_any_order(read, name):
    """Columns are found by name, also quoted ones between other separators, in a file with other line ends."""
    rows = list(csv.reader(io.StringIO(read_sample(name), newline="")))
    header = next(place for place, row in enumerate(rows) if "Type" in row)
    order = list(range(len(rows[header])))
    random.Random(name).shuffle(order)  # noqa: S311 - an order of columns
    text = io.StringIO(newline="")
    csv.writer(text, delimiter="\t", lineterminator="\r", quoting=csv.QUOTE_ALL).writerows(
        [*rows[:header], *([row[place] for place in order] for row in rows[header:])]
    )
    statements, original = read(text.getvalue().encode("utf-16")), p2p.read_statements(SAMPLES[name])
    columns = [name for name in original.payments if name not in {"file", "line"}]
    assert statements.payments[columns].equals(original.payments[columns])
    assert statements.reconciliation["reconciled"].equals(original.reconciliation["reconciled"])
