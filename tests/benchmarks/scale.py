"""Memory of the analyses of a folder of archives, each in a fresh process: ``make bench BENCH=scale``.

The folder is that of ``p2p-analytics sandbox-archive``. ``BENCH=scale=27500000`` sets the number of payments: those
make 50 million rows, because a payment between two accounts is in both archives.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from costs import read_memory, time_call  # beside this file

import p2p_analytics as p2p
from p2p_analytics import cli

PAYMENTS = 1_000_000
PER_ACCOUNT = 27_500
OF_LIMIT = 0.6  # of what an analysis may take, DuckDB's own limit: without the modules of the process, and the result
OF_SEARCH = 0.25  # the same for series, which Python looks for beside DuckDB
OF_PERCENTILES = {"request_outcomes", "time_to_settle", "unusual", "recurring", "split_bills"}
MOST = 8 * 10**9  # bytes at which a process is stopped
STEP_SECONDS = 0.2
AS_OF = "2025-07-01"
ZONE = "America/New_York"
ANALYSES: dict[str, Callable[[Any], Any]] = {
    "spend_by_friend": p2p.spend_by_friend,
    "monthly_flow": lambda rows: p2p.monthly_flow(rows, ZONE),
    "status_mix": p2p.status_mix,
    "pending_ageing": lambda rows: p2p.pending_ageing(rows, AS_OF),
    "spend_by_friend, by account": lambda rows: p2p.spend_by_friend(rows, by_account=True),
    "monthly_flow, by account": lambda rows: p2p.monthly_flow(rows, ZONE, by_account=True),
    "status_mix, by account": lambda rows: p2p.status_mix(rows, by_account=True),
    "pending_ageing, by account": lambda rows: p2p.pending_ageing(rows, AS_OF, by_account=True),
    "spending_over_time": lambda rows: p2p.spending_over_time(rows, tz=ZONE),
    "people_by_year": lambda rows: p2p.people_by_year(rows, tz=ZONE),
    "activity": lambda rows: p2p.activity(rows, tz=ZONE),
    "categories": p2p.categories,
    "exposure": lambda rows: p2p.exposure(rows, tz=ZONE),
    "pending_requests": lambda rows: p2p.pending_requests(rows, AS_OF),
    "sensitive_notes": p2p.sensitive_notes,
    "recurring": lambda rows: p2p.recurring(rows, as_of=AS_OF),
    "split_bills": lambda rows: p2p.split_bills(rows, as_of=AS_OF),
    "request_outcomes": p2p.request_outcomes,
    "time_to_settle": p2p.time_to_settle,
    "unusual": p2p.unusual,
}


def measure(add_row, number: str = str(PAYMENTS)) -> None:
    """Add the time of writing a folder, and a row with the peak of memory for each analysis and engine."""
    payments = int(number)
    accounts = max(2, payments // PER_ACCOUNT)
    with tempfile.TemporaryDirectory() as parent:
        folder = f"{parent}/town"
        words = ["--accounts", str(accounts), "--payments", str(payments), "--years", "10", "--progress", "none"]
        _, _, cpu = time_call(lambda: cli.main(["sandbox-archive", folder, *words]))
        add_row(f"write {payments:,} payments", f"{accounts:,} accounts", f"{cpu:.0f} s of CPU")
        for name in ANALYSES:
            for engine in ("polars", "duckdb"):
                found = run(folder, engine, name)
                result = f"{found['bytes'] / 1e9:.2f} GB"
                note = f"{found['seconds']:.0f} s, {found['rows']:,} rows" if "seconds" in found else "stopped"
                add_row(f"memory of {name}", engine, result, wanted=f"{limit_of(name)} GB or less", note=note)


def limit_of(name: str) -> int:
    """Return the gigabytes that an analysis may take."""
    return 4 if name in OF_PERCENTILES else 1


def run(folder: str, engine: str, name: str) -> dict[str, float]:
    """Return what one analysis took in a process of its own; without a time if its memory grew too much."""
    command = [sys.executable, __file__, folder, engine, name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own file
        while process.poll() is None:
            if (peak := read_memory(process=process.pid)) > MOST:
                process.kill()
                return {"bytes": peak}
            time.sleep(STEP_SECONDS)
        return json.loads(process.stdout.read().splitlines()[-1])


def measure_one(folder: str, engine: str, name: str) -> None:
    """Print what one analysis took."""
    began = time.perf_counter()
    rows = p2p.open_archives(folder).scan(engine)
    if engine == "duckdb":  # it takes what it may, and moves the rest to disk
        share = OF_SEARCH if name == "recurring" else OF_LIMIT
        rows.limit(0).query("rows", f"SET memory_limit = '{limit_of(name) * share:.2f}GB'")
    table = ANALYSES[name](rows)
    table = table.collect() if engine == "polars" else table.to_arrow_table()
    took = time.perf_counter() - began
    print(json.dumps({"rows": len(table), "seconds": took, "bytes": read_memory()}))  # noqa: T201 - read by the parent


if __name__ == "__main__":
    measure_one(*sys.argv[1:])
