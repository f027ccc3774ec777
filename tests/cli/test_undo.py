"""What a dry run and an undo show before anything is changed, and folders that cannot be written to."""

import json
import stat
from pathlib import Path

import pytest

import p2p_analytics as p2p

pytestmark = pytest.mark.usefixtures("samples")


def _list_table(printed: str, title: str) -> list[str]:
    """Return the rows of a table below its header."""
    return printed.partition(f"\n\n{title}")[2].partition("\n\n")[0].splitlines()[1:]


def test_a_dry_run_shows_what_would_come(run) -> None:
    """The sums of settled rows by month and person, and the first rows; --rows says how many."""
    out = run("import a gen_d_2024.csv --dry-run").out
    months = _list_table(out, "Month")
    assert {line.split()[0] for line in months} == {"2024-01"}
    (imani,) = [line for line in months if "Imani Cole" in line]
    assert imani.split()[-3:] == ["1", "-", "$75.00"]
    rows = _list_table(out, "Date")
    assert len(rows) == 6
    assert [line for line in rows if line.startswith("2024-01-15  Imani Cole") and line.endswith("moving van")]
    out = run("import a gen_d_2024.csv --dry-run --rows 2").out
    assert _list_table(out, "Date")[2:] == ["... and 4 more"]
    assert "Month" not in run("import a gen_d_2024.csv").out
    assert "Month" not in run("import a gen_d_2024.csv --dry-run").out, "nothing is new"


def test_undo_shows_what_goes_and_asks(run, answer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only yes undoes; no other answer does, JSON has no place for a question, and privacy mode shows no name."""
    for file in ("gen_c_2021.csv", "gen_d_2024.csv"):
        assert run(f"import a {file}").code == 0
    refused = "no question can be asked here: add --yes to take import 2 back (gen_d_2024.csv).\n"
    for option in ("", "--json"):
        assert run(f"undo a {option}") == (2, "", f"p2p-analytics: Nothing was undone, because {refused}")
    for mode, typed, code in (("1", "n\n", 1), ("", "\n", 1), ("", "n\n", 1), ("", "Y\n", 0)):
        monkeypatch.setenv("P2P_PRIVACY", mode)
        answer(typed)
        found = run("undo a")
        assert (found.code, found.err) == (code, "Take it back out of a? [y/N] ")
        lines = found.out.splitlines()
        assert lines[2].split() == ["Date", "Person", "Amount", "Kind", "Note"]
        assert lines[8] == "... and 1 more"
        assert lines[9].startswith("Import 2 of " if code == 0 else "Nothing was undone.")
        if mode:
            assert "6 transactions go" in lines[0]
            assert not {name for name in ("gen_d", "Imani", "Theo", "moving", "75.00") if name in found.out}
        else:
            assert lines[0] == "Import 2 of gen_d_2024.csv: 6 transactions go"
    assert len(p2p.open_archive("a").imports) == 1


def test_undo_of_each_import(run) -> None:
    """It says which import is undone and how many are left; the list of people stays and does not hinder a new one."""
    for file in ("gen_d_2024.csv", "gen_c_2021.csv"):
        assert run(f"import a {file}").code == 0
    assert run("people a").code == 0
    undone = "Import 2 of gen_c_2021.csv (6 new transactions) is undone, in a: 1 import is left\n"
    assert run("undo a --yes") == (0, undone, "")
    values = {"archive": "a", "number": 1, "files": ["gen_d_2024.csv"], "new": 6, "changed": 0, "left": 0}
    assert json.loads(run("undo a --yes --json").out) == values
    assert run("undo a") == (1, "", f"p2p-analytics: {Path.cwd()}/a holds no import to undo.\n")
    assert Path("a/people.csv").exists()
    assert run("import a gen_d_2024.csv").out.startswith("6 new transactions (3 ")


def test_undo_of_a_newer_snapshot_says_what_comes_back(run, answer) -> None:
    """An import that removes rows shows how many, and its undo that they come back."""
    head = "Date,Description,Category,Cost,Currency,Nora Quill,Theo Marsh\n"
    tea, cake = "2024-01-02,tea,Payment,5.00,USD,-5.00,5.00\n", "2024-01-03,cake,Payment,2.00,USD,-2.00,2.00\n"
    Path("old.csv").write_text(f"{head}{tea}{cake}2024-02-01,Total balance, , ,USD,-7.00,7.00\n")
    Path("new.csv").write_text(f"{head}{tea}2024-03-01,Total balance, , ,USD,-5.00,5.00\n")
    assert run("import a old.csv --member", "Nora Quill").code == 0
    removed = "0 new transactions, 1 known, 1 removed, in a\n"
    assert run("import a new.csv --member", "Nora Quill").out.startswith(removed)
    answer("y\n")
    shown = "Import 2 of new.csv: 0 transactions go, 1 transaction that it removed will be back\n"
    assert run("undo a").out.startswith(shown)
    assert len(p2p.open_archive("a").history().payments) == 2


def test_a_read_only_archive_stays_read_only(run) -> None:
    """It is read, and refused to every writer in one sentence."""
    assert run("import a gen_d_2024.csv").code == 0
    Path("a").chmod(0o500)
    try:
        said = "is read-only, so nothing was written: allow writing to this folder, or name another one."
        for words in ("import a gen_d_2024.csv", "undo a --yes", "people a"):
            assert run(words) == (1, "", f"p2p-analytics: {Path.cwd()}/a {said}\n")
        assert stat.S_IMODE(Path("a").stat().st_mode) == 0o500
        assert run("export a -").code == 0
    finally:
        Path("a").chmod(0o700)
