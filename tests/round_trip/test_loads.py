"""Load after load against the sandbox: little is asked twice, nothing is stale, and what stopped goes on."""

from __future__ import annotations

import math
import random
import threading
from datetime import UTC, datetime, timedelta

import pytest

import p2p_analytics as p2p
from p2p_analytics.client.desk import PaymentDesk

PAYMENTS = 3_000
PENDING = 120
NOW = datetime(2025, 6, 30, 18, tzinfo=UTC)


@pytest.fixture
def server():
    """Start a sandbox whose viewer has three thousand uneven payments over five years, some of them pending."""
    chance = random.Random(11)  # noqa: S311 - the same data each time
    with p2p.sandbox.SandboxServer(seed=3, people=4, years=1, now=NOW) as running:
        other = running.people[1].username
        running.link_bank(other)
        waiting = set(chance.sample(range(PAYMENTS), PENDING))
        made = [
            {
                "date_created": NOW - timedelta(seconds=int(5 * 365 * 86_400 * chance.random() ** 2) + 3 * 86_400),
                "amount_cents": number + 1,
                "actor": running.viewer,
                "target": other,
                "action": "charge" if number in waiting else "pay",
                "status": "pending" if number in waiting else "settled",
            }
            for number in range(PAYMENTS)
        ]
        running.add_payments(running.viewer, made)
        yield running


def client_of(server, folder, **options: object) -> p2p.Client:
    """Return a client for the viewer with a new token."""
    return p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=folder, **options)


def load(server, folder, **options: object) -> p2p.History:
    """Load the viewer's history, and leave in ``server.requests`` what that asked for in lists of payments."""
    with client_of(server, folder) as client:
        server.requests.clear()
        history = p2p.load_history(client, **options)
    server.requests[:] = [(method, path) for method, path in server.requests if "/v1/payments" in path]
    return history


def truth(server) -> dict[str, str]:
    """Return the status of each payment by its id, as the plain walk of the service tells them."""
    counted = server.requests.copy()
    with client_of(server, False) as client:  # noqa: FBT003 - no cache
        found = {payment.id: payment.status for payment in client.payments()}
    server.requests[:] = counted
    return found


def told(history: p2p.History) -> dict[str, str]:
    """Return the status of each payment by its id, as a history tells them."""
    return dict(zip(history.payments["payment_id"], history.payments["status"], strict=True))


def pages_of(count: int) -> int:
    """Return the fewest requests for so many."""
    return math.ceil(count / 50)


def test_a_new_payment_costs_a_page_and_the_pending_ones(server, tmp_path) -> None:
    """After a whole load, one more is seen with at most two requests and those that list what is pending."""
    first = load(server, tmp_path)
    assert told(first) == truth(server)
    assert len(server.requests) <= 1.2 * pages_of(len(first.payments)) + 1
    server.add_payments(server.viewer, [{"date_created": server.now, "amount_cents": 1, "note": "new"}])
    second = load(server, tmp_path)
    assert len(server.requests) <= 2 + pages_of(sum(status == "pending" for status in told(first).values()))
    assert second.payments["note"].iloc[0] == "new"
    assert told(second) == truth(server)
    assert second.fetched_at > first.fetched_at


@pytest.mark.parametrize("changed", [0, 1, 7])
def test_old_pending_payments_that_changed_are_seen(server, tmp_path, changed: int) -> None:
    """Approved and denied ones of years ago: a request for each, and none is stale, then or later."""
    history = load(server, tmp_path)
    mine = history.payments.query("status == 'pending' and actor_id == @history.me.user.id")["payment_id"]
    other = server.token(server.people[1].username, "make_payments", "access_profile")
    with p2p.Client(other, base_url=server.base_url, cache_dir=False) as client:
        for number, payment_id in enumerate(mine.sample(changed, random_state=1)):
            answer = PaymentDesk(client).deny if number % 2 else PaymentDesk(client).approve
            answer(payment_id)
    for _ in range(2):
        pending = sum(status == "pending" for status in told(history).values())
        history = load(server, tmp_path)
        assert len(server.requests) <= pages_of(pending) + changed + 1
        assert told(history) == truth(server)


