"""The command import with files of several accounts and services: refused, selected or listed, never silently."""

from __future__ import annotations

import json
import shlex
import zipfile
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli

SAMPLES = Path(__file__).parents[2] / "statements" / "samples"
BUSINESS = SAMPLES / "gen_e_business_2025.csv"  # of Sandhill Choir; the others are of nora-quill
PERSONAL = [SAMPLES / f"gen_{name}.csv" for name in ("a_2018", "b_2019", "c_2021", "d_2024", "d_2025")]
CASH = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account\n"
    "c1,2023-01-15 20:00:00 PST,P2P,USD,-$10,$0,-$10,,,,PAYMENT SENT,lunch,Bo,Your Cash\n"
)


@pytest.fixture
def folder(tmp_path) -> str:
    """Return the path of an archive that is not there yet."""
    return str(tmp_path / "a")


def _run(capsys, *words: object) -> tuple[int, str]:
    code = cli.main([str(word) for word in words])
    printed = capsys.readouterr()
    return code, printed.out or printed.err


@pytest.mark.parametrize("option", [[], ["--dry-run"]])
def test_the_error_names_the_files_of_each_account_and_the_commands(option, folder, capsys) -> None:
    """Three files of each account are named; the commands of the message import them."""
    code, said = _run(capsys, "import", folder, *PERSONAL, BUSINESS, *option)
    assert code == 1
    assert said == (
        "p2p-analytics: The statements are of 2 accounts, and an archive holds one account: nora-quill (5 files: "
        "gen_a_2018.csv, gen_b_2019.csv, gen_c_2021.csv and 2 more); Sandhill Choir (1 file: gen_e_business_2025.csv). "
        f"Import each into an archive of its own: p2p-analytics import {folder} THE-SAME-FILES "
        "--only-account nora-quill ; p2p-analytics import sandhill-choir THE-SAME-FILES "
        "--only-account 'Sandhill Choir'\n"
    )
    assert not Path(folder).exists()


def test_the_commands_import_each_account(folder, tmp_path, capsys, monkeypatch) -> None:
    """With few files they can be copied as they are; an archive that exists gets the files of its account."""
    monkeypatch.chdir(tmp_path)
    assert _run(capsys, "import", folder, PERSONAL[2])[0] == 0
    code, said = _run(capsys, "import", folder, BUSINESS, PERSONAL[3])
    assert code == 1
    commands = [shlex.split(line) for line in said.partition("archive of its own: ")[2].split(" ; ")]
    assert [words[2] for words in commands] == [folder, "sandhill-choir"]
    code, printed = _run(capsys, *commands[0][1:])
    assert printed.splitlines()[-3:] == [
        "left out, of Sandhill Choir: gen_e_business_2025.csv",
        "problem: gen_d_2024.csv, line 10: type 'Boost Cashback' is not a type that this version knows",
        f"list the problems: p2p-analytics export {folder} - --table problems",
    ]
    assert (
        "1 Venmo file, 1 of 1 balance reconciled, 2 problems" in printed
    )  # an unknown type, and the years between both files
    code, printed = _run(capsys, *commands[1][1:], "--json")
    values = json.loads(printed)
    assert (values["new"], values["left_out"]) == (2, {"nora-quill": ["gen_d_2024.csv"]})
    assert set(p2p.open_archive(folder).history().payments["account_id"]) == {"nora-quill"}
    assert set(p2p.open_archive("sandhill-choir").history().payments["account_id"]) == {"Sandhill Choir"}


def test_an_archive_of_a_third_account_is_in_no_command(folder, capsys) -> None:
    """Its account is among those of the files, or the commands name other archives."""
    renamed = Path(folder).with_suffix(".csv")
    renamed.write_text(PERSONAL[3].read_text("utf-8").replace("(@nora-quill)", "(@ada)"), "utf-8")
    assert _run(capsys, "import", folder, renamed)[0] == 0
    code, said = _run(capsys, "import", folder, PERSONAL[3], BUSINESS)
    assert (code, f"import {folder} " in said, "import nora-quill " in said) == (1, False, True)


