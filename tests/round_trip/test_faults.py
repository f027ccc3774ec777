"""The real client and desk against a sandbox with faults: the exact history or one typed error, money moved once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.sandbox.faults import injection
from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from p2p_analytics.history import History

MAYA, SAM = "maya-lindqvist", "sam-rivera"
PASSING = ("429", "500", "502", "503", "504", "reset", "lost", "cut", "cut-reset", "html", "garbage", "empty", "drip")


town = sandbox_fixture(people=6, years=1)


@pytest.fixture(autouse=True)
def _quick_drops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injection, "DRIP_SECONDS", 0.01)


@pytest.fixture
def load(town: p2p.sandbox.SandboxServer) -> Iterator[Callable[..., History]]:
    """Return a loader under faults; it does not sleep, and its timeout is half a second."""

    def run_load(spec: str | None, **settings: int) -> History:
        token = town.token(MAYA)
        with p2p.Client(token, base_url=town.base_url, cache_dir=False, timeout=(3.0, 0.5), **settings) as client:
            client._transport._sleep = lambda _seconds: None
            if spec is not None:  # what was set before goes on
                town.faults = spec
            town.requests.clear()
            return p2p.load_history(client)

    yield run_load
    town.faults = ""


@pytest.fixture(scope="module")
def whole(town: p2p.sandbox.SandboxServer) -> History:
    """Return the history without faults."""
    with p2p.Client(town.token(MAYA), base_url=town.base_url, cache_dir=False) as client:
        return p2p.load_history(client)


def same(one: History, other: History) -> None:
    """Assert that two histories are equal in every cell."""
    pd.testing.assert_frame_equal(one.payments, other.payments)
    pd.testing.assert_frame_equal(one.friends, other.friends)
    assert one.me.balance_cents == other.me.balance_cents
    assert len(one.problems) == len(other.problems)


@pytest.mark.parametrize("kind", PASSING)
def test_a_temporary_fault_loses_no_payment(
    town: p2p.sandbox.SandboxServer, load: Callable[[str | None], History], whole: History, kind: str
) -> None:
    """One to two faults, at the start or in the middle of a load, cost retries and no payment."""
    same(load(f"{kind} ok {kind} ok {kind}*2"), whole)
    assert len(town.requests) > len(set(town.requests))  # some were retried


def test_many_faults_at_once(town: p2p.sandbox.SandboxServer, load: Callable[..., History], whole: History) -> None:
    """With a fifth of all requests failing in every documented way, three loads in a row are exact."""
    town.faults = ",".join(f"{kind}:0.015" for kind in PASSING)
    for _ in range(3):
        same(load(None, max_attempts=12), whole)


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("429:1", errors.RateLimitedError),
        ("500:1", errors.ServerError),
        ("cut-reset:1", errors.TransportError),
        ("html:1", errors.ProtocolError),
        ("next-host:1", errors.PaginationError),
        ("next-repeats:1", errors.PaginationError),
    ],
)
def test_a_fault_that_stays_is_one_typed_error(
    town: p2p.sandbox.SandboxServer, load: Callable[[str | None], History], spec: str, error: type[Exception]
) -> None:
    """The load raises the error of the fault after five attempts of a request at most, and the error holds no token."""
    with pytest.raises(error) as caught:
        load(spec)
    assert "access_token" not in str(caught.value)
    assert max(town.requests.count(one) for one in set(town.requests)) <= 5


@pytest.fixture
def desk(town: p2p.sandbox.SandboxServer) -> Iterator[Any]:
    """Return Maya's desk, with 20.00 on her balance; its waits are recorded in `waits`."""
    token = town.token(MAYA, "access_profile", "access_balance", "make_payments")
    with p2p.Client(token, base_url=town.base_url, cache_dir=False) as client:
        client._transport._sleep = lambda _seconds: None
        town.deposit(MAYA, 2_000 - client.me().balance_cents)
        waits: list[float] = []
        made = PaymentDesk(client, sleep=waits.append)
        made.charge(email="warm@example.net", amount="1", note="so that the desk knows the account")
        made.waits, made.balance = waits, lambda: client.me().balance_cents
        yield made
        town.faults = ""


def writes(town: p2p.sandbox.SandboxServer) -> int:
    """Return how many payments the service has been asked to make."""
    return town.requests.count(("POST", "/v1/payments"))


@pytest.mark.parametrize("kind", ["lost", "garbage"])
def test_a_payment_whose_answer_is_lost_is_found(town: p2p.sandbox.SandboxServer, desk: Any, kind: str) -> None:
    """The payment is carried out and its response is lost: sent once, found by the first search, paid once."""
    before = writes(town)
    town.faults = f"ok {kind}"  # the reading before the write, and the write
    receipt = desk.pay(email="lost@example.net", amount="2.50", note=f"tea {kind}")
    assert (receipt.reconciled, receipt.payment.amount_cents, receipt.payment.note) == (True, 250, f"tea {kind}")
    assert (writes(town) - before, desk.waits, desk.balance()) == (1, [5.0], 1_750)


@pytest.mark.parametrize("kind", ["reset", "html"])
def test_a_payment_that_never_happened_is_not_sent_again(town: p2p.sandbox.SandboxServer, desk: Any, kind: str) -> None:
    """The payment is not carried out: sent once, searched three times, and the outcome is unknown."""
    before = writes(town)
    town.faults = f"ok {kind}"
    with pytest.raises(errors.OutcomeUnknownError) as caught:
        desk.pay(email="never@example.net", amount="2.50", note=f"tea {kind}")
    assert list(caught.value.candidates) == []
    assert (writes(town) - before, desk.waits, desk.balance()) == (1, [5.0, 15.0, 45.0], 2_000)
