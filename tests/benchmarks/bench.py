"""Measure speed and memory, each against a named peer on the same data in the same run: ``make bench``.

Ratios are medians of CPU time over alternated rounds where other work on the machine would move wall time. Each part
is a module in this folder, with its targets. ``make bench BENCH="frames paging"`` runs some parts and writes no file;
``BENCH=scale=27500000`` and ``BENCH=analyses=polars,status_mix`` say what to measure of a part.
"""

import sys
from collections.abc import Callable

import analyses  # beside this file, like the next seven
import archive
import frames
import loading
import paging
import scale
import service
import statements
from pages import report
from table import Table

import p2p_analytics as p2p


def main(*names: str) -> int:
    """Print one row for each benchmark; 1 where the service failed under load, else 0."""
    chosen = dict(name.partition("=")[::2] for name in names)
    if unknown := set(chosen) - set(PARTS):
        sys.exit(f"There is no {' or '.join(sorted(unknown))} to run; there is {', '.join(PARTS)}.")
    table = Table()
    parts = chosen or dict.fromkeys(PARTS, "")
    failed = [PARTS[name](table.add_row, *([of] if of else [])) for name, of in parts.items()]
    if not names:
        table.write()
    return 1 if any(failed) else 0


def in_town(measure: Callable[..., None]) -> Callable[..., None]:
    """Return a benchmark that runs with a sandbox in this process."""

    def measure_in_sandbox(add_row) -> None:
        with p2p.sandbox.SandboxServer(seed=7) as server:
            measure(add_row, server)

    return measure_in_sandbox


def requests(add_row, server: p2p.sandbox.SandboxServer) -> None:
    """Compare the number of requests of a load with the minimum."""
    with p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client:
        history = p2p.load_history(client)
    asked = sum(path.startswith("/v1/payments") for _, path in server.requests)
    fewest = -(-len(history.payments) // 50)
    add_row(f"requests for {len(history.payments)} payments", "ceil(N / 50)", f"{fewest / asked:.2f}x")


PARTS = {
    "requests": in_town(requests),
    "frames": in_town(frames.measure),
    "analyses": analyses.measure,
    "archive": in_town(archive.measure),
    "statements": statements.measure,
    "report": report.measure,
    "paging": paging.measure,
    "loading": loading.measure,
    "service": service.measure,
    "scale": scale.measure,
}

if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
