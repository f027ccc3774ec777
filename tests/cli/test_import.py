"""The command import: statement files in an archive, and the lines of its summary."""

import json
from pathlib import Path

import pytest

import p2p_analytics as p2p

pytestmark = pytest.mark.usefixtures("samples", "draw_nothing")
KINDS = "3 payments, 1 merchant transaction, 1 transfer, 1 of an unknown kind"
TYPE = "gen_d_2024.csv, line 10: type 'Boost Cashback' is not a type that this version knows"
LIST = "list the problems: p2p-analytics export a - --table problems"


def write_changed(name: str, old: str, new: str) -> None:
    """Write a copy of the sample file of 2024 with a text replaced."""
    text = Path("gen_d_2024.csv").read_text("utf-8")
    assert old in text
    Path(name).write_text(text.replace(old, new), "utf-8")


def test_from_files_to_a_report(run) -> None:
    """The first line of the summary has the counts, the second the files; then every command reads the archive."""
    code, out, err = run("import a gen_d_2024.csv")
    assert (code, err, out.splitlines()) == (0, "", [
        f"6 new transactions ({KINDS}), in a",
        "1 Venmo file, 1 of 1 balance reconciled, 1 problem",
        f"problem: {TYPE}",
        LIST,
    ])  # fmt: skip
    assert run("report a --as-of 2024-02-01").out.startswith("The report of 3 payments, in ")
    assert run("export a p.csv").code == 0
    frame, expected = p2p.read_csv("p.csv"), p2p.open_archive("a").history().payments
    assert frame.dtypes.astype(str).to_dict() == expected.dtypes.astype(str).to_dict()
    assert frame["payment_id"].tolist() == expected["payment_id"].tolist()


def test_a_dry_run_changes_nothing(run) -> None:
    """It prints the plan, also as JSON, and makes no folder."""
    out = run("import a gen_d_2024.csv --dry-run").out
    assert out.startswith(f"Dry run: 6 new transactions ({KINDS}), in a\n")
    assert f"problem: {TYPE}\n" in out
    assert "list the problems" not in out, "no table of an archive has them"
    _, out, err = run("import a gen_d_2024.csv --dry-run --json --progress log")
    assert json.loads(out) == {
        "archive": "a", "dry_run": True, "files": 1, "new": 6, "known": 0, "changed": 0, "refused": 0,
        "kinds": {
            kind: {"new": new, "known": 0, "changed": 0, "refused": 0}
            for kind, new in {"payment": 3, "merchant": 1, "transfer": 1, "unknown": 1}.items()
        },
        "services": {"statement": 1}, "removed": 0, "possible_doubles": [], "refused_files": [],
        "reconciled": 1, "balances": 1, "not_adding_up": [], "after_gaps": [], "problems": 1,
        "other_accounts": [], "left_out": {}, "new_services": [], "skipped": [],
    }  # fmt: skip
    assert err == "Reading 1 path ...\nComparing 6 transactions with a ...\n"
    assert not Path("a").exists()


def test_files_without_balances(run) -> None:
    """The files before 2018 state none; months without rows are a gap also there."""
    for archive, files, line in (
        (
            "a",
            "gen_a_2018.csv gen_c_2021.csv",
            "2 Venmo files, 1 of 1 balance reconciled, 1 file states none, 1 problem",
        ),
        ("b", "gen_a_2018.csv", "1 Venmo file, no balance is stated, 0 problems"),
        (
            "c",
            "gen_a_2018.csv gen_b_2019.csv",
            "gen_b_2019.csv: a file or rows may be missing after 'gen_a_2018.csv': 8",
        ),
    ):
        out = run(f"import {archive} {files} --account nora-quill").out
        assert [each for each in out.splitlines() if each.startswith(line)]


def test_what_is_wrong_with_sums_is_named_and_stays_visible(run) -> None:
    """In the import, the table of problems, the card and the report, until the right file takes it away.

    A payment of $75.00 with the sign reversed makes a difference of $150.00; years without a file are a gap.
    """
    write_changed("wrong.csv", "- $75.00", "+ $75.00")
    second, third, gap, *_, last = run("import a gen_c_2021.csv wrong.csv").out.splitlines()[1:]
    assert (second, last) == ("2 Venmo files, 1 of 2 balances reconciled, 1 wrong, 4 problems", LIST)
    explained = "which reversing 3970000000000000301 would explain"
    assert third.startswith(f"wrong.csv: the balances and the rows differ by \u2212$150.00, {explained}")
    missing = "wrong.csv: a file or rows may be missing after 'gen_c_2021.csv': 27 months without rows, "
    assert (gap[: len(missing)], "the balance changed by " in gap) == (missing, True)
    assert json.loads(run("import a wrong.csv --json").out)["not_adding_up"] == ["wrong.csv"]
    archive = p2p.open_archive("a")
    (line,) = [line for line in run("export a - --table problems").out.splitlines() if "do not add up" in line]
    assert line.startswith('"does_not_add_up","wrong.csv",,'), "a problem of the whole file has no line"
    assert ",2024-01-15T00:00:00Z,2024-01-29T00:00:00Z,-15000," in line
    assert "or 2024-01-15 Nora Quill +$75.00 has the wrong sign" in line
    assert run("report a --only status_mix").code == 0
    sentence = "The balances and the rows of 1 statement file do not add up: wrong.csv."
    assert sentence in Path("report.html").read_text("utf-8")
    assert sentence in archive.history()._repr_html_()
    assert "Does not add up: wrong.csv" in p2p.read_statements("wrong.csv")._repr_html_()
    assert run("import a gen_d_2024.csv").code == 0
    assert "does_not_add_up" not in set(archive.history().problems["code"])


