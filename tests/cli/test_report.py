"""The command report: the report of an archive as an HTML file, without a token."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from support.archives.statements import row, statements_of
from support.reports import payment_row, report_history


def _pay(number: int, moment: str) -> dict[str, Any]:
    fields = {"flow_cents": -500, "direction": "out", "counterparty_id": "2", "counterparty_name": "Ben"}
    return payment_row(number, moment, **fields)


def test_report(archive_path, tmp_path, capsys) -> None:
    """One HTML file, with months in the zone that is given, and nothing real in privacy mode."""
    out = tmp_path / "r.html"
    assert cli.main(["report", archive_path, "--out", str(out), "--tz", "America/New_York"]) == 0
    assert capsys.readouterr().out == f"The report of 2 payments, in {out}\n"
    assert "rent" in out.read_text()
    assert cli.main(["report", archive_path, "--out", str(out), "--privacy"]) == 0
    assert ">rent<" not in out.read_text()
    assert capsys.readouterr().out.splitlines()[1] == "Privacy mode: names and amounts are invented."


@pytest.mark.usefixtures("draw_nothing")
def test_the_summary_as_json(archive_path, tmp_path, capsys) -> None:
    """`--json` prints the documented keys on one line; an error stays on standard error."""
    out = str(tmp_path / "r.html")
    assert cli.main(["report", archive_path, "--out", out, "--json", "--progress", "none"]) == 0
    counts = {"payments": 2, "friends": 1, "problems": 0}
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {"archive": archive_path, "file": out, **counts, "privacy": False}
    assert printed.err == ""
    assert cli.main(["report", str(tmp_path / "none"), "--json"]) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)


@pytest.mark.usefixtures("draw_nothing")
@pytest.mark.parametrize(
    ("words", "strict"),
    [
        (["--privacy", "ARCHIVE"], False),
        (["ARCHIVE", "--privacy"], False),
        (["ARCHIVE", "--privacy", "strict"], True),
        (["--privacy", "strict", "ARCHIVE"], True),
        (["--privacy=strict", "ARCHIVE"], True),
    ],
)
def test_privacy_accepts_only_strict(archive_path, tmp_path, words, strict) -> None:
    """`--privacy` takes an optional `strict`; an archive's name after it is not taken for the mode."""
    out = tmp_path / "r.html"
    words = [archive_path if word == "ARCHIVE" else word for word in words]
    assert cli.main(["report", *words, "--out", str(out), "--tz", "Pacific/Auckland"]) == 0
    said = "Strict privacy mode: " if strict else "Privacy mode: "
    assert said in out.read_text()
    assert "the zone UTC" in out.read_text()


@pytest.mark.usefixtures("draw_nothing")
def test_some_days_and_analyses(archive_path, tmp_path, capsys) -> None:
    """`--only`, `--since` and `--until` are those of `render_report`; what they refuse leaves the file as it is."""
    out = tmp_path / "r.html"
    words = ["report", archive_path, "--out", str(out)]
    assert cli.main([*words, "--only", "status_mix, recurring", "--since", "2024-05-02", "--until", "2024-05-31"]) == 0
    assert "The report of 1 payment, in " in capsys.readouterr().out
    page = out.read_text()
    assert (page.count("<section "), "Only payments from 2024-05-02 to 2024-05-31 are counted: 1 of 2" in page) == (
        2,
        True,
    )
    capsys.readouterr()
    for wrong, sentence in {
        ("--only", "unusual,rent"): "'rent' is no analysis: choose from spend_by_friend, ",
        ("--only", "unusual, recuring"): "'recuring' is no analysis: did you mean recurring?",
        ("--since", "May"): "May is no day, such as 2024-05-31",
        ("--since", "2023"): "2023 is no day: write 2023-01-01 or 2023-12-31",
    }.items():
        with pytest.raises(SystemExit) as caught:
            cli.main([*words, *wrong])
        assert (caught.value.code, sentence in capsys.readouterr().err) == (2, True)
    assert out.read_text() == page
    assert cli.main(["report", archive_path, "--out", str(tmp_path / "r.MD")]) == 0
    assert (tmp_path / "r.MD").read_text().startswith("# Payments of ")


