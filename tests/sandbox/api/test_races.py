"""Concurrent writes over HTTP: no overdraft, exactly one resolution of a request, and correct totals."""

from __future__ import annotations

import http.client
import itertools
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import pytest

from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from p2p_analytics.sandbox import SandboxServer

ROUNDS = [60, pytest.param(1_000, marks=pytest.mark.soak)]


class Client:
    """Somebody with a connection of their own that stays open, so that requests meet on the server."""

    def __init__(self, server: SandboxServer, user: str) -> None:
        self.user_id = next(one.user_id for one in server.people if one.username == user)
        self._token = server.token(user, "make_payments", "access_balance", "access_profile", seconds=3_600)
        self._connection = http.client.HTTPConnection(urlsplit(server.base_url).netloc, timeout=30)

    def send(self, method: str, path: str, **fields: str) -> tuple[int, Any]:
        """Return the status and the body."""
        form = urlencode({"access_token": self._token, **fields})
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        self._connection.request(method, f"/v1{path}", form, headers)
        response = self._connection.getresponse()
        return response.status, json.loads(response.read(), parse_float=Decimal)

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


own_server = sandbox_fixture(scope="function", people=12, years=1)


@pytest.fixture
def clients(own_server: SandboxServer) -> Iterator[Any]:
    """Return a maker of clients."""
    made: list[Client] = []

    def make(user: str) -> Client:
        made.append(Client(own_server, user))
        return made[-1]

    yield make
    for client in made:
        client.close()


def at_once(pool: ThreadPoolExecutor, *calls: Any) -> list[Any]:
    """Return what the calls give that start in the same moment."""
    barrier = threading.Barrier(len(calls))

    def run(call: Any) -> Any:
        barrier.wait(10)
        return call()

    return [future.result(30) for future in [pool.submit(run, call) for call in calls]]


def holds(server: SandboxServer, user: str) -> int:
    """Return the balance of a user in cents."""
    return server.store.person_named(user).balance_cents


@pytest.mark.parametrize("rounds", ROUNDS)
def test_two_payments_never_overdraw(own_server: SandboxServer, clients: Any, rounds: int) -> None:
    """Of two payments of 10.00 at once from a balance of 15.00 exactly one settles, and the other fails."""
    payers = [clients("maya-lindqvist"), clients("maya-lindqvist")]
    sam = clients("sam-rivera").user_id
    with ThreadPoolExecutor(2) as pool:
        for _ in range(rounds):
            own_server.deposit("maya-lindqvist", 1_500 - holds(own_server, "maya-lindqvist"))
            received = holds(own_server, "sam-rivera")
            answers = at_once(
                pool,
                *(lambda one=one: one.send("POST", "/payments", user_id=sam, amount="10", note="x") for one in payers),
            )
            assert [status for status, _ in answers] == [200, 200]
            assert sorted(body["data"]["payment"]["status"] for _, body in answers) == ["failed", "settled"]
            assert {body["data"]["balance"] for _, body in answers} <= {Decimal("15.00"), Decimal("5.00")}
            assert holds(own_server, "maya-lindqvist") == 500
            assert holds(own_server, "sam-rivera") == received + 1_000


@pytest.mark.parametrize("rounds", ROUNDS)
def test_exactly_one_ends_a_request(own_server: SandboxServer, clients: Any, rounds: int) -> None:
    """Of approve, deny and cancel at once exactly one wins; the others get 409, and money moves only if approved."""
    asking, asked, asked_too = clients("maya-lindqvist"), clients("sam-rivera"), clients("sam-rivera")
    ends = {"approve": "settled", "deny": "cancelled", "cancel": "cancelled"}
    by = {"approve": asked, "deny": asked_too, "cancel": asking}
    own_server.deposit("sam-rivera", rounds * 100)
    winners = set()
    orders = itertools.cycle(itertools.permutations(ends))
    with ThreadPoolExecutor(3) as pool:
        for order in itertools.islice(orders, rounds):
            before = holds(own_server, "maya-lindqvist"), holds(own_server, "sam-rivera")
            status, body = asking.send("POST", "/payments", user_id=asked.user_id, amount="-1", note="x")
            assert (status, body["data"]["payment"]["status"]) == (200, "pending")
            path = f"/payments/{body['data']['payment']['id']}"
            answers = at_once(
                pool,
                *(lambda action=action, path=path: by[action].send("PUT", path, action=action) for action in order),
            )
            assert sorted(status for status, _ in answers) == [200, 409, 409]
            (winner,) = (action for action, (status, _) in zip(order, answers, strict=True) if status == 200)
            winners.add(winner)
            for action, (_, answer) in zip(order, answers, strict=True):
                if action == winner:
                    assert answer["data"]["status"] == ends[winner]
                else:
                    assert answer["error"]["code"] == "409"
                    assert ends[winner] in answer["error"]["message"]
            moved = 100 if winner == "approve" else 0
            assert (holds(own_server, "maya-lindqvist"), holds(own_server, "sam-rivera")) == (
                before[0] + moved,
                before[1] - moved,
            )
    assert len(winners) > 1


@pytest.mark.parametrize(("transfers", "reads"), [(400, 20), pytest.param(20_000, 1_000, marks=pytest.mark.soak)])
def test_the_bank(own_server: SandboxServer, clients: Any, transfers: int, reads: int) -> None:
    """16 clients move money among ten people while the ledger is read: no wrong total, no negative balance."""
    people = [one.username for one in own_server.people[:10]]
    total = sum(one.balance_cents for one in own_server.store.people())
    crew = [(random.Random(number), clients(people[number % 10])) for number in range(16)]  # noqa: S311 - repeatable, not secret
    ids = [one.user_id for one in own_server.people[:10]]
    left = itertools.count()
    settled = []

    def move(rng: random.Random, client: Client) -> None:
        while next(left) < transfers:
            target = rng.choice([one for one in ids if one != client.user_id])
            amount = f"{rng.randrange(1, 30_000) / 100:.2f}"
            status, body = client.send("POST", "/payments", user_id=target, amount=amount, note="x")
            assert status == 200
            assert body["data"]["payment"]["status"] in ("settled", "failed")
            assert body["data"]["balance"] >= 0
            settled.append(body["data"]["payment"]["status"])

    with ThreadPoolExecutor(16) as pool:
        working = [pool.submit(move, *one) for one in crew]
        done = 0
        while done < reads or not all(one.done() for one in working):
            with own_server.store.reading() as connection:
                (held, lowest) = connection.execute(
                    "SELECT sum(balance_cents), min(balance_cents) FROM users"
                ).fetchone()
                (booked, everything) = connection.execute(
                    "SELECT sum(cents) FILTER (WHERE account > 0), sum(cents) FROM entries"
                ).fetchone()
            assert (held, booked, everything) == (total, total, 0)
            assert lowest >= 0
            done += 1
        for one in working:
            one.result(60)
    assert len(settled) == transfers
    assert {"settled", "failed"} == set(settled)
    print(f"{transfers} transfers, {settled.count('settled')} settled, {done} whole reads")  # noqa: T201 - the figures
