"""The ledger: append-only, every posting sums to zero, and the audit finds each kind of damage."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from p2p_analytics.sandbox.domain.orders import Order, Recipient
from p2p_analytics.sandbox.domain.payments import Transitions
from p2p_analytics.sandbox.domain.test_user import TEST_USER
from p2p_analytics.sandbox.storage import ledger
from p2p_analytics.sandbox.storage.rows import Person
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.sandbox.town import build
from p2p_analytics.vocabulary import Audience, TargetType


@pytest.fixture
def store(tmp_path) -> Iterator[Store]:
    """Return the database of a small town, without a server."""
    built = build.build(people=6, years=1)
    made = Store(tmp_path / "town.sqlite")
    settings = {"viewer": built.people[0].username, "test_user": str(TEST_USER.user_id)}
    made.create(settings, [*built.people, TEST_USER], built.friendships, built.payments, now_us=1)
    yield made
    made.close()


def _order_to(person: Person, cents: int) -> Order:
    return Order(Recipient(TargetType.USER, str(person.user_id)), cents, "x", Audience.PRIVATE)


def test_the_town_opens_with_a_consistent_ledger(store) -> None:
    """Every balance is the sum of the user's entries, and pending payments to strangers are in escrow."""
    assert ledger.audit(store.connection) == []
    totals = dict(store.connection.execute("SELECT account, sum(cents) FROM entries GROUP BY account"))
    assert sum(totals.values()) == 0
    for person in store.people():
        assert totals.get(person.user_id, 0) == person.balance_cents
    waiting = [row for row in build.build(people=6, years=1).payments if (row.status, row.action) == ("pending", "pay")]
    assert len(waiting) == 4  # a gift and a cab, from each of two people
    assert totals[-2] == sum(row.amount_cents for row in waiting)
    assert totals[-1] < 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET cents = cents + 1", "UPDATE entries SET payment_id = NULL WHERE entry_id = 1",
        "DELETE FROM entries WHERE entry_id = 1", "DELETE FROM entries", "UPDATE users SET balance_cents = -1",
        "INSERT OR REPLACE INTO entries VALUES (1, NULL, 'x', -1, 5, 0)",
        "REPLACE INTO entries VALUES (1, NULL, 'x', -1, 5, 0)",
        "INSERT INTO entries VALUES (NULL, NULL, 'x', -1, 0, 0)",
        "INSERT INTO entries VALUES (NULL, NULL, 'x', 0, 1, 0)",
        "INSERT INTO entries VALUES (NULL, 12345, 'x', -1, 1, 0)",
    ],
)  # fmt: skip
def test_the_database_itself_refuses(store, statement: str) -> None:
    """No statement changes, removes or replaces an entry, enters zero, or makes a balance negative."""
    before = store.connection.execute("SELECT * FROM entries").fetchall()
    with pytest.raises(sqlite3.IntegrityError):
        store.write(statement, ())
    assert store.connection.execute("SELECT * FROM entries").fetchall() == before
    assert ledger.audit(store.connection) == []


def test_postings_that_are_refused(store) -> None:
    """A posting that is not covered returns False; one not of sum zero, or that takes from two users, is an error."""
    one, other = (person.user_id for person in store.people()[:2])
    before, cents = list(store.connection.iterdump()), store.people()[0].balance_cents + 1
    with store.writing() as connection:
        assert not ledger.post(connection, None, "x", {other: cents, one: -cents})
        for changes in ({one: 5}, {one: 5, -1: -4}, {one: -5, other: -5, -1: 10}):
            with pytest.raises(ValueError, match="sums to zero"):
                ledger.post(connection, None, "x", changes)
    assert list(store.connection.iterdump()) == before


