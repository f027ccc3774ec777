"""Checks of notebooks that nbval does not make: unexecuted cells, hidden failures, secrets, machine paths.

nbval compares no cell without an execution count, and accepts unknown magics and failed shell lines.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_the_example_reports_are_there() -> None:
    """An empty wildcard must not pass as a test."""
    assert len(NOTEBOOKS) == 9


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return each committed notebook as JSON: importing nbformat would take seconds."""
    return json.loads(request.param.read_text(encoding="utf-8"))


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the code cells, each with its source as one text."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


def test_every_cell_has_run_once_in_order_without_an_error(notebook) -> None:
    """Counts are 1 to n, so that nbval compares every cell; no output is an error or goes to stderr.

    Failures of unknown magics and shell lines are ignored by nbval, and tags can disable its comparison.
    """
    cells = code_cells(notebook)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert outputs
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    assert not [cell for cell in cells if cell["metadata"].get("tags")]
    lines = {line.strip() for cell in cells for line in cell["source"].splitlines() if re.match(r"\s*[%!]", line)}
    assert lines <= {"%matplotlib inline"}


def test_nothing_private_is_saved(notebook) -> None:
    """No token, no widget state, no path of the machine; the kernel has the default name."""
    text = json.dumps(notebook, ensure_ascii=False)
    assert not re.search(r"access_token=(?!\.\.\.)\w|/(home|root|Users|work|tmp)/", text)
    assert ("widgets" in notebook["metadata"], notebook["metadata"]["kernelspec"]["name"]) == (False, "python3")


def test_each_notebook_starts_its_own_sandbox_and_stops_it(notebook) -> None:
    """Every notebook runs without further setup and leaves nothing; those of files work without a service."""
    first, *_, last = (cell["source"] for cell in code_cells(notebook))
    if "SandboxServer" in first:
        assert "SandboxServer(seed=7).start()" in first
        assert "server.stop()" in first + last  # at once, where one load is all that it is for
        return
    assert not any(re.search(r"SandboxServer|Client\(", cell["source"]) for cell in code_cells(notebook))
    if "sandbox-archive" in first:
        assert ("folder = tempfile.TemporaryDirectory()" in first, last) == (True, "folder.cleanup()")
    else:
        assert 'read_statements("../data/statements")' in first
