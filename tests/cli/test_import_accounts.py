"""The command import with files of several accounts and services: refused, selected or listed, never silently."""

import json
import shlex
import zipfile
from pathlib import Path

import pytest

import p2p_analytics as p2p

pytestmark = pytest.mark.usefixtures("samples")
BUSINESS = "gen_e_business_2025.csv"  # of Sandhill Choir; the others are of nora-quill
PERSONAL = [f"gen_{name}.csv" for name in ("a_2018", "b_2019", "c_2021", "d_2024", "d_2025")]
HEADER = "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination\n"
HANDLE = "Account Statement - (@nora-quill)\nAccount Activity\n"
PAID = "{},2024-01-05T10:00:00,Payment,Complete,x,{},Cy,- $5.00,,,\n"
MOVED = "9,2024-02-06T10:00:00,Standard Transfer,Issued,,,,- $6.00,,,MY BANK\n"


def list_commands(said: str) -> list[list[str]]:
    """Return the words of the commands of a message, without the program."""
    return [shlex.split(line)[1:] for line in said.partition("archive of its own: ")[2].split(" ; ")]


def find_accounts(archive: str) -> set[str]:
    """Return the accounts of the payments of an archive."""
    return set(p2p.open_archive(archive).history().payments["account_id"])


def test_the_error_names_the_files_of_each_account_and_the_commands(run) -> None:
    """Three files of each account are named; the commands of the message import them."""
    files = "gen_a_2018.csv, gen_b_2019.csv, gen_c_2021.csv and 2 more"
    said = (
        "p2p-analytics: The statements are of 2 accounts, and an archive holds one account: "
        f"nora-quill (5 files: {files}); Sandhill Choir (1 file: gen_e_business_2025.csv). "
        "Import each into an archive of its own: p2p-analytics import a THE-SAME-FILES --only-account nora-quill ; "
        "p2p-analytics import sandhill-choir THE-SAME-FILES --only-account 'Sandhill Choir'\n"
    )
    for option in ("", "--dry-run"):
        assert run(f"import a {' '.join(PERSONAL)} {BUSINESS} {option}") == (1, "", said)
    assert not Path("a").exists()


def test_the_commands_import_each_account(run) -> None:
    """With few files they can be copied as they are; an archive that exists gets the files of its account."""
    assert run(f"import a {PERSONAL[2]}").code == 0
    code, _, err = run(f"import a {BUSINESS} {PERSONAL[3]}")
    commands = list_commands(err)
    assert (code, [words[1] for words in commands]) == (1, ["a", "sandhill-choir"])
    out = run(*commands[0]).out
    assert "left out, of Sandhill Choir: gen_e_business_2025.csv" in out.splitlines()
    # An unknown type, and the years between both files.
    assert "1 Venmo file, 1 of 1 balance reconciled, 2 problems" in out
    values = json.loads(run(*commands[1], "--json").out)
    assert (values["new"], values["left_out"]) == (2, {"nora-quill": ["gen_d_2024.csv"]})
    assert (find_accounts("a"), find_accounts("sandhill-choir")) == ({"nora-quill"}, {"Sandhill Choir"})
    # An archive of a third account is in no command.
    Path("ada.csv").write_text(Path(PERSONAL[3]).read_text("utf-8").replace("(@nora-quill)", "(@ada)"), "utf-8")
    assert run("import ada ada.csv").code == 0
    code, _, err = run(f"import ada {PERSONAL[3]} {BUSINESS}")
    assert (code, "import ada " in err, "import nora-quill " in err) == (1, False, True)


def test_accounts_that_the_archive_unites(run) -> None:
    """They are imported together; beside files of another account, the command of each names this archive."""
    for name, text in {
        "named": HANDLE + HEADER + PAID.format(2, "Nora Quill"), "unnamed": HANDLE + HEADER + MOVED,
        "old": HEADER + PAID.format(1, "Nora Quill"), "ada": HEADER + PAID.format(3, "Ada"),
    }.items():  # fmt: skip
        Path(f"{name}.csv").write_text(text)
    assert run("import a named.csv").code == 0
    code, _, err = run("import a unnamed.csv old.csv ada.csv --dry-run")
    named = [(words[1], words[-1]) for words in list_commands(err)]
    assert (code, named) == (1, [("a", "nora-quill"), ("a", "Nora Quill"), ("ada", "Ada")])
    assert json.loads(run("import a unnamed.csv old.csv --json").out)["new"] == 2
    assert find_accounts("a") == {"nora-quill"}


