"""Measure loads over a slow connection: a sandbox in a separate process with a latency of 40 ms.

The peers are the plain walk by next links on one connection, and what the line itself allows:
ceil(payments / 50) answers one after the other, divided among the connections.
"""

import contextlib
import math
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import requests
import requests_cache
from costs import time_call  # beside this file

import p2p_analytics as p2p

PAYMENTS = 20_000
LATENCY = 0.040
ROUNDS = 5
WANTED = {4: 3.4, 8: 6.3}  # times as quick, by the number of connections
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
    """Serve a newcomer's payments from another process; yield the base URL and a token."""
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
    """Follow the next links one after the other, as tutorials do; return the number of payments."""
    address, found = f"{base_url}/payments?limit=50", set()
    while address:
        page = session.get(address, params={"access_token": token}, timeout=30).json()
        found.update(payment["id"] for payment in page["data"])
        address = page["pagination"]["next"]
    return len(found)


def load_by_windows(base_url: str, token: str, **options: object) -> int:
    """Load by windows; return the number of payments."""
    with p2p.Client(token, base_url=base_url, **{"cache_dir": False} | options) as client:
        return sum(len(page.items) for page in client.history_pages())


def size(folder: str) -> int:
    """Return the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


def measure(add_row) -> None:
    """Add the rows of loads; loads are timed by the wall, because they mostly wait."""
    with serving(uneven(PAYMENTS, 6), LATENCY) as (base_url, token):
        rounds = [one_round(base_url, token) for _ in range(ROUNDS)]
        walked, walks = rounds[0]["walk"][0], [each["walk"][1] for each in rounds]
        for width, wanted in WANTED.items():
            came, took = rounds[0][width][0], [each[width][1] for each in rounds]
            times = [walk / ours for walk, ours in zip(walks, took, strict=True)]
            name, note = f"load {PAYMENTS:,}, {width} connections", f"{came:,} payments against {walked:,}"
            add_row(name, "a plain walk", times, wanted=f"{wanted}x or more", note=note)
            least = math.ceil(came / 50) * LATENCY / width
            shares = [least / ours for ours in took]
            add_row(f"that of what {width} lines allow", "ceil(N/50) x 40 ms", shares)
        dearer = [each["cold"][1] / each[8][1] for each in rounds]
        add_row("8 connections, through the cache", "without it", dearer, wanted="1.4x or less")
        sizes(add_row, base_url, token)
    counts(add_row)


def one_round(base_url: str, token: str) -> dict[object, tuple[int, float, float]]:
    """Load in each way once; return the number of payments and what each load took."""
    took = {}
    with requests.Session() as session:
        session.trust_env = False
        took["walk"] = time_call(lambda: plain_walk(base_url, token, session))
    for width in WANTED:
        took[width] = time_call(lambda width=width: load_by_windows(base_url, token, concurrency=width))
    with tempfile.TemporaryDirectory() as folder:
        took["cold"] = time_call(lambda: load_by_windows(base_url, token, concurrency=8, cache_dir=folder))
    return took


def sizes(add_row, base_url: str, token: str) -> None:
    """Compare what the caches take on disk."""
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        load_by_windows(base_url, token, concurrency=8, cache_dir=ours)
        with requests_cache.CachedSession(str(Path(theirs) / "peer"), backend="sqlite") as session:
            session.trust_env = False
            plain_walk(base_url, token, session)
        add_row("cache on disk, less", "requests-cache", f"{size(theirs) / size(ours):.2f}x", wanted="5x or more")


def counts(add_row) -> None:
    """Count requests, which no other work on the machine can move."""
    second = [
        {"date_created": NOW - timedelta(days=3), "status": status, "action": action}
        for _ in range(13)
        for status in ("settled", "pending", "failed", "expired", "cancelled")
        for action in ("pay", "charge")
    ]
    for name, payments, most in (
        (f"{PAYMENTS:,} payments", uneven(PAYMENTS, 6), math.floor(1.1 * math.ceil(PAYMENTS / 50)) + 1),
        ("100 in 10 years", uneven(100, 10), 5),
        ("130 in a second", second, None),
    ):
        pending = sum(payment["status"] == "pending" for payment in payments)
        with p2p.sandbox.SandboxServer(3, people=4, years=1, now=NOW) as server, tempfile.TemporaryDirectory() as cache:
            newcomer = server.test_user.username
            server.add_payments(newcomer, payments)
            token = server.token(newcomer)
            again = most and 2 + math.ceil(pending / 50)  # a crowded second of the newest day is refetched
            for when, limit in (("", most), (", after a new one", again)):
                server.requests.clear()
                count = load_by_windows(server.base_url, token, cache_dir=cache)
                asked = sum(path.startswith("/v1/payments") for _, path in server.requests)
                pages, wanted = f"{math.ceil(count / 50)} pages of {count:,}", f"{limit} or fewer" if limit else ""
                add_row(f"requests for {name}{when}", pages, f"{asked}", wanted=wanted)
                server.add_payments(newcomer, [{"date_created": server.now}])