def test_accounts_that_the_archive_unites(folder, tmp_path, capsys, monkeypatch) -> None:
    """They are imported together; beside files of another account, the command of each names this archive."""
    monkeypatch.chdir(tmp_path)
    header = "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination\n"
    handle = "Account Statement - (@nora-quill)\nAccount Activity\n"
    paid = "{},2024-01-05T10:00:00,Payment,Complete,x,{},Cy,- $5.00,,,\n"
    moved = "9,2024-02-06T10:00:00,Standard Transfer,Issued,,,,- $6.00,,,MY BANK\n"
    (tmp_path / "named.csv").write_text(handle + header + paid.format(2, "Nora Quill"))
    (tmp_path / "unnamed.csv").write_text(handle + header + moved)
    (tmp_path / "old.csv").write_text(header + paid.format(1, "Nora Quill"))
    (tmp_path / "ada.csv").write_text(header + paid.format(3, "Ada"))
    assert _run(capsys, "import", folder, "named.csv")[0] == 0
    code, said = _run(capsys, "import", folder, "unnamed.csv", "old.csv", "ada.csv", "--dry-run")
    assert code == 1
    commands = [shlex.split(line) for line in said.partition("archive of its own: ")[2].split(" ; ")]
    assert [(words[2], words[-1]) for words in commands] == [
        (folder, "nora-quill"), (folder, "Nora Quill"), ("ada", "Ada"),
    ]  # fmt: skip
    for option in (["--dry-run"], []):
        code, printed = _run(capsys, "import", folder, "unnamed.csv", "old.csv", "--json", *option)
        assert (code, json.loads(printed)["new"]) == (0, 2)
    assert set(p2p.open_archive(folder).history().payments["account_id"]) == {"nora-quill"}


def test_privacy_mode_refuses_before_accounts_are_chosen(folder, capsys, monkeypatch) -> None:
    """Accounts of masked statements have invented names, which no command should repeat."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    for option in ([], ["--only-account", "nora-quill"]):
        code, said = _run(capsys, "import", folder, PERSONAL[3], BUSINESS, *option)
        assert (code, "accounts" in said, "Statements in privacy mode hold invented names" in said) == (1, False, True)


def test_files_that_name_no_account_get_a_command_of_their_own(folder, tmp_path, capsys, monkeypatch) -> None:
    """The service stands for their account in the message; its command names their files and asks for the account."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cash.csv").write_text(CASH)
    code, said = _run(capsys, "import", folder, tmp_path / "cash.csv", PERSONAL[3])
    assert code == 1
    assert "one account: nora-quill (1 file: gen_d_2024.csv); cash_app (1 file: cash.csv). Import" in said
    assert said.endswith(f" ; p2p-analytics import cash_app {tmp_path}/cash.csv --account YOUR-NAME\n")


def test_a_left_out_file_without_an_account_can_be_the_users(folder, tmp_path, capsys) -> None:
    """The files of the chosen account are imported; one that names no account may be of the same person."""
    (tmp_path / "cash.csv").write_text(CASH, "utf-8")
    _, printed = _run(capsys, "import", folder, PERSONAL[2], tmp_path / "cash.csv", "--only-account", "nora-quill")
    line = "left out, names no account: if it is yours, import it with --account NAME (cash_app): cash.csv"
    assert line in printed.splitlines()


def test_an_account_can_be_typed_as_messages_show_it(folder, tmp_path, capsys) -> None:
    """A control character of a name is in no message, so that the command that it gives does not have it either."""
    file = tmp_path / "e.csv"
    file.write_text(BUSINESS.read_text("utf-8").replace("Sandhill Choir", "Sandhill\x07 Choir"), "utf-8")
    code, said = _run(capsys, "import", folder, PERSONAL[3], file)
    assert (code, "\x07" in said, "--only-account 'Sandhill Choir'" in said) == (1, False, True)
    assert _run(capsys, "import", folder, PERSONAL[3], file, "--only-account", "Sandhill Choir")[0] == 0


def test_only_account_takes_handles_in_any_spelling(folder, capsys) -> None:
    """An account without files is an error that lists the others; both options together are wrong use."""
    words = ["import", folder, PERSONAL[4], BUSINESS, "--dry-run", "--only-account"]
    assert _run(capsys, *words, "@Nora-Quill")[0] == 0
    code, said = _run(capsys, *words, "ada")
    assert (code, said) == (1, "p2p-analytics: account is one of 'Sandhill Choir', 'nora-quill', not 'ada'.\n")
    with pytest.raises(SystemExit, match="2"):
        cli.main([*map(str, words), "ada", "--account", "ada"])
    assert "not allowed with argument --only-account" in capsys.readouterr().err