@pytest.mark.usefixtures("draw_nothing")
def test_a_year_in_review(archive_path, tmp_path, monkeypatch, capsys) -> None:
    """It is in privacy mode unless that is switched off, and has the last year or the given one."""
    monkeypatch.chdir(tmp_path)
    words = ["report", archive_path, "--template", "year"]
    assert cli.main(words) == 0
    said, mode = capsys.readouterr().out.splitlines()
    assert (said, mode) == (
        "The year 2024 in review of 1 settled payment, in year.html",
        "Privacy mode: names and amounts are invented.",
    )
    page = (tmp_path / "year.html").read_text()
    assert "Privacy mode: names and amounts are invented." in page
    assert cli.main([*words, "--privacy", "strict", "--out", "s.html"]) == 0
    assert "Strict privacy mode: " in (tmp_path / "s.html").read_text()
    monkeypatch.setenv("P2P_PRIVACY", "1")
    capsys.readouterr()
    assert cli.main([*words, "--no-privacy", "--out", "r.md"]) == 0
    said, mode = capsys.readouterr().out.splitlines()
    assert (said, mode) == ("The year 2024 in review of 1 settled payment, in r.md", "Names and amounts are real.")
    assert "Names and amounts are real." in (tmp_path / "r.md").read_text()
    for wrong, sentence in {
        ("--year", "2024"): "--year is for the year in review: add --template year.",
        ("--template", "year", "--only", "recurring"): "--template year has its own analyses: leave out --only.",
        ("--template", "year", "--since", "2024-01-01"): "choose it with --year, not --since.",
        (
            "--privacy",
            "strict",
            "--no-privacy",
        ): "--privacy and --no-privacy exclude each other: leave one of them out.",
        ("--no-privacy", "--template", "year", "--privacy"): "exclude each other",
        ("--out", ""): "--out needs the name of a file, or - for standard output.",
        ("--out", "new.d/r.PDF"): "A report is HTML or Markdown, not .pdf: end --out in .html or .md.",
    }.items():
        assert cli.main(["report", archive_path, *wrong]) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.usefixtures("draw_nothing")
@pytest.mark.parametrize("out", ["year.html", "-", "folder", "link.html"])
def test_a_year_without_payments(archive_path, tmp_path, monkeypatch, capsys, out) -> None:
    """It is refused in one sentence, whether there is a file or not; nothing is written or replaced."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link.html").symlink_to("absent.html")
    words = ["report", archive_path, "--template", "year", "--out", out]
    for given, sentence in (
        (["--year", "2011"], "No payment settled in 2011; the payments are from 2024."),
        (["--year", "2025"], "No payment settled in 2025; the payments are from 2024. The data ends with 1 Jun 2024."),
        (["--as-of", "2019-05-01"], "No payment settled in 2019; all payments are later."),
        (["--as-of", "2019-01-01"], "No payment settled in 2019; all payments are later."),
    ):
        for _ in range(2):
            assert cli.main([*words, *given]) == 1
            advice = "No page is written: choose a year with payments with --year."
            assert capsys.readouterr() == ("", f"p2p-analytics: {sentence} {advice}\n")
    assert not (tmp_path / "year.html").exists()
    assert not (tmp_path / "absent.html").exists()
    assert not [*(tmp_path / "folder").iterdir()]


@pytest.mark.usefixtures("draw_nothing")
def test_a_year_without_payments_replaces_no_file(archive_path, tmp_path, monkeypatch, capsys) -> None:
    """The year of a mistyped --year leaves the page of the right one as it is."""
    monkeypatch.chdir(tmp_path)
    words = ["report", archive_path, "--template", "year"]
    assert cli.main(words) == 0
    page = (tmp_path / "year.html").read_bytes()
    capsys.readouterr()
    assert cli.main([*words, "--year", "2042"]) == 1
    assert (tmp_path / "year.html").read_bytes() == page
    assert cli.main([*words, "--year", "2024"]) == 0


@pytest.mark.usefixtures("draw_nothing")
def test_the_ending_of_the_page(archive_path, tmp_path, monkeypatch) -> None:
    """The last ending of the name, in small or capital letters, decides; a name without one is HTML."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.md").mkdir()
    for name, start in {"r": "<!", ".md": "<!", "new.md/r.md.HTM": "<!", "new.md/r": "<!", "r.html.Md": "# "}.items():
        assert cli.main(["report", archive_path, "--out", name, "--only", "status_mix"]) == 0
        assert (tmp_path / name).read_text().startswith(start)


@pytest.mark.usefixtures("draw_nothing")
def test_the_year_of_the_real_dates(tmp_path, monkeypatch, capsys) -> None:
    """The year, and the count that is printed, are those of the page without privacy mode."""
    monkeypatch.chdir(tmp_path)
    rows = [_pay(1, "2024-05-05T10:00:00Z"), _pay(2, "2025-01-02T10:00:00Z"), _pay(3, "2025-01-03T10:00:00Z")]
    history = replace(report_history(rows), fetched_at=datetime(2025, 2, 1, tzinfo=UTC))
    p2p.open_archive("a").merge(history)
    for as_of, said in (("2025-01-01", "2024 in review of 1 "), ("2025-01-02T12:00:00Z", "2025 in review of 1 ")):
        for mode in (["--no-privacy"], [], ["--privacy", "strict"]):
            assert cli.main(["report", "a", "--template", "year", "--as-of", as_of, *mode]) == 0
            assert f"The year {said}settled payment, in year.html" in capsys.readouterr().out
            page = (tmp_path / "year.html").read_text()
            assert f"<h1>{said[:4]} in payments</h1>" in page
            assert "<dt>Payments</dt><dd>1<small>" in page


