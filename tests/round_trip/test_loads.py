"""Repeated loads from the sandbox: few requests, no stale data, and resumption."""

import math
import random
import threading
from datetime import UTC, datetime, timedelta

import pytest

import p2p_analytics as p2p
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.errors import AuthenticationError

PAYMENTS = 1_800
PENDING = 120
NOW = datetime(2025, 6, 30, 18, tzinfo=UTC)


@pytest.fixture(scope="module")
def busy_server():
    """Start a sandbox; its viewer has 1,800 uneven payments in five years, a tenth of them with ties."""
    chance = random.Random(11)  # noqa: S311 - the same data each time
    with p2p.sandbox.SandboxServer(seed=3, people=4, years=1, now=NOW) as running:
        other = running.people[1].username
        running.link_bank(other)
        waiting = set(chance.sample(range(PAYMENTS), PENDING))
        ages = [int(5 * 365 * 86_400 * chance.random() ** 2) for _ in range(PAYMENTS * 9 // 10)]
        ages += chance.choices(ages, k=PAYMENTS // 10)
        made = [
            {
                "date_created": NOW - timedelta(seconds=age + 3 * 86_400, milliseconds=chance.choice((0, 250))),
                "amount_cents": number + 1,
                "actor": running.viewer,
                "target": other,
                "action": "charge" if number in waiting else "pay",
                "status": "pending" if number in waiting else "settled",
            }
            for number, age in enumerate(ages)
        ]
        running.made = set(running.add_payments(running.viewer, made))
        yield running


def client_of(server, folder) -> p2p.Client:
    """Return a client for the viewer with a new token."""
    return p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=folder)


def load(server, folder, **options) -> tuple[p2p.History, int]:
    """Return the history of the viewer, and the number of requests for lists of payments."""
    with client_of(server, folder) as client:
        server.requests.clear()
        history = p2p.load_history(client, **options)
    return history, sum("/v1/payments" in path for _, path in server.requests)


def list_statuses(server) -> dict[str, str]:
    """Return the status of each payment by its id, as the service lists it."""
    with client_of(server, False) as client:  # noqa: FBT003 - no cache
        return {payment.id: payment.status for payment in client.payments()}


def get_statuses(history) -> dict[str, str]:
    """Return the status of each payment of a history by its id."""
    return dict(zip(history.payments["payment_id"], history.payments["status"], strict=True))


def count_pages(count: int) -> int:
    """Return the minimum number of requests for a number of payments."""
    return math.ceil(count / 50)


def count_pending(history) -> int:
    """Return the number of pending payments."""
    return int((history.payments["status"] == "pending").sum())


def test_a_new_payment_costs_few_requests(busy_server, tmp_path) -> None:
    """At most two requests, and the list of pending payments; a payment by the desk is one too."""
    first, requests = load(busy_server, tmp_path)
    assert get_statuses(first) == list_statuses(busy_server)
    assert busy_server.made < get_statuses(first).keys()
    # How windows are split depends on the order of the answers, so that a loaded machine may need a few more.
    assert requests <= 1.3 * count_pages(len(first.payments)) + 1
    busy_server.add_payments(busy_server.viewer, [{"date_created": busy_server.now, "amount_cents": 1, "note": "new"}])
    second, requests = load(busy_server, tmp_path)
    assert requests <= 2 + count_pages(count_pending(first))
    assert second.payments["note"].iloc[0] == "new"
    assert get_statuses(second) == list_statuses(busy_server)
    assert second.fetched_at > first.fetched_at
    token = busy_server.token(busy_server.viewer, "make_payments", "access_profile", "access_friends")
    busy_server.link_bank(busy_server.viewer)
    with p2p.Client(token, base_url=busy_server.base_url, cache_dir=tmp_path) as client:
        paid = PaymentDesk(client).pay(user_id=busy_server.people[1].user_id, amount="1.00", note="lunch").payment
    third, requests = load(busy_server, tmp_path)
    assert third.payments["payment_id"].iloc[0] == paid.id
    assert requests <= 2 + count_pages(PENDING + 50)


def test_changed_pending_payments_are_refetched(busy_server, tmp_path) -> None:
    """Old payments that were approved or denied cost a request each, and none is stale, then or later."""
    history, _ = load(busy_server, tmp_path)
    target = busy_server.people[1]
    asked = "status == 'pending' and actor_id == @history.me.user.id and target_user_id == @target.user_id"
    mine = history.payments.query(asked)["payment_id"]
    other = busy_server.token(target.username, "make_payments", "access_profile")
    with p2p.Client(other, base_url=busy_server.base_url, cache_dir=False) as client:
        for number, payment_id in enumerate(mine.sample(7, random_state=1)):
            answer = PaymentDesk(client).deny if number % 2 else PaymentDesk(client).approve
            answer(payment_id)
    for _ in range(2):
        pending = count_pending(history)
        history, requests = load(busy_server, tmp_path)
        assert requests <= count_pages(pending) + 7 + 1
        assert get_statuses(history) == list_statuses(busy_server)


def test_refresh_fetches_everything(busy_server, tmp_path) -> None:
    """Only a refresh finds a payment that appears years back."""
    count = len(load(busy_server, tmp_path)[0].payments)
    busy_server.add_payments(busy_server.viewer, [{"date_created": NOW - timedelta(days=700), "amount_cents": 1}])
    assert len(load(busy_server, tmp_path)[0].payments) == count
    refreshed, requests = load(busy_server, tmp_path, refresh=True)
    assert len(refreshed.payments) == count + 1
    assert requests >= count_pages(count)
    history, requests = load(busy_server, tmp_path)
    assert get_statuses(history) == list_statuses(busy_server)
    assert requests <= 2 + count_pages(PENDING + 50)


def stop_load(server, folder, pages: int, error: BaseException | None) -> str:
    """Load until some pages are fetched; then the token expires, or an exception is raised. Return its words."""
    token = server.token(server.viewer)
    calls: list[int] = []

    def stop(payments: int) -> None:
        calls.append(payments)
        if len(calls) == pages:
            if error is not None:
                raise error
            server.expire(token)

    with p2p.Client(token, base_url=server.base_url, cache_dir=folder) as client:
        with pytest.raises(type(error) if error is not None else AuthenticationError) as caught:
            p2p.load_history(client, progress=stop)
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]
    return str(caught.value) + "".join(getattr(caught.value, "__notes__", []))


@pytest.mark.parametrize("error", [None, KeyboardInterrupt()], ids=["token's time", "Ctrl-C"])
def test_a_stopped_load_is_resumed(busy_server, tmp_path, error) -> None:
    """The error says how much is kept, and the next load, with a new token, only fetches the rest.

    Without a cache, nothing is kept.
    """
    whole = count_pages(len(list_statuses(busy_server)))
    said = stop_load(busy_server, tmp_path, whole // 2, error)
    assert " payments are kept, and the next load goes on from there." in said
    assert int(said.split(" payments are kept")[0].rpartition(" ")[2].replace(",", "")) > 600
    history, requests = load(busy_server, tmp_path)
    assert get_statuses(history) == list_statuses(busy_server)
    assert requests <= 0.85 * whole + count_pages(PENDING + 50)
    said = stop_load(busy_server, False, 20, None)  # noqa: FBT003 - no cache
    assert said.endswith("No cache keeps the payments fetched so far, so the next load starts from the beginning.")
