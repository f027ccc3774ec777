"""Files that are cut off, damaged, of other people or no statements: each is named with its reason, and what to do."""

import io
import multiprocessing
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, MemberNeededError, StatementError
from p2p_analytics.statements import collect, list_refused, list_skipped
from support.frames import list_values
from support.statements.files import REVOLUT, SAMPLES, SPLITWISE, read_sample

CASES = Path(__file__).parent / "cases"
GOOD = CASES / "batch-good.csv"
ROUNDED = CASES / "batch-rounded-copy.csv"
A_2018, D_2024 = read_sample("gen_a_2018"), read_sample("gen_d_2024")
GROUP = f"{SPLITWISE},Nora Quill,Theo Marsh,+1 555-0100\n\n2024-01-03,Dinner,Food,30.00,USD,20.00,-10.00,-10.00\n"


def list_codes(statements: p2p.Statements) -> list[str]:
    """Return the codes of the problems."""
    return statements.problems["code"].tolist()


TRAILING = (CASES / "trailing-empty-cell.csv").read_text("utf-8")
LINES = D_2024.splitlines(keepends=True)
OPENING = next(line for line in LINES if "$1,250.00" in line)
QUIET = "".join([*LINES[:3], OPENING, ',,,,,,,,,,,,,,,,,"$1,250.00",$0.00,,$0.00,x\n'])

FIRST, *OTHERS = A_2018.splitlines()
TWICE = "\n".join([f"{FIRST},amount (TOTAL)", *(f"{line},+ $1.00" for line in OTHERS)])


@pytest.mark.parametrize(
    ("text", "account", "reconciled", "codes"),
    [
        # Two columns of a name that is not read.
        ("\n".join([f"{FIRST},Remark,Remark,,", *(f"{line},a,b,," for line in OTHERS)]), None, [None], []),
        # An empty cell behind the last column shifts nothing; one with text does.
        (TRAILING, None, [True], []),
        (TRAILING.replace("Venmo,,,\n", "Venmo,,,x\n", 1), None, [False], ["row_width", "does_not_add_up"]),
        # The file of a quiet month has an opening and a closing row.
        (QUIET, None, [True], []),
        (QUIET.replace('"$1,250.00",$0.00', "1 2 3,$0.00"), None, [None], ["not_an_amount"]),
        # Forms without an opening and closing row, and no rows at all.
        (FIRST, "ada", [], ["no_rows"]),
        (REVOLUT, "ada", [], ["no_rows"]),
    ],
    ids=["other columns", "empty cell", "full cell", "quiet month", "no balance", "header", "header of Revolut"],
)
def test_odd_files_that_are_read(read, text, account, reconciled, codes) -> None:
    """They reconcile where nothing is wrong, and never with a surplus cell."""
    found = read(text, account=account)
    assert (list_values(found.reconciliation["reconciled"]), list_codes(found)) == (reconciled, codes)


def test_a_rounded_copy_beside_a_good_file(tmp_path: Path) -> None:
    """It is an error by default; it can be listed with its reason, and the good file is read."""
    with pytest.raises(StatementError, match=r"batch-rounded-copy\.csv, line 5: the id 3\.60E\+18 was rounded"):
        p2p.read_statements([GOOD, ROUNDED])
    found = p2p.read_statements([GOOD, ROUNDED], on_bad_file="refuse")
    pd.testing.assert_frame_equal(found.payments, p2p.read_statements(GOOD).payments)
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
    # If every file is refused, there is nothing to return: the first reason is raised.
    with pytest.raises(StatementError, match=r"none\.csv cannot be read"):
        p2p.read_statements([tmp_path / "none.csv", ROUNDED], on_bad_file="refuse")
    with pytest.raises(ConfigurationError, match="on_bad_file is 'raise' or 'refuse', not 'skip'"):
        p2p.read_statements(GOOD, on_bad_file="skip")


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path, pack, write) -> None:
    """A missing file, a damaged text, a broken archive, and a damaged member of an archive."""
    packed = pack("packed.zip", {"bad.csv": A_2018, "good.csv": D_2024})
    content = bytearray(packed.read_bytes())
    content[len("bad.csv") + 40] ^= 1  # of the first member, behind its local header of 30 bytes
    packed.write_bytes(content)
    files = [write("broken.zip", "PK\3\4"), write("nul.csv", f"{A_2018}\0"), tmp_path / "none.csv", packed, GOOD]
    found = p2p.read_statements(files, on_bad_file="refuse")
    assert [file for file, _ in list_refused(found.problems)] == [
        "broken.zip", "nul.csv", "none.csv", "packed.zip/bad.csv",
    ]  # fmt: skip
    assert not any(str(tmp_path) in reason for _, reason in list_refused(found.problems))
    assert found.files["file"].tolist() == ["packed.zip/good.csv", "batch-good.csv"]


