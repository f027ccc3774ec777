"""The command import with files that cannot be used, files to leave out, groups, zones and formats of one's own."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import p2p_analytics as p2p
from p2p_analytics import statements
from p2p_analytics.cli import _describe, _import

STATEMENT = Path(__file__).parents[1] / "statements" / "samples" / "gen_d_2024.csv"
GROUP = "Date,Description,Category,Cost,Currency,Nora Quill,Theo Marsh\n2024-01-02,tea,Payment,5.00,USD,-5.00,5.00\n"
ADVICE = "name yours with --member, one of 'Nora Quill', 'Theo Marsh'."


@pytest.fixture(autouse=True)
def _files(_own_folder) -> None:
    """Write a good file, a damaged one, and one of a group."""
    Path("good.csv").write_bytes(STATEMENT.read_bytes())
    text = STATEMENT.read_text("utf-8-sig")
    Path("rounded.csv").write_text(text.replace("3970000000000000302", "3.97E+18"), "utf-8")
    Path("group.csv").write_text(GROUP, "utf-8")


def test_bad_files_stop_nothing(run) -> None:
    """The others are imported, each refused file has a line, and the exit code is 3; with bad ones only it is 1."""
    code, _, err = run("import a rounded.csv group.csv")
    assert (code, "rounded.csv" in err, Path("a").exists()) == (1, True, False)
    code, out, _ = run("import a good.csv rounded.csv group.csv")
    lines = out.splitlines()
    assert (code, lines[0][:20], lines[1][:14]) == (3, "6 new transactions (", "1 Venmo file, ")
    refused = [line for line in lines if line.startswith("refused: ")]
    assert [line.split()[1].strip(",") for line in refused] == ["rounded.csv", "group.csv"]
    assert refused[1].endswith(ADVICE)
    code, out, _ = run("import a good.csv rounded.csv --json")
    values = json.loads(out)
    assert (code, values["known"], values["refused"]) == (3, 6, 0)
    assert [each["file"] for each in values["refused_files"]] == ["rounded.csv"]
    code, out, _ = run("import a good.csv rounded.csv group.csv --exclude round* --exclude *oup.csv")
    assert (code, "refused" in out) == (0, False)


@pytest.mark.parametrize(
    ("files", "meant"), [("group.csv", "good.csv group.csv"), ("a b c", "YOUR-FILES"), ("b c", "good.csv b c")]
)
def test_the_folder_was_left_out(run, files: str, meant: str) -> None:
    """The first file is taken for the archive: the message has the command that was meant."""
    code, _, err = run(f"import good.csv {files}")
    assert (code, err.partition("Did you mean: ")[2]) == (2, f"p2p-analytics import mypayments {meant}\n")


def test_many_skipped_files_are_one_line(run) -> None:
    """More than three files that are not statements are counted; --verbose lists them."""
    for number in range(4):
        Path(f"shop{number}.csv").write_text("Shop,Total\nMill,3\n", "utf-8")
    assert run("import a good.csv shop[0-2].csv").out.count("\nskipped: ") == 3
    line = "4 other files were skipped, because they are not statements; --verbose lists them"
    assert line in run("import a good.csv shop?.csv").out.splitlines()
    assert run("import a good.csv shop?.csv --verbose").out.count("\nskipped: shop") == 4


def test_a_member_is_named_once(run) -> None:
    """Later files of groups with this member need no option, nor does one with the holder of other statements."""
    assert "1 Splitwise file, " in run("import a group.csv --member", "theo marsh").out
    assert p2p.open_archive("a").holder_names == ["Theo Marsh"]
    Path("trip.csv").write_text(GROUP.replace("Nora Quill", "Lena Ortiz").replace("2024-01-02", "2024-05-06"), "utf-8")
    assert run("import a trip.csv").code == 0
    assert set(p2p.open_archive("a").history().payments["counterparty_name"]) == {"Nora Quill", "Lena Ortiz"}
    assert run("import b good.csv").code == 0
    assert p2p.open_archive("b").holder_names == ["Nora Quill"]
    assert run("import b group.csv")[::2] == (0, "")


@pytest.mark.parametrize("answer", ["2\n", "Theo Marsh\n"])
def test_a_terminal_asks_for_the_member(answer, run, monkeypatch: pytest.MonkeyPatch) -> None:
    """By number or name; another answer is none, and the file is refused, beside others too."""
    monkeypatch.setattr("p2p_analytics.cli._output.is_terminal", lambda: True)
    question = "Which member of group.csv are you? 1 Nora Quill, 2 Theo Marsh: "
    for archive, files, given, code, holders in (
        ("a", "group.csv", answer, 0, ["Theo Marsh"]), ("b", "group.csv", "x\n", 1, []),
        ("c", "good.csv group.csv", "1\n", 0, ["Nora Quill"]), ("d", "good.csv group.csv", "x\n", 3, ["Nora Quill"]),
    ):  # fmt: skip
        monkeypatch.setattr("sys.stdin", io.StringIO(given))
        found = run(f"import {archive} {files}")
        assert (found.code, question in found.err) == (code, True)
        assert p2p.open_archive(archive).holder_names == holders
    code, _, err = run("import b group.csv --json")
    assert (code, "Which member" in err, err.endswith(f"{ADVICE}\n")) == (1, False, True)


def test_a_zone_that_is_known_is_not_moved(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's own files are in UTC: the zone is for the report."""
    zones = [SimpleNamespace(name=each.name, zone="UTC") for each in statements.list_formats()]
    monkeypatch.setattr(_import, "list_formats", lambda: zones)
    said = (
        "p2p-analytics: The times in good.csv are always UTC, so --tz America/New_York would move them: leave out --tz "
        "here, and choose the zone that you see with: p2p-analytics report a --tz America/New_York\n"
    )
    assert run("import a good.csv --tz America/New_York") == (2, "", said)
    assert not Path("a").exists()
    assert run("import a good.csv --tz UTC").code == 0


