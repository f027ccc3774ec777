"""Measure speed and memory, each against a named peer on the same data in the same run: ``make bench``.

Ratios are medians of CPU time over alternated rounds, because other work on the machine hardly moves
those. Above 1 means that this package is faster, or smaller, than its peer.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import paging  # beside this file
import pandas as pd

import p2p_analytics as p2p
from p2p_analytics.frames.build import payments_frame
from p2p_analytics.records import decode_payments

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 5
COPIES = 40  # of the town's history, under new ids: about 20,000 payments


def ratio(ours: Callable[[], object], peer: Callable[[], object]) -> str:
    """Return how many times the peer's CPU time ours takes less, and the spread over the rounds."""
    found = []
    for work in (ours, peer):
        work()  # the first run pays for imports and caches
    for _ in range(ROUNDS):
        seconds = []
        for work in (ours, peer):
            started = time.process_time()
            work()
            seconds.append(time.process_time() - started)
        found.append(seconds[1] / seconds[0])
    return f"{statistics.median(found):.2f}x (from {min(found):.2f} to {max(found):.2f})"


def peak(work: Callable[[], object]) -> float:
    """Return the most memory that Python objects took during the work, in MiB."""
    tracemalloc.start()
    work()
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / 2**20


def started_python(*arguments: str) -> Callable[[], object]:
    """Return a function that starts a fresh interpreter."""
    command = [sys.executable, *arguments]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own interpreter


def wall(work: Callable[[], object]) -> float:
    """Return the median wall time, for work in other processes."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


def pages_of(server: p2p.sandbox.SandboxServer) -> list[bytes]:
    """Return the pages of the viewer's history as bytes, copied under new ids."""
    token = server.token(server.viewer)
    with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
        items = [json.loads(payment.raw) for page in client.payment_pages() for payment in page.items]
    return [
        json.dumps({"data": [item | {"id": f"{copy}{item['id']}"} for item in items[at : at + 50]]}).encode()
        for copy in range(1, COPIES + 1)
        for at in range(0, len(items), 50)
    ]


def normalized(pages: list[bytes]) -> pd.DataFrame:
    """Flatten as the usual tutorial does, with all pages collected first."""
    frame = pd.json_normalize([item for page in pages for item in json.loads(page)["data"]])
    for name in ("date_created", "date_completed"):
        frame[name] = pd.to_datetime(frame[name], format="ISO8601", utc=True)
    return frame


def main() -> None:
    """Print one row for each benchmark."""
    with p2p.sandbox.SandboxServer(seed=7) as server:
        requests(server)
        frame = flattening(pages_of(server), server.people[0].user_id)
    files(frame)
    starting()
    paging.measure(told)


def requests(server: p2p.sandbox.SandboxServer) -> None:
    """Count the requests of a load against the fewest that could do."""
    with p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client:
        history = p2p.load_history(client)
    asked = sum(path.startswith("/v1/payments") for _, path in server.requests)
    fewest = -(-len(history.payments) // 50)
    told(f"requests for {len(history.payments)} payments", "ceil(N / 50)", f"{fewest / asked:.2f}x")


def flattening(pages: list[bytes], viewer: str) -> pd.DataFrame:
    """Turn pages of bytes into the PAYMENTS frame."""

    def ours() -> pd.DataFrame:
        return payments_frame([item for page in pages for item in decode_payments(page).items], viewer)

    def peer() -> pd.DataFrame:
        return normalized(pages)

    frame = ours()
    told(f"flatten {len(frame):,} payments", "pandas.json_normalize", ratio(ours, peer))
    told("peak memory of that", "pandas.json_normalize", f"{peak(peer) / peak(ours):.2f}x")
    return frame


def files(frame: pd.DataFrame) -> None:
    """Write the frame as CSV and read it back."""
    with tempfile.TemporaryDirectory() as folder:
        csv = Path(folder) / "payments.csv"
        told("write them as CSV", "DataFrame.to_csv", ratio(lambda: p2p.to_csv(frame, csv), lambda: frame.to_csv(csv)))
        p2p.to_csv(frame, csv)
        peer = ratio(lambda: p2p.read_csv(csv), lambda: pd.read_csv(csv, low_memory=False))
        told("read them back", "pandas.read_csv", peer)


def starting() -> None:
    """Import the package, and ask the command line for help."""
    bare = wall(started_python("-c", "pass"))
    for name, arguments in (
        ("import p2p_analytics", ("-c", "import p2p_analytics")),
        ("p2p-analytics --help", ("-m", "p2p_analytics", "--help")),
    ):
        told(name, "python -c pass", f"{bare / wall(started_python(*arguments)):.2f}x")


def told(name: str, peer: str, result: str) -> None:
    """Print one row."""
    print(f"{name:<28} against {peer:<22} {result}", flush=True)  # noqa: T201 - its purpose


if __name__ == "__main__":
    main()
