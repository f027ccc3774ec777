"""The command report: the report of an archive as an HTML or Markdown file, without a token."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

import p2p_analytics as p2p
from support.archives.statements import row, statements_of
from support.reports import payment_row, report_history

pytestmark = pytest.mark.usefixtures("archive", "draw_nothing")
PRIVATE = "Privacy mode: names and amounts are invented."
STRICT = "Strict privacy mode: names and amounts are invented, dates are months."
REAL = "Names and amounts are real."


def read(name: str) -> str:
    """Return the text of a page."""
    return Path(name).read_text("utf-8")


def test_report(run) -> None:
    """One HTML file, or the page and nothing else on standard output; an error is one line on standard error."""
    for words, said in (("--only status_mix", ""), ("--template year --no-privacy", f"{REAL}\n")):
        printed = run(f"report a --out - {words}")
        assert (printed.out[:15], printed.out[-7:], printed.err) == ("<!DOCTYPE html>", "</html>", said)
    assert [path.name for path in Path().iterdir()] == ["a"]
    assert run("report a --tz America/New_York") == (0, "The report of 2 payments, in report.html\n", "")
    assert ">rent<" in read("report.html")
    code, out, err = run("report a --out r.html --json --progress none --only status_mix")
    counts = {"payments": 2, "friends": 1, "problems": 0}
    expected = {"archive": "a", "file": "r.html", **counts, "privacy": False}
    assert (code, json.loads(out), err) == (0, expected, "")
    code, out, err = run("report none --json")
    assert (code, out, err.count("\n"), "no archive" in err) == (1, "", 1, True)


def test_privacy_accepts_only_strict(run) -> None:
    """`--privacy` takes an optional `strict`; an archive's name after it is not taken for the mode."""
    for words, mode in {
        "--privacy a": PRIVATE, "a --privacy": PRIVATE, "a --privacy strict": STRICT, "--privacy strict a": STRICT,
        "--privacy=strict a": STRICT,
    }.items():  # fmt: skip
        code, out, _ = run(f"report {words} --tz Pacific/Auckland --only pending_requests")
        assert (code, out.splitlines()[1]) == (0, mode)
        page = read("report.html")
        assert (mode in page, ">rent<" in page, "the zone UTC" in page) == (True, False, True)


