"""Loads that are killed repeatedly: the final history is complete, and each load resumes."""

import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

import p2p_analytics as p2p

PAYMENTS = 1_000
NOW = datetime(2025, 6, 30, 18, tzinfo=UTC)
# One process loads the libraries once and forks a load for each line; a timer kills the load.
NURSERY = """
import os, signal, sys, threading
from p2p_analytics.client import Client
for line in sys.stdin:
    base_url, token, folder, seconds = line.split("\\t")
    pid = os.fork()
    if pid == 0:
        threading.Timer(float(seconds), os.kill, (os.getpid(), signal.SIGKILL)).start()
        with Client(token, base_url=base_url, cache_dir=folder) as client:
            for page in client.history_pages():
                pass
        os._exit(0)
    print("whole" if os.waitpid(pid, 0)[1] == 0 else "killed", flush=True)
"""
MOST_IN_A_CHAIN = 8


@pytest.fixture(scope="module")
def slow_sandbox():
    """Start a slow sandbox; its viewer has a thousand payments, a few of them pending."""
    chance = random.Random(3)  # noqa: S311 - the same data each time
    with p2p.sandbox.SandboxServer(seed=3, people=4, years=1, now=NOW, latency=0.002) as server:
        made = [
            {
                "date_created": NOW - timedelta(seconds=chance.randrange(3 * 365 * 86_400)),
                "status": "settled" if number % 60 else "pending",
            }
            for number in range(PAYMENTS)
        ]
        server.add_payments(server.viewer, made)
        yield server


@pytest.mark.parametrize("kills", [4, pytest.param(200, marks=pytest.mark.soak)])
def test_no_payment_is_lost_or_doubled_by_kills(slow_sandbox, tmp_path, kills: int) -> None:
    """After each chain of kills the load is exact, and the chain sends few more requests than one load."""
    server = slow_sandbox
    token = server.token(server.viewer, seconds=86_400)
    with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
        truth = [payment.id for payment in client.payments()]
    chance = random.Random(kills)  # noqa: S311 - repeatable, not secret
    killed = chains = 0
    with subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-c", NURSERY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as nursery:
        while killed < kills:
            folder = tmp_path / str(chains)
            server.requests.clear()
            end, length = "killed", 0
            while end == "killed" and length < MOST_IN_A_CHAIN:
                seconds = chance.uniform(0.02, 0.3)
                nursery.stdin.write(f"{server.base_url}\t{token}\t{folder}\t{seconds}\n")
                nursery.stdin.flush()
                end = nursery.stdout.readline().strip()
                length += end == "killed"
            with p2p.Client(token, base_url=server.base_url, cache_dir=folder) as client:
                assert [payment.id for page in client.history_pages() for payment in page.items] == truth
            # A load begins with the newest page and the pending list, a kill loses the requests of four connections.
            pages = sum(path.startswith("/v1/payments") for _, path in server.requests)
            assert pages <= 1.25 * len(truth) / 50 + (length + 2) * 8
            killed, chains = killed + length, chains + 1
        nursery.stdin.close()
        nursery.wait(20)
    print(f"{killed} kills in {chains} loads of {len(truth)} payments: none lost, none twice")  # noqa: T201