def test_privacy_mode_refuses_before_accounts_are_chosen(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Accounts of masked statements have invented names, which no command should repeat."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    for option in ("", "--only-account nora-quill"):
        code, _, err = run(f"import a {PERSONAL[3]} {BUSINESS} {option}")
        assert (code, "accounts" in err, "Statements in privacy mode hold invented names" in err) == (1, False, True)


def test_only_account_takes_names_in_any_spelling(run) -> None:
    """Also as messages show it, without control characters; a file that names none is left out, as it may be theirs."""
    Path("e.csv").write_text(Path(BUSINESS).read_text("utf-8").replace("Sandhill Choir", "Sandhill\x07 Choir"), "utf-8")
    words = f"import a {PERSONAL[4]} e.csv --dry-run"
    code, _, err = run(words)
    assert (code, "\x07" in err, "--only-account 'Sandhill Choir'" in err) == (1, False, True)
    assert run(f"{words} --only-account", "Sandhill Choir").code == 0
    line = "left out, names no account: if it is yours, import it with --account NAME (cash_app): cash.csv"
    assert line in run(f"import a {PERSONAL[4]} cash.csv --dry-run --only-account @Nora-Quill").out.splitlines()
    code, _, err = run(f"import a {PERSONAL[4]} {BUSINESS} --only-account ada")
    assert (code, err) == (1, "p2p-analytics: account is one of 'Sandhill Choir', 'nora-quill', not 'ada'.\n")
    code, _, err = run(f"{words} --only-account ada --account ada")
    assert (code, "not allowed with argument --only-account" in err) == (2, True)


def test_a_file_of_another_holder_is_listed(run) -> None:
    """The user's word counts, but the file is a problem, in the printed line, in JSON, and in the archive."""
    said = f"{BUSINESS} says that it is of Sandhill Choir: 2 transactions are counted as those of nora-quill"
    words = f"import a {PERSONAL[2]} {PERSONAL[3]} {BUSINESS} --account nora-quill"
    out = run(f"{words} --dry-run").out
    assert f"{said}, as you asked\n" in out
    assert "3 Venmo files, 2 of 2 balances reconciled, 1 file states none, 4 problems\n" in out
    values = json.loads(run(f"{words} --json").out)
    other = {"file": BUSINESS, "account": "Sandhill Choir", "transactions": 2}
    assert (values["other_accounts"], values["problems"]) == ([other], 4)
    problems = p2p.open_archive("a").history().problems
    assert problems.loc[problems["field"] == "account", "value"].tolist() == ["Sandhill Choir"]
    # A later import of one file has no other file to compare the holder with; the same name is no problem.
    assert run(f"import b {PERSONAL[2]} {PERSONAL[3]}").code == 0
    assert "says that it is of" not in run(f"import b {PERSONAL[0]} --account nora-quill --dry-run").out
    assert f"{said}, as you asked\n" in run(f"import b {BUSINESS} --account nora-quill").out


def test_a_service_that_is_new_to_the_archive_is_named(run, history_of, payment) -> None:
    """Personal and business statements are of one service; another service is said once; a sync has the first."""
    said = "new to this archive: Cash App: they are counted together with those of other services; to keep them apart, "
    assert run(f"import a {PERSONAL[2]}").code == 0
    for file, services in ((BUSINESS, []), ("cash.csv", ["cash_app"]), ("cash.csv", [])):
        words = f"import a {file} --account nora-quill"
        assert json.loads(run(f"{words} --json --dry-run").out)["new_services"] == services
        assert (said in run(words).out) == bool(services)
    p2p.open_archive("synced").merge(history_of(payment("1"), account="7"))
    for words, services in (
        (f"synced {PERSONAL[2]}", []), ("synced cash.csv", ["cash_app"]), ("none cash.csv", []),
        (f"none cash.csv {PERSONAL[2]}", ["cash_app", "statement"]),
    ):  # fmt: skip
        assert json.loads(run(f"import {words} --account 7 --json --dry-run").out)["new_services"] == services


@pytest.mark.parametrize("given", ["dl", "dl/*.csv", "c.zip dl/quill.csv"])
def test_each_command_of_the_message_can_be_run(run, given: str) -> None:
    """Files of a folder, a pattern or a zip archive are named by their paths, which are not made up."""
    Path("dl").mkdir()
    Path("dl/my cash.csv").write_bytes(Path("cash.csv").read_bytes())
    Path("dl/quill.csv").write_bytes(Path(PERSONAL[3]).read_bytes())
    with zipfile.ZipFile("c.zip", "w") as packed, zipfile.ZipFile("both.zip", "w") as both:
        packed.write("dl/my cash.csv", "cash.csv")
        for file in Path("dl").iterdir():
            both.write(file, file.name)
    err = run(f"import all {given}").err
    listed = "one account: nora-quill (1 file: quill.csv); cash_app (1 file: "
    assert listed in err
    commands = list_commands(err)
    assert [words[-1] for words in commands] == ["nora-quill", "YOUR-NAME"]
    for words in commands:
        code, out, _ = run(*words)
        assert (code, " file, " in out) == (0, True), words
    assert p2p.open_archive("cash_app").history().payments["payment_id"].tolist() == ["c1"]
    assert run("import b both.zip").err.endswith("p2p-analytics import cash_app ITS-FILES --account YOUR-NAME\n")


def test_a_person_with_the_name_of_a_service(run) -> None:
    """The account is named by the file, or by the user: it is not the service that replaces a name that is missing."""
    Path("a.csv").write_text(Path(PERSONAL[3]).read_text("utf-8").replace("(@nora-quill)", "(@cash_app)"))
    assert run("import one a.csv").code == 0
    assert run("import two cash.csv --account cash_app").code == 0
    assert find_accounts("one") == find_accounts("two") == {"cash_app"}
    code, _, err = run(f"import three a.csv {PERSONAL[3]}")
    assert (code, f"a.csv {PERSONAL[3]} --only-account cash_app" in err, "YOUR-NAME" in err) == (1, True, False)


def test_a_file_of_the_handle_only_and_one_of_the_name_only(run) -> None:
    """They can be of one account or of two people: the message has the command for each, and both can be run."""
    Path("moved.csv").write_text(HANDLE + HEADER + MOVED)
    Path("paid.csv").write_text(HEADER + PAID.format(2, "Nora Quill"))
    together = "import a moved.csv paid.csv --account nora-quill"
    code, _, err = run("import a moved.csv paid.csv")
    advice = f"If they are one account: p2p-analytics {together} ; if not, import each into an archive of its own: "
    assert (code, advice in err) == (1, True)
    code, out, _ = run(together)
    assert (code, "0 problems" in out, find_accounts("a")) == (0, True, {"nora-quill"})
    for words in list_commands(err):
        assert run(words[0], f"b{words[1]}", *words[2:]).code == 0