def test_expired_and_refunded_ones_are_seen(server, tmp_path) -> None:
    """What nobody collected for thirty days has expired, and its money came back."""
    waiting = {"date_created": server.now - timedelta(days=20), "status": "pending", "email": "new@example.net"}
    server.add_payments(server.viewer, [waiting] * 3)
    assert load(server, tmp_path).payments.query("target_email == 'new@example.net' or target_type == 'email'").shape[0]
    server.advance(days=31)
    history = load(server, tmp_path)
    assert told(history) == truth(server)
    assert (history.payments["status"] == "expired").sum() >= 3


def test_refresh_asks_for_all_of_it(server, tmp_path) -> None:
    """What nothing looks for, such as a payment that appears years back, is seen then."""
    first = load(server, tmp_path)
    server.add_payments(server.viewer, [{"date_created": NOW - timedelta(days=700), "amount_cents": 1}])
    assert len(load(server, tmp_path).payments) == len(first.payments)
    assert len(load(server, tmp_path, refresh=True).payments) == len(first.payments) + 1
    assert len(server.requests) >= pages_of(len(first.payments))
    assert told(load(server, tmp_path)) == truth(server)
    assert len(server.requests) <= 2 + pages_of(PENDING + 50)


def stopped_load(server, folder, pages: int, how: BaseException | None = None) -> BaseException:
    """Load until so many pages came; then the token's time is over, or what is given is raised."""
    token = server.token(server.viewer)
    told: list[int] = []

    def progress(payments: int) -> None:
        told.append(payments)
        if len(told) == pages:
            if how is not None:
                raise how
            server.expire(token)

    with p2p.Client(token, base_url=server.base_url, cache_dir=folder) as client:
        with pytest.raises(type(how) if how is not None else p2p.errors.AuthenticationError) as caught:
            p2p.load_history(client, progress=progress)
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]
    return caught.value


@pytest.mark.parametrize("how", [None, KeyboardInterrupt()], ids=["token's time", "Ctrl-C"])
def test_a_load_that_stopped_goes_on(server, tmp_path, how) -> None:
    """It says how much is in, and the next one, with a new token, asks only for the rest."""
    whole = pages_of(len(truth(server)))
    error = stopped_load(server, tmp_path, whole // 2, how)
    said = str(error) + "".join(getattr(error, "__notes__", []))
    assert " payments are kept, and the next load goes on from there." in said
    assert int(said.split(" payments are kept")[0].rpartition(" ")[2].replace(",", "")) > 1_000
    history = load(server, tmp_path)
    assert told(history) == truth(server)
    assert len(server.requests) <= 0.85 * whole + pages_of(PENDING + 50)


def test_without_a_cache_it_says_that_it_cannot_go_on(server) -> None:
    """cache_dir=False keeps nothing, and the error says so."""
    said = str(stopped_load(server, False, 20))  # noqa: FBT003 - no cache
    assert said.endswith("No cache keeps the payments fetched so far, so the next load starts from the beginning.")


def test_nobody_goes_on_with_somebody_elses_load(server, tmp_path) -> None:
    """Another account has another cache: its load holds its own payments alone."""
    stopped_load(server, tmp_path, 30)
    other = server.people[1]
    with p2p.Client(server.token(other.username), base_url=server.base_url, cache_dir=tmp_path) as client:
        theirs = p2p.load_history(client)
        assert {payment.id for payment in client.payments()} == set(theirs.payments["payment_id"])
    assert (theirs.payments[["actor_id", "target_user_id"]] == other.user_id).any(axis=1).all()


def test_a_write_of_ones_own_keeps_the_closed_windows(server, tmp_path) -> None:
    """A payment through the desk is on the open window's page, and nothing old is asked for again."""
    load(server, tmp_path)
    token = server.token(server.viewer, "make_payments", "access_profile", "access_friends")
    server.link_bank(server.viewer)
    with p2p.Client(token, base_url=server.base_url, cache_dir=tmp_path) as client:
        paid = PaymentDesk(client).pay(user_id=server.people[1].user_id, amount="1.00", note="lunch").payment
    history = load(server, tmp_path)
    assert history.payments["payment_id"].iloc[0] == paid.id
    assert len(server.requests) <= 2 + pages_of(PENDING + 50)
