"""Measure speed and memory, each against a named peer on the same data in the same run: ``make bench``.

Ratios are medians of CPU time over alternated rounds, because other work on the machine hardly moves
those. Frames, files and the start of a process are in ``frames``, with what is wanted of each; an archive of
a million payments is in ``archive``, the sandbox under load in ``service``.
"""

from __future__ import annotations

import sys

import archive  # beside this file
import frames
import paging
import service

import p2p_analytics as p2p


def main() -> int:
    """Print one row for each benchmark; 1 where the service failed under load, else 0."""
    with p2p.sandbox.SandboxServer(seed=7) as server:
        requests(server)
        frames.measure(told, server)
        archive.measure(told, server)
    paging.measure(told)
    return 1 if service.measure(told) else 0


def requests(server: p2p.sandbox.SandboxServer) -> None:
    """Count the requests of a load against the fewest that could do."""
    with p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client:
        history = p2p.load_history(client)
    asked = sum(path.startswith("/v1/payments") for _, path in server.requests)
    fewest = -(-len(history.payments) // 50)
    told(f"requests for {len(history.payments)} payments", "ceil(N / 50)", f"{fewest / asked:.2f}x")


def told(name: str, peer: str, result: str) -> None:
    """Print one row."""
    print(f"{name:<30} against {peer:<22} {result}", flush=True)  # noqa: T201 - its purpose


if __name__ == "__main__":
    sys.exit(main())
