"""Messages for files and calls that a newcomer gets wrong: the file, what was looked for, and the next step."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, StatementError
from p2p_analytics.statements.formats import registry

SAMPLES = Path(__file__).parent / "samples"
_LOST = "Datetime,Type,Status,Note,From,To,Amount (total),Amount (tax),Beginning Balance"
_NOT = "/file.csv is not a statement"


def _refuse(path: Path) -> str:
    with pytest.raises(StatementError) as error:
        p2p.read_statements(path)
    return str(error.value).replace(str(path.parent), "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", f"{_NOT}: it is empty. Download the CSV file again."),
        ("\n \n", f"{_NOT}: it is empty. Download the CSV file again."),
        ("<!DOCTYPE html>\n<html><body>Sign in</body></html>",
         f"{_NOT} but a web page: sign in to the service, and download the CSV file."),
        ("Date,Category,Cost,Ada,Ben\n2024-01-01,Food,3,3,0\n",
         (f"{_NOT} (columns: Date, Category, Cost, Ada, Ben). The nearest format is splitwise, which also has the columns "
         "'Description', 'Currency'.")),
        # A line of prose or code with commas is not quoted as columns; the first line is.
        ("# Notes\n\nRent, and then tea\nprint(frame[[1, 2, 3, 4]], end='')\n",
         f"{_NOT}: it begins with '# Notes'. Download the statement as CSV."),
        # The header is the row with most known names, also below lines with as many cells.
        (f"Account Statement - (@nora) ,,,,,,,,\nAccount Activity,,,,,,,,\n{_LOST}\n",
         (f"{_NOT} (columns: {_LOST.replace(',', ', ')}). The nearest format is statement_d, which also has the columns "
         "'ID'.")),
        (f"a,b,c,d,e,f,g,h,i,j\n{_LOST.replace('Type,', '')}\n",
         (f"{_NOT} (columns: {_LOST.replace('Type,', '').replace(',', ', ')}). The nearest format is statement_d, which "
         "also has the columns 'ID', 'Type'.")),
    ],
)  # fmt: skip
def test_files_that_are_no_statements(tmp_path: Path, content: str, message: str) -> None:
    """A download that failed, the page of a session that ended, another table, and a statement that lost a column."""
    (tmp_path / "file.csv").write_text(content, "utf-8")
    assert _refuse(tmp_path / "file.csv") == message


def test_tables_that_lead_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown table lists the formats; an export leads to read_csv, and the file of a bank to match_bank."""
    monkeypatch.setattr(registry, "_FORMATS", {})  # the documentation's example adds one
    path = tmp_path / "file.csv"
    path.write_text("Shop,Total\nMill,3\n", "utf-8")
    message = _refuse(path)
    assert message.startswith(f"{_NOT} (columns: Shop, Total). The known")
    assert message.endswith("splitwise, wise, wise_history; 'p2p-analytics describe FILE' drafts another one.")
    p2p.to_csv(pd.DataFrame({"payment_id": ["1"], "flow_cents": [-5], "counterparty_name": ["Ada"]}), path)
    sentence = " They are those of payments that p2p_analytics wrote: leave the file out, or read it with p2p.read_csv."
    assert _refuse(path).endswith(f"(columns: payment_id, flow_cents, counterparty_name).{sentence}")
    path.write_text("Date,Description,Amount\n2024-05-31,VENMO CASHOUT,196.50\n", "utf-8")
    message = _refuse(path)
    assert "(columns: Date, Description, Amount). If it is of a bank, leave it out (p2p.match_bank" in message
    assert "nearest" not in message


def test_a_workbook_is_refused_with_the_reason(tmp_path: Path) -> None:
    """A workbook is a zip archive by its bytes."""
    path = tmp_path / "book.xlsx"
    for members, reason in (
        (["[Content_Types].xml"], "a file of an office program: download the CSV file."),
        (["[Content_Types].xml", "xl/workbook.xml"], "a damaged workbook: download it again, or as CSV."),
    ):
        with zipfile.ZipFile(path, "w") as book:
            for member in members:
                book.writestr(member, "<x/>")
        assert _refuse(path) == f"/book.xlsx is {reason}"


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what became of the last file; folders in it are read by the pattern of the message."""
    end = "; name the CSV files, or the folder they are in."
    assert _refuse(tmp_path) == f"No statement was found: there are no files{end}"
    (tmp_path / "photo.png").write_bytes(b"")
    assert _refuse(tmp_path) == f"No statement was found: photo.png is not a statement by the ending of its name{end}"
    for year in (2018, 2019, 2020, 2021):
        (tmp_path / "st [1]" / str(year)).mkdir(parents=True)
    (tmp_path / "st [1]" / "2018" / "d.csv").write_bytes((SAMPLES / "gen_d_2024.csv").read_bytes())
    assert _refuse(tmp_path / "st [1]") == (
        "No statement was found: st [1] has folders in it (2018, 2019, 2020 and 1 more), which are only read by a "
        f"pattern, such as 'st [[]1]/**/*.csv'{end}"
    )
    monkeypatch.chdir(tmp_path)
    assert len(p2p.read_statements("st [[]1]/**/*.csv").payments) == 6
    monkeypatch.chdir(tmp_path / "st [1]")
    with pytest.raises(StatementError, match=r"such as '\*\*/\*\.csv'; name the CSV files"):
        p2p.read_statements(".")


def test_several_accounts_are_named() -> None:
    """A history is of one account: the message lists them, and shows the call."""
    statements = p2p.read_statements([SAMPLES / "gen_d_2024.csv", SAMPLES / "gen_e_business_2025.csv"])
    with pytest.raises(ConfigurationError) as error:
        statements.history()
    assert str(error.value) == (
        "The statements are of 2 accounts ('Sandhill Choir', 'nora-quill'): name one, with "
        "history(account='Sandhill Choir')."
    )
    with pytest.raises(ConfigurationError, match=r"^account is one of 'Sandhill Choir', 'nora-quill', not 'ada'\.$"):
        statements.history("ada")
    with pytest.raises(ConfigurationError, match=r"^account is the name of an account, not '  '\.$"):
        p2p.read_statements(SAMPLES / "gen_d_2024.csv", account="  ")
