"""The sandbox under load: lists over a million payments, and writes; client and server are separate processes.

Pages per second are reported as a share of the bare web server's rate in the same round, writes per second as a share
of the store's rate in one thread without HTTP, with one commit per payment.
"""

import asyncio
import contextlib
import itertools
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.domain.orders import Order, Recipient
from p2p_analytics.sandbox.domain.payments import Transitions
from p2p_analytics.sandbox.storage.rows import Payment
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.vocabulary import Audience, TargetType

PAYMENTS = 1_000_000
BATCH = 50_000  # one transaction
DAY = 86_400  # seconds
SPAN = 900 * DAY * 1_000_000  # microseconds from the first payment to the last
TOWN = {"seed": 7, "people": 40, "years": 1}
ROUNDS = 5
REQUESTS = 3_000  # in each round
LONGEST = 120  # seconds of a round
# The web server of the sandbox with nothing behind it: it sends one body, whatever is asked.
BARE = """
import sys
from p2p_analytics.sandbox.runtime.thread import listen, run_server
body = sys.stdin.buffer.read()
head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
async def application(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})
with listen(0) as listener, run_server(application, listener):
    print("Base URL http://127.0.0.1:%d/v1" % listener.getsockname()[1], flush=True)
    import threading
    threading.Event().wait()
"""


def measure(add_row) -> int:
    """Add one row for each load to the table, and return the number of requests with a wrong response."""
    with tempfile.TemporaryDirectory(prefix="p2p-bench-") as folder, contextlib.ExitStack() as stack:
        path = Path(folder) / "town.sqlite"
        reader, payers = build(path)
        many = _allow_files(1_000)
        options = [f"--{name}={value}" for name, value in {**TOWN, "port": 0, "db": path}.items()]
        sandbox = stack.enter_context(start_server("-m", "p2p_analytics", "sandbox", *options))
        page = Request(f"http://{sandbox}/v1/payments?limit=50", headers={"Authorization": f"Bearer {reader}"})
        with urlopen(page, timeout=10) as answer:  # noqa: S310 - our own server
            bare = stack.enter_context(start_server("-c", BARE, given=answer.read()))
        loads = {
            "page of 50, 16 connections": lambda: load(sandbox, pages(reader, 50), 16, b'"pagination"'),
            "the bare web server": lambda: load(bare, pages(reader, 50), 16),
            "page of 20, 16 connections": lambda: load(sandbox, pages(reader, 20), 16, b'"pagination"'),
            "writes, 100 connections": lambda: load(sandbox, pays(payers), 100, b'"settled"'),
            f"writes, {many:,} connections": lambda: load(sandbox, pays(payers), many, b'"settled"'),
            "the store, one by one": lambda: Load(measure_store(path, payers), 0, 0, 0),
        }
        rounds = [{name: work() for name, work in loads.items()} for _ in range(ROUNDS)]
    for name in loads:
        if not name.startswith("the "):
            limit = "the bare web server" if name.startswith("page") else "the store, one by one"
            shares, note = _compare(rounds, name, limit)
            add_row(name, limit, shares, note=note)
    results = [result for each in rounds for result in each.values()]
    busiest = max(result.busy for result in results)
    print(f"asking took {busiest:.0%} of a core at most", flush=True)  # noqa: T201 - a line beside the rows
    return sum(result.errors for result in results)


def _compare(rounds: list[dict[str, "Load"]], name: str, peer: str) -> tuple[list[float], str]:
    """Return the shares of the peer's rate, and the rates, the latency and the errors in words."""
    shares = [each[name].rate / each[peer].rate for each in rounds]
    ours, limit = (statistics.median(each[one].rate for each in rounds) for one in (name, peer))
    p99 = statistics.median(each[name].p99 for each in rounds)
    errors = sum(each[name].errors for each in rounds)
    return shares, f"{ours:,.0f} of {limit:,.0f}/s, p99 {p99 * 1_000:,.0f} ms, {errors} errors"


def _allow_files(connections: int) -> int:
    """Raise the limit of open files for this many connections; return the number that the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 200
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(connections, soft - 200)


class Load(NamedTuple):
    """Result of one round of requests; `busy` is the share of a core that the client used."""

    rate: float
    p99: float
    errors: int
    busy: float


class Connection(asyncio.Protocol):
    """One connection of a client that sends its next request after each response."""

    def __init__(self, requests: Iterator[bytes], expected: bytes) -> None:
        self.requests = requests
        self.expected = expected
        self.seconds: list[float] = []
        self.errors = 0
        self.answer = b""
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport; `ask` is called once all connections are open."""
        self.transport = transport

    def ask(self) -> None:
        """Send the next request, if there is one."""
        request = next(self.requests, None)
        if request is None:
            self.done.set_result(None)
            return
        self.started = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """Once the response is complete, compare it with the expected one and send the next request."""
        self.answer += data
        head, end, body = self.answer.partition(b"\r\n\r\n")
        if not end or len(body) < int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]):
            return
        self.seconds.append(time.perf_counter() - self.started)
        self.errors += not (head.startswith(b"HTTP/1.1 200") and self.expected in body)
        self.answer = b""
        self.ask()

    def connection_lost(self, _reason: Exception | None) -> None:
        """Count a connection that the server closed as an error."""
        if not self.done.done():
            self.errors += 1
            self.done.set_result(None)