def test_a_group_asks_for_the_member(write) -> None:
    """The error names the members, one of them only by a phone number; ``member`` reads groups beside other files."""
    path = write("home.csv", GROUP)
    with pytest.raises(MemberNeededError) as caught:
        p2p.read_statements(path)
    members = ["Nora Quill", "Theo Marsh", "+1 555-0100"]
    assert (caught.value.file, caught.value.members) == (str(path), members)
    advice = "name yours with member=... (--member), one of 'Nora Quill', 'Theo Marsh', '+1 555-0100'."
    assert str(caught.value) == f"{path} does not say which member you are: {advice}"
    (problem,) = collect([GOOD, path], on_bad_file="refuse").problems
    assert (problem.code, problem.field, [*problem.details[1:]]) == ("refused", "member", members)
    found = p2p.read_statements([GOOD, path], member="theo marsh")
    assert found.payments.loc[found.payments["file"] == "home.csv", "flow_cents"].tolist() == [-1000]
    found = p2p.read_statements(path, account="nora-quill", member="Nora Quill")
    assert (found.accounts, found.payments["flow_cents"].tolist()) == (["nora-quill"], [2000])
    with pytest.raises(MemberNeededError, match="has no member 'Lena Ortiz': name yours with member="):
        p2p.read_statements(path, member="Lena Ortiz")
    with pytest.raises(ConfigurationError, match="member is the name of a member of a group, not ' '"):
        p2p.read_statements(path, member=" ")


def test_excluded_files_are_left_out(tmp_path: Path, pack, write) -> None:
    """By name or path, also members of archives; a pattern that matches nothing is an error."""
    for name in ("a.csv", "copy of a.csv", "old/b.csv"):
        write(name, A_2018)
    packed = pack("s.zip", {"c.csv": A_2018, "copy of c.csv": "damaged\0"})
    files = [tmp_path / "*.csv", tmp_path / "old", packed]
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


def test_paths_and_files_in_memory_together(pack) -> None:
    """Two uploads with one name are two files; an upload can be a zip archive; an error names the upload."""
    packed = io.BytesIO(pack("s.zip", {"a.csv": A_2018}).read_bytes())
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
def test_a_file_without_its_closing_row_is_cut_off(sample: str, read) -> None:
    """Wherever the rows end, down to the header alone, which gives the caller's account a history of no payments."""
    lines = read_sample(sample).splitlines(keepends=True)
    assert "cut_off" not in list_codes(read("".join(lines)))
    header = next(at for at, line in enumerate(lines) if "Amount (total)" in line)
    for end in (header + 1, header + 2, header + 4):
        found = read("".join(lines[:end]), account="nora-quill")
        assert list_codes(found).count("cut_off") == 1
        assert "no_rows" not in list_codes(found)
        if end == header + 1:
            assert found.files[["account", "rows"]].to_numpy().tolist() == [["nora-quill", 0]]
            history = found.history()
            found_parts = history.me.user.id, history.me.balance_cents, len(history.payments)
            assert found_parts == ("nora-quill", None, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        # Line ends were lost: the rows would be columns, and the file one of no payments.
        (A_2018.replace("\n", "", 1), "rows without line ends continue the header"),
        (A_2018.replace("\n", " "), "rows without line ends continue the header"),
        (D_2024.replace("Disclaimer\n", "Disclaimer", 1), "rows without line ends continue the header"),
        # The first of two columns would win silently.
        (TWICE, r"line 1: there are two columns 'Amount \(total\)': download it"),
        (f"{A_2018}{TWICE}", "line 8: there are two columns"),
    ],
    ids=["first line end", "all line ends", "after the last name", "two columns", "two columns in the second part"],
)
def test_a_damaged_header_is_refused(tmp_path: Path, write, text: str, message: str) -> None:
    """Also where other files are skipped."""
    for paths in (tmp_path, [write("file.csv", text), GOOD]):
        with pytest.raises(StatementError, match=message):
            p2p.read_statements(paths, skip_others=True)


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
        ("Completed Date,Reference,Paid Out (EUR),Paid In (EUR),Exchange Out,Balance (EUR),Category,Notes\n",
         (f"{_NOT} (columns: Completed Date, Reference, Paid Out (EUR), Paid In (EUR), Exchange Out, Balance (EUR), "
         "Category, Notes). The nearest format is revolut_2018, which also has the columns 'Exchange In'.")),
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
def test_files_that_are_no_statements(write, content: str, message: str) -> None:
    """A download that failed, the page of a session that ended, another table, and a statement that lost a column."""
    assert _refuse(write("file.csv", content)) == message