def test_a_file_of_another_holder_is_listed(folder, capsys) -> None:
    """The user's word counts, but the file is a problem, in the printed line, in JSON, and in the archive."""
    words = ["import", folder, *PERSONAL[2:4], BUSINESS, "--account", "nora-quill"]
    line = (
        "gen_e_business_2025.csv says that it is of Sandhill Choir: 2 transactions are counted as those of nora-quill"
    )
    code, printed = _run(capsys, *words, "--dry-run")
    assert code == 0
    assert f"{line}, as you asked\n" in printed
    assert "3 Venmo files, 2 of 2 balances reconciled, 1 file states none, 4 problems\n" in printed
    values = json.loads(_run(capsys, *words, "--json")[1])
    other = {"file": "gen_e_business_2025.csv", "account": "Sandhill Choir", "transactions": 2}
    assert (values["other_accounts"], values["problems"]) == ([other], 4)
    problems = p2p.open_archive(folder).history().problems
    assert problems.loc[problems["field"] == "account", "value"].tolist() == ["Sandhill Choir"]


def test_the_archive_knows_the_holder_too(folder, capsys) -> None:
    """A later import of one file has no other file to compare the holder with; the same name is no problem."""
    assert _run(capsys, "import", folder, *PERSONAL[2:4])[0] == 0
    plan = p2p.open_archive(folder).import_(p2p.read_statements(PERSONAL[0], account="nora-quill"), dry_run=True)
    assert plan.other_accounts == ()
    code, printed = _run(capsys, "import", folder, BUSINESS, "--account", "nora-quill")
    assert code == 0
    assert "1 Venmo file, no balance is stated, 2 problems\n" in printed
    assert "gen_e_business_2025.csv says that it is of Sandhill Choir: 2 transactions are" in printed
    problems = p2p.open_archive(folder).history().problems
    assert problems.loc[problems["field"] == "account", ["file", "value"]].values.tolist() == [
        ["gen_e_business_2025.csv", "Sandhill Choir"]
    ]


def test_a_service_that_is_new_to_the_archive_is_named(folder, tmp_path, capsys) -> None:
    """Personal and business statements are of one service; another service is said once."""
    cash = tmp_path / "cash.csv"
    cash.write_text(CASH)
    account = ["--account", "nora-quill"]
    for file, services in ((PERSONAL[2], []), (PERSONAL[3], []), (BUSINESS, []), (cash, ["cash_app"]), (cash, [])):
        dry = json.loads(_run(capsys, "import", folder, file, *account, "--json", "--dry-run")[1])
        code, printed = _run(capsys, "import", folder, file, *account)
        assert (code, dry["new_services"]) == (0, services)
        assert ("new to this archive: Cash App: they are counted together with" in printed) == bool(services)
    assert cli.main(["undo", folder, "--yes"]) == 0
    assert cli.main(["undo", folder, "--yes"]) == 0
    capsys.readouterr()
    assert json.loads(_run(capsys, "import", folder, cash, *account, "--json")[1])["new_services"] == ["cash_app"]


def test_the_service_itself_is_known_after_a_sync(folder, tmp_path, capsys, history_of, payment) -> None:
    """An archive that a sync has filled holds the service's payments; a new one holds none, unless files are mixed."""
    p2p.open_archive(folder).merge(history_of(payment("1"), account="7"))
    cash = tmp_path / "cash.csv"
    cash.write_text(CASH)
    values = [
        json.loads(_run(capsys, "import", place, *files, "--account", "7", "--json", "--dry-run")[1])["new_services"]
        for place, files in ((folder, [PERSONAL[2]]), (folder, [cash]), ("none", [cash]), ("none", [cash, PERSONAL[2]]))
    ]
    assert values == [[], ["cash_app"], [], ["cash_app", "statement"]]


