"""The command import with files that cannot be used, files to leave out, groups, zones and formats of one's own."""

import json
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError

GROUP = "Date,Description,Category,Cost,Currency,Nora Quill,Theo Marsh\n2024-01-02,tea,Payment,5.00,USD,-5.00,5.00\n"
ADVICE = "name yours with --member, one of 'Nora Quill', 'Theo Marsh'."
FORMAT = 'name = "my bank"\ncurrency = "EUR"\n\n[columns]\ndate = "Booked"\nname = "Whom"\namount = "Sum"\n'


@pytest.fixture(autouse=True)
def _files(samples) -> None:
    """Write a good file, a damaged one, and one of a group."""
    text = Path("gen_d_2024.csv").rename("good.csv").read_text("utf-8-sig")
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


def test_the_folder_was_left_out(run) -> None:
    """The first file is taken for the archive, which may be the last word: the message has the command."""
    for files, meant in (
        ("group.csv", "mypayments good.csv group.csv"), ("rounded.csv rounded.csv group.csv", "mypayments YOUR-FILES"),
        ("group.csv archive", "archive good.csv group.csv"),
    ):  # fmt: skip
        code, _, err = run(f"import good.csv {files}")
        assert (code, err.partition("Did you mean: ")[2]) == (2, f"p2p-analytics import {meant}\n")


def test_files_that_are_no_statements(run) -> None:
    """One file alone has to be a statement; others of a pattern are skipped, and only counted if they are many."""
    for number in range(4):
        Path(f"shop{number}.csv").write_text("Shop,Total\nMill,3\n", "utf-8")
    code, _, err = run("import a shop0.csv")
    assert (code, err.count("\n"), "shop0.csv is not a statement (columns: Shop, Total). " in err) == (1, 1, True)
    assert run("import a none.csv").code == 1
    assert not Path("a").exists()
    out = run("import a good.csv shop[0-2].csv").out.splitlines()
    assert out[2:5] == [f"skipped: shop{at}.csv is not a statement (columns: Shop, Total)." for at in range(3)]
    values = json.loads(run("import a good.csv shop0.csv --json").out)
    assert (values["problems"], [each["file"] for each in values["skipped"]]) == (1, ["shop0.csv"])
    assert len(p2p.open_archive("a").history().problems) == 1
    line = "4 other files were skipped, because they are not statements; --verbose lists them"
    assert line in run("import a good.csv shop?.csv").out.splitlines()
    assert run("import a good.csv shop?.csv --verbose").out.count("\nskipped: shop") == 4


def test_formats_with_names_alike_and_without_a_file(run) -> None:
    """Each has a file of its own; a file that is missing is named."""
    run("import a good.csv")
    archive = p2p.open_archive("a")
    for name in ("my bank", "my-bank", "my_bank"):
        Path("own.toml").write_text(name, "utf-8")
        archive.keep_format("own.toml", name)
    assert sorted(path.read_text("utf-8") for path in archive.formats) == ["my bank", "my-bank", "my_bank"]
    with pytest.raises(ConfigurationError, match=r"nope\.toml"):
        archive.keep_format("nope.toml", "nope")


def test_the_names_of_the_holder_in_privacy_mode(run, monkeypatch) -> None:
    """They are real, and are not returned."""
    run("import a good.csv")
    monkeypatch.setenv("P2P_PRIVACY", "1")
    with pytest.raises(ConfigurationError, match="names are real"):
        _ = p2p.open_archive("a").holder_names


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


def test_a_terminal_asks_for_the_member(answer, run) -> None:
    """By number or name; another answer is none, and the file is refused, beside others too."""
    question = "Which member of group.csv are you? 1 Nora Quill, 2 Theo Marsh: "
    for archive, files, given, code, holders in (
        ("a", "group.csv", "2", 0, ["Theo Marsh"]), ("b", "group.csv", "Theo Marsh", 0, ["Theo Marsh"]),
        ("c", "group.csv", "x", 1, []), ("d", "good.csv group.csv", "1", 0, ["Nora Quill"]),
        ("e", "good.csv group.csv", "x", 3, ["Nora Quill"]),
    ):  # fmt: skip
        answer(f"{given}\n")
        found = run(f"import {archive} {files}")
        assert (found.code, question in found.err) == (code, True)
        assert p2p.open_archive(archive).holder_names == holders
    code, _, err = run("import c group.csv --json")
    assert (code, "Which member" in err, err.endswith(f"{ADVICE}\n")) == (1, False, True)


def test_a_zone_that_is_known_is_not_moved(run) -> None:
    """The service's own files are in UTC: the zone is for the report."""
    said = (
        "p2p-analytics: The times in good.csv are always UTC, so --tz America/New_York would move them: leave out --tz "
        "here, and choose the zone that you see with: p2p-analytics report a --tz America/New_York\n"
    )
    assert run("import a good.csv --tz America/New_York") == (2, "", said)
    assert not Path("a").exists()
    assert run("import a good.csv --tz UTC").code == 0


def test_a_format_of_ones_own_is_kept(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The archive has a copy of the file, which the next import reads without the option; undo leaves it there."""
    monkeypatch.setattr("p2p_analytics.statements.formats.registry._FORMATS", {})  # other tests have no own formats
    Path("mybank.toml").write_text(FORMAT, "utf-8")
    Path("own.csv").write_text("Booked,Whom,Sum\n2024-01-02,Theo Marsh,5.00\n", "utf-8")
    words = "import a own.csv --account nora"
    assert (run(f"{words} --format mybank.toml --dry-run").code, Path("a").exists()) == (0, False)
    assert run(f"{words} --format mybank.toml").code == 0
    (kept,) = p2p.open_archive("a").formats
    assert kept.name.startswith("format-my-bank")
    assert kept.read_text("utf-8") == FORMAT
    assert run("undo a --yes").code == 0
    kept.write_text(FORMAT.replace("EUR", "CHF"), "utf-8")
    assert run(words).code == 0
    (row,) = p2p.open_archive("a").history().payments.to_dict("records")
    assert (row["flow_cents"], row["currency"]) == (500, "CHF")


def test_describe(run) -> None:
    """The columns, three rows and a draft, then the command that uses it; a known file can be imported at once."""
    Path("my bank.csv").write_text("Day,Whom,Total\n2024-01-02,Theo Marsh,3\n", "utf-8")
    Path("my good.csv").write_bytes(Path("good.csv").read_bytes())
    for name, words in (
        ("my bank.csv", "Then: p2p-analytics import ARCHIVE 'my bank.csv' --format mybank.toml --account YOUR-NAME"),
        ("my good.csv", "Import it: p2p-analytics import ARCHIVE 'my good.csv'"),
    ):
        found = p2p.describe_file(name)
        assert run("describe", name).out == f"{found}\n{words}\n"
        assert json.loads(run("describe --json", name).out) == {
            "file": name, "format": found.format, "columns": list(found.columns), "rows": list(map(list, found.rows)),
            "toml": found.toml,
        }  # fmt: skip