def test_the_stricter_privacy_mode(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--privacy` does not weaken P2P_PRIVACY=strict; a wrong value of that is wrong use."""
    monkeypatch.setenv("P2P_PRIVACY", "strict")
    for template in ("", "--template year"):
        assert run(f"report a --privacy {template}").out.splitlines()[1] == STRICT
    monkeypatch.setenv("P2P_PRIVACY", "yes")
    code, _, err = run("report a --privacy")
    assert (code, "P2P_PRIVACY is 1 for privacy mode" in err) == (2, True)


def test_some_days_and_analyses(run) -> None:
    """`--only`, `--since` and `--until` are those of `render_report`."""
    words = "--since 2024-05-02 --until 2024-05-31 --only"
    assert run(f"report a {words}", "status_mix, recurring").out.startswith("The report of 1 payment, in ")
    page = read("report.html")
    assert page.count("<section ") == 2
    assert "Only payments from 2024-05-02 to 2024-05-31 are counted: 1 of 2" in page
    code, out, err = run("report a --since 2030-01-01")
    assert (code, out) == (1, "")
    assert err == (
        "No payment is in these days: those of a are from 2024-05-01 to 2024-05-31.\n"
        "p2p-analytics: No page is written: choose other days with --since and --until.\n"
    )
    assert read("report.html") == page


def test_a_year_in_review(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in privacy mode unless that is switched off, and has the last year or the given one."""
    said = "The year 2024 in review of 1 settled payment, in "
    for words, file, mode in (
        ("", "year.html", PRIVATE), ("--privacy strict --out s.html", "s.html", STRICT),
        ("--no-privacy --year 2024 --out r.md", "r.md", REAL),
    ):  # fmt: skip
        monkeypatch.setenv("P2P_PRIVACY", "1")
        assert run(f"report a --template year {words}").out == f"{said}{file}\n{mode}\n"
        assert mode in read(file)


def test_a_year_without_payments(run) -> None:
    """It is refused in one sentence, whether there is a file or not; nothing is written or replaced."""
    Path("year.html").write_text("of another year")
    Path("link.html").symlink_to("absent.html")
    for words, out, sentence in (
        ("--year 2011", "year.html", "No payment settled in 2011; the payments are from 2024."),
        (
            "--year 2025",
            "new.html",
            "No payment settled in 2025; the payments are from 2024. The data ends with 1 Jun 2024.",
        ),
        ("--as-of 2019-05-01", "link.html", "No payment settled in 2019; all payments are later."),
        ("--year 2011", "-", "No payment settled in 2011; the payments are from 2024."),
    ):
        said = f"p2p-analytics: {sentence} No page is written: choose a year with payments with --year.\n"
        assert run(f"report a --template year --out {out} {words}") == (1, "", said)
    assert read("year.html") == "of another year"
    assert {path.name for path in Path().iterdir()} == {"a", "year.html", "link.html"}


def test_the_ending_of_the_page(run) -> None:
    """The last ending of the name, in small or capital letters, decides; a name without one is HTML."""
    Path("new.md").mkdir()
    for name, start in {"r": "<!", ".md": "<!", "new.md/r.md.HTM": "<!", "new.md/r": "<!", "r.html.Md": "# "}.items():
        assert run(f"report a --out {name} --only status_mix").code == 0
        assert read(name).startswith(start)


def test_a_wrong_line_of_people_csv_is_quoted_outside_of_privacy_mode(run) -> None:
    """The line is left out with a warning, by report, year in review and export."""
    archive = p2p.open_archive("b")
    archive.import_(statements_of(row(1, "Theo Marsh")))
    Path("b/people.csv").write_text("alias,person,evidence\nTheo Marsh,user:zebquill,\n", "utf-8")
    year = "report b --template year"
    for words, is_quoted in (
        (year, False), (f"{year} --no-privacy", True), ("report b --only status_mix", True),
        ("report b --privacy strict --only status_mix", False), ("export b p.csv", True),
    ):  # fmt: skip
        code, _, err = run(words)
        assert (code, err.startswith("people.csv")) == (0, True)
        assert ("zebquill" in err, "privacy mode" in err) == (is_quoted, not is_quoted)


def test_several_currencies_need_a_choice(run) -> None:
    """The error names them and the option; with it, the report is of this currency, in small letters too."""
    rows = [row(number, currency=code) for number, code in enumerate(["GBP", "GBP", "EUR"])]
    p2p.open_archive("b").import_(statements_of(*rows))
    counts = "p2p-analytics: The payments of b are in GBP (2) and EUR (1), which"
    advice = "does not add: choose one, like --currency GBP.\n"
    assert run("report b") == (1, "", f"{counts} a report {advice}")
    assert run("report b --template year") == (1, "", f"{counts} a year in review {advice}")
    assert run("reminders b") == (1, "", f"{counts} a list of reminders {advice}")
    assert run("report b --currency eur --only status_mix").code == 0
    assert "€5.00" in read("report.html")
    code, _, err = run("report b --currency CHF")
    assert (code, "has no rows in 'CHF': its rows are in 'EUR', 'GBP'." in err) == (1, True)


def test_archives_of_several_services(run) -> None:
    """One table, report or list, as of the latest: rows keep their account, equal ids are two, people are one."""
    ask = {"action": "charge", "direction": "in", "status": "pending"}
    for folder, account, date, cents, name in (
        ("venmo", "nora-quill", "2024-05-01T12:00:00", 500, "Lena Ortiz"),
        ("cash", "noraq", "2025-02-03T10:00:00", 700, "Imani Cole"),
    ):
        own = {"account_id": account, "date": date, "amount_cents": cents}
        rows = row("1", "Theo Marsh", **own), row(f"{account} 2", name, **own | ask)
        p2p.open_archive(folder).import_(statements_of(*rows, account=account))
    values = json.loads(run("export venmo cash all.csv --json").out)
    assert (values["archive"], values["archives"], values["rows"]) == ("venmo, cash", ["venmo", "cash"], 4)
    payments = p2p.read_csv("all.csv")
    assert (set(payments["account_id"]), payments["payment_id"].is_unique) == ({"nora-quill", "noraq"}, True)
    assert run("export venmo cash people.csv --table spend_by_friend").code == 0
    assert p2p.read_csv("people.csv")["counterparty_name"].tolist().count("Theo Marsh") == 1
    assert run("export venmo cash balances.csv --table reconciliation").code == 0
    assert len(p2p.read_csv("balances.csv")) == 2
    values = json.loads(run("reminders venmo cash --json").out)
    assert values["as_of"].startswith("2025-02-03")
    assert [each["counterparty_name"] for each in values["reminders"]] == ["Lena Ortiz", "Imani Cole"]
    code, _, err = run("report venmo nowhere")
    assert (code, "There is no archive in " in err, Path("report.html").exists()) == (1, True, False)
    assert run("report venmo cash --only status_mix").out.startswith("The report of 4 payments, in report.html")
    assert run("report venmo cash --privacy --only spend_by_friend --out private.html").code == 0
    assert "Theo" not in read("private.html")
    assert run("report venmo cash --template year --out year.html").code == 0


def test_the_year_of_the_real_dates(run) -> None:
    """The year, and the count that is printed, are those of the page without privacy mode."""
    side = {"flow_cents": -500, "direction": "out", "counterparty_id": "2", "counterparty_name": "Ben"}
    days = ("2024-05-05", "2025-01-02", "2025-01-03")
    rows = [payment_row(number, f"{day}T10:00:00Z", **side) for number, day in enumerate(days)]
    p2p.open_archive("b").merge(replace(report_history(rows), fetched_at=datetime(2025, 2, 1, tzinfo=UTC)))
    strict = "--privacy strict"
    for as_of, mode, year in (
        ("2025-01-01", "--no-privacy", 2024), ("2025-01-01", strict, 2024), ("2025-01-02T12:00:00Z", strict, 2025),
    ):  # fmt: skip
        out = run(f"report b --template year --as-of {as_of} {mode}").out
        assert out.startswith(f"The year {year} in review of 1 settled payment, in year.html")
