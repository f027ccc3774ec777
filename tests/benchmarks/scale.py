"""Memory of the analyses of a folder of archives, each in a fresh process: ``make bench BENCH=scale``.

The folder is that of ``p2p-analytics sandbox-archive``. ``BENCH=scale=27500000`` sets the number of payments: those
make 50 million rows, because a payment between two accounts is in both archives.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import scale_worker  # beside this file

from p2p_analytics import cli

if TYPE_CHECKING:
    from collections.abc import Callable

    AddRow = Callable[..., None]

PAYMENTS = 1_000_000
PER_ACCOUNT = 27_500
ENGINES = ("polars", "duckdb")
USUAL, PERCENTILES = 1, 4  # gigabytes that an analysis may take
OF_PERCENTILES = {"request_outcomes", "time_to_settle", "unusual"}
MOST = 8 * 10**9  # bytes at which a process is stopped
STEP_SECONDS = 0.2


def measure(add_row: AddRow, payments: int = PAYMENTS) -> None:
    """Add the time of writing a folder, and a row with the peak of memory for each analysis and engine."""
    with tempfile.TemporaryDirectory() as parent:
        folder = f"{parent}/town"
        accounts = max(2, payments // PER_ACCOUNT)
        began = time.process_time()
        words = ["--accounts", str(accounts), "--payments", str(payments), "--years", "10", "--progress", "none"]
        cli.main(["sandbox-archive", folder, *words])
        add_row(f"write {payments:,} payments", f"{accounts:,} accounts", f"{time.process_time() - began:.0f} s of CPU")
        measure_folder(add_row, folder)


def measure_folder(add_row: AddRow, folder: str, names: list[str] | None = None) -> None:
    """Add a row for each analysis of a folder of archives on each engine."""
    for name in names or scale_worker.ANALYSES:
        limit = PERCENTILES if name in OF_PERCENTILES else USUAL
        for engine in ENGINES:
            found = run(folder, engine, name)
            result = f"{found['bytes'] / 1e9:.2f} GB"
            note = f"{found['seconds']:.0f} s, {found['rows']:,} rows" if "seconds" in found else "stopped"
            add_row(f"memory of {name}", engine, result, wanted=f"{limit} GB or less", note=note)


def run(folder: str, engine: str, name: str) -> dict[str, float]:
    """Return what one analysis took in a process of its own; without a time if its memory grew too much."""
    worker = str(Path(__file__).with_name("scale_worker.py"))
    command = [sys.executable, worker, folder, engine, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own file
        while process.poll() is None:
            if (peak := scale_worker.peak_bytes(process.pid)) > MOST:
                process.kill()
                return {"bytes": peak}
            time.sleep(STEP_SECONDS)
        output = process.stdout.read() if process.stdout else ""
    found: dict[str, float] = json.loads(output.splitlines()[-1])
    return found


if __name__ == "__main__":
    from table import Table

    measure_folder(Table().add_row, sys.argv[1], sys.argv[2:])