def test_a_format_of_ones_own_is_kept(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The archive has a copy of the file, which the next import reads without the option; undo leaves it there."""
    Path("mybank.toml").write_text('name = "my bank"\n', "utf-8")
    read: list[str] = []
    monkeypatch.setattr(
        _import, "read_format", lambda path: (read.append(Path(path).name), SimpleNamespace(name="my bank"))[1],
    )  # fmt: skip
    monkeypatch.setattr(_import, "register_format", lambda each: each)
    assert run("import a good.csv --format mybank.toml --dry-run").code == 0
    assert not Path("a").exists()
    assert run("import a good.csv --format mybank.toml").code == 0
    kept = Path("a/format-my-bank.toml")
    assert kept.read_bytes() == Path("mybank.toml").read_bytes()
    assert run("undo a --yes").code == 0
    read.clear()
    assert run("import a good.csv").code == 0
    assert read == ["format-my-bank.toml"]


@pytest.mark.parametrize(
    ("known", "advice"),
    [
        (None, "Then: p2p-analytics import ARCHIVE 'my bank.csv' --format mybank.toml --account YOUR-NAME"),
        ("my bank", "Import it: p2p-analytics import ARCHIVE 'my bank.csv'"),
    ],
)
def test_describe(run, monkeypatch: pytest.MonkeyPatch, known: str | None, advice: str) -> None:
    """The columns, three rows and a draft, then the command that uses it."""
    kind = type("Found", (SimpleNamespace,), {"__str__": lambda _: "my bank.csv:\n  Day  2024-01-02"})
    found = kind(format=known, columns=("Day", "Sum"), rows=(("2024-01-02", "3"),), toml='name = "x"\n')
    monkeypatch.setattr(_describe, "describe_file", lambda _path: found)
    assert run("describe", "my bank.csv").out == f"my bank.csv:\n  Day  2024-01-02\n{advice}\n"
    assert json.loads(run("describe --json", "my bank.csv").out) == {
        "file": "my bank.csv", "format": known, "columns": ["Day", "Sum"], "rows": [["2024-01-02", "3"]],
        "toml": 'name = "x"\n',
    }  # fmt: skip
