"""Files that are cut off, damaged, of other people or no statements: each is named with its reason, and what to do."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, MemberNeededError, StatementError
from p2p_analytics.statements import collect, list_refused, list_skipped
from p2p_analytics.statements.formats import registry

CASES = Path(__file__).parent / "cases"
SAMPLES = Path(__file__).parent / "samples"
GOOD = CASES / "batch-good.csv"
ROUNDED = CASES / "batch-rounded-copy.csv"
A_2018 = (SAMPLES / "gen_a_2018.csv").read_text("utf-8-sig")
D_2024 = (SAMPLES / "gen_d_2024.csv").read_text("utf-8-sig")
REVOLUT = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
GROUP = "Date,Description,Category,Cost,Currency,Nora Quill,Theo Marsh,+1 555-0100\n\n"
EXPENSE = "2024-01-03,Dinner,Food,30.00,USD,20.00,-10.00,-10.00\n"


def write(folder: Path, name: str, text: str) -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_text(text, "utf-8", newline="")
    return path


def list_codes(statements: p2p.Statements) -> list[str]:
    """Return the codes of the problems."""
    return statements.problems["code"].tolist()


def test_an_empty_cell_behind_the_last_column_shifts_nothing(tmp_path: Path) -> None:
    """The rows reconcile without a problem; a surplus cell with text is one, and the file never reconciles."""
    found = p2p.read_statements(CASES / "trailing-empty-cell.csv")
    assert found.reconciliation["reconciled"].tolist() == [True]
    assert list_codes(found) == []
    text = (CASES / "trailing-empty-cell.csv").read_text("utf-8")
    found = p2p.read_statements(write(tmp_path, "a.csv", text.replace("Venmo,,,\n", "Venmo,,,x\n", 1)))
    assert list_codes(found) == ["row_width", "does_not_add_up"]
    assert found.reconciliation["reconciled"].tolist() == [False]


def test_a_rounded_copy_beside_a_good_file() -> None:
    """It is an error by default; it can be listed with its reason, and the good file is read."""
    with pytest.raises(StatementError, match=r"batch-rounded-copy\.csv, line 5: the id 3\.60E\+18 was rounded"):
        p2p.read_statements([GOOD, ROUNDED])
    found = p2p.read_statements([GOOD, ROUNDED], on_bad_file="refuse")
    alone = p2p.read_statements(GOOD)
    pd.testing.assert_frame_equal(found.payments, alone.payments)
    assert found.files["file"].tolist() == ["batch-good.csv"]
    ((file, reason),) = list_refused(found.problems)
    assert file == "batch-rounded-copy.csv"
    assert reason.startswith("batch-rounded-copy.csv, line 5: the id 3.60E+18 was rounded by a spreadsheet")
    assert found.problems["problem"].tolist() == [f"refused: {reason}"]
    assert list_skipped(found.problems) == []
    assert "1 file refused" in repr(found)
    assert found.history().problems.empty
    private = found.masked()
    assert "3.60E" not in private.problems.to_csv() + repr(list_refused(private.problems))


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    """A missing file, a damaged text, a broken archive, and a damaged member of an archive."""
    broken = write(tmp_path, "broken.zip", "PK\3\4")
    nul = write(tmp_path, "nul.csv", f"{A_2018}\0")
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("bad.csv", A_2018)
        archive.writestr("good.csv", D_2024)
    content = bytearray(packed.read_bytes())
    content[content.index(b"ID") + 5] ^= 1
    packed.write_bytes(content)
    found = p2p.read_statements([broken, nul, tmp_path / "none.csv", packed, GOOD], on_bad_file="refuse")
    assert [file for file, _ in list_refused(found.problems)] == [
        "broken.zip", "nul.csv", "none.csv", "packed.zip/bad.csv",
    ]  # fmt: skip
    assert not any(str(tmp_path) in reason for _, reason in list_refused(found.problems))
    assert found.files["file"].tolist() == ["packed.zip/good.csv", "batch-good.csv"]


def test_the_first_reason_is_raised_if_every_file_is_refused(tmp_path: Path) -> None:
    """Nothing was read, so there is nothing to return."""
    with pytest.raises(StatementError, match=r"none\.csv cannot be read"):
        p2p.read_statements([tmp_path / "none.csv", ROUNDED], on_bad_file="refuse")
    with pytest.raises(ConfigurationError, match="on_bad_file is 'raise' or 'refuse', not 'skip'"):
        p2p.read_statements(GOOD, on_bad_file="skip")


def test_a_group_asks_for_the_member(tmp_path: Path) -> None:
    """The error names the members, one of them only by a phone number; ``member`` reads groups beside other files."""
    path = write(tmp_path, "home.csv", GROUP + EXPENSE)
    with pytest.raises(MemberNeededError) as caught:
        p2p.read_statements(path)
    assert caught.value.file == str(path)
    assert caught.value.members == ["Nora Quill", "Theo Marsh", "+1 555-0100"]
    (problem,) = collect([GOOD, path], on_bad_file="refuse").problems
    assert (problem.code, problem.field) == ("refused", "member")
    assert problem.details[1:] == ("Nora Quill", "Theo Marsh", "+1 555-0100")
    found = p2p.read_statements([GOOD, path], member="theo marsh")
    assert found.payments.loc[found.payments["file"] == "home.csv", "flow_cents"].tolist() == [-1000]
    found = p2p.read_statements(path, account="nora-quill", member="Nora Quill")
    assert (found.accounts, found.payments["flow_cents"].tolist()) == (["nora-quill"], [2000])
    with pytest.raises(MemberNeededError, match="has no member 'Lena Ortiz'"):
        p2p.read_statements(path, member="Lena Ortiz")
    with pytest.raises(ConfigurationError, match="member is the name of a member of a group, not ' '"):
        p2p.read_statements(path, member=" ")


def test_excluded_files_are_left_out(tmp_path: Path) -> None:
    """By name or path, also members of archives; a pattern that matches nothing is an error."""
    (tmp_path / "old").mkdir()
    for name in ("a.csv", "copy of a.csv", "old/b.csv"):
        write(tmp_path, name, A_2018)
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        archive.writestr("c.csv", A_2018)
        archive.writestr("copy of c.csv", "damaged\0")
    files = [tmp_path / "*.csv", tmp_path / "old", tmp_path / "s.zip"]
    found = p2p.read_statements(files, exclude=["copy*", "old/*"])
    assert found.files["file"].tolist() == ["a.csv", "s.zip/c.csv"]
    assert found.problems.empty
    found = p2p.read_statements(files, exclude=f"{tmp_path}/[cos]*")
    assert found.files["file"].tolist() == ["a.csv"]
    with pytest.raises(ConfigurationError, match=r"No file matches exclude='\*\.txt': check the pattern\."):
        p2p.read_statements(files, exclude=("copy*", "*.txt"))
    with pytest.raises(ConfigurationError, match="exclude is a pattern"):
        p2p.read_statements(files, exclude=[7])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (GOOD.read_bytes(), "file 1"),
        (io.BytesIO(GOOD.read_bytes()), "file 1"),
        (("may.csv", GOOD.read_bytes()), "may.csv"),
        ([("folder/may.csv", bytearray(GOOD.read_bytes()))], "may.csv"),
        (({"name": "may.csv", "type": "text/csv", "size": 1, "content": memoryview(GOOD.read_bytes())},), "may.csv"),
        ({"name": "may.csv", "content": memoryview(GOOD.read_bytes())}, "may.csv"),
        ({"may.csv": {"metadata": {"name": "may.csv"}, "content": GOOD.read_bytes()}}, "may.csv"),
    ],
    ids=["bytes", "BytesIO", "pair", "pairs", "FileUpload 8", "one upload", "FileUpload 7"],
)
def test_files_in_memory(given: object, name: str) -> None:
    """They are read as the file on disk is, also when a cell of a notebook runs again."""
    for _ in range(2):
        found = p2p.read_statements(given)
        assert found.files["file"].tolist() == [name]
        assert found.payments["payment_id"].tolist() == p2p.read_statements(GOOD).payments["payment_id"].tolist()


def test_paths_and_files_in_memory_together() -> None:
    """Two uploads with one name are two files; an upload can be a zip archive; an error names the upload."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.csv", A_2018)
    with GOOD.open("rb") as file:
        found = p2p.read_statements([file, ("s.zip", packed), ("d.csv", D_2024.encode()), ("d.csv", D_2024.encode())])
    assert found.files["file"].tolist() == ["batch-good.csv", "s.zip/a.csv", "d.csv", "d.csv (2)"]
    with pytest.raises(StatementError, match=r"^list\.csv is not a statement \(columns: a, b\)"):
        p2p.read_statements([GOOD, ("list.csv", b"a,b\n1,2\n")])
    with pytest.raises(ConfigurationError, match=r"^batch-good\.csv cannot be read: open it with mode 'rb'\."):
        p2p.read_statements([file])


