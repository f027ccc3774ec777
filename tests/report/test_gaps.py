"""A report of statement files with a gap says which days its sums leave out."""

from __future__ import annotations

import html
import re

import p2p_analytics as p2p

_HEADER = (
    "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination,Beginning Balance,"
    "Ending Balance"
)
_WORDS = (
    "leave out what no file has: before autumn<b>.csv, after 'spring.csv', USD, 2024-03-05 to 2024-07-06: "
    "3 months without rows, the balance changed by \N{MINUS SIGN}$42.00."
)


def _write(folder, name: str, month: int, opening: int) -> None:
    day = {3: 5, 7: 6}[month]
    row = f"{month},2024-0{month}-0{day}T10:00:00,Payment,Complete,x,Ada,Bo,- $5.00,0,,,,"
    title = ["Account Statement - (@ada)", "Account Activity", _HEADER]
    balances = f"{',' * 11}${opening}.00,", f"{',' * 12}${opening - 5}.00"
    (folder / name).write_text("\n".join([*title, balances[0], row, balances[1]]), "utf-8")


def test_the_days_of_a_gap(tmp_path) -> None:
    """They stand below the sums and above the table of months, escaped; in privacy mode, only that there is a gap."""
    _write(tmp_path, "spring.csv", 3, 100)
    _write(tmp_path, "autumn<b>.csv", 7, 53)
    history = p2p.read_statements(tmp_path).history()
    page = p2p.render_report(history, as_of=history.fetched_at)
    first, _, months = page.partition('<section id="monthly_flow">')
    assert "autumn<b>" not in page
    for part in (first.partition("</dl>")[2], months.partition("<table")[0]):
        assert _WORDS in html.unescape(re.sub(r"</?bdi>", "", part))
    assert "open ones not in the share settled" not in page, "there are no requests"
    private = p2p.render_report(history.masked(key=bytes(32)), as_of=history.fetched_at)
    assert "leave out what no file has: before " in re.sub(r"</?bdi>", "", private)
    for text in ("autumn", "spring", "2024-07-06", "42.00"):
        assert text not in private
    (tmp_path / "autumn<b>.csv").unlink()
    whole = p2p.read_statements(tmp_path).history()
    assert "leave out" not in p2p.render_report(whole, as_of=whole.fetched_at)
