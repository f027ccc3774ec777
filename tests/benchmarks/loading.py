"""A whole load over loopback, from the first request to a table, each time in a separate process.

The peer is dlt's source for REST services, with its defaults, into DuckDB. It is installed beside the environment and
not into it; its files stay in a temporary folder, and it talks to the sandbox alone.

Run with the name of a way, and an address and a token on its input, it loads once and prints what that cost.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from costs import FOLDER, read_memory, run_alone, time_call  # beside this file

ROUNDS = 5
PACKAGES = Path(sys.prefix) / "peers-bench"
PEER = "dlt to DuckDB"


def measure(add_row, packages: Path = PACKAGES) -> None:
    """Add the ratio of the peer's cost to ours for each resource, with its target."""
    if not packages.is_dir():
        absent = "dlt is not installed: `make bench` tries again where PyPI can be reached"
        add_row("load 20,000 payments", PEER, absent)
        return
    import paging  # beside this file

    import p2p_analytics as p2p

    ways = {"ours": Path(p2p.__file__).parents[1], "dlt": packages}
    with paging.serving(paging.uneven(20_000, 6), latency=0) as (base_url, token):
        rounds = [{way: alone(way, folder, base_url, token) for way, folder in ways.items()} for _ in range(ROUNDS)]
    counts = f"{rounds[0]['ours']['rows']:,.0f} rows against {rounds[0]['dlt']['rows']:,.0f}"
    for name, cost, wanted, note in (
        ("load 20,000 payments, CPU time", "cpu", "12x or more", counts),
        ("wall time of that", "wall", "12x or more", ""),
        ("peak memory of that, less", "peak", "12x or more", ""),
        ("CPU time of that with all imports", "process", "", ""),
    ):
        add_row(name, PEER, [each["dlt"][cost] / each["ours"][cost] for each in rounds], wanted=wanted, note=note)


def alone(way: str, packages: Path, base_url: str, token: str) -> dict[str, float]:
    """Load in a process that sees these packages, and nothing of this one's settings; return what it cost."""
    with tempfile.TemporaryDirectory() as folder:
        return run_alone(
            *(["-S"] if way == "dlt" else []), "-P", "-X", "utf8", __file__, way,
            input=f"{base_url} {token}", cwd=folder,
            env={
                "HOME": folder, "PATH": os.environ["PATH"], "PYTHONPATH": f"{packages}{os.pathsep}{FOLDER}",
                "RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR", "TZ": "UTC",
            },
        )  # fmt: skip


def ours() -> Callable[[str, str], int]:
    """Import what a load needs, and return it."""
    import pandas as pd  # noqa: F401 - its import is no part of the load

    from p2p_analytics import Client, load_history

    def load(base_url: str, token: str) -> int:
        with Client(token, base_url=base_url, cache_dir=False) as client:
            return len(load_history(client).payments)

    return load


def dlt() -> Callable[[str, str], int]:
    """Import what dlt needs, and return a load into a file of the current folder."""
    import dlt
    import duckdb
    from dlt.sources.rest_api import rest_api_source

    def load(base_url: str, token: str) -> int:
        client = {
            "base_url": base_url,
            "auth": {"type": "bearer", "token": token},
            "paginator": {"type": "json_link", "next_url_path": "pagination.next"},
        }
        endpoint = {"path": "payments", "params": {"limit": 50}, "data_selector": "data"}
        source = rest_api_source({"client": client, "resources": [{"name": "payments", "endpoint": endpoint}]})
        # DuckDB would fetch extensions by itself.
        with duckdb.connect("payments.duckdb", config={"autoinstall_known_extensions": "false"}) as database:
            pipeline = dlt.pipeline(
                "peer", pipelines_dir="pipelines", destination=dlt.destinations.duckdb(database), dataset_name="peer"
            )
            pipeline.run(source)
            return database.execute("SELECT count(*) FROM peer.payments").fetchone()[0]

    return load


def once(way: str) -> None:
    """Load once and print the cost: seconds of the load and of the whole process, and its peak memory in bytes."""
    base_url, token = sys.stdin.read().split()
    load = {"ours": ours, "dlt": dlt}[way]()
    rows, wall, cpu = time_call(lambda: load(base_url, token))
    costs = {"rows": rows, "wall": wall, "cpu": cpu, "process": time.process_time(), "peak": read_memory()}
    print(json.dumps(costs))  # noqa: T201 - its purpose


if __name__ == "__main__":
    once(*sys.argv[1:])
