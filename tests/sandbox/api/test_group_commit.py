"""Writes that wait at the same moment share one wait for the disk, and nothing else."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from p2p_analytics.sandbox.api.writes import GroupCommit
from p2p_analytics.sandbox.domain.orders import Order, Recipient
from p2p_analytics.sandbox.domain.payments import Outcome, Transitions
from p2p_analytics.sandbox.errors import SelfPaymentError, StateError
from p2p_analytics.sandbox.storage import ledger
from p2p_analytics.sandbox.storage.rows import Person
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.vocabulary import Audience, Resolution, TargetType


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    """Return a town of two who hold 10.00 each; its ledger is consistent at the end."""
    made = Store(tmp_path / "town.sqlite")
    people = [Person(n, f"p{n}", "P", "", "P", "", "", 0, f"{n}@example.com", str(n), 1_000) for n in (1, 2)]
    made.create({}, people, [(1, 2)], [])
    yield made
    assert ledger.audit(made.connection) == []
    made.close()


@pytest.fixture
def commits(store) -> list[str]:
    """Return a list that receives each commit that writes wait for."""
    with store.writing() as connection:
        pass
    made: list[str] = []
    connection.set_trace_callback(lambda sql: made.append(sql) if sql == "COMMIT" else None)
    return made


def pay(store: Store, cents: int, *, actor: int = 1, target: int = 2) -> Callable[[], Outcome]:
    """Return a payment to be made, or a charge where the cents are negative."""
    order = Order(Recipient(TargetType.USER, str(target)), cents, "x", Audience.PRIVATE)
    return lambda: Transitions(store).create(actor, order)


def at_once(store: Store, *writes: Callable[[], Outcome]) -> list[Any]:
    """Let writes wait at the same moment, and return the outcome or the error of each."""

    async def run() -> list[Any]:
        together = GroupCommit(store)
        return await asyncio.gather(*(together.write(one) for one in writes), return_exceptions=True)

    return asyncio.run(run())


def _holds(store: Store) -> list[int]:
    return [person.balance_cents for person in store.people()]


def test_the_disk_is_waited_for_once(store, commits) -> None:
    """The first of 250 writes runs at once; the others follow in batches of 100, each with its own id."""
    done = at_once(store, *[pay(store, 1)] * 250)
    assert len(commits) == 4
    assert len({one.payment.payment_id for one in done}) == 250
    assert [one.balance_cents for one in done] == list(range(999, 749, -1))
    assert _holds(store) == [750, 1_250]


def test_each_fails_by_itself(store, commits) -> None:
    """Of writes that go together a refused one changes nothing, whatever it had begun; the others stand."""
    charge = pay(store, -700, actor=2, target=1)().payment
    transitions = Transitions(store)

    def approve_and_cut() -> Outcome:
        with store.writing():
            transitions.resolve(1, charge.payment_id, Resolution.APPROVE)
            return transitions.resolve(1, charge.payment_id, Resolution.APPROVE)

    commits.clear()
    first, self_paid, second, cut, third = at_once(
        store, pay(store, 100), pay(store, 5, target=1), pay(store, 200), approve_and_cut, pay(store, 300)
    )
    assert len(commits) == 2
    assert (type(self_paid), type(cut)) == (SelfPaymentError, StateError)
    assert [one.payment.status for one in (first, second, third)] == ["settled"] * 3
    assert store.payment(charge.payment_id).status == "pending"
    assert _holds(store) == [400, 1_600]


def test_whoever_is_cancelled_takes_nobody_along(store) -> None:
    """Where a request is cancelled that was about to carry out the writes of others too, these are carried out."""

    async def run() -> list[Any]:
        together = GroupCommit(store)
        first, second, third = (asyncio.create_task(together.write(pay(store, 100))) for _ in range(3))
        await first
        second.cancel()
        async with asyncio.timeout(10):
            return await asyncio.gather(second, third, return_exceptions=True)

    second, third = asyncio.run(run())
    assert isinstance(second, asyncio.CancelledError)
    assert third.payment.status == "settled"
    assert _holds(store) == [800, 1_200]


def break_the_commit(store: Store) -> Any:
    """Insert an entry of a payment that is not there, which SQLite notices at the commit."""
    with store.writing() as connection:
        connection.execute("INSERT INTO entries VALUES (NULL, 77, 'x', -1, 5, 0)")


def undo_the_transaction(store: Store) -> Any:
    """Let SQLite undo the whole transaction, as with a full disk."""
    with store.writing() as connection:
        connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("database or disk is full")


@pytest.mark.parametrize(
    ("break_down", "error"),
    [(break_the_commit, sqlite3.IntegrityError), (undo_the_transaction, sqlite3.OperationalError)],
)
def test_what_is_not_on_the_disk_is_not_answered(store, break_down: Any, error: type[Exception]) -> None:
    """Where the commit fails, or its transaction is undone, none of its writes is answered or stored."""
    writes = pay(store, 100), pay(store, 200), lambda: break_down(store), pay(store, 300)
    first, *rest = at_once(store, *writes)
    assert (first.payment.status, [type(one) for one in rest]) == ("settled", [error] * 3)
    assert _holds(store) == [900, 1_100]
