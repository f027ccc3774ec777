"""Concurrent writes over HTTP: no overdraft, exactly one resolution of a request, and correct totals."""

import itertools
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from p2p_analytics.sandbox import SandboxServer
from support.servers import sandbox_fixture

ROUNDS = [25, pytest.param(1_000, marks=pytest.mark.soak)]
SCOPES = ("make_payments", "access_balance", "access_profile")
MAYA, SAM = "maya-lindqvist", "sam-rivera"

town = sandbox_fixture(scope="function", people=12, years=1)


def at_once(pool: ThreadPoolExecutor, *calls: Any) -> list[Any]:
    """Return the results of calls that start in the same moment."""
    barrier = threading.Barrier(len(calls))

    def run(call: Any) -> Any:
        barrier.wait(10)
        return call()

    return [future.result(30) for future in [pool.submit(run, call) for call in calls]]


def _balances(town: SandboxServer) -> tuple[int, int]:
    return tuple(town.store.person_named(user).balance_cents for user in (MAYA, SAM))


@pytest.mark.parametrize("rounds", ROUNDS)
def test_two_payments_never_overdraw(town, ask, rounds: int) -> None:
    """Of two payments of 10.00 at once from a balance of 15.00 exactly one settles, and the other fails."""
    payers, sam = [ask(MAYA, *SCOPES, on=town) for _ in range(2)], ask(SAM, on=town).id
    with ThreadPoolExecutor(2) as pool:
        for _ in range(rounds):
            town.deposit(MAYA, 1_500 - _balances(town)[0])
            received = _balances(town)[1]
            made = at_once(pool, *(lambda one=one: one.create(user_id=sam, amount="10") for one in payers))
            assert sorted(one["payment"]["status"] for one in made) == ["failed", "settled"]
            assert {one["balance"] for one in made} <= {Decimal("15.00"), Decimal("5.00")}
            assert _balances(town) == (500, received + 1_000)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_exactly_one_ends_a_request(town, ask, rounds: int) -> None:
    """Of approve, deny and cancel at once exactly one wins; the others get 409, and money moves only if approved."""
    ends = {"approve": "settled", "deny": "cancelled", "cancel": "cancelled"}
    by = {action: ask(user, *SCOPES, on=town) for action, user in zip(ends, (SAM, SAM, MAYA), strict=True)}
    town.deposit(SAM, rounds * 100)
    winners = set()
    orders = itertools.cycle(itertools.permutations(ends))
    with ThreadPoolExecutor(3) as pool:
        for order in itertools.islice(orders, rounds):
            before = _balances(town)
            made = by["cancel"].create(user_id=by["deny"].id, amount="-1")["payment"]["id"]
            answers = at_once(pool, *(lambda one=one, made=made: by[one].put(made, one) for one in order))
            assert sorted(answer.status_code for answer in answers) == [200, 409, 409]
            bodies = {action: answer.json() for action, answer in zip(order, answers, strict=True)}
            (winner,) = (action for action, body in bodies.items() if "data" in body)
            winners.add(winner)
            assert bodies.pop(winner)["data"]["status"] == ends[winner]
            assert all(ends[winner] in body["error"]["message"] for body in bodies.values())
            moved = 100 if winner == "approve" else 0
            assert _balances(town) == (before[0] + moved, before[1] - moved)
    assert len(winners) > 1


@pytest.mark.parametrize(("transfers", "reads"), [(160, 20), pytest.param(20_000, 1_000, marks=pytest.mark.soak)])
def test_the_bank(town, ask, transfers: int, reads: int) -> None:
    """16 clients move money among ten people while the ledger is read: no wrong total, no negative balance."""
    people = town.people[:10]
    total = sum(one.balance_cents for one in town.store.people())
    left, settled = itertools.count(), []

    def move(number: int) -> None:
        rng = random.Random(number)  # noqa: S311 - repeatable, not secret
        client = ask(people[number % 10].username, *SCOPES, on=town)
        others = [one.user_id for one in people if one is not people[number % 10]]
        while next(left) < transfers:
            data = client.create(user_id=rng.choice(others), amount=f"{rng.randrange(1, 30_000) / 100:.2f}")
            assert data["balance"] >= 0
            settled.append(data["payment"]["status"])

    with ThreadPoolExecutor(16) as pool:
        working = [pool.submit(move, number) for number in range(16)]
        done = 0
        while done < reads or not all(one.done() for one in working):
            with town.store.reading() as connection:
                query = "SELECT sum(balance_cents), min(balance_cents) >= 0 FROM users"
                held = connection.execute(query).fetchone()
                query = "SELECT sum(cents) FILTER (WHERE account > 0), sum(cents) FROM entries"
                booked = connection.execute(query).fetchone()
            assert (held, booked) == ((total, 1), (total, 0))
            done += 1
        for one in working:
            one.result(60)
    assert (len(settled), set(settled)) == (transfers, {"settled", "failed"})
