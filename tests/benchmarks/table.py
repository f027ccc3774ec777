"""Table of the measurements in Markdown: printed, written to ``results.md``, and quoted in the documentation."""

import importlib.metadata
import os
import platform
import runpy
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).with_name("results.md")
PAGE_SCRIPT = Path(__file__).parents[2] / "docs" / "write_performance.py"
WIDTHS = (38, 22, 7, 16, 12)
LOOP = 500_000  # turns: some ten milliseconds
FOREWORD = """\
# What `make bench` measured

Each row compares with a peer, or with what the case allows at best, on the same data in the same run. Where there is a
spread, the result is the median of alternated rounds. A run of all parts rewrites this file.
"""


def line(*cells: str) -> str:
    """Return a row of a Markdown table, with columns of equal width where the cells let it."""
    return "| " + " | ".join(f"{cell:<{width}}" for cell, width in zip(cells, WIDTHS, strict=True)) + " |"


HEAD = [line("what", "against", "result", "spread", "wanted"), "|" + "---|" * len(WIDTHS)]


class Table:
    """Rows in the order of measurement, below a line about the load of the machine."""

    def __init__(self) -> None:
        self.lines = list(HEAD)
        self.before = noise()
        print(f"{self.before}\n", *self.lines, sep="\n", flush=True)  # noqa: T201 - its purpose

    def add_row(self, name: str, peer: str, result: str | Sequence[float], *, wanted: str = "", note: str = "") -> None:
        """Print and keep one row; of a sequence of ratios, the median and the spread."""
        spread = ""
        if not isinstance(result, str):
            spread = f"{min(result):.2f} to {max(result):.2f}"
            result = f"{statistics.median(result):.2f}x"
        self.lines.append(line(name, peer, "; ".join(filter(None, (result, note))), spread, wanted))
        print(self.lines[-1], flush=True)  # noqa: T201 - its purpose

    def write(self) -> None:
        """Write the table to ``results.md``, and update the tables of the documentation."""
        versions = [f"{name} {importlib.metadata.version(name)}" for name in ("pandas", "pyarrow", "requests-cache")]
        about = [
            f"- Before: {self.before}.",
            f"- After: {noise()}.",
            f"- Python {platform.python_version()}, {', '.join(versions)}.",
        ]
        RESULTS.write_text("\n".join([FOREWORD, *about, "", *self.lines, ""]), encoding="utf-8")
        runpy.run_path(str(PAGE_SCRIPT), run_name="__main__")


def noise() -> str:
    """Say how busy the machine is, and how evenly it runs the same loop again and again."""
    took = [_loop() for _ in range(100)]
    fastest, often = min(took), statistics.quantiles(took, n=10)[-1]
    return (
        f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; a loop of {1_000 * fastest:.0f} ms took "
        f"{statistics.median(took) / fastest:.2f}x as long in the median and {often / fastest:.2f}x one time in ten"
    )


def _loop() -> float:
    started = time.perf_counter()
    for _ in range(LOOP):
        pass
    return time.perf_counter() - started
