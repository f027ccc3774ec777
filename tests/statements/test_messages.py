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


def _refuse(path: Path) -> str:
    with pytest.raises(StatementError) as error:
        p2p.read_statements(path)
    return str(error.value).replace(str(path.parent), "")


def test_the_columns_of_another_table_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the formats that are known, or the columns that the nearest of them has in addition."""
    monkeypatch.setattr(registry, "_FORMATS", {})  # the documentation's example adds one
    path = tmp_path / "list.csv"
    path.write_text("Shop,Total\nMill,3\n", "utf-8")
    message = _refuse(path)
    assert message.startswith("/list.csv is not a statement (columns: Shop, Total). The known")
    assert message.endswith("splitwise, wise, wise_history; 'p2p-analytics describe FILE' drafts another one.")
    path.write_text("Date,Category,Cost,Ada,Ben\n2024-01-01,Food,3,3,0\n", "utf-8")
    assert _refuse(path) == (
        "/list.csv is not a statement (columns: Date, Category, Cost, Ada, Ben). "
        "The nearest format is splitwise, which also has the columns 'Description', 'Currency'."
    )


def test_many_columns_end_with_a_whole_name(tmp_path: Path) -> None:
    """Of 100 names of four characters, 300 characters hold 50 with their commas; the rest is an ellipsis."""
    path = tmp_path / "list.csv"
    path.write_text(",".join(f"c{at:03}" for at in range(100)) + "\n", "utf-8")
    assert "(columns: c000, c001," in _refuse(path)
    assert ", c048, c049, …). The known formats" in _refuse(path)


def test_payments_that_were_exported_lead_to_read_csv(tmp_path: Path) -> None:
    """They are no statement, but a file of the package itself."""
    path = tmp_path / "payments.csv"
    p2p.to_csv(pd.DataFrame({"payment_id": ["1"], "flow_cents": [-5], "counterparty_name": ["Ada"]}), path)
    sentence = " They are those of payments that p2p_analytics wrote: leave the file out, or read it with p2p.read_csv."
    assert _refuse(path).endswith(f"(columns: payment_id, flow_cents, counterparty_name).{sentence}")


def test_the_file_of_a_bank_leads_to_match_bank(tmp_path: Path) -> None:
    """A header with a date, a description and an amount is like those of banks, and of no statement."""
    path = tmp_path / "bank.csv"
    path.write_text("Date,Description,Amount\n2024-05-31,VENMO CASHOUT,196.50\n", "utf-8")
    message = _refuse(path)
    assert "(columns: Date, Description, Amount). If it is of a bank, leave it out (p2p.match_bank" in message
    assert "nearest" not in message


def test_a_text_is_not_taken_for_a_table(tmp_path: Path) -> None:
    """A line of prose or code with commas is not quoted as columns; the first line is."""
    path = tmp_path / "notes.csv"
    path.write_text("# Notes\n\nRent, and then tea\nprint(frame[[1, 2, 3, 4]], end='')\n", "utf-8")
    assert _refuse(path) == ("/notes.csv is not a statement: it begins with '# Notes'. Download the statement as CSV.")


def test_a_column_that_a_statement_lost_is_named(tmp_path: Path) -> None:
    """Also where the lines above the header have as many cells: the header is the row with most known names."""
    path = tmp_path / "list.csv"
    names = "Datetime,Type,Status,Note,From,To,Amount (total),Amount (tax),Beginning Balance"
    path.write_text(f"Account Statement - (@nora) ,,,,,,,,\nAccount Activity,,,,,,,,\n{names}\n", "utf-8")
    assert _refuse(path) == (
        f"/list.csv is not a statement (columns: {names.replace(',', ', ')}). "
        "The nearest format is statement_d, which also has the columns 'ID'."
    )
    path.write_text(f"a,b,c,d,e,f,g,h,i,j\n{names.replace('Type,', '')}\n", "utf-8")
    assert _refuse(path).endswith("The nearest format is statement_d, which also has the columns 'ID', 'Type'.")


def test_privacy_mode_quotes_no_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first lines of a file may be names, so they are in no message."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "state"))
    path = tmp_path / "list.csv"
    path.write_text("Ada Quill,Total\nMill,3\n", "utf-8")
    assert "Ada" not in _refuse(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "/file.csv is not a statement: it is empty. Download the CSV file again."),
        ("\n \n", "/file.csv is not a statement: it is empty. Download the CSV file again."),
        (
            "<!DOCTYPE html>\n<html><body>Sign in</body></html>",
            "/file.csv is not a statement but a web page: sign in to the service, and download the CSV file.",
        ),
    ],
    ids=["empty", "blank", "web page"],
)
def test_files_without_a_table(tmp_path: Path, content: str, message: str) -> None:
    """A download that failed, or the page of a session that ended."""
    path = tmp_path / "file.csv"
    path.write_text(content, "utf-8")
    assert _refuse(path) == message


def test_a_workbook_is_refused_with_the_reason(tmp_path: Path) -> None:
    """A workbook is a zip archive by its bytes."""
    path = tmp_path / "book.xlsx"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", "<x/>")
    assert _refuse(path) == "/book.xlsx is a file of an office program: download the CSV file."
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("[Content_Types].xml", "<x/>")
        book.writestr("xl/workbook.xml", "<x/>")
    assert _refuse(path) == "/book.xlsx is a damaged workbook: download it again, or as CSV."


def test_a_folder_without_statements(tmp_path: Path) -> None:
    """The message says what became of the last file."""
    end = "; name the CSV files, or the folder they are in."
    assert _refuse(tmp_path) == f"No statement was found: there are no files{end}"
    (tmp_path / "photo.png").write_bytes(b"")
    assert _refuse(tmp_path) == (f"No statement was found: photo.png is not a statement by the ending of its name{end}")


def test_folders_in_a_folder_are_named_with_the_pattern_that_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder has its own files only; the pattern of the message reads the others."""
    for year in (2018, 2019, 2020, 2021):
        (tmp_path / "st [1]" / str(year)).mkdir(parents=True)
    (tmp_path / "st [1]" / "2018" / "d.csv").write_bytes((SAMPLES / "gen_d_2024.csv").read_bytes())
    pattern = "'st [[]1]/**/*.csv'"
    reason = (
        f"st [1] has folders in it (2018, 2019, 2020 and 1 more), which are only read by a pattern, such as {pattern}"
    )
    assert _refuse(tmp_path / "st [1]") == (
        f"No statement was found: {reason}; name the CSV files, or the folder they are in."
    )
    monkeypatch.chdir(tmp_path)
    assert len(p2p.read_statements(pattern.strip("'")).payments) == 6
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


def test_skipped_files_are_of_no_account(tmp_path: Path) -> None:
    """They are problems of the statements, but not of the history of one account."""
    (tmp_path / "list.csv").write_text("Shop,Total\nMill,3\n", "utf-8")
    statements = p2p.read_statements([tmp_path / "list.csv", SAMPLES / "gen_d_2024.csv"], skip_others=True)
    assert statements.problems["problem"].str.startswith("skipped: ").tolist() == [True, False]
    assert statements.history().problems["value"].tolist() == ["Boost Cashback"]