@pytest.fixture
def downloads(tmp_path, monkeypatch) -> Path:
    """Return a folder in the current one, with a file that names its account and one that names none."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "dl"
    folder.mkdir()
    (folder / "my cash.csv").write_text(CASH)
    (folder / "quill.csv").write_bytes(PERSONAL[3].read_bytes())
    return folder


@pytest.mark.parametrize("given", [["dl"], ["dl/*.csv"], ["dl/quill.csv", "dl/my cash.csv"], ["dl/quill.csv", "c.zip"]])
def test_each_command_of_the_message_can_be_run(given, downloads, capsys) -> None:
    """Files of a folder, a pattern or a zip archive of their own are named by their paths, not by their labels."""
    with zipfile.ZipFile("c.zip", "w") as packed:
        packed.write(downloads / "my cash.csv", "cash.csv")
    code, said = _run(capsys, "import", "all", *given)
    assert code == 1
    commands = [shlex.split(line) for line in said.partition("archive of its own: ")[2].split(" ; ")]
    assert [words[-1] for words in commands] == ["nora-quill", "YOUR-NAME"]
    for words in commands:
        code, printed = _run(capsys, *words[1:])
        assert (code, " file, " in printed) == (0, True), words
    assert p2p.open_archive("cash_app").history().payments["payment_id"].tolist() == ["c1"]


def test_no_path_is_made_up(downloads, capsys) -> None:
    """A zip archive with files of another account is not one account's, and a part of it has no path."""
    with zipfile.ZipFile("both.zip", "w") as packed:
        for file in downloads.iterdir():
            packed.write(file, file.name)
    code, said = _run(capsys, "import", "all", "both.zip")
    assert code == 1
    assert said.endswith("p2p-analytics import cash_app ITS-FILES --account YOUR-NAME\n")


@pytest.mark.parametrize("handle", ["cash_app", "wise"])
def test_a_person_with_the_name_of_a_service(handle, tmp_path, capsys, monkeypatch) -> None:
    """The account is named by the file, or by the user: it is not the service that replaces a name that is missing."""
    monkeypatch.chdir(tmp_path)
    text = PERSONAL[3].read_text("utf-8").replace("(@nora-quill)", f"(@{handle})")
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").write_text(PERSONAL[3].read_text("utf-8"))
    (tmp_path / "cash.csv").write_text(CASH)
    assert _run(capsys, "import", "one", "a.csv")[0] == 0
    assert set(p2p.open_archive("one").history().payments["account_id"]) == {handle}
    assert _run(capsys, "import", "two", "cash.csv", "--account", handle)[0] == 0
    code, said = _run(capsys, "import", "three", "a.csv", "b.csv")
    assert (code, f"a.csv b.csv --only-account {handle}" in said, "YOUR-NAME" in said) == (1, True, False)
    code, said = _run(capsys, "import", "three", "cash.csv")
    assert (code, "The statements name no account" in said) == (1, True)


def test_a_file_of_the_handle_only_and_one_of_the_name_only(tmp_path, capsys, monkeypatch) -> None:
    """They can be of one account or of two people: the message has the command for each, and both can be run."""
    monkeypatch.chdir(tmp_path)
    header = "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination\n"
    Path("moved.csv").write_text(
        f"Account Statement - (@nora)\nAccount Activity\n{header}1,2024-02-06T10:00:00,Standard Transfer,Issued,,,,"
        "- $6.00,,,MY BANK\n",
        "utf-8",
    )
    Path("paid.csv").write_text(f"{header}2,2024-03-05T10:00:00,Payment,Complete,x,Nora Quill,Cy,- $5.00,,,\n", "utf-8")
    code, said = _run(capsys, "import", "a", "moved.csv", "paid.csv")
    assert code == 1
    together = "p2p-analytics import a moved.csv paid.csv --account nora"
    assert f"If they are one account: {together} ; if not, import each into an archive of its own: " in said
    statements = p2p.read_statements(["moved.csv", "paid.csv"])
    with pytest.raises(
        p2p.errors.ArchiveError, match="if they are one account, read the files again with account='nora'"
    ):
        p2p.open_archive("a").import_(statements)
    code, printed = _run(capsys, *shlex.split(together)[1:])
    assert (code, "0 problems" in printed) == (0, True)
    assert len(p2p.open_archive("a").history().payments) == 2
    commands = [shlex.split(line) for line in said.partition("archive of its own: ")[2].split(" ; ")]
    assert [_run(capsys, *words[1:2], f"b{words[2]}", *words[3:])[0] for words in commands] == [0, 0]
