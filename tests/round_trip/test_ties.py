"""Two thousand payments, a tenth of them with ties, over HTTP: none lost, none repeated."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

import p2p_analytics as p2p

PAYMENTS = 2_000
TIED = PAYMENTS // 10


@pytest.fixture(scope="module")
def sandbox_with_ties():
    """Start a sandbox with one user who has all payments, and return it with their ids."""
    chance = random.Random(5)  # noqa: S311 - the same data each time
    start = datetime(2022, 1, 1, tzinfo=UTC)
    seconds = chance.sample(range(40_000_000), PAYMENTS - TIED)
    seconds += chance.choices(seconds, k=TIED)
    made = [
        {
            "payment_id": str(4_000_000_000_000_000_000 + number),
            "date_created": start + timedelta(seconds=second, microseconds=chance.choice((0, 0, 250_000))),
            "amount_cents": number + 1,
            "note": str(number),
        }
        for number, second in enumerate(seconds)
    ]
    with p2p.sandbox.SandboxServer(seed=3, people=4, years=1) as server:
        viewer = server.viewer
        token = server.token(viewer)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
            before = [payment.id for payment in client.payments()]
        server.add_payments(viewer, made)
        yield server, token, sorted([*before, *(row["payment_id"] for row in made)])


@pytest.mark.parametrize("page_size", [7, 50])
def test_no_payment_is_lost_or_repeated(sandbox_with_ties, page_size: int) -> None:
    """The next link of the sandbox would lose ties; pagination does not, with any page size."""
    server, token, ids = sandbox_with_ties
    with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
        found = [payment.id for page in client.payment_pages(page_size=page_size) for payment in page.items]
    assert len(found) > PAYMENTS
    assert sorted(found) == ids


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_new_payments_during_pagination_lose_nothing(seed: int) -> None:
    """A new payment shifts every page; each earlier payment is still returned once."""
    chance = random.Random(seed)  # noqa: S311 - the same data each time
    with p2p.sandbox.SandboxServer(seed=seed, people=4, years=1) as server:
        token = server.token(server.viewer)
        start = server.now - timedelta(days=300)
        crowd = [
            {"date_created": start + timedelta(seconds=chance.randrange(400)), "amount_cents": 1} for _ in range(800)
        ]
        server.add_payments(server.viewer, crowd)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
            before = {payment.id for payment in client.payments()}
            found = []
            for page in client.payment_pages(page_size=chance.choice([3, 7, 20, 50])):
                found += [payment.id for payment in page.items]
                late = start + timedelta(seconds=chance.randrange(30_000_000), microseconds=chance.randrange(10**6))
                server.add_payments(server.viewer, [{"date_created": late, "amount_cents": 1}])
    assert len(found) == len(set(found))
    assert before <= set(found)
