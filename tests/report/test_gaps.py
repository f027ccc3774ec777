"""A report of statement files lists their problems, and says which days between them its sums leave out."""

from __future__ import annotations

import html
import re

import pytest

import p2p_analytics as p2p
from p2p_analytics.times import parse_instant
from support.reports import read_report, report_history

pytestmark = pytest.mark.usefixtures("draw_nothing")
_HEADER = (
    "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination,Beginning Balance,"
    "Ending Balance"
)
_DAYS = "5 Mar 2024 to 6 Jul 2024"
_WORDS = f"leave out what no file has: before autumn<b>.csv, {_DAYS}."
_SENTENCE = (
    "a file or rows may be missing after 'spring.csv': 3 months without rows, the balance changed by "
    "\N{MINUS SIGN}$42.00"
)


def _write(folder, name: str, month: int, opening: int) -> None:
    day = {3: 5, 7: 6}[month]
    row = f"{month},2024-0{month}-0{day}T10:00:00,Payment,Complete,x,Ada,Bo,- $5.00,0,,,,"
    title = ["Account Statement - (@ada)", "Account Activity", _HEADER]
    balances = f"{',' * 11}${opening}.00,", f"{',' * 12}${opening - 5}.00"
    (folder / name).write_text("\n".join([*title, balances[0], row, balances[1]]), "utf-8")


def test_the_days_of_a_gap(tmp_path) -> None:
    """They are shown below the sums and above the table of months, escaped, and beside the problem."""
    _write(tmp_path, "spring.csv", 3, 100)
    _write(tmp_path, "autumn<b>.csv", 7, 53)
    history = p2p.read_statements(tmp_path).history()
    page = read_report(history, only=["monthly_flow"]).html
    first, _, months = page.partition('<section id="monthly_flow">')
    assert "autumn<b>" not in page
    for part in (first.partition("</dl>")[2], months.partition("<table")[0]):
        assert _WORDS in html.unescape(re.sub(r"</?bdi>", "", part))
    assert f"{_DAYS}</td>" in page.partition('<section id="problems">')[2]
    assert _SENTENCE in html.unescape(page)
    for strict, days in ((False, _DAYS), (True, "Mar 2024 to Jul 2024")):
        private = read_report(history.masked(key=bytes(32), strict=strict), only=["monthly_flow"]).html
        assert re.search(rf"leave out what no file has: before [a-z ]+, {days}\.", re.sub(r"</?bdi>", "", private))
        for text in ("autumn", "spring", "without rows", "42.00"):
            assert text not in private
    (tmp_path / "autumn<b>.csv").unlink()
    whole = p2p.read_statements(tmp_path).history()
    assert "leave out" not in read_report(whole, only=["monthly_flow"]).text


def test_problems_of_files_show_file_line_and_days() -> None:
    """Problems of whole files come first, with days for a value; in privacy mode the code is the sentence."""
    first, last = parse_instant("2024-02-01T00:00:00Z"), parse_instant("2024-02-29T00:00:00Z")
    problems = [
        {
            "code": "not_an_amount", "file": "may.csv", "line": 1234, "payment_id": "7", "field": "amount",
            "value": "1o", "problem": "is not an amount",
        },
        {
            "code": "gap", "file": "may.csv", "field": "balance", "first_day": first, "last_day": last, "cents": 4321,
            "currency": "USD", "other_file": "april.csv", "problem": "a file may be missing after 'april.csv'",
        },
    ]  # fmt: skip
    history = report_history([], problems)
    text = read_report(history, only=["monthly_flow"]).text
    assert "leave out what no file has: before may.csv, 1 Feb 2024 to 29 Feb 2024 ." in text
    gap = "may.csv balance 1 Feb 2024 to 29 Feb 2024 a file may be missing after 'april.csv'"
    assert f"{gap} may.csv line 1,234 7 amount 1o is not an amount" in text
    for strict, days in ((False, "1 Feb 2024 to 29 Feb 2024"), (True, "Feb 2024")):
        private = read_report(history.masked(key=bytes(32), strict=strict), only=["monthly_flow"]).text
        assert f"balance {days} gap" in private
        assert not any(words in private for words in ("april", "may.csv", "43.21", "1,234", "1o"))
