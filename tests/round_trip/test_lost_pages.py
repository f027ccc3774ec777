"""Wrong pages that look right: the exact history or a typed error, never an incomplete history.

The cells of the fault matrix for answers with status 200 that hide payments: a page that is empty, one without its
next link, and a service that reads ``before`` in another zone or as a date. Each befalls the first, a middle and
the last request of a load, once or from then on, in a load, a reload through the cache, and a sync.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import PaginationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOW = datetime(2025, 6, 30, 18, tzinfo=UTC)
PAYMENTS = 480
KINDS = ("empty-page", "no-next", "bound-zone", "bound-day")
CELLS = [
    pytest.param(kind, place, often, marks=pytest.mark.fault("read"), id=f"{kind}, {place}, {often}")
    for kind in KINDS
    for place, often in (("first", "for ever"), ("middle", "once"), ("last", "for ever"))
]


class Town(NamedTuple):
    """A running sandbox, the token of its viewer, and the ids that a complete history holds."""

    server: p2p.sandbox.SandboxServer
    token: str
    ids: set[str]
    counted: dict[str, list[int]]

    def client(self, cache: Path | bool = False) -> p2p.Client:  # noqa: FBT001, FBT002 - as the client takes it
        """Return a client with one connection, so that its requests have an order."""
        return p2p.Client(self.token, base_url=self.server.base_url, cache_dir=cache, concurrency=1)

    def find_pages(self, name: str, work: Callable[[], object]) -> list[int]:
        """Return the numbers of the requests for pages of payments of some work, done without faults once per name."""
        if name not in self.counted:
            self.server.requests.clear()
            work()
            requests = enumerate(self.server.requests)
            self.counted[name] = [number for number, (_, path) in requests if path.startswith("/v1/payments")]
        return self.counted[name]

    def spec(self, pages: list[int], kind: str, place: str, often: str) -> str:
        """Return the faults that befall one of these requests."""
        at = {"first": pages[0], "middle": pages[len(pages) // 2], "last": pages[-1]}[place]
        return f"ok*{at} {kind}" + ("*9000" if often == "for ever" else "")


@pytest.fixture(scope="module")
def dense() -> Iterator[Town]:
    """Start a town; its viewer has payments in bursts, several of them within five hours."""
    chance = random.Random(7)  # noqa: S311 - the same data each time
    with p2p.sandbox.SandboxServer(seed=3, people=4, years=1, now=NOW) as server:
        bursts = [NOW - timedelta(days=3 + 700 * chance.random()) for _ in range(PAYMENTS // 12)]
        dates = [chance.choice(bursts) - timedelta(seconds=chance.randrange(18 * 3600)) for _ in range(PAYMENTS)]
        server.add_payments(server.viewer, [{"date_created": date, "amount_cents": 5} for date in dates])
        token = server.token(server.viewer)
        with server.store.reading() as connection:  # not by the code under test
            viewer = next(person.user_id for person in server.people if person.username == server.viewer)
            rows = connection.execute("SELECT payment_id FROM party WHERE user_id = ?", (int(viewer),)).fetchall()
        yield Town(server, token, {str(row[0]) for row in rows}, {})


@pytest.fixture
def town(dense: Town) -> Iterator[Town]:
    """Return the town, without faults before and after."""
    dense.server.faults = ""
    yield dense
    dense.server.faults = ""


def exact_or_refused(work: Callable[[], set[str]], ids: set[str]) -> bool:
    """Do some work, and return whether it gave the exact history; the typed error is the only other outcome."""
    try:
        found = work()
    except PaginationError:
        return False
    assert found == ids, f"{len(ids - found)} lost"
    return True


@pytest.mark.parametrize(("kind", "place", "often"), CELLS)
def test_a_reload(town: Town, tmp_path: Path, kind: str, place: str, often: str) -> None:
    """A page that is wrong once is asked for again, and what it left in the cache makes no later load incomplete."""

    def load() -> set[str]:
        with town.client(tmp_path) as client:
            return set(p2p.load_history(client).payments["payment_id"])

    def first_load() -> None:
        load()
        for file in tmp_path.iterdir():
            file.unlink()

    town.server.faults = town.spec(town.find_pages("load into a cache", first_load), kind, place, often)
    assert exact_or_refused(load, town.ids) or often == "for ever"
    exact_or_refused(load, town.ids)
    town.server.faults = ""
    assert exact_or_refused(load, town.ids)
    town.server.faults = town.spec(town.find_pages("load with a good cache", load), kind, place, often)
    exact_or_refused(load, town.ids)


@pytest.mark.fault("read")
@pytest.mark.parametrize("often", ["once", "for ever"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sync_of_what_is_new(town: Town, tmp_path: Path, kind: str, often: str) -> None:
    """A list without the newest known payment cannot show the new ones."""
    archive = p2p.open_archive(tmp_path)
    with town.client() as client:
        archive.sync(client)
        made = town.server.add_payments(town.server.viewer, [{"date_created": town.server.now, "amount_cents": 7}])
        town.ids.update(made)
        town.server.faults = f"ok {kind}" + ("*9000" if often == "for ever" else "")  # the first request is /me
        exact = exact_or_refused(
            lambda: archive.sync(client) and set(archive.history().payments["payment_id"]), town.ids
        )
        assert exact or often == "for ever"
        town.server.faults = ""
        archive.sync(client)
        assert set(archive.history().payments["payment_id"]) == town.ids
