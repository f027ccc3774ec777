"""Wrong pages that look right: the exact history or a typed error, never an incomplete history.

The cells of the fault matrix for answers with status 200 that hide payments: a page that is empty, one without its
next link, and a service that reads ``before`` in another zone or as a date. Each befalls the first, a middle and
the last request of a load, once or from then on, in a load, a reload through the cache, and a sync.
"""

import random
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import PaginationError

NOW = datetime(2025, 6, 30, 18, tzinfo=UTC)
PAYMENTS = 480
KINDS = ("empty-page", "no-next", "bound-zone", "bound-day")


class Town(NamedTuple):
    """A running sandbox, its viewer's token, the ids of a complete history, and which requests of a load are pages."""

    server: p2p.sandbox.SandboxServer
    token: str
    ids: set[str]
    pages: list[list[int]]  # without a cache, and with one

    def client(self, cache=False) -> p2p.Client:  # noqa: FBT002 - as the client takes it
        """Return a client with one connection, so that its requests have an order."""
        return p2p.Client(self.token, base_url=self.server.base_url, cache_dir=cache, concurrency=1)

    def load(self, cache) -> set[str]:
        """Return the ids of a load through a cache."""
        with self.client(cache) as client:
            return set(p2p.load_history(client).payments["payment_id"])


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """Start a town; its viewer has payments in bursts, several of them within five hours."""
    chance = random.Random(7)  # noqa: S311 - the same data each time
    with p2p.sandbox.SandboxServer(seed=3, people=4, years=1, now=NOW) as server:
        bursts = [NOW - timedelta(days=3 + 700 * chance.random()) for _ in range(PAYMENTS // 12)]
        dates = [chance.choice(bursts) - timedelta(seconds=chance.randrange(18 * 3600)) for _ in range(PAYMENTS)]
        server.add_payments(server.viewer, [{"date_created": date, "amount_cents": 5} for date in dates])
        with server.store.reading() as connection:  # not by the code under test
            rows = connection.execute(
                "SELECT payment_id FROM party WHERE user_id = ?", (int(server.people[0].user_id),)
            )
            ids = {str(payment_id) for (payment_id,) in rows}
        town, cache = Town(server, server.token(server.viewer), ids, []), tmp_path_factory.mktemp("cache")
        for _ in range(2):
            server.requests.clear()
            town.load(cache)
            requests = enumerate(server.requests)
            town.pages.append([number for number, (_, path) in requests if path.startswith("/v1/payments")])
        yield town


@pytest.fixture
def town(dense):
    """Return the town, without faults before and after."""
    dense.server.faults = ""
    yield dense
    dense.server.faults = ""


def exact_or_refused(work, ids: set[str]) -> bool:
    """Do some work, and return whether it gave the exact history; the typed error is the only other outcome."""
    try:
        found = work()
    except PaginationError:
        return False
    assert found == ids, f"{len(ids - found)} lost"
    return True


@pytest.mark.fault("read")
@pytest.mark.parametrize(
    ("place", "often"),
    [pytest.param("first", "for ever", marks=pytest.mark.full), ("middle", "once"), ("last", "for ever")],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_reload(town, tmp_path, kind: str, place: str, often: str) -> None:
    """A page that is wrong once is asked for again, and what it left in the cache makes no later load incomplete."""

    def find_faults(pages: list[int]) -> str:
        at = {"first": pages[0], "middle": pages[len(pages) // 2], "last": pages[-1]}[place]
        return f"ok*{at} {kind}" + ("*9000" if often == "for ever" else "")

    def load() -> set[str]:
        return town.load(tmp_path)

    town.server.faults = find_faults(town.pages[0])
    assert exact_or_refused(load, town.ids) or often == "for ever"
    exact_or_refused(load, town.ids)
    town.server.faults = ""
    assert exact_or_refused(load, town.ids)
    town.server.faults = find_faults(town.pages[1])
    exact_or_refused(load, town.ids)


@pytest.mark.fault("read")
@pytest.mark.parametrize("often", [pytest.param("once", marks=pytest.mark.full), "for ever"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sync_of_what_is_new(town, tmp_path, kind: str, often: str) -> None:
    """A list without the newest known payment cannot show the new ones."""
    archive = p2p.open_archive(tmp_path)

    def sync() -> set[str]:
        archive.sync(client)
        return set(archive.history().payments["payment_id"])

    with town.client() as client:
        archive.sync(client)
        made = town.server.add_payments(town.server.viewer, [{"date_created": town.server.now, "amount_cents": 7}])
        town.ids.update(made)
        town.server.faults = f"ok {kind}" + ("*9000" if often == "for ever" else "")  # the first request is /me
        assert exact_or_refused(sync, town.ids) or often == "for ever"
        town.server.faults = ""
        assert sync() == town.ids
