"""Checks of notebooks that nbval does not make: unexecuted cells, hidden failures, secrets, machine paths.

nbval compares no cell without an execution count, and accepts unknown magics and failed shell lines.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
ALLOWED_MAGICS = {"%matplotlib inline"}


def test_the_example_reports_are_there() -> None:
    """An empty wildcard must not pass as a test."""
    assert [path.stem for path in NOTEBOOKS] == [
        "00_sign_in",
        "01_connect_and_load",
        "02_where_the_money_goes",
        "03_requests_and_pending",
        "04_statements",
        "05_your_own_question",
        "06_at_scale",
        "07_year_in_review",
        "dashboard",
    ]


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    """Return each committed notebook."""
    return nbformat.read(request.param, as_version=4)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the code cells."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_every_cell_has_run_once_in_order_without_an_error(notebook) -> None:
    """Counts are 1 to n, so that nbval compares every cell, and no output is an error or goes to stderr."""
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert outputs
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]


def test_no_cell_hides_a_failure(notebook) -> None:
    """nbval ignores failures of unknown magics and shell lines, and tags can disable its comparison."""
    for cell in code_cells(notebook):
        magics = {line.strip() for line in cell.source.splitlines() if re.match(r"\s*[%!]", line)}
        assert magics <= ALLOWED_MAGICS
        assert not cell.metadata.get("tags")


def test_nothing_private_is_saved(notebook) -> None:
    """No token, no widget state, no path of the machine; the kernel has the default name."""
    text = nbformat.writes(notebook)
    assert not re.search(r"access_token=(?!\.\.\.)\w", text)
    assert "widgets" not in notebook.metadata
    assert not re.search(r"/(home|root|Users|work|tmp)/", text)
    assert notebook.metadata.kernelspec.name == "python3"


def test_each_notebook_starts_its_own_sandbox_and_stops_it(notebook) -> None:
    """Every notebook runs without further setup and leaves nothing; those of files work without a service."""
    cells = code_cells(notebook)
    if "sandbox-archive" in cells[0].source:
        assert "folder = tempfile.TemporaryDirectory()" in cells[0].source
        assert cells[-1].source == "folder.cleanup()"
        assert not any(re.search(r"SandboxServer|Client\(", cell.source) for cell in cells)
        return
    if "read_statements(" in cells[0].source:
        assert 'read_statements("../data/statements")' in cells[0].source
        assert not any(re.search(r"SandboxServer|Client\(", cell.source) for cell in cells)
        return
    assert "SandboxServer(seed=7).start()" in cells[0].source
    assert "server.stop()" in cells[0].source + cells[-1].source  # at once, where one load is all that it is for