@pytest.mark.parametrize(
    "given",
    [
        None, 7, {"Nora Quill": "secret"}, {"name": "Nora Quill"}, io.StringIO("Nora Quill"), [io.StringIO("Nora")],
        pd.DataFrame({"Nora Quill": ["secret"]}), pl.DataFrame({"Nora Quill": ["secret"]}), [None], [["Nora Quill"]],
        [pd.DataFrame({"Nora Quill": ["secret"]})], [("Nora Quill", None)], [("Nora Quill", 7)],
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_other_objects_are_refused_by_their_type(given: object) -> None:
    """They are never iterated, so that no line or column of theirs is in the error."""
    with pytest.raises(ConfigurationError, match=r"^A statement file is a path, bytes, .*, not an? \w+\.$") as caught:
        p2p.read_statements(given)
    assert "Nora" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("sample", ["gen_b_2019", "gen_c_2021", "gen_d_2024"])
def test_a_file_without_its_closing_row_is_cut_off(sample: str, tmp_path: Path) -> None:
    """Wherever the rows end, down to the header alone."""
    lines = (SAMPLES / f"{sample}.csv").read_text("utf-8-sig").splitlines(keepends=True)
    assert "cut_off" not in list_codes(p2p.read_statements(write(tmp_path, "whole.csv", "".join(lines))))
    header = next(at for at, line in enumerate(lines) if "Amount (total)" in line)
    for end in (header + 1, header + 2, header + 4):
        found = p2p.read_statements(write(tmp_path, "cut.csv", "".join(lines[:end])))
        assert list_codes(found).count("cut_off") == 1
        assert "no_rows" not in list_codes(found)


def test_a_quiet_month_is_no_problem(tmp_path: Path) -> None:
    """Its file has an opening and a closing row; a closing balance that cannot be read is another problem."""
    lines = D_2024.splitlines(keepends=True)
    opening = next(line for line in lines if "$1,250.00" in line)
    closing = ',,,,,,,,,,,,,,,,,"$1,250.00",$0.00,,$0.00,x\n'
    found = p2p.read_statements(write(tmp_path, "quiet.csv", "".join([*lines[:3], opening, closing])))
    assert (found.reconciliation["reconciled"].tolist(), list_codes(found)) == ([True], [])
    text = "".join([*lines[:3], opening, closing.replace("$1,250.00", "1 2 3")])
    assert list_codes(p2p.read_statements(write(tmp_path, "quiet.csv", text))) == ["not_an_amount"]


def test_a_header_without_rows(tmp_path: Path) -> None:
    """It is a problem of the forms that have no opening and closing row."""
    for text in (A_2018.splitlines(keepends=True)[0], REVOLUT):
        found = p2p.read_statements(write(tmp_path, "empty.csv", text), account="ada")
        assert list_codes(found) == ["no_rows"]
        assert found.files["rows"].tolist() == [0]


def test_rows_that_continue_the_header_are_refused(tmp_path: Path) -> None:
    """Line ends were lost: the rows would be columns, and the file one of no payments."""
    for text in (
        A_2018.replace("\n", "", 1),
        A_2018.replace("\n", " "),
        D_2024.replace("Disclaimer\n", "Disclaimer", 1),
    ):
        for folder in (tmp_path, [write(tmp_path, "file.csv", text), GOOD]):
            with pytest.raises(StatementError, match="rows without line ends continue the header"):
                p2p.read_statements(folder, skip_others=True)


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """The first of them would win silently; other repeated columns are not read."""
    lines = A_2018.splitlines()
    twice = "\n".join([f"{lines[0]},amount (TOTAL)", *(f"{line},+ $1.00" for line in lines[1:])])
    with pytest.raises(StatementError, match=r"line 1: there are two columns 'Amount \(total\)': download it"):
        p2p.read_statements(write(tmp_path, "twice.csv", twice))
    with pytest.raises(StatementError, match=r"line 8: there are two columns"):
        p2p.read_statements(write(tmp_path, "joined.csv", f"{A_2018}{twice}"))
    other = "\n".join([f"{lines[0]},Remark,Remark,,", *(f"{line},a,b,," for line in lines[1:])])
    assert len(p2p.read_statements(write(tmp_path, "other.csv", other)).payments) == 6


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
         (f"{_NOT} (columns: Date, Category, Cost, Ada, Ben). The nearest format is splitwise, which also has the "
         "columns 'Description', 'Currency'.")),
        # A line of prose or code with commas is not quoted as columns; the first line is.
        ("# Notes\n\nRent, and then tea\nprint(frame[[1, 2, 3, 4]], end='')\n",
         f"{_NOT}: it begins with '# Notes'. Download the statement as CSV."),
        # The header is the row with most known names, also below lines with as many cells.
        (f"Account Statement - (@nora) ,,,,,,,,\nAccount Activity,,,,,,,,\n{_LOST}\n",
         (f"{_NOT} (columns: {_LOST.replace(',', ', ')}). The nearest format is statement_d, which also has the "
         "columns 'ID'.")),
        (f"a,b,c,d,e,f,g,h,i,j\n{_LOST.replace('Type,', '')}\n",
         (f"{_NOT} (columns: {_LOST.replace('Type,', '').replace(',', ', ')}). The nearest format is statement_d, "
         "which also has the columns 'ID', 'Type'.")),
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


def test_a_process_forked_after_polars_ran_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first query of Polars, which would wait for threads that the process does not have."""
    monkeypatch.setattr("p2p_analytics.forks.is_marked", lambda: True)
    monkeypatch.setattr("p2p_analytics.statements._statements.has_zone", pytest.fail)
    with pytest.raises(ConfigurationError, match="This process was forked after its parent loaded Polars"):
        p2p.read_statements(GOOD, tz="Europe/Berlin")
