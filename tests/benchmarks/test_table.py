"""The measurements have one format, and the page of the documentation has all of them."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
QUOTING_PAGE = HERE.parents[1] / "docs" / "performance.md"
RESULTS = HERE / "results.md"
FEW_RESULTS = """\
# Results

- Quiet.

| what | against | result | spread | wanted |
|---|---|---|---|---|
| status_mix, 1,000 | pandas by hand | 1.30x; wall 1x, 5 ms | | 1.1x or less |
| geometric mean of these, 1,000 | pandas by hand | 0.80x | | 0.9x or less |
| status_mix, 1,000 | SQL by hand | 0.50x; wall 1x, 7 ms | | 1.2x or less |
| report of 3 payments | a peer | 2.00x | 1.00 to 3.00 | |
"""


@pytest.fixture
def table() -> dict[str, Any]:
    """Return the names that table.py defines."""
    return runpy.run_path(str(HERE / "table.py"))


@pytest.fixture
def page_script() -> dict[str, Any]:
    """Return the names that the script of the page defines."""
    return runpy.run_path(str(QUOTING_PAGE.with_name("write_performance.py")))


def cells(row: str) -> list[str]:
    """Return the cells of a row of Markdown."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def test_the_page_is_current(page_script: dict[str, Any]) -> None:
    """The tables of the page agree with the results: run ``make docs`` after a change of them."""
    text = QUOTING_PAGE.read_text(encoding="utf-8")
    assert page_script["fill_page"](text, RESULTS.read_text(encoding="utf-8")) == text, "run make docs"


def test_the_page_has_every_result(page_script: dict[str, Any]) -> None:
    """Each section of the results has a table of its own on the page, and the analyses one for each size."""
    text = QUOTING_PAGE.read_text(encoding="utf-8")
    blocks = [f"rows {name}" for name in page_script["STARTS"] if name != "analyses"]
    blocks += [f"matrix {size}" for size in ("1,000,000", "10,000,000", "ten times the payments")]
    assert [block for block in blocks if text.count(f"<!-- bench: {block} -->\n") != 1] == []


@pytest.mark.parametrize(
    ("result", "wanted", "missed"),
    [
        ("7.99x", "8x or more", True),
        ("8.00x", "8x or more", False),
        ("1.21x; wall 0.90x, 1,182 ms", "1.2x or less", True),
        ("1.20x; wall 1.90x, 1,182 ms", "1.2x or less", False),
        ("+3.1 ms; 8.8 ms in all", "3 ms or less", True),
        ("-7.0 ms; 16.3 ms in all", "3 ms or less", False),
        ("441", "440 or fewer", True),
        ("2.01%", "2% or less", True),
        ("9.5 s; 11.4 s of CPU, 1.67 MB", "10 s, 3 MB", False),
        ("10.5 s; 9.4 s of CPU, 1.67 MB", "10 s, 3 MB", True),
        ("9.5 s; 11.4 s of CPU, 3.01 MB", "10 s, 3 MB", True),
        ("0.1x", "", False),
        ("dlt is not installed: 2 rows", "12x or more", False),
    ],
)
def test_a_missed_limit_is_noticed(page_script: dict[str, Any], result: str, wanted: str, *, missed: bool) -> None:
    """Limits are at least, at most, or two at once; the first number of the result counts, or that with the unit."""
    assert page_script["is_missed"](page_script["Row"]("load", "a peer", result, "", wanted)) is missed


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


def test_a_new_run_replaces_the_tables(page_script: dict[str, Any]) -> None:
    """The tables show the results as they are now, with misses in bold; text outside of the markers is unchanged."""
    blocks = ["machine", "misses", "matrix 1,000", "rows report", "rows memory"]
    page = "Before\n" + "".join(f"<!-- bench: {name} -->\nold\n<!-- /bench -->\n" for name in blocks) + "After\n"
    filled = page_script["fill_page"](page, FEW_RESULTS)
    assert [line for line in filled.splitlines() if not line.startswith("<!--")] == [
        "Before",
        "- Quiet.",
        "Results with a limit: 3. Within it: 2. Misses: 1.",
        "| analysis | pandas by hand (1.1x or less) | SQL by hand (1.2x or less) |",
        "|---|---|---|",
        "| status_mix | **1.30x, 5 ms** | 0.50x, 7 ms |",
        "| geometric mean of these | 0.80x (0.9x or less) |  |",
        "| what | against | result | spread | wanted |",
        "|---|---|---|---|---|",
        "| report of 3 payments | a peer | 2.00x | 1.00 to 3.00 |  |",
        "The results have no such rows.",
        "After",
    ]
    assert page_script["fill_page"](filled, FEW_RESULTS) == filled


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
