"""The analyses against a second count: plain Python over the sandbox's raw JSON, no frames, no toolkit.

Amounts are exact to the cent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from zoneinfo import ZoneInfo

import pytest

import p2p_analytics as p2p
from support.raw.payments import get_perspective, list_payments, parse_instant

CASES = [(11, 3, "America/New_York"), (2024, 5, "Australia/Lord_Howe")]  # seed, person and zone


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
        yield resident.user_id, raw, history, zone


def test_net_per_friend(both) -> None:
    """Sent, received, net and count of settled payments, for each counterparty."""
    viewer, raw, history, _zone = both
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


def test_monthly_flow(both) -> None:
    """Sent, received and running net of each month of a zone, without gaps."""
    viewer, raw, history, zone = both
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