def load(address: str, requests: Iterable[bytes], connections: int, expected: bytes = b"") -> Load:
    """Send the requests over concurrent connections, each with one request at a time, and return the result."""

    async def run() -> Load:
        host, port = address.split(":")
        loop, left = asyncio.get_running_loop(), iter(requests)
        lines = [
            (await loop.create_connection(lambda: Connection(left, expected), host, int(port)))[1]
            for _ in range(connections)
        ]
        started, cpu = time.perf_counter(), time.process_time()
        for line in lines:
            line.ask()
        _, late = await asyncio.wait([line.done for line in lines], timeout=LONGEST)
        took, busy = time.perf_counter() - started, time.process_time() - cpu
        for line in lines:
            if not line.done.done():
                line.done.set_result(None)
            line.transport.close()
        seconds = sorted(itertools.chain.from_iterable(line.seconds for line in lines))
        errors = sum(line.errors for line in lines) + len(late)
        p99 = seconds[len(seconds) * 99 // 100] if seconds else took
        return Load(len(seconds) / took, p99, errors, busy / took)

    return asyncio.run(run())


def build(path: Path) -> tuple[str, list[tuple[str, str]]]:
    """Create the database; return a read token of a user with half of all payments, and (token, id) of each payer."""
    with SandboxServer(**TOWN, db=path) as server:
        ids = [int(one.user_id) for one in server.people]
        rng = random.Random(7)  # noqa: S311 - the same each time
        first, end = server.store.next_payment_id(), int(server.now.timestamp()) * 1_000_000
        for start in range(0, PAYMENTS, BATCH):
            server.store.add_payments(
                make_payment(first + number, end - (PAYMENTS - number) * (SPAN // PAYMENTS), ids, rng)
                for number in range(start, start + BATCH)
            )
        for one in server.people:
            server.deposit(one.user_id, 10_000_000)
        payers = [(server.token(one.user_id, "make_payments", seconds=DAY), one.user_id) for one in server.people]
        return server.token(server.viewer, "access_profile", seconds=DAY), payers


def make_payment(number: int, created_us: int, ids: list[int], rng: random.Random) -> Payment:
    """Return a settled payment; every second one belongs to the viewer, the first of the ids."""
    parties = rng.sample(ids[1:], 2)
    if number % 2:
        parties[rng.randrange(2)] = ids[0]
    return Payment(
        number, "settled", rng.choice(("pay", "charge")), rng.randrange(1, 10_000), "dinner and a taxi", "private",
        "ios", 0, created_us, created_us, parties[0], "user", parties[1],
    )  # fmt: skip


@contextlib.contextmanager
def start_server(*command: str, given: bytes = b"") -> Iterator[str]:
    """Run a server in its own process and yield its address, read from the base URL at the end of its first line."""
    with subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            process.stdin.write(given)
            process.stdin.close()
            yield urlsplit(process.stdout.readline().decode().split()[-1]).netloc
        finally:
            process.terminate()
            process.wait(20)


def pages(token: str, limit: int) -> Iterator[bytes]:
    """Yield requests for random pages of the history."""
    rng = random.Random(limit)  # noqa: S311 - the same each time
    for _ in range(REQUESTS):
        before = f"20{rng.randrange(23, 26)}-{rng.randrange(2, 7):02}-{rng.randrange(1, 29):02}T12:00:00Z"
        yield (
            f"GET /v1/payments?limit={limit}&before={before} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {token}\r\n\r\n"
        ).encode()


def list_pairs(payers: list[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield the token and the id of the payer of each payment, and the id of the next one in a ring."""
    ring = itertools.cycle(zip(payers, [*payers[1:], payers[0]], strict=True))
    return ((token, payer, target) for (token, payer), (_, target) in itertools.islice(ring, REQUESTS))


def pays(payers: list[tuple[str, str]]) -> Iterator[bytes]:
    """Yield requests that pay one cent each."""
    for token, _, target in list_pairs(payers):
        body = urlencode({"access_token": token, "user_id": target, "amount": "0.01", "note": "coffee"})
        yield (
            "POST /v1/payments HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


def measure_store(path: Path, payers: list[tuple[str, str]]) -> float:
    """Return the rate of such payments, per second, that the store accepts sequentially in this process."""
    with contextlib.closing(Store(path)) as store:
        transitions = Transitions(store)
        started_at = time.perf_counter()
        for _, payer, target in list_pairs(payers):
            order = Order(Recipient(TargetType.USER, target), 1, "coffee", Audience.PRIVATE)
            transitions.create(int(payer), order)
        return REQUESTS / (time.perf_counter() - started_at)
