"""The analyses against a second count: plain Python over the sandbox's raw JSON, no frames, no toolkit.

Amounts are exact to the cent. Three towns, three viewers each with another life.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

import p2p_analytics as p2p
from support.raw.payments import get_perspective, list_payments, parse_instant

CASES = [(7, 0, "UTC"), (11, 3, "America/New_York"), (2024, 5, "Australia/Lord_Howe")]
EDGES = (1, 7, 30, 90)


def cents(value: float) -> int:
    """Return a display amount as cents; it must be a whole number of them."""
    assert abs(value * 100 - round(value * 100)) < 1e-6
    return round(value * 100)


@pytest.fixture(scope="module", params=CASES, ids=[f"seed {seed}" for seed, _, _ in CASES])
def both(request):
    """Load one viewer's history twice: raw, and as frames."""
    seed, person, zone = request.param
    with p2p.sandbox.SandboxServer(seed=seed) as server:
        resident = server.people[person]
        token = server.token(resident.username)
        raw = list_payments(server.base_url, token)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
            history = p2p.load_history(client)
        yield resident.user_id, raw, history, server.now, zone


def test_net_per_friend(both) -> None:
    """Sent, received, net and count of settled payments, for each counterparty."""
    viewer, raw, history, _now, _zone = both
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for item in raw:
        if item["status"] == "settled":
            other, flow = get_perspective(viewer, item)
            expected[other][0 if flow < 0 else 1] += abs(flow)
            expected[other][2] += 1
    table = p2p.spend_by_friend(history.payments, history.friends)
    found = {row.counterparty_id: [cents(row.sent), cents(row.received), row.payments] for row in table.itertuples()}
    assert found == dict(expected)
    assert len(found) >= 3
    assert [cents(row.net) for row in table.itertuples()] == [
        expected[row.counterparty_id][1] - expected[row.counterparty_id][0] for row in table.itertuples()
    ]


def test_status_counts(both) -> None:
    """Payments and amount of each action and status."""
    _viewer, raw, history, _now, _zone = both
    counts, amounts = Counter(), Counter()
    for item in raw:
        counts[item["action"], item["status"]] += 1
        amounts[item["action"], item["status"]] += int(abs(item["amount"]) * 100)
    table = p2p.status_mix(history.payments)
    assert {(row.action, row.status): row.payments for row in table.itertuples()} == dict(counts)
    assert {(row.action, row.status): cents(row.amount) for row in table.itertuples()} == dict(amounts)


def test_pending_ages(both) -> None:
    """Payments, amount and oldest age in days of each direction and band."""
    viewer, raw, history, now, _zone = both
    expected = {(way, band): [0, 0, None] for way in ("in", "out") for band in range(len(EDGES) + 1)}
    for item in raw:
        if item["status"] == "pending":
            _other, flow = get_perspective(viewer, item)
            age = now - parse_instant(item["date_created"])
            cell = expected["in" if flow > 0 else "out", sum(age >= timedelta(days=edge) for edge in EDGES)]
            cell[0] += 1
            cell[1] += abs(flow)
            cell[2] = max(age.days, -1 if cell[2] is None else cell[2])
    table = p2p.pending_ageing(history.payments, as_of=now, edges=EDGES)
    found = [[row.payments, cents(row.amount)] for row in table.itertuples()]
    assert found == [cell[:2] for cell in expected.values()]
    oldest = table["oldest_days"].astype(object).where(table["oldest_days"].notna(), None)
    assert oldest.tolist() == [cell[2] for cell in expected.values()]
    assert list(table["direction"]) == [way for way, _ in expected]
    assert len(p2p.pending_requests(history.payments, as_of=now)) == sum(cell[0] for cell in expected.values()) > 0


def test_monthly_flow(both) -> None:
    """Sent, received and running net of each month of a zone, without gaps."""
    viewer, raw, history, _now, zone = both
    sent, received = Counter(), Counter()
    months = set()
    for item in raw:
        if item["status"] == "settled":
            moved = parse_instant(item["date_completed"] or item["date_created"]).astimezone(ZoneInfo(zone))
            month = f"{moved:%Y-%m}"
            months.add(month)
            _other, flow = get_perspective(viewer, item)
            (sent if flow < 0 else received)[month] += abs(flow)
    table = p2p.monthly_flow(history.payments, tz=zone)
    first, last = min(months), max(months)
    number = (int(last[:4]) - int(first[:4])) * 12 + int(last[5:]) - int(first[5:]) + 1
    assert (table["month"].iloc[0], table["month"].iloc[-1], len(table)) == (first, last, number)
    running = 0
    for row in table.itertuples():
        assert (cents(row.sent), cents(row.received)) == (sent[row.month], received[row.month])
        running += received[row.month] - sent[row.month]
        assert cents(row.running_net) == running
