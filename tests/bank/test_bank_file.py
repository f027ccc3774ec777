"""Bank files in several languages and forms; expected rows are worked out by hand."""

from __future__ import annotations

import datetime as dt
import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.bank._match import read_bank
from p2p_analytics.errors import StatementError

if TYPE_CHECKING:
    from pathlib import Path


def _read(content: str | bytes, folder: Path, **options: Any) -> list[tuple[Any, ...]]:
    path = folder / "bank.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return _simplify(path, **options)


def _simplify(bank: object, columns: dict[str, str] | None = None, **options: Any) -> list[tuple[Any, ...]]:
    rows = read_bank(bank, columns, **({"day_first": None} | options))
    return [(str(dt.date(1970, 1, 1) + dt.timedelta(days=row.day)), row.description, row.cents) for row in rows]


FORMS = {
    "American": ("Date,Description,Amount\n01/30/2024,CASHOUT,200.00\n01/31/2024,FEE,-1.5\n", [20000, -150]),
    "card": (
        ("Details,Posting Date,Description,Amount,Type,Balance\n"
        "CREDIT,01/30/2024,CASHOUT,200.00,ACH,1\nDEBIT,01/31/2024,FEE,-1.50,X,1\n"),
        [20000, -150],
    ),
    "two columns": (
        "Transaction Date,Description,Debit,Credit\n2024-01-30,CASHOUT,,200.00\n2024-01-31,FEE,1.50,\n",
        [20000, -150],
    ),
    "negative debit": ("Date,Memo,Money Out,Money In\n2024-01-30,CASHOUT,,200\n2024-01-31,FEE,-1.50,\n", [20000, -150]),
    "brackets": ('Date,Description,Amount\n2024-01-30,CASHOUT,$200.00\n2024-01-31,FEE,"($1.50)"\n', [20000, -150]),
    "DR": ("Date,Description,Amount\n2024-01-30,CASHOUT,200.00 CR\n2024-01-31,FEE,1.50 DR\n", [20000, -150]),
    "thousands": ('Date,Description,Amount\n2024-01-30,CASHOUT,"1,200.00"\n2024-01-31,FEE,-1.50\n', [120000, -150]),
    "German": (
        ('"Buchungstag";"Buchungstext";"Verwendungszweck";"Betrag";"Währung"\n'
        '"30.01.24";"GUTSCHRIFT";"CASHOUT";"1.200,00";"EUR"\n"31.01.24";"X";"FEE";"-1,50";"EUR"\n'),
        [120000, -150],
    ),
    "Dutch": (
        ("Datum;Naam / Omschrijving;Rekening;Code;Af Bij;Bedrag (EUR);Mededelingen\n"
        "20240130;CASHOUT;NL1;GT;Bij;200,00;x\n20240131;FEE;NL1;GT;Af;1,50;y\n"),
        [20000, -150],
    ),
    "French": (
        "Date de comptabilisation;Libellé;Débit;Crédit\n30/01/2024;CASHOUT;;200,00\n31/01/2024;FEE;-1,50;\n",
        [20000, -150],
    ),
    "Spanish": ("Fecha\tConcepto\tImporte\n30/01/2024\tCASHOUT\t200,00\n31/01/2024\tFEE\t-1,50\n", [20000, -150]),
    "Italian": (
        "Data contabile;Causale;Dare;Avere\n30/01/2024;CASHOUT;;200,00\n31/01/2024;FEE;1,50;\n", [20000, -150],
    ),
    "Portuguese": ("Data;Descrição;Valor\n30-01-2024;CASHOUT;200,00\n31-01-2024;FEE;-1,50\n", [20000, -150]),
    "preamble": (
        "Account,123\nFrom,01/01/2024\n\nDate,Description,Amount\n2024-01-30,CASHOUT,200.00\n\n2024-01-31,FEE,-1.50\n",
        [20000, -150],
    ),
    "rows without an amount": (
        "Date,Description,Amount\n,Opening,\n2024-01-30,CASHOUT,200.00\n2024-01-31,FEE,-1.50\n2024-01-31,End,\n",
        [20000, -150],
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_banks(form: str, tmp_path: Path) -> None:
    """The columns, the sign, the separators and the order of day and month are found."""
    content, (first, second) = FORMS[form]
    expected = [("2024-01-30", "CASHOUT", first), ("2024-01-31", "FEE", second)]
    for again in (content.encode(), ("\ufeff" + content.replace("\n", "\r\n")).encode(), content.encode("utf-16")):
        assert _read(again, tmp_path) == expected


def test_columns_can_be_named(tmp_path: Path) -> None:
    """The caller's names win over the known ones; the message for a missing one has both."""
    content = "Day,Date,What,Amount,Sum\n2024-01-30,1999-01-01,rent,5,-7.25\n"
    columns = {"date": "day", "amount": "SUM", "description": "What"}
    assert _read(content, tmp_path, columns=columns) == [("2024-01-30", "rent", -725)]
    with pytest.raises(StatementError, match=r"no header with the columns 'Day'\. Its columns are: Date, Amount"):
        _read("Date,Amount\n2024-01-30,1\n", tmp_path, columns={"date": "Day"})


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    """A row is called by the line on which it begins, whatever line breaks its cells have."""
    path = tmp_path / "bank.csv"
    path.write_text('x\nDate,Description,Amount\n2024-01-30,"a\nb",1\n\n2024-01-31,c,2\n')
    rows = read_bank(path, None, day_first=None)
    assert [(row.line, row.description) for row in rows] == [(3, "a b"), (6, "c")]


def test_frames() -> None:
    """Frames hold text, dates, instants, decimals, whole numbers or floats; a missing amount is no booking."""
    days = [dt.date(2024, 1, 30), dt.date(2024, 1, 31)]
    expected = [("2024-01-30", "a", 1230), ("2024-01-31", "b", -500)]
    table = pd.DataFrame({"Date": pd.to_datetime(days), "Description": ["a", "b"], "Amount": [12.3, -5.0]})
    assert _simplify(table) == expected
    assert _simplify(table.assign(Date=days, Amount=[Decimal("12.30"), -5])) == expected
    assert _simplify(table.assign(Date=pd.to_datetime(days, utc=True), Amount=["12.3", "-5"])) == expected
    assert _simplify(pl.from_pandas(table)) == expected
    missing = table.assign(Amount=pd.array([None, -5], dtype="Int64"), Description=[None, pd.NA])
    assert _simplify(missing) == [("2024-01-31", None, -500)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Date,Description,Amount\n2024-01-30,x,1\n2024-01-31,y,12 apples\n", "line 3: the amount '12 apples' is not"),
        ("Date,Description,Amount\n2024-01-30,x,1.234\n2024-01-30,x,2.50\n", "line 2: the amount '1.234' is not an"),
        ("Date,Description,Amount\nsoon,x,1\n", "line 2: the date 'soon' is not a date"),
        ("Date,Description,Amount\n,x,1\n", "line 2: the date '' is not a date"),
        ("Date,Description,Amount\n01/02/2024,x,1\n", "line 2: the date '01/02/2024' can be month/day or day/month:"),
        ("a,b\n1,2\n", "bank.csv has no header with a date and an amount: name them.*Its columns are: a, b"),
        ("", "bank.csv has no header with a date and an amount"),
        (b"\x00\x01", "bank.csv"),
        ('Date,Description,Amount\n2024-01-30,"' + "x\n" * 200_000, "a cell is too large: is a quote open"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(content: str | bytes, message: str, tmp_path: Path) -> None:
    """One sentence names the file, the line and the value, and says how to go on."""
    with pytest.raises(StatementError, match=message):
        _read(content, tmp_path)


@pytest.mark.parametrize(
    ("days", "day_first", "first"),
    [
        (("01/02/2024", "13/02/2024"), None, "2024-02-01"), (("01/02/2024", "02/13/2024"), None, "2024-01-02"),
        (("01.02.2024",), None, "2024-02-01"), (("02/02/2024",), None, "2024-02-02"),
        (("01/02/2024",), True, "2024-02-01"), (("01/02/2024",), False, "2024-01-02"),
    ],
)  # fmt: skip
def test_day_and_month(days: tuple[str, ...], day_first: bool | None, first: str, tmp_path: Path) -> None:  # noqa: FBT001 - a case
    """One day above 12, a point, or the caller decides the order; equal numbers need no decision."""
    rows = "".join(f"{day},x,1\n" for day in days)
    assert _read(f"Date,Description,Amount\n{rows}", tmp_path, day_first=day_first)[0][0] == first


def test_files_that_are_none(tmp_path: Path) -> None:
    """A missing file, a folder and a pipe are refused without waiting."""
    os.mkfifo(tmp_path / "pipe")
    for path, message in ((tmp_path / "no.csv", "no such file"), (tmp_path, "folder"), (tmp_path / "pipe", "pipe")):
        with pytest.raises(StatementError, match=message):
            read_bank(path, None, day_first=None)


_CELLS = st.sampled_from(
    ["Date", "Amount", "Description", "Betrag", "Soll", "2024-01-30", "01/02/2024", "31.1.24", "1", "-1,5", "1.234,56",
     "(2.00)", "3 DR", "", '"', "x\ny", "\u202e", "99999999999999999999", "=1+1", "NaN", "0x1", "٣", "1e3"],
)  # fmt: skip


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    cells=st.lists(st.lists(_CELLS, max_size=5), max_size=6),
    delimiter=st.sampled_from([",", ";", "\t"]),
    header=st.sampled_from([[], ["Date", "Description", "Amount"]]),
    rest=st.text(),
)
def test_any_text(
    cells: list[list[str]], delimiter: str, header: list[str], rest: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any text is a list of bookings or one sentence that names the file; never another error."""
    text = "\n".join([*(delimiter.join(row) for row in [header, *cells]), rest])
    error = ""
    rows = []
    try:
        rows = _read(text.encode("utf-8", "replace"), tmp_path_factory.getbasetemp())
    except StatementError as refused:
        error = str(refused)
    assert "\n" not in error
    assert "bank.csv" in error or all(isinstance(cents, int) and len(day) == 10 for day, _, cents in rows)
