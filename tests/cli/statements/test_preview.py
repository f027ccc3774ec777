"""What a dry run and an undo show before anything is changed, and folders that cannot be written to."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli

SAMPLES = Path(__file__).parents[2] / "statements" / "samples"
STATEMENT = str(SAMPLES / "gen_d_2024.csv")


@pytest.fixture
def folder(tmp_path) -> str:
    """Return the path of an archive that is not there yet."""
    return str(tmp_path / "a")


def _list_table(printed: str, title: str) -> list[str]:
    """Return the rows of a table below its header."""
    return printed.partition(f"\n\n{title}")[2].partition("\n\n")[0].splitlines()[1:]


def test_a_dry_run_shows_what_would_come(folder, tmp_path, capsys) -> None:
    """The sums of settled rows by month and person, and the first rows; --rows says how many."""
    assert cli.main(["import", folder, STATEMENT, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    months = _list_table(printed, "Month")
    assert [line.split()[0] for line in months] == ["2024-01"] * len(months)
    (imani,) = [line for line in months if "Imani Cole" in line]
    assert imani.split()[-3:] == ["1", "-", "$75.00"]
    assert len(_list_table(printed, "Date")) == 6
    assert any(
        line.startswith("2024-01-15  Imani Cole") and line.endswith("moving van") for line in printed.splitlines()
    )
    assert cli.main(["import", folder, STATEMENT, "--dry-run", "--rows", "2"]) == 0
    assert _list_table(capsys.readouterr().out, "Date")[2:] == ["... and 4 more"]
    assert cli.main(["import", folder, STATEMENT]) == 0
    assert "Month" not in capsys.readouterr().out
    assert cli.main(["import", folder, STATEMENT, "--dry-run"]) == 0
    assert "Month" not in capsys.readouterr().out, "nothing is new"


def test_undo_shows_what_goes_and_asks(folder, capsys, monkeypatch) -> None:
    """Only yes undoes; no other answer does, and JSON has no place for a question."""
    for file in ("gen_c_2021.csv", "gen_d_2024.csv"):
        assert cli.main(["import", folder, str(SAMPLES / file)]) == 0
    capsys.readouterr()
    refused = (
        "Nothing was undone, because no question can be asked here: add --yes to take import 2 back (gen_d_2024.csv)."
    )
    for option in ([], ["--json"]):
        assert cli.main(["undo", folder, *option]) == 2
        assert refused in capsys.readouterr().err
    monkeypatch.setattr("p2p_analytics.cli._output.is_terminal", lambda: True)
    for answer, code in (("\n", 1), ("n\n", 1), ("Y\n", 0)):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        assert cli.main(["undo", folder]) == code
        printed = capsys.readouterr()
        assert printed.err == f"Take it back out of {folder}? [y/N] "
        lines = printed.out.splitlines()
        assert lines[0] == "Import 2 of gen_d_2024.csv: 6 transactions go"
        assert lines[2].split() == ["Date", "Person", "Amount", "Kind", "Note"]
        assert lines[8] == "... and 1 more"
        assert lines[9].startswith("Import 2 of " if code == 0 else "Nothing was undone.")
    assert len(p2p.open_archive(folder).imports) == 1


def test_undo_of_a_newer_snapshot_says_what_comes_back(folder, tmp_path, capsys, monkeypatch) -> None:
    """An import that removes rows shows which, and its undo that they come back."""
    head = "Date,Description,Category,Cost,Currency,Nora Quill,Theo Marsh\n"
    tea, cake = "2024-01-02,tea,Payment,5.00,USD,-5.00,5.00\n", "2024-01-03,cake,Payment,2.00,USD,-2.00,2.00\n"
    files = [tmp_path / "old.csv", tmp_path / "new.csv"]
    files[0].write_text(f"{head}{tea}{cake}2024-02-01,Total balance, , ,USD,-7.00,7.00\n")
    files[1].write_text(f"{head}{tea}2024-03-01,Total balance, , ,USD,-5.00,5.00\n")
    for file in files:
        assert cli.main(["import", folder, str(file), "--member", "Nora Quill"]) == 0
    assert capsys.readouterr().out.splitlines()[-2].startswith("0 new transactions, 1 known, 1 removed, in ")
    monkeypatch.setattr("p2p_analytics.cli._output.is_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert cli.main(["undo", folder]) == 0
    assert capsys.readouterr().out.startswith(
        "Import 2 of new.csv: 0 transactions go, 1 transaction that it removed will be back\n"
    )
    assert len(p2p.open_archive(folder).history().payments) == 2


def test_undo_shows_no_name_in_privacy_mode(folder, capsys, monkeypatch) -> None:
    """The rows are those of a masked history."""
    assert cli.main(["import", folder, STATEMENT]) == 0
    monkeypatch.setenv("P2P_PRIVACY", "1")
    monkeypatch.setattr("p2p_analytics.cli._output.is_terminal", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    capsys.readouterr()
    assert cli.main(["undo", folder]) == 1
    printed = capsys.readouterr().out
    assert "6 transactions go" in printed
    assert not {name for name in ("gen_d", "Imani", "Theo", "moving", "75.00") if name in printed}


def test_a_read_only_archive_stays_read_only(folder, capsys) -> None:
    """It is read, and refused to every writer in one sentence."""
    assert cli.main(["import", folder, STATEMENT]) == 0
    Path(folder).chmod(0o500)
    capsys.readouterr()
    try:
        for words in (["import", folder, STATEMENT], ["undo", folder, "--yes"], ["people", folder]):
            assert cli.main(words) == 1
            said = f"{folder} is read-only, so nothing was written: allow writing to this folder, or name another one."
            assert capsys.readouterr().err == f"p2p-analytics: {said}\n"
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o500
        assert cli.main(["export", folder, "-"]) == 0
    finally:
        Path(folder).chmod(0o700)


def test_the_next_writer_removes_what_a_killed_import_left(folder) -> None:
    """A temporary file is of no use."""
    assert cli.main(["import", folder, str(SAMPLES / "gen_c_2021.csv")]) == 0
    left = Path(folder) / ".p2p-archive-a1b2c3d4.part"
    left.write_bytes(b"half")
    assert cli.main(["import", folder, STATEMENT]) == 0
    assert not left.exists()