def test_an_unreadable_amount_is_named_where_the_sums_are(run) -> None:
    """It is in no sum: import, report and card name its line; problems of amounts are before those of types."""
    write_changed("broken.csv", "- $75.00", "- $75..00")
    lines = [line for line in run("import a broken.csv").out.splitlines() if line.startswith("problem: ")]
    assert lines[0] == "problem: broken.csv, line 5: total '- $75..00' is not an amount"
    assert lines[1] == f"problem: {TYPE}".replace("gen_d_2024", "broken")
    assert run("report a --only status_mix").code == 0
    sentence = "1 settled payment has no readable amount, and is in no sum: broken.csv line 5."
    head, _, body = Path("report.html").read_text("utf-8").partition("</header>")
    assert (sentence in head, sentence in body) == (True, False)
    assert sentence in p2p.open_archive("a").history()._repr_html_()


def test_problems_with_files_of_earlier_imports(run) -> None:
    """A copy that counts twice has a line of its own, a contradiction is counted; the dry run says the same."""
    names = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance"
    row = "CARD_PAYMENT,Current,2024-05-04 11:05:13,2024-05-04 11:05:13,Deli,{},0.00,EUR,COMPLETED,"
    for name, amount in (("original.csv", "-8.40"), ("rounded.csv", "-8")):
        Path(name).write_text(f"{names}\n{row.format(amount)}\n", "utf-8")
    line = (
        "rounded.csv, line 2: file: 1 row looks like rows of 'original.csv' with other amounts or times, as in a copy "
        "that a spreadsheet has saved: the rows of both files are counted, so leave one of the two files out (in an "
        "archive: p2p-analytics undo ARCHIVE if the last import brought one of them, else a new archive without it)"
    )
    assert run("import a original.csv --account nora").code == 0
    for options, last in (("--dry-run --rows 0", [f"possible double: {line}"]), ("", [f"problem: {line}", LIST])):
        out = run(f"import a rounded.csv --account nora {options}").out.partition("\n\nMonth")[0]
        assert out.splitlines()[1:] == ["1 Revolut file, no balance is stated, 1 problem", *last]
    write_changed("later.csv", "- $75.00", "- $75.01")
    assert run("import b gen_d_2024.csv").code == 0
    # That of the second file, and that the amount of its row is not the one that counts: the first file adds up.
    assert json.loads(run("import b later.csv --json").out)["problems"] == 2
    assert set(p2p.open_archive("b").history().problems["field"]) == {"type", "flow_cents"}


def test_progress_and_paths_as_given(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--progress log` counts the files, `none` shows no bar in a terminal; of many files the first ones are named."""
    monkeypatch.setattr("p2p_analytics.progress.is_interactive", lambda: pytest.fail("no bar was asked for"))
    for number in range(10, 31):
        Path(f"{number}.csv").write_bytes(Path("gen_d_2024.csv").read_bytes())
    _, out, err = run("import a [1-3]?.csv --progress log")
    assert out.startswith(f"6 new transactions ({KINDS}), in a\n21 Venmo files, ")
    assert err.splitlines() == ["Reading 1 path ...", "20 of 21 files read", "Comparing 6 transactions with a ..."]
    _, out, err = run("import a [1-3]?.csv --progress none")
    assert (out.splitlines()[0], err) == ("0 new transactions, 6 known, in a", "")
    undone = "Import 2 of 10.csv, 11.csv, 12.csv and 18 more (0 new transactions) is undone, in a: 1 import is left\n"
    assert run("undo a --yes").out == undone


def test_a_file_that_names_no_account(run) -> None:
    """The error says which option names it; the file's own zone is the zone of its dates."""
    code, _, err = run("import a cash.csv")
    assert (code, "name no account" in err, err.count("\n")) == (1, True, 1)
    assert err.endswith("read them with yours, such as --account ada.\n")
    code, _, err = run("import a cash.csv --account", " ")
    assert (code, "argument --account: it is empty: give the name of an account" in err) == (2, True)
    assert run("import a cash.csv --account ada").code == 0
    (row,) = p2p.open_archive("a").history().payments.to_dict("records")
    assert (row["account_id"], row["flow_cents"], row["counterparty_name"]) == ("ada", -1000, "Bo")


def test_files_of_another_account(run) -> None:
    """The option that the message names unites files of a former handle; those without one have the holder's name."""
    write_changed("d.csv", "(@nora-quill)", "(@nora-old)")
    assert run("import a gen_d_2024.csv").code == 0
    said = (
        f"p2p-analytics: The statements (d.csv) are of the account nora-old, and {Path.cwd()}/a is the archive of "
        "nora-quill: name another archive or, if the account is the same, read them with --account nora-quill.\n"
    )
    assert run("import a d.csv") == (1, "", said)
    assert run("import a d.csv --account nora-quill").code == 0
    assert run("import a gen_a_2018.csv").code == 0
    assert set(p2p.open_archive("a").history().payments["account_id"]) == {"nora-quill"}
