"""One analysis of a folder of archives on one engine, in a process of its own: ``scale.py`` starts it.

Prints the rows of the result, the seconds of the query, and the peak of the process's memory in bytes.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import p2p_analytics as p2p

if TYPE_CHECKING:
    from collections.abc import Callable

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
    "split_bills": lambda rows: p2p.split_bills(rows, as_of=AS_OF),
    "request_outcomes": p2p.request_outcomes,
    "time_to_settle": p2p.time_to_settle,
    "unusual": p2p.unusual,
}


def main(folder: str, engine: str, name: str) -> None:
    """Print what one analysis took."""
    began = time.perf_counter()
    table = ANALYSES[name](p2p.open_archives(folder).scan(engine))
    if engine == "polars":
        table = table.collect()
    elif engine == "duckdb":
        table = table.to_arrow_table()
    elif engine == "spark":
        table = table.toArrow()
    took = time.perf_counter() - began
    print(json.dumps({"rows": len(table), "seconds": took, "bytes": peak_bytes()}))  # noqa: T201 - read by the parent


def peak_bytes(process: int | str = "self") -> int:
    """Return the peak of a process's memory, 0 if it has ended; unlike getrusage, without that of its parent."""
    lines = Path(f"/proc/{process}/status").read_text("utf-8").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