DAMAGE = {
    "sum to 5 cents": "INSERT INTO entries VALUES (NULL, (SELECT max(payment_id) FROM payments), 'x', -1, 5, 0)",
    "but their entries sum to": (
        "UPDATE users SET balance_cents = balance_cents + 1 WHERE user_id = (SELECT max(user_id) FROM users)"
    ),
    "Account 77 belongs to no user": (
        "INSERT INTO entries VALUES (NULL, NULL, 'x', 77, 5, 0);INSERT INTO entries VALUES (NULL, NULL, 'x', -1, -5, 0)"
    ),
    "of it are in escrow": (
        "UPDATE payments SET status = 'settled' WHERE status = 'pending' AND action = 'pay';"
        "UPDATE party SET status = 'settled' WHERE status = 'pending' AND action = 'pay'"
    ),
    "it has nothing in escrow": (
        "UPDATE party SET status = 'pending' WHERE payment_id = (SELECT max(payment_id) FROM payments "
        "WHERE status = 'settled' AND action = 'pay' AND refund_of IS NULL);"
        "UPDATE payments SET status = 'pending' WHERE payment_id = (SELECT max(payment_id) FROM payments "
        "WHERE status = 'settled' AND action = 'pay' AND refund_of IS NULL)"
    ),
    "is listed as failed": "UPDATE party SET status = 'failed' WHERE status = 'pending' AND action = 'pay'",
}


@pytest.mark.parametrize("sentence", DAMAGE)
def test_the_audit_sees_damage(store, sentence: str) -> None:
    """Each kind of damage has a sentence of its own."""
    with store.writing() as connection:
        for statement in DAMAGE[sentence].split(";"):
            connection.execute(statement)
    found = ledger.audit(store.connection)
    assert found
    assert all(sentence in one for one in found)


def test_a_failure_in_the_middle_undoes_it_all(store) -> None:
    """A write that fails after the money has moved is rolled back: no payment, no entry, no tick of the clock."""
    one, other = store.people()[:2]
    before = list(store.connection.iterdump())
    with store.writing() as connection:
        connection.set_authorizer(lambda *step: step[:2] == (sqlite3.SQLITE_INSERT, "payments"))
    with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
        Transitions(store).create(one.user_id, _order_to(other, 1))
    assert list(store.connection.iterdump()) == before


def test_writes_wait_for_the_disk(store) -> None:
    """Writes use synchronous = FULL (2) in WAL mode, and a thread reads its own uncommitted writes."""
    with store.writing() as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        connection.execute("UPDATE clock SET now_us = 99")
        assert store.now_us() == 99
    assert store.now_us() == 99


def test_two_processes_write_one_file(store) -> None:
    """Two writers of one file take turns: no write fails as busy, and no money is spent twice."""
    one, other = store.people()[:2]
    friend = store.friends(one.user_id, after=0, before=2**62, limit=1)[0]
    order = _order_to(other, 100)
    Transitions(store).deposit(one.user_id, 2_050 - one.balance_cents)
    second = Store(store.path)

    def spend(mine: Store) -> list[str]:
        found = []
        for _ in range(20):
            Transitions(mine).trust(one.user_id, friend.user_id, trusted=True)
            found.append(Transitions(mine).create(one.user_id, order).payment.status)
        return found

    with ThreadPoolExecutor(2) as pool:
        statuses = [status for found in pool.map(spend, (store, second)) for status in found]
    second.close()
    assert (statuses.count("settled"), statuses.count("failed")) == (20, 20)
    assert store.people_by_id([one.user_id])[one.user_id].balance_cents == 50
    assert ledger.audit(store.connection) == []


def test_a_write_costs_the_same_however_many_came_before(store) -> None:
    """The steps of SQLite's virtual machine for a payment do not grow with the number of entries."""
    one, other = store.people()[:2]
    order = _order_to(other, 1)
    transitions = Transitions(store)
    transitions.deposit(one.user_id, 100)

    def steps() -> int:
        counted: list[None] = []
        with store.writing() as connection:
            connection.set_progress_handler(lambda: counted.append(None), 1)
        assert transitions.create(one.user_id, order).payment.status == "settled"
        connection.set_progress_handler(None, 0)
        return len(counted)

    few = steps()
    with store.writing() as connection:
        made = [("earlier", account, cents) for account, cents in ((-1, 1), (-2, -1))] * 10_000
        connection.executemany("INSERT INTO entries (step, account, cents, date_us) VALUES (?, ?, ?, 0)", made)
    assert 100 < few < 2_000
    assert abs(steps() - few) <= 0.1 * few
