"""Run all or the named notebooks in place and store the outputs: ``python notebooks/regenerate.py [NOTEBOOK ...]``.

Widget state is not stored, because it may contain user input; neither are execution times.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def regenerate(path: Path) -> None:
    """Run one notebook from top to bottom in its own folder and write it back."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        store_widget_state=False,
        record_timing=False,
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        }
    )
    nbformat.write(notebook, path)
    print(f"{path.name}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells run")  # noqa: T201 - a script


if __name__ == "__main__":
    for each in map(Path, sys.argv[1:] or sorted(HERE.glob("*.ipynb"))):
        regenerate(each)