@pytest.mark.usefixtures("own_formats")  # the documentation's example adds one
def test_tables_that_lead_elsewhere(write) -> None:
    """An unknown table lists the formats; an export leads to read_csv, and the file of a bank to match_bank."""
    path = write("file.csv", "Shop,Total\nMill,3\n")
    message = _refuse(path)
    assert message.startswith(f"{_NOT} (columns: Shop, Total). The known")
    assert ", splitwise, wise, wise_history" in message
    assert message.endswith("; 'p2p-analytics describe FILE' drafts another one.")
    p2p.to_csv(pd.DataFrame({"payment_id": ["1"], "flow_cents": [-5], "counterparty_name": ["Ada"]}), path)
    sentence = " They are those of payments that p2p_analytics wrote: leave the file out, or read it with p2p.read_csv."
    assert _refuse(path).endswith(f"(columns: payment_id, flow_cents, counterparty_name).{sentence}")
    message = _refuse(write("file.csv", "Date,Description,Amount\n2024-05-31,VENMO CASHOUT,196.50\n"))
    assert "(columns: Date, Description, Amount). If it is of a bank, leave it out (p2p.match_bank" in message
    assert "nearest" not in message


def test_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write) -> None:
    """The message says what became of the last file; folders in it are read by the pattern of the message."""
    end = "; name the CSV files, or the folder they are in."
    assert _refuse(tmp_path) == f"No statement was found: there are no files{end}"
    write("photo.png", b"")
    assert _refuse(tmp_path) == f"No statement was found: photo.png is not a statement by the ending of its name{end}"
    for year in (2018, 2019, 2020, 2021):
        (tmp_path / "st [1]" / str(year)).mkdir(parents=True)
    write("st [1]/2018/d.csv", D_2024)
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
    statements = p2p.read_statements([SAMPLES["gen_d_2024"], SAMPLES["gen_e_business_2025"]])
    with pytest.raises(ConfigurationError) as error:
        statements.history()
    assert str(error.value) == (
        "The statements are of 2 accounts ('Sandhill Choir', 'nora-quill'): name one, with "
        "history(account='Sandhill Choir')."
    )
    with pytest.raises(ConfigurationError, match=r"^account is one of 'Sandhill Choir', 'nora-quill', not 'ada'\.$"):
        statements.history("ada")
    with pytest.raises(ConfigurationError, match=r"^account is the name of an account, not '  '\.$"):
        p2p.read_statements(SAMPLES["gen_d_2024"], account="  ")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_forked_after_polars_ran_is_refused() -> None:
    """Before the first query of Polars, which would wait for threads that the process does not have."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        result = pool.apply_async(p2p.read_statements, [GOOD], {"tz": "Europe/Berlin"})
        with pytest.raises(ConfigurationError, match="This process was forked after its parent loaded Polars"):
            result.get(60)
