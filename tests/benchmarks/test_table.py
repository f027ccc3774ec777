"""The measurements have one format, and the documentation quotes them word for word."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
QUOTING_PAGE = HERE.parents[1] / "docs" / "performance.md"
RESULTS = HERE / "results.md"


@pytest.fixture
def table() -> dict[str, Any]:
    """Return the names that table.py defines."""
    return runpy.run_path(str(HERE / "table.py"))


def cells(row: str) -> list[str]:
    """Return the cells of a row of Markdown."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def test_the_documentation_quotes_the_results() -> None:
    """Each line between the page's markers is a line of the results; there are at least five rows below the header."""
    _, marker, rest = QUOTING_PAGE.read_text(encoding="utf-8").partition("<!-- bench -->\n")
    quoted, end, _ = rest.partition("<!-- /bench -->\n")
    assert marker
    assert end
    lines = quoted.splitlines()
    assert len(lines) >= 7
    assert set(lines) <= set(RESULTS.read_text(encoding="utf-8").splitlines())


def test_the_results_include_the_load_average() -> None:
    """The load average before and after is above the table, and each row has a result."""
    above, _, rows = RESULTS.read_text(encoding="utf-8").partition("|---|---|---|---|---|\n")
    assert above.count("load average") == 2
    assert len(rows.splitlines()) >= 20
    assert all(len(cells(row)) == 5 and cells(row)[2] for row in rows.splitlines())


def test_a_row_has_the_median_and_the_spread(table: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """Ratios become their median, minimum and maximum; text is unchanged; a note follows the result."""
    measured = table["Table"]()
    capsys.readouterr()
    measured.add_row("load", "a peer", [4.0, 1.5, 2.25], wanted="2x or more", note="3 rows")
    measured.add_row("requests", "the fewest", "0.90x")
    rows = [cells(row) for row in capsys.readouterr().out.splitlines()]
    assert rows == [
        ["load", "a peer", "2.25x; 3 rows", "1.50 to 4.00", "2x or more"],
        ["requests", "the fewest", "0.90x", "", ""],
    ]


def test_a_new_run_replaces_quoted_rows(table: dict[str, Any]) -> None:
    """A quoted row is replaced by the new row of the same name and peer; other text is unchanged."""
    text = "Before\n<!-- bench -->\n| a | b | 1x |\n| gone | b | 2x |\n<!-- /bench -->\n| a | b | after |\n"
    lines = ["| a   | b  | 3x |", "| a | c | 4x |"]
    assert table["replace_rows"](text, lines) == text.replace("| a | b | 1x |", lines[0])


def test_the_row_without_dlt(tmp_path: Path) -> None:
    """Without dlt, one row reports that, and no payments are loaded."""
    rows = []
    measure = runpy.run_path(str(HERE / "loading.py"))["measure"]
    measure(lambda name, peer, result: rows.append((peer, result)), tmp_path / "nothing")
    ((peer, result),) = rows
    assert peer == "dlt to DuckDB"
    assert result.startswith("dlt is not installed")


def test_the_row_without_ydata_profiling(tmp_path: Path) -> None:
    """Without it, one row reports that, and nothing is drawn."""
    rows = []
    compare = runpy.run_path(str(HERE / "pages" / "report.py"))["compare"]
    compare(lambda name, peer, result: rows.append((peer, result)), tmp_path / "nothing")
    ((peer, result),) = rows
    assert peer == "ydata-profiling"
    assert result.startswith("ydata-profiling is not installed")
