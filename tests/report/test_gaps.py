"""A report of statement files with a gap says which days its sums leave out."""

from __future__ import annotations

import html
import re

import p2p_analytics as p2p

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
    page = p2p.render_report(history, as_of=history.fetched_at)
    first, _, months = page.partition('<section id="monthly_flow">')
    assert "autumn<b>" not in page
    for part in (first.partition("</dl>")[2], months.partition("<table")[0]):
        assert _WORDS in html.unescape(re.sub(r"</?bdi>", "", part))
    assert f"{_DAYS}</td>" in page.partition('<section id="problems">')[2]
    assert _SENTENCE in html.unescape(page)
    assert "open ones not in the share settled" not in page, "there are no requests"
    for strict, days in ((False, _DAYS), (True, "Mar 2024 to Jul 2024")):
        private = p2p.render_report(history.masked(key=bytes(32), strict=strict), as_of=history.fetched_at)
        assert re.search(rf"leave out what no file has: before [a-z ]+, {days}\.", re.sub(r"</?bdi>", "", private))
        for text in ("autumn", "spring", "without rows", "42.00"):
            assert text not in private
    (tmp_path / "autumn<b>.csv").unlink()
    whole = p2p.read_statements(tmp_path).history()
    assert "leave out" not in p2p.render_report(whole, as_of=whole.fetched_at)
