"""The cost of a page, in steps of SQLite's virtual machine, does not depend on the length of the history."""

import itertools
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from p2p_analytics.sandbox.api.read_parameters import read_payment_list
from p2p_analytics.sandbox.http.parameters import Parameters
from p2p_analytics.sandbox.storage.rows import Payment, Person
from p2p_analytics.sandbox.storage.store import Store

pytestmark = pytest.mark.full  # a history of 200,000 payments

ME = 10**18
PEOPLE = 60
SIZES = (10_000, 200_000)
SECOND = 1_000_000
START = 1_600_000_000 * SECOND
STATUSES = ("settled", "pending", "failed", "expired", "cancelled")

ALL = ",".join(STATUSES)
FILTERS = [
    {"action": action, "status": status, "actor": ",".join(str(ME + n) for n in range(actors)), **times}
    for actors, action, status in (
        *itertools.product((0, 1, 4), ("", "pay", "charge"), ("", "settled", "expired", "settled,pending", ALL)),
        # the most actors of each number of combinations
        (60, "", ""), (60, "pay", "settled"), (32, "", "settled"), (12, "pay", ALL),
        (8, "", ALL.replace("expired,", "")),
    )
    for times in ({}, {"before": "2020-09-20T00:00:00"}, {"after": "2020-09-14", "before": "2020-09-16T12:00:00Z"})
]  # fmt: skip


@pytest.fixture(scope="module")
def stores(tmp_path_factory) -> Iterator[dict[int, Store]]:
    """Create two databases that differ only in their number of payments."""
    made = {size: _store(tmp_path_factory.mktemp("cost") / f"{size}.sqlite", size) for size in SIZES}
    yield made
    for store in made.values():
        store.close()


def test_the_cost_does_not_grow_with_the_history(stores) -> None:
    """A page of 50 takes at most 5,000 steps with every filter, and about the same at 10,000 and 200,000 payments."""
    small, large = (stores[size] for size in SIZES)
    compared = 0
    for given in FILTERS:
        few, many = (_steps(store, partial(_page, store, given)) for store in (small, large))
        assert max(few, many) <= 5_000, given
        if len(_page(small, given)) == len(_page(large, given)) == 51:
            assert abs(many - few) <= 0.1 * few, given  # the index is one level deeper
            compared += 1
    assert compared > len(FILTERS) // 3


def _page(store: Store, given: dict[str, str]) -> list[Payment]:
    asked = read_payment_list(Parameters([*given.items(), ("limit", "50")]))
    with store.reading():
        payments = store.payments(ME, asked.filter, asked.limit + 1)
        store.people_by_id(one for row in payments for one in (row.actor_id, row.target_user_id) if one is not None)
    return payments


def _steps(store: Store, work: Callable[[], object]) -> int:
    steps: list[None] = []
    store.connection.set_progress_handler(lambda: steps.append(None), 1)
    try:
        work()
    finally:
        store.connection.set_progress_handler(None, 0)
    return len(steps)


def _store(path: Path, size: int) -> Store:
    rng = random.Random(1)  # noqa: S311 - the same history each time
    store = Store(path)
    people = [
        Person(ME + n, f"p{n}", "P", str(n), f"P {n}", "", "", 0, f"{n}@x.example", str(n), 0) for n in range(PEOPLE)
    ]
    store.create({}, people, [], (_payment(rng, number) for number in range(size)))
    return store


def _payment(rng: random.Random, number: int) -> Payment:
    """Return a payment: half are the user's, 2 % pending, 0.05 % expired, a third share their second."""
    others = rng.sample(range(1, PEOPLE), 2)
    parties = [0, others[0]] if number % 2 else others
    rng.shuffle(parties)
    created = START + number // 3 * 2 * 40 * SECOND
    status = rng.choices(STATUSES, (960, 20, 10, 0.5, 10))[0]
    action = rng.choice(("pay", "charge"))
    completed = None if status == "pending" else created
    return Payment(
        2 * 10**18 + number, status, action, 100, "", "private", "web", 0, created, completed,
        ME + parties[0], "user", ME + parties[1],
    )  # fmt: skip
