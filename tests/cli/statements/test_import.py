"""The commands import, undo and people: statement files in an archive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli

HEADER = "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,Notes,Name of sender/receiver,Account\n"  # noqa: E501 - as the service writes it
SAMPLES = Path(__file__).parents[2] / "statements" / "samples"
STATEMENT = SAMPLES / "gen_d_2024.csv"
KINDS = "3 payments, 1 merchant transaction, 1 transfer, 1 of an unknown kind"


@pytest.fixture
def folder(tmp_path) -> str:
    """Return the path of an archive that is not there yet."""
    return str(tmp_path / "a")


def test_from_files_to_a_report(folder, tmp_path, capsys) -> None:
    """The first line of the summary has the counts, the second the files; then every command reads the archive."""
    assert cli.main(["import", folder, str(STATEMENT)]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        f"6 new transactions ({KINDS}), in {folder}",
        "1 Venmo file, 1 of 1 balance reconciled, 1 problem",
        "problem: gen_d_2024.csv, line 10: type 'Boost Cashback' is not a type that this version knows",
        f"list the problems: p2p-analytics export {folder} - --table problems",
    ]
    assert printed.err == ""
    assert cli.main(["report", folder, "--out", str(tmp_path / "r.html"), "--as-of", "2024-02-01"]) == 0
    assert cli.main(["export", folder, str(tmp_path / "p.csv")]) == 0
    frame = p2p.read_csv(tmp_path / "p.csv")
    expected = p2p.open_archive(folder).history().payments
    assert frame.dtypes.astype(str).to_dict() == expected.dtypes.astype(str).to_dict()
    assert frame["payment_id"].tolist() == expected["payment_id"].tolist()


def test_files_that_do_not_add_up_are_named(folder, tmp_path, capsys) -> None:
    """A payment of $75.00 with the sign reversed makes a difference of $150.00; years without a file are a gap."""
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(STATEMENT.read_text("utf-8").replace("- $75.00", "+ $75.00"), "utf-8")
    assert cli.main(["import", folder, str(SAMPLES / "gen_c_2021.csv"), str(wrong)]) == 0
    second, third, gap, *_, last = capsys.readouterr().out.splitlines()[1:]
    assert last == f"list the problems: p2p-analytics export {folder} - --table problems"
    assert second == "2 Venmo files, 1 of 2 balances reconciled, 1 wrong, 4 problems"
    assert third.startswith(
        "wrong.csv: the balances and the rows differ by \u2212$150.00, which reversing 3970000000000000301 would "
        "explain"
    )
    assert gap.startswith("wrong.csv: a file or rows may be missing after 'gen_c_2021.csv': 27 months without rows, ")
    assert "the balance changed by " in gap


def test_an_unreadable_amount_is_named_where_the_sums_are(folder, tmp_path, capsys) -> None:
    """It is in no sum: import, report and card name its line; problems of amounts are before those of types."""
    broken = tmp_path / "broken.csv"
    broken.write_text(STATEMENT.read_text("utf-8").replace("- $75.00", "- $75..00"), "utf-8")
    assert cli.main(["import", folder, str(broken)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("problem: ")]
    line = "problem: broken.csv, line 5: total '- $75..00' is not an amount"
    assert lines == [line, "problem: broken.csv, line 10: type 'Boost Cashback' is not a type that this version knows"]
    assert cli.main(["report", folder, "--out", str(tmp_path / "r.html")]) == 0
    sentence = "1 settled payment has no readable amount, and is in no sum: broken.csv line 5."
    head, _, body = (tmp_path / "r.html").read_text("utf-8").partition("</header>")
    assert sentence in head
    assert sentence not in body
    assert sentence in p2p.open_archive(folder).history()._repr_html_()


def test_files_without_balances(folder, capsys) -> None:
    """The files before 2018 state none, which is not the same as a balance that is not reconciled."""
    files = [str(SAMPLES / name) for name in ("gen_a_2018.csv", "gen_c_2021.csv")]
    assert cli.main(["import", folder, *files, "--dry-run"]) == 0
    assert (
        capsys.readouterr()
        .out.splitlines()[1]
        .startswith("2 Venmo files, 1 of 1 balance reconciled, 1 file states none, 1 problem")
    )
    assert cli.main(["import", folder, files[0], "--account", "nora-quill"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["1 Venmo file, no balance is stated, 0 problems"]


def test_missing_months_have_a_line(folder, tmp_path, capsys) -> None:
    """Also where no balance shows that rows are missing; a file with rows of the file before is as it should be."""
    files = [str(SAMPLES / name) for name in ("gen_a_2018.csv", "gen_b_2019.csv")]
    (tmp_path / "again.csv").write_bytes((SAMPLES / "gen_b_2019.csv").read_bytes())
    assert cli.main(["import", folder, *files, str(tmp_path / "again.csv")]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "may be missing" in line] == [
        "again.csv: a file or rows may be missing after 'gen_a_2018.csv': 8 months without rows"
    ]


def test_problems_with_files_of_earlier_imports(folder, tmp_path, capsys) -> None:
    """A copy that counts twice has a line of its own, a contradiction is counted; the dry run says the same."""
    names = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance"
    rows = (
        f"CARD_PAYMENT,Current,2024-05-04 11:05:13,2024-05-04 11:05:13,Deli,{amount},0.00,EUR,COMPLETED,"
        for amount in ("-8.40", "-8")
    )
    files = [tmp_path / "original.csv", tmp_path / "rounded.csv"]
    for path, row in zip(files, rows, strict=True):
        path.write_text(f"{names}\n{row}\n", "utf-8")
    line = (
        "rounded.csv, line 2: file: 1 row looks like rows of 'original.csv' with other amounts or times, as "
        "in a copy that a spreadsheet has saved: the rows of both files are counted, so leave one of the two files out "
        "(in an archive: p2p-analytics undo ARCHIVE if the last import brought one of them, else a new archive without "
        "it)"
    )
    command = f"list the problems: p2p-analytics export {folder} - --table problems"
    assert cli.main(["import", folder, str(files[0]), "--account", "nora"]) == 0
    capsys.readouterr()
    double, problem = f"possible double: {line}", f"problem: {line}"
    for options, last in (["--dry-run", "--rows", "0"], [double]), ([], [problem, command]):
        assert cli.main(["import", folder, str(files[1]), "--account", "nora", *options]) == 0
        printed = capsys.readouterr().out.partition("\n\nMonth")[0].splitlines()
        assert printed[1:] == ["1 Revolut file, no balance is stated, 1 problem", *last]
    other = tmp_path / "later.csv"
    other.write_text(STATEMENT.read_text("utf-8").replace("- $75.00", "- $75.01"), "utf-8")
    archive = str(tmp_path / "b")
    assert cli.main(["import", archive, str(STATEMENT)]) == 0
    assert cli.main(["import", archive, str(other), "--json"]) == 0
    problems = p2p.open_archive(archive).history().problems
    assert set(problems["field"]) == {"type", "flow_cents"}
    # That of the second file, and that the amount of its row is not the one that counts: the first file adds up.
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["problems"] == 2


@pytest.mark.usefixtures("draw_nothing")
def test_a_file_that_does_not_add_up_stays_visible(folder, tmp_path, capsys) -> None:
    """In the table of problems, with file and period, in the card and in the report; the right file takes it away."""
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(STATEMENT.read_text("utf-8").replace("- $75.00", "+ $75.00"), "utf-8")
    assert cli.main(["import", folder, str(wrong), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["not_adding_up"] == ["wrong.csv"]
    archive, report, table = p2p.open_archive(folder), tmp_path / "r.html", tmp_path / "problems.csv"
    assert cli.main(["export", folder, str(table), "--table", "problems"]) == 0
    (line,) = [line for line in table.read_text("utf-8").splitlines() if "do not add up" in line]
    assert line.startswith('"does_not_add_up","wrong.csv",,'), "a problem of the whole file has no line"
    assert ",2024-01-15T00:00:00Z,2024-01-29T00:00:00Z,-15000," in line
    assert "a row of \N{MINUS SIGN}$150.00 may be missing: download the file again" in line
    assert "or 2024-01-15 Nora Quill +$75.00 has the wrong sign" in line
    assert cli.main(["export", folder, str(table.with_suffix(".jsonl")), "--table", "problems"]) == 0
    listed = map(json.loads, table.with_suffix(".jsonl").read_text("utf-8").splitlines())
    assert [each["line"] for each in listed if each["file"] == "wrong.csv" and each["field"] == "balance"] == [None]
    sentence = "The balances and the rows of 1 statement file do not add up: wrong.csv."
    assert cli.main(["report", folder, "--out", str(report)]) == 0
    for text in (archive.history()._repr_html_(), report.read_text("utf-8")):
        assert sentence in text
    assert "Does not add up: wrong.csv" in p2p.read_statements(wrong)._repr_html_()
    assert cli.main(["import", folder, str(STATEMENT)]) == 0
    history = archive.history()
    assert "balance" not in set(history.problems["field"])
    assert sentence not in history._repr_html_()


@pytest.mark.usefixtures("draw_nothing")
def test_other_files_of_a_pattern_are_skipped(folder, tmp_path, capsys) -> None:
    """A shell expands a pattern to all files of such a name; one file alone has to be a statement."""
    other = tmp_path / "shop.csv"
    other.write_text("Shop,Total\nMill,3\n", "utf-8")
    assert cli.main(["import", folder, str(STATEMENT), str(other)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("6 new transactions (")
    assert printed[1] == "1 Venmo file, 1 of 1 balance reconciled, 1 problem"
    assert printed[2] == "skipped: shop.csv is not a statement (columns: Shop, Total)."
    assert [line.partition(": ")[0] for line in printed[3:]] == ["problem", "list the problems"]
    assert cli.main(["import", folder, str(STATEMENT), str(other), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["problems"] == 1
    assert [each["file"] for each in values["skipped"]] == ["shop.csv"]
    assert len(p2p.open_archive(folder).history().problems) == 1
    assert cli.main(["report", folder, "--out", str(tmp_path / "r.html")]) == 0
    assert capsys.readouterr().out.startswith("The report of 3 payments, in ")
    assert "shop.csv" not in (tmp_path / "r.html").read_text("utf-8")
    assert cli.main(["import", folder, str(other)]) == 1
    assert f"{other} is not a statement (columns: Shop, Total). " in capsys.readouterr().err


def test_an_undone_first_import_can_be_repeated(folder, capsys) -> None:
    """The list of people, which the user may have edited, stays and does not hinder it."""
    for command in (["import", folder, str(STATEMENT)], ["people", folder], ["undo", folder, "--yes"]):
        assert cli.main(command) == 0
    assert (Path(folder) / "people.csv").exists()
    capsys.readouterr()
    assert cli.main(["import", folder, str(STATEMENT)]) == 0
    assert capsys.readouterr().out.startswith("6 new transactions (3 ")


def test_a_dry_run_changes_nothing(folder, tmp_path, capsys) -> None:
    """It prints the plan, also as JSON, and makes no folder."""
    assert cli.main(["import", folder, str(STATEMENT), "--dry-run"]) == 0
    plan = f"Dry run: 6 new transactions ({KINDS}), in {folder}\n"
    printed = capsys.readouterr().out
    assert printed.startswith(plan)
    assert "problem: gen_d_2024.csv, line 10: type 'Boost Cashback' is not a type that this version knows\n" in printed
    assert "list the problems" not in printed, "no table of an archive has them"
    assert cli.main(["import", folder, str(STATEMENT), "--dry-run", "--json", "--progress", "log"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "archive": folder, "dry_run": True, "files": 1, "new": 6, "known": 0, "changed": 0, "refused": 0,
        "kinds": {
            kind: {"new": new, "known": 0, "changed": 0, "refused": 0}
            for kind, new in {"payment": 3, "merchant": 1, "transfer": 1, "unknown": 1}.items()
        },
        "services": {"statement": 1}, "removed": 0, "possible_doubles": [], "refused_files": [],
        "reconciled": 1, "balances": 1, "not_adding_up": [], "after_gaps": [], "problems": 1,
        "other_accounts": [], "left_out": {}, "new_services": [], "skipped": [],
    }  # fmt: skip
    assert printed.err == f"Reading 1 path ...\nComparing 6 transactions with {folder} ...\n"
    assert list(tmp_path.iterdir()) == []


def test_undo(folder, capsys) -> None:
    """It says which import is undone and how many are left; without one it fails with one line."""
    for file in ("gen_d_2024.csv", "gen_c_2021.csv"):
        assert cli.main(["import", folder, str(SAMPLES / file), "--json"]) == 0
    account = p2p.open_archive(folder).history().me.user.username
    capsys.readouterr()
    assert cli.main(["undo", folder, "--yes"]) == 0
    undone = f"Import 2 of gen_c_2021.csv (6 new transactions) is undone, in {folder}"
    assert capsys.readouterr().out == f"{undone}: 1 import is left\n"
    assert cli.main(["undo", folder, "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "archive": folder, "number": 1, "files": ["gen_d_2024.csv"], "new": 6, "changed": 0, "left": 0,
    }  # fmt: skip
    assert account == "nora-quill"
    assert cli.main(["undo", folder]) == 1
    assert capsys.readouterr().err == f"p2p-analytics: {folder} holds no import to undo.\n"


def test_progress_and_paths_as_given(tmp_path, capsys, monkeypatch) -> None:
    """`--progress log` counts the files, `none` shows no bar in a terminal; of many files the first ones are named."""
    monkeypatch.setattr("p2p_analytics.cli._output._STEPS_PER_LINE", 2)
    monkeypatch.setattr("p2p_analytics.progress.is_interactive", lambda: pytest.fail("no bar was asked for"))
    monkeypatch.chdir(tmp_path)
    for number in range(5):
        Path(f"{number}.csv").write_bytes(STATEMENT.read_bytes())
    assert cli.main(["import", "a", "*.csv", "--progress", "log"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith(f"6 new transactions ({KINDS}), in a\n5 Venmo files, ")
    assert printed.err.splitlines() == [
        "Reading 1 path ...", "2 of 5 files read", "4 of 5 files read", "Comparing 6 transactions with a ...",
    ]  # fmt: skip
    assert cli.main(["import", "a", "*.csv", "--progress", "none"]) == 0
    printed = capsys.readouterr()
    assert (printed.out.splitlines()[0], printed.err) == (
        "0 new transactions, 6 known, in a", "",
    )  # fmt: skip
    assert cli.main(["people", "a"]) == 0
    capsys.readouterr()
    for left, new in (("1 import is left", 0), ("0 imports are left", 6)):
        assert cli.main(["undo", "a", "--yes"]) == 0
        count = f"{new} new transactions"
        number = 2 if new == 0 else 1
        expected = f"Import {number} of 0.csv, 1.csv, 2.csv and 2 more ({count}) is undone, in a: {left}\n"
        assert capsys.readouterr().out == expected


def test_a_file_that_names_no_account(folder, tmp_path, capsys) -> None:
    """The error says which option names it; --tz is the zone of its dates."""
    file = tmp_path / "cash.csv"
    file.write_text(HEADER + "c1,2023-01-15 20:00:00 PST,P2P,USD,-$10,$0,-$10,,,,PAYMENT SENT,lunch,Bo,Your Cash\n")
    assert cli.main(["import", folder, str(file)]) == 1
    assert "name no account" in (said := capsys.readouterr().err)
    assert said.endswith("read them with yours, such as --account ada.\n")
    assert said.count("\n") == 1
    assert cli.main(["import", folder, str(file), "--account", "ada"]) == 0
    (row,) = p2p.open_archive(folder).history().payments.to_dict("records")
    assert (row["account_id"], row["flow_cents"], row["counterparty_name"]) == ("ada", -1000, "Bo")


def test_a_group_names_the_option(folder, tmp_path, capsys) -> None:
    """A file of a shared group asks for the member by the option, as typed."""
    group = tmp_path / "group.csv"
    group.write_text("Date,Description,Category,Cost,Currency,Nora,Theo\n2024-01-02,tea,Food,10.00,USD,5.00,-5.00\n")
    advice = "does not say which member you are: name yours with --member, one of 'Nora', 'Theo'."
    assert cli.main(["import", folder, str(group)]) == 1
    assert advice in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        cli.main(["import", folder, str(group), "--account", " "])
    assert "argument --account: it is empty: give the name of an account" in capsys.readouterr().err


def test_files_of_another_account(folder, tmp_path, capsys) -> None:
    """The option that the message names unites files of a former handle; those without one have the holder's name."""
    file = tmp_path / "d.csv"
    text = (SAMPLES / "gen_d_2024.csv").read_text("utf-8")
    file.write_text(text.replace("(@nora-quill)", "(@nora-old)"), "utf-8")
    assert cli.main(["import", folder, str(SAMPLES / "gen_d_2024.csv")]) == 0
    assert cli.main(["import", folder, str(file)]) == 1
    said = capsys.readouterr().err
    advice = "name another archive or, if the account is the same, read them with --account nora-quill.\n"
    assert said.endswith(
        f"The statements (d.csv) are of the account nora-old, and {folder} is the archive of nora-quill: {advice}"
    )
    assert cli.main(["import", folder, str(file), "--account", "nora-quill"]) == 0
    assert set(p2p.open_archive(folder).history().payments["account_id"]) == {"nora-quill"}
    assert cli.main(["import", folder, str(SAMPLES / "gen_a_2018.csv")]) == 0
    assert set(p2p.open_archive(folder).history().payments["account_id"]) == {"nora-quill"}


def test_files_that_are_no_statements(folder, tmp_path, capsys) -> None:
    """The sentence of the reader and exit code 1; nothing is made."""
    (tmp_path / "list.csv").write_text("name,age\nBo,4\n")
    assert cli.main(["import", folder, str(tmp_path / "list.csv")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert cli.main(["import", folder, str(tmp_path / "none.csv")]) == 1
    assert not Path(folder).exists()


def test_privacy_mode(folder, capsys, monkeypatch) -> None:
    """Masked statements are not imported, and names are not printed."""
    assert cli.main(["import", folder, str(STATEMENT)]) == 0
    capsys.readouterr()
    monkeypatch.setenv("P2P_PRIVACY", "1")
    for words in (["import", folder, str(STATEMENT)], ["people", folder]):
        assert cli.main(words) == 1
        assert "privacy mode" in capsys.readouterr().err
