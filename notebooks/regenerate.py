"""Run all or the named notebooks in place and store the outputs: ``python notebooks/regenerate.py [NOTEBOOK ...]``.

Widget state is not stored, because it may contain user input; neither are execution times.
"""

from __future__ import annotations

import copy
import json
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
# What changes with each run: outputs that differ in nothing else stay as they are.
_OF_RUN = re.compile(
    r"(data as of|expired at) [\d: -]+UTC|127\.0\.0\.1:\d+|0x[0-9a-f]{6,16}|\"model_id\": \"[0-9a-f]{32}\"",
    re.IGNORECASE,
)


def regenerate(path: Path) -> None:
    """Run one notebook from top to bottom in its own folder and write it back."""
    notebook = nbformat.read(path, as_version=4)
    before = {cell.id: cell for cell in copy.deepcopy(notebook.cells)}
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    manager = client.create_kernel_manager()
    with tempfile.TemporaryDirectory() as sockets:
        manager.transport, manager.ip = "ipc", f"{sockets}/kernel"  # over TCP, the kernel warns of missing encryption
        client.execute()
    for cell in notebook.cells:
        if cell.id in before and _hide_run(cell) == _hide_run(before[cell.id]):
            cell.update(before[cell.id])
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    nbformat.write(notebook, path)
    print(f"{path.name}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells run")  # noqa: T201 - a script


def _hide_run(cell: nbformat.NotebookNode) -> str:
    """Return a cell as text, without what changes with each run."""
    return _OF_RUN.sub("", json.dumps(cell, sort_keys=True))


if __name__ == "__main__":
    for each in map(Path, sys.argv[1:] or sorted(HERE.glob("*.ipynb"))):
        regenerate(each)
