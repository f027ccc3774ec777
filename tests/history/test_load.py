"""From a client to a History."""

from datetime import UTC, datetime

import pytest

import p2p_analytics as p2p
from p2p_analytics.client import Client
from p2p_analytics.errors import ConfigurationError, RecordError, ServerError
from p2p_analytics.history import load_history
from support.frames import list_rows

ME = {"data": {"balance": None, "user": {"id": "7", "display_name": "Me"}}}
GOOD = {"id": "2", "status": "settled", "action": "pay", "amount": 5, "date_created": "2024-05-02T12:00:00",
        "actor": {"id": "7"}, "target": {"type": "user", "user": {"id": "8"}}}  # fmt: skip
BAD = GOOD | {"id": "1", "amount": 0.123, "date_created": "2024-05-01T12:00:00"}
FRIENDS = {"data": [{"id": "8"}], "pagination": None}
BAD_FRIENDS = {"data": [{"id": "8", "date_joined": "2013-13-01T00:00:00"}], "pagination": None}


@pytest.fixture
def serve(start_service):
    """Return a function that starts a service with one page of payments, and returns its client, without a cache."""

    def serve(*items: object, friends: object = FRIENDS) -> Client:
        lists = {"/v1/me": ME, "/v1/payments": {"data": items, "pagination": None}, "/v1/users/7/friends": friends}
        service = start_service(lambda path, _sent: lists[path])
        return Client("token", base_url=service.base_url, cache_dir=False)

    return serve


def test_the_contents_of_a_history(serve) -> None:
    """A history has the user, both frames and the time of the oldest response; ``progress`` gets the number so far."""
    before, counts = datetime.now(UTC), []
    history = load_history(serve(GOOD), progress=counts.append)
    assert before <= history.fetched_at <= datetime.now(UTC)
    assert list_rows(history.payments, "payment_id", "flow_cents") == [("2", -500)]
    found = counts, history.me.user.id, list(history.friends["user_id"]), len(history.problems)
    assert found == ([1], "7", ["8"], 0)
    assert repr(history).startswith("<History of Me: 1 payments, 1 friends, 0 problems, data as of 20")


@pytest.mark.parametrize(
    ("items", "friends", "message", "problem"),
    [
        ((GOOD, BAD), FRIENDS, 'on_bad_record="report"', ("1", "amount", "0.123")),
        ((GOOD,), BAD_FRIENDS, r"friend\.date_joined.*on_bad_record",
         (None, "friend.date_joined", "2013-13-01T00:00:00")),
    ],
)  # fmt: skip
def test_a_bad_record_raises_or_is_reported(serve, items, friends, message, problem) -> None:
    """An invalid field raises by default; with "report" the field is empty, the row is kept and a problem is listed."""
    client = serve(*items, friends=friends)
    with pytest.raises(RecordError, match=message):
        load_history(client)
    history = load_history(client, on_bad_record="report")
    assert list_rows(history.payments, "payment_id", "amount_cents") == [("2", 500), ("1", None)][: len(items)]
    assert list(history.friends["user_id"]) == ["8"]
    assert list_rows(history.problems, "payment_id", "field", "value") == [problem]


def test_wrong_arguments_are_refused_before_anything_is_sent(start_service) -> None:
    """A token in place of a client, an unknown word, and a bound that is no date: one sentence each, no request."""
    service = start_service(lambda *_: {})
    client = Client("token", base_url=service.base_url, cache_dir=False)
    with pytest.raises(ConfigurationError, match='"raise" or "report"'):
        load_history(client, on_bad_record="ignore")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="after"):
        load_history(client, after="yesterday")
    assert service.asked == []
    with pytest.raises(ConfigurationError, match=r"^load_history needs a Client, .* not str\.$"):
        load_history("abc")  # type: ignore[arg-type]


def test_a_failed_page_fails_the_whole_load(serve) -> None:
    """A failure in the last list, that of friends, fails the whole load."""
    client = serve(GOOD, friends=(500, {}, b""))
    client._transport._sleep = lambda _seconds: None
    with pytest.raises(ServerError):
        load_history(client)


def test_a_payment_between_others_is_a_problem(serve) -> None:
    """A payment between two other users is a row without direction, and a problem is listed."""
    history = load_history(serve(GOOD | {"actor": {"id": "8"}, "target": {"type": "user", "user": {"id": "9"}}}))
    assert history.payments["direction"].isna().all()
    assert list_rows(history.problems, "payment_id", "field") == [("2", "actor")]


def test_a_bound_is_kept_and_shown(serve) -> None:
    """A partial history says since when it is complete; of older pending payments it has none."""
    sentence = "Payments made before 2000-05-01 are not loaded."
    for after, since in (("2000-05-01T02:00:00+02:00", datetime(2000, 5, 1, tzinfo=UTC)), (None, None)):
        history = load_history(serve(GOOD), after=after)
        assert history.since == since
        for shown in (history._repr_html_(), p2p.Explorer(history)._scope.value):
            assert (sentence in shown) == ("not loaded" in shown) == (since is not None)
