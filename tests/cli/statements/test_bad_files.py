"""The command import with files that cannot be used, files to leave out, groups, zones and formats of one's own."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli, statements
from p2p_analytics.cli.statements import _describe, _import

SAMPLES = Path(__file__).parents[2] / "statements" / "samples"
STATEMENT = SAMPLES / "gen_d_2024.csv"
GROUP = "Date,Description,Category,Cost,Currency,Nora Quill,Theo Marsh\n2024-01-02,tea,Payment,5.00,USD,-5.00,5.00\n"


@pytest.fixture
def folder(tmp_path, monkeypatch) -> str:
    """Return the name of an archive that is not there yet, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("good.csv").write_bytes(STATEMENT.read_bytes())
    text = STATEMENT.read_text("utf-8-sig")
    Path("rounded.csv").write_text(text.replace("3970000000000000302", "3.97E+18"), "utf-8")
    Path("group.csv").write_text(GROUP, "utf-8")
    return "a"


@pytest.fixture
def _terminal(monkeypatch) -> None:
    monkeypatch.setattr("p2p_analytics.cli._output.is_terminal", lambda: True)


def _answer(monkeypatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def _read_owners(folder: str) -> list[str]:
    return p2p.open_archive(folder).holder_names


def test_one_bad_file_stops_nothing(folder, capsys) -> None:
    """The others are imported, each refused file has a line with its reason, and the exit code is 3."""
    assert cli.main(["import", folder, "good.csv", "rounded.csv", "group.csv"]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("6 new transactions (")
    assert lines[1].startswith("1 Venmo file, ")
    refused = [line for line in lines if line.startswith("refused: ")]
    assert [line.split()[1].strip(",") for line in refused] == ["rounded.csv", "group.csv"]
    assert refused[1].endswith("name yours with --member, one of 'Nora Quill', 'Theo Marsh'.")
    assert cli.main(["import", folder, "good.csv", "rounded.csv", "--json"]) == 3
    values = json.loads(capsys.readouterr().out)
    assert (values["known"], values["refused"], [each["file"] for each in values["refused_files"]]) == (
        6, 0, ["rounded.csv"],
    )  # fmt: skip


def test_the_folder_was_left_out(folder, capsys) -> None:
    """The first file is taken for the archive: the message has the command that was meant."""
    assert cli.main(["import", "good.csv", "group.csv"]) == 2
    meant = "Did you mean: p2p-analytics import mypayments good.csv group.csv"
    assert capsys.readouterr().err.rstrip().endswith(meant)


def test_nothing_could_be_done(folder, capsys) -> None:
    """If every file is refused, the first reason is the error, and nothing is made."""
    assert cli.main(["import", folder, "rounded.csv", "group.csv"]) == 1
    assert "rounded.csv" in capsys.readouterr().err
    assert not Path(folder).exists()


def test_files_can_be_left_out(folder, capsys) -> None:
    """A pattern is compared with the names of files; it can be repeated."""
    words = ["--exclude", "round*", "--exclude", "*oup.csv"]
    assert cli.main(["import", folder, "good.csv", "rounded.csv", "group.csv", *words]) == 0
    assert "refused" not in capsys.readouterr().out


def test_many_skipped_files_are_one_line(folder, capsys) -> None:
    """More than three files that are not statements are counted; --verbose lists them."""
    for number in range(4):
        Path(f"shop{number}.csv").write_text("Shop,Total\nMill,3\n", "utf-8")
    files = [f"shop{number}.csv" for number in range(4)]
    assert cli.main(["import", folder, "good.csv", *files[:3]]) == 0
    assert capsys.readouterr().out.count("\nskipped: ") == 3
    assert cli.main(["import", folder, "good.csv", *files]) == 0
    line = "4 other files were skipped, because they are not statements; --verbose lists them"
    assert line in capsys.readouterr().out.splitlines()
    assert cli.main(["import", folder, "good.csv", *files, "--verbose"]) == 0
    assert capsys.readouterr().out.count("\nskipped: shop") == 4


def test_a_member_is_named_once(folder, capsys) -> None:
    """Later files of groups with this member need no option."""
    assert cli.main(["import", folder, "group.csv", "--member", "theo marsh"]) == 0
    assert "1 Splitwise file, " in capsys.readouterr().out
    assert _read_owners(folder) == ["Theo Marsh"]
    Path("trip.csv").write_text(GROUP.replace("Nora Quill", "Lena Ortiz").replace("2024-01-02", "2024-05-06"), "utf-8")
    assert cli.main(["import", folder, "trip.csv"]) == 0
    assert set(p2p.open_archive(folder).history().payments["counterparty_name"]) == {"Nora Quill", "Lena Ortiz"}


def test_the_holder_of_the_archive_is_the_member(folder, capsys) -> None:
    """The name that the statements of another service show needs no question."""
    assert cli.main(["import", folder, "good.csv"]) == 0
    assert _read_owners(folder) == ["Nora Quill"]
    assert cli.main(["import", folder, "group.csv"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("_terminal")
@pytest.mark.parametrize("answer", ["2\n", "Theo Marsh\n"])
def test_a_terminal_asks_for_the_member(answer, folder, capsys, monkeypatch) -> None:
    """By number or name; another answer is none, and the file is refused."""
    _answer(monkeypatch, answer)
    assert cli.main(["import", folder, "group.csv"]) == 0
    question = "Which member of group.csv are you? 1 Nora Quill, 2 Theo Marsh: "
    assert capsys.readouterr().err.endswith(question)
    assert _read_owners(folder) == ["Theo Marsh"]
    _answer(monkeypatch, "x\n")
    assert cli.main(["import", "b", "group.csv"]) == 1
    assert "name yours with --member" in capsys.readouterr().err
    assert cli.main(["import", "b", "group.csv", "--json"]) == 1
    assert "Which member" not in capsys.readouterr().err


def test_a_zone_that_is_known_is_not_moved(folder, capsys, monkeypatch) -> None:
    """The service's own files are in UTC: the zone is for the report."""
    zones = [SimpleNamespace(name=each.name, zone="UTC") for each in statements.list_formats()]
    monkeypatch.setattr(_import, "list_formats", lambda: zones)
    assert cli.main(["import", folder, "good.csv", "--tz", "America/New_York"]) == 2
    said = capsys.readouterr().err
    assert said == (
        "p2p-analytics: The times in good.csv are always UTC, so --tz America/New_York would move them: leave out --tz "
        "here, and choose the zone that you see with: p2p-analytics report a --tz America/New_York\n"
    )
    assert not Path(folder).exists()
    assert cli.main(["import", folder, "good.csv", "--tz", "UTC"]) == 0


def test_a_format_of_ones_own_is_kept(folder, monkeypatch) -> None:
    """The archive has a copy of the file, which the next import reads without the option; undo leaves it there."""
    Path("mybank.toml").write_text('name = "my bank"\n', "utf-8")
    read: list[str] = []
    monkeypatch.setattr(
        _import, "read_format", lambda path: (read.append(Path(path).name), SimpleNamespace(name="my bank"))[1],
    )  # fmt: skip
    monkeypatch.setattr(_import, "register_format", lambda each: each)
    words = ["import", folder, "good.csv"]
    assert cli.main([*words, "--format", "mybank.toml", "--dry-run"]) == 0
    assert not Path(folder).exists()
    assert cli.main([*words, "--format", "mybank.toml"]) == 0
    kept = Path(folder) / "format-my-bank.toml"
    assert kept.read_bytes() == Path("mybank.toml").read_bytes()
    read.clear()
    assert cli.main(words) == 0
    assert read == ["format-my-bank.toml"]
    for _ in range(2):
        assert cli.main(["undo", folder, "--yes"]) == 0
    assert kept.exists()
    assert cli.main(words) == 0


def test_describe(folder, capsys, monkeypatch) -> None:
    """The columns, three rows and a draft, then the command that uses it."""
    kind = type("Found", (SimpleNamespace,), {"__str__": lambda _: "my bank.csv:\n  Day  2024-01-02"})
    found = kind(format=None, columns=("Day", "Sum"), rows=(("2024-01-02", "3"),), toml='name = "x"\n')
    monkeypatch.setattr(_describe, "describe_file", lambda _path: found)
    assert cli.main(["describe", "my bank.csv"]) == 0
    assert capsys.readouterr().out == (
        "my bank.csv:\n  Day  2024-01-02\n"
        "Then: p2p-analytics import ARCHIVE 'my bank.csv' --format mybank.toml --account YOUR-NAME\n"
    )
    assert cli.main(["describe", "my bank.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "file": "my bank.csv", "format": None, "columns": ["Day", "Sum"], "rows": [["2024-01-02", "3"]],
        "toml": 'name = "x"\n',
    }  # fmt: skip
