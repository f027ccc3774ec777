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
    from collections.abc import Iterator

    from p2p_analytics.history import History

MAYA, SAM = "maya-lindqvist", "sam-rivera"
PASSING = ("429", "500", "502", "503", "504", "reset", "lost", "cut", "cut-reset", "html", "garbage", "empty", "drip")


town = sandbox_fixture(people=6, years=1)


@pytest.fixture(autouse=True)
def _quick_drops(town: p2p.sandbox.SandboxServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(injection, "DRIP_SECONDS", 0.01)
    yield
    town.faults = ""


def load(town: p2p.sandbox.SandboxServer, **options: int) -> History:
    """Load the history without a cache, without sleeping, and with a timeout of half a second."""
    with p2p.Client(town.token(MAYA), base_url=town.base_url, cache_dir=False, timeout=(3.0, 0.5), **options) as client:
        client._transport._sleep = lambda _seconds: None
        return p2p.load_history(client)


def test_many_faults_at_once(town: p2p.sandbox.SandboxServer) -> None:
    """With a fifth of all requests failing in every documented way, three loads in a row are exact."""
    whole = load(town)
    town.requests.clear()
    town.faults = ",".join(f"{kind}:0.015" for kind in PASSING)
    for _ in range(3):
        history = load(town, max_attempts=12)
        pd.testing.assert_frame_equal(history.payments, whole.payments)
        pd.testing.assert_frame_equal(history.friends, whole.friends)
        assert history.me.balance_cents == whole.me.balance_cents
    assert len(town.requests) > 3 * len(set(town.requests))  # some were retried


@pytest.mark.parametrize(("spec", "error"), [("503:1", errors.ServerError), ("next-repeats:1", errors.PaginationError)])
def test_a_fault_that_stays_is_one_typed_error(town, spec: str, error: type[Exception]) -> None:
    """The load raises the error of the fault after five attempts of a request at most, and the error holds no token."""
    town.requests.clear()
    town.faults = spec
    with pytest.raises(error) as caught:
        load(town)
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