@pytest.mark.usefixtures("draw_nothing")
def test_a_page_on_standard_output(archive_path, tmp_path, monkeypatch, capfd) -> None:
    """`--out -` prints the page and nothing else, and writes no file."""
    monkeypatch.chdir(tmp_path)
    for template, said in (([], ""), (["--template", "year", "--no-privacy"], "Names and amounts are real.\n")):
        assert cli.main(["report", archive_path, "--out", "-", *template]) == 0
        printed = capfd.readouterr()
        assert (printed.out.startswith("<!DOCTYPE html>"), printed.out.endswith("</html>")) == (True, True)
        assert printed.err == said
    assert cli.main(["report", archive_path, "--out", "-", "--json"]) == 2
    assert "leave out --json, or name a file" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.usefixtures("draw_nothing")
def test_the_stricter_privacy_mode(archive_path, tmp_path, monkeypatch, capsys) -> None:
    """`--privacy` does not weaken P2P_PRIVACY=strict; a wrong value of that is wrong use."""
    words = ["report", archive_path, "--out", str(tmp_path / "r.html"), "--privacy"]
    monkeypatch.setenv("P2P_PRIVACY", "strict")
    for template in ([], ["--template", "year"]):
        assert cli.main([*words, *template]) == 0
        assert capsys.readouterr().out.splitlines()[1].startswith("Strict privacy mode: ")
    monkeypatch.setenv("P2P_PRIVACY", "yes")
    with pytest.raises(SystemExit) as caught:
        cli.main(words)
    assert (caught.value.code, "P2P_PRIVACY is 1 for privacy mode" in capsys.readouterr().err) == (2, True)


@pytest.mark.usefixtures("draw_nothing")
def test_a_year_quotes_no_line_of_people_csv(tmp_path, monkeypatch, capsys) -> None:
    """The line is left out with a warning, which quotes it only outside of privacy mode."""
    monkeypatch.chdir(tmp_path)
    archive = p2p.open_archive("a")
    archive.import_(statements_of(row(1, "Theo Marsh")))
    (archive.path / "people.csv").write_text("alias,person,evidence\nTheo Marsh,user:zebquill,\n", "utf-8")
    for mode, is_quoted in (([], False), (["--privacy", "strict"], False), (["--no-privacy"], True)):
        assert cli.main(["report", "a", "--template", "year", *mode]) == 0
        said = capsys.readouterr().err
        assert said.startswith("people.csv, line 2: ")
        assert ("zebquill" in said) == is_quoted
        assert ("privacy mode" in said) != is_quoted


def test_a_privacy_mode_that_is_none_is_wrong_use(archive_path, tmp_path, capsys) -> None:
    """It ends with 2 and says which there are, and nothing is written."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["report", archive_path, "--privacy=weak", "--out", str(tmp_path / "r.html")])
    assert caught.value.code == 2
    assert "weak is no privacy mode: write --privacy or --privacy strict" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


def test_no_page_is_written_for_days_without_payments(archive_path, tmp_path, capsys) -> None:
    """A page that is there stays; the message says between which days there are payments."""
    page = tmp_path / "r.html"
    page.write_text("with payments")
    assert cli.main(["report", archive_path, "--since", "2030-01-01", "--out", str(page)]) == 1
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("No payment is in these days: those of ")
    assert second == "p2p-analytics: No page is written: choose other days with --since and --until."
    assert page.read_text() == "with payments"


def test_a_folder_that_is_no_archive(tmp_path, capsys) -> None:
    """It ends with 1 and a message."""
    assert cli.main(["report", str(tmp_path / "none")]) == 1
    assert "no archive" in capsys.readouterr().err


@pytest.mark.usefixtures("draw_nothing")
def test_several_currencies_need_a_choice(tmp_path, capsys) -> None:
    """The error names them and the option; with it, the report is of this currency, in small letters too."""
    file = tmp_path / "cash.csv"
    header = (
        "Date,Transaction ID,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Status,Name of sender/receiver"
    )
    lines = [
        f"2024-01-0{day} 10:00:00 UTC,x{day},P2P,{code},10.00,0.00,10.00,,COMPLETE,Bo Hart"
        for day, code in enumerate(["GBP", "GBP", "EUR"], start=1)
    ]
    file.write_text("\n".join([header, *lines]), "utf-8")
    folder, out = str(tmp_path / "a"), str(tmp_path / "r.html")
    assert cli.main(["import", folder, str(file), "--account", "nora"]) == 0
    capsys.readouterr()
    assert cli.main(["report", folder, "--out", out]) == 1
    assert (
        capsys.readouterr()
        .err.strip()
        .endswith(
            f"The payments of {folder} are in GBP (2) and EUR (1), which a report does not add: choose one, like "
            "--currency GBP."
        )
    )
    assert cli.main(["report", folder, "--out", out, "--template", "year"]) == 1
    assert "which a year in review does not add: choose one, like --currency GBP." in capsys.readouterr().err
    assert cli.main(["report", folder, "--out", out, "--currency", "eur"]) == 0
    assert "€10.00" in (tmp_path / "r.html").read_text("utf-8")
    assert cli.main(["report", folder, "--out", out, "--currency", "CHF"]) == 1
    assert "has no rows in 'CHF': its rows are in 'EUR', 'GBP'." in capsys.readouterr().err
