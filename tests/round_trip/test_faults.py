"""The real client and desk against a sandbox with faults: the exact history, and money moved once."""

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.client.desk import PaymentDesk
from support.servers import sandbox_fixture

MAYA = "maya-lindqvist"
PASSING = ("429", "500", "502", "503", "504", "reset", "lost", "cut", "cut-reset", "html", "garbage", "empty")

town = sandbox_fixture(people=6, years=1)


@pytest.fixture
def open_client(town):
    """Return a function that opens a client of Maya without a cache and without sleeping; the faults end afterwards."""

    def open_client(*scopes: str, **options) -> p2p.Client:
        client = p2p.Client(town.token(MAYA, *scopes), base_url=town.base_url, cache_dir=False, **options)
        client._transport._sleep = lambda _seconds: None
        return client

    yield open_client
    town.faults = ""


def test_many_faults_at_once(town, open_client) -> None:
    """With a fifth of all requests failing in every documented way, three loads in a row are exact."""
    with open_client(max_attempts=12) as client:
        whole = p2p.load_history(client)
        town.requests.clear()
        town.faults = ",".join(f"{kind}:0.017" for kind in PASSING)
        for _ in range(3):
            history = p2p.load_history(client)
            pd.testing.assert_frame_equal(history.payments, whole.payments)
            pd.testing.assert_frame_equal(history.friends, whole.friends)
            assert history.me.balance_cents == whole.me.balance_cents
    assert len(town.requests) > 3 * len(set(town.requests))  # some were retried


@pytest.mark.parametrize(
    ("kind", "is_carried_out"), [("lost", True), ("garbage", True), ("reset", False), ("html", False)]
)
def test_a_payment_whose_answer_is_lost_is_sent_once(town, open_client, kind, is_carried_out) -> None:
    """If it was carried out, the first search finds it; else the outcome is unknown after three searches."""
    with open_client("access_profile", "access_balance", "make_payments") as client:
        town.deposit(MAYA, 2_000 - client.me().balance_cents)
        waits: list[float] = []
        desk = PaymentDesk(client, sleep=waits.append)
        desk.charge(email="warm@example.net", amount="1", note="so that the desk knows the account")
        before = town.requests.count(("POST", "/v1/payments"))
        town.faults = f"ok {kind}"  # the reading before the write, and the write
        words = {"email": "ann@example.net", "amount": "2.50", "note": f"tea {kind}"}
        if is_carried_out:
            receipt = desk.pay(**words)
            found = receipt.payment
            assert (receipt.reconciled, found.amount_cents, found.note) == (True, 250, f"tea {kind}")
        else:
            with pytest.raises(errors.OutcomeUnknownError) as caught:
                desk.pay(**words)
            assert list(caught.value.candidates) == []
        assert town.requests.count(("POST", "/v1/payments")) == before + 1
        assert (waits, client.me().balance_cents) == (([5.0], 1_750) if is_carried_out else ([5.0, 15.0, 45.0], 2_000))
