"""Measure loads over a slow line: a sandbox in a process of its own that takes 40 ms for each answer.

The peers are the plain walk by next links on one connection, and what the line itself allows:
ceil(payments / 50) answers one after the other, divided among the connections.
"""

from __future__ import annotations

import contextlib
import math
import random
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import requests
import requests_cache

import p2p_analytics as p2p

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAYMENTS = 20_000
LATENCY = 0.040
ROUNDS = 3
NOW = datetime(2025, 6, 30, 18, tzinfo=UTC)
SERVE = """
import datetime, sys, p2p_analytics as p2p
now = datetime.datetime.fromisoformat(sys.argv[3])
server = p2p.sandbox.SandboxServer(3, people=4, years=1, db=sys.argv[1], latency=float(sys.argv[2]), now=now)
with server:
    print(server.base_url, server.token(server.viewer), flush=True)
    sys.stdin.read()
"""


def uneven(count: int, years: float) -> list[dict[str, object]]:
    """Return payments in months of very different size, each twentieth in the second of another."""
    chance = random.Random(1)  # noqa: S311 - the same data each time
    months = round(12 * years)
    weights = [chance.lognormvariate(0, 0.7) for _ in range(months)]
    length = years * 365 * 86_400 / months
    seconds = [int((month + chance.random()) * length) for month in chance.choices(range(months), weights, k=count)]
    for _ in range(count // 20):
        seconds[chance.randrange(count)] = seconds[chance.randrange(count)]
    statuses = chance.choices(["settled", "pending", "failed"], [98.5, 0.5, 1], k=count)
    return [
        {"date_created": NOW - timedelta(seconds=second), "amount_cents": 1 + number, "note": "x", "status": status}
        for number, (second, status) in enumerate(zip(seconds, statuses, strict=True))
    ]  # fmt: skip


@contextlib.contextmanager
def serving(payments: list[dict[str, object]], latency: float) -> Iterator[tuple[str, str]]:
    """Serve a newcomer's payments from another process; give the address and a token."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "sandbox.sqlite")
        with p2p.sandbox.SandboxServer(3, people=4, years=1, db=path, now=NOW) as server:
            server.add_payments(server.viewer, payments)
        command = [sys.executable, "-c", SERVE, path, str(latency), NOW.isoformat()]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
            base_url, token = process.stdout.readline().split()
            try:
                yield base_url, token
            finally:
                process.stdin.close()


def plain_walk(base_url: str, token: str, session: requests.Session) -> int:
    """Follow the next links one after the other, as tutorials do; return how many pages came."""
    address, pages = f"{base_url}/payments?limit=50", 0
    while address:
        page = session.get(address, params={"access_token": token}, timeout=30).json()
        address, pages = page["pagination"]["next"], pages + 1
    return pages


def loaded(base_url: str, token: str, **options: object) -> int:
    """Load by windows; return how many payments came."""
    with p2p.Client(token, base_url=base_url, **{"cache_dir": False} | options) as client:
        return sum(len(page.items) for page in client.history_pages())


def seconds(work: Callable[[], object]) -> float:
    """Return the wall time of some work, which is mostly waiting."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def size(folder: str) -> int:
    """Return the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


def measure(told: Callable[..., None]) -> None:
    """Print the rows of loads."""
    fewest = math.ceil(PAYMENTS / 50)
    with serving(uneven(PAYMENTS, 6), LATENCY) as (base_url, token):
        times: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            with requests.Session() as session:
                session.trust_env = False
                times.setdefault("walk", []).append(seconds(lambda: plain_walk(base_url, token, session)))
            for width in (4, 8):
                work = lambda width=width: loaded(base_url, token, concurrency=width)  # noqa: E731
                times.setdefault(f"{width}", []).append(seconds(work))
            with tempfile.TemporaryDirectory() as folder:
                times.setdefault("cold", []).append(
                    seconds(lambda: loaded(base_url, token, concurrency=8, cache_dir=folder))
                )
        for width in (4, 8):
            ours = times[f"{width}"]
            walks = [walk / one for walk, one in zip(times["walk"], ours, strict=True)]
            told(f"load {PAYMENTS:,}, {width} connections", "a plain walk", walks)
            shares = [fewest * LATENCY / width / one for one in ours]
            told(f"that of what {width} lines allow", "ceil(N/50) x 40 ms", shares)
        kept = [one / cold for one, cold in zip(times["8"], times["cold"], strict=True)]
        told("the same through the cache", "without it", kept)
        sizes(base_url, token, told)
    counts(told)


def sizes(base_url: str, token: str, told: Callable[..., None]) -> None:
    """Compare what the caches take on disk."""
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        loaded(base_url, token, concurrency=8, cache_dir=ours)
        with requests_cache.CachedSession(str(Path(theirs) / "peer"), backend="sqlite") as session:
            session.trust_env = False
            plain_walk(base_url, token, session)
        told("cache on disk", "requests-cache", f"{size(theirs) / size(ours):.2f}x")


def counts(told: Callable[..., None]) -> None:
    """Count requests, which no other work on the machine can move."""
    cases = {
        f"requests for {PAYMENTS:,} payments": uneven(PAYMENTS, 6),
        "requests for 100 in 10 years": uneven(100, 10),
        "requests for 130 in a second": [
            {"date_created": NOW - timedelta(days=3), "status": status, "action": action}
            for _ in range(13)
            for status in ("settled", "pending", "failed", "expired", "cancelled")
            for action in ("pay", "charge")
        ],
    }
    for name, payments in cases.items():
        with p2p.sandbox.SandboxServer(3, people=4, years=1, now=NOW) as server, tempfile.TemporaryDirectory() as cache:
            newcomer = server.test_user.username
            server.add_payments(newcomer, payments)
            token = server.token(newcomer)
            for note in ("", ", after a new one"):
                server.requests.clear()
                with p2p.Client(token, base_url=server.base_url, cache_dir=cache) as client:
                    count = sum(len(page.items) for page in client.history_pages())
                asked = sum(path.startswith("/v1/payments") for _, path in server.requests)
                told(
                    name + note,
                    f"ceil({count:,} / 50)",
                    f"{math.ceil(count / 50) / asked:.2f}x",
                    note=f"{asked} requests",
                )
                server.add_payments(newcomer, [{"date_created": server.now}])
