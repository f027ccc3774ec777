"""The measurements have one format, and the page of the documentation has all of them."""

import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parent
QUOTING_PAGE = HERE.parents[1] / "docs" / "performance.md"
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
SHOWN_RESULTS = """\
Before
- Quiet.
Results with a limit: 3. Within it: 2. Misses: 1.
| analysis | pandas by hand (1.1x or less) | SQL by hand (1.2x or less) |
|---|---|---|
| status_mix | **1.30x, 5 ms** | 0.50x, 7 ms |
| geometric mean of these | 0.80x (0.9x or less) |  |
| what | against | result | spread | wanted |
|---|---|---|---|---|
| report of 3 payments | a peer | 2.00x | 1.00 to 3.00 |  |
The results have no such rows.
After
"""


@pytest.fixture
def page_script():
    """Return the names that the script of the page defines."""
    return runpy.run_path(str(QUOTING_PAGE.with_name("write_performance.py")))


def test_the_page_has_every_result(page_script) -> None:
    """Each section of the results has one table, the analyses one for each size; run ``make docs`` to update them."""
    text = QUOTING_PAGE.read_text(encoding="utf-8")
    blocks = [f"rows {name}" for name in page_script["STARTS"] if name != "analyses"]
    blocks += [f"matrix {size}" for size in ("1,000,000", "10,000,000", "ten times the payments")]
    assert [block for block in blocks if text.count(f"<!-- bench: {block} -->\n") != 1] == []
    assert page_script["fill_page"](text, (HERE / "results.md").read_text(encoding="utf-8")) == text, "run make docs"


@pytest.mark.parametrize(
    ("result", "wanted", "missed"),
    [
        ("7.99x", "8x or more", True),
        ("8.00x", "8x or more", False),
        ("1.21x; wall 0.90x, 1,182 ms", "1.2x or less", True),
        ("1.20x; wall 1.90x, 1,182 ms", "1.2x or less", False),
        ("-7.0 ms; 16.3 ms in all", "3 ms or less", False),
        ("441", "440 or fewer", True),
        ("9.5 s; 11.4 s of CPU, 1.67 MB", "10 s, 3 MB", False),
        ("10.5 s; 9.4 s of CPU, 1.67 MB", "10 s, 3 MB", True),
        ("9.5 s; 11.4 s of CPU, 3.01 MB", "10 s, 3 MB", True),
        ("0.1x", "", False),
        ("dlt is not installed: 2 rows", "12x or more", False),
    ],
)
def test_a_missed_limit_is_noticed(page_script, result: str, wanted: str, *, missed: bool) -> None:
    """Limits are at least, at most, or two at once; the first number of the result counts, or that with the unit."""
    assert page_script["is_missed"](page_script["Row"]("load", "a peer", result, "", wanted)) is missed


def test_a_new_run_replaces_the_tables(page_script) -> None:
    """The tables show the results as they are now, with misses in bold; text outside of the markers is unchanged."""
    blocks = ["machine", "misses", "matrix 1,000", "rows report", "rows memory"]
    page = "Before\n" + "".join(f"<!-- bench: {name} -->\nold\n<!-- /bench -->\n" for name in blocks) + "After\n"
    filled = page_script["fill_page"](page, FEW_RESULTS)
    assert [line for line in filled.splitlines() if not line.startswith("<!--")] == SHOWN_RESULTS.splitlines()
    assert page_script["fill_page"](filled, FEW_RESULTS) == filled


@pytest.mark.parametrize(
    ("program", "measure", "peer"),
    [("loading.py", "measure", "dlt to DuckDB"), ("pages/report.py", "compare", "ydata-profiling")],
)
def test_the_row_without_a_peer(tmp_path: Path, monkeypatch, program: str, measure: str, peer: str) -> None:
    """Where the peer is not installed, one row reports that, and nothing is measured."""
    monkeypatch.syspath_prepend(HERE)
    rows = []
    measure = runpy.run_path(str(HERE / program))[measure]
    measure(lambda _, peer, result: rows.append((peer, result.partition(":")[0])), tmp_path / "nothing")
    assert rows == [(peer, f"{peer.partition(' to')[0]} is not installed")]
