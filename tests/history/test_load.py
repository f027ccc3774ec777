"""From a client to a History."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

import p2p_analytics as p2p
from p2p_analytics.client import Client
from p2p_analytics.errors import ConfigurationError, RecordError, ServerError
from p2p_analytics.history import load_history

ME = {"data": {"balance": None, "user": {"id": "7", "display_name": "Me"}}}
GOOD = {"id": "2", "status": "settled", "action": "pay", "amount": 5, "date_created": "2024-05-02T12:00:00",
        "actor": {"id": "7"}, "target": {"type": "user", "user": {"id": "8"}}}  # fmt: skip
BAD = GOOD | {"id": "1", "amount": 0.123, "date_created": "2024-05-01T12:00:00"}


def service_with(start_service, *items: object, friends: object = None):
    """Return a service with one page of payments."""
    lists = {"/v1/me": ME, "/v1/payments": {"data": items, "pagination": None},
             "/v1/users/7/friends": friends or {"data": [{"id": "8"}], "pagination": None}}  # fmt: skip
    return start_service(lambda path, _sent: lists[path])


def client_of(service) -> Client:
    """Return a client without a cache that does not sleep."""
    client = Client("token", base_url=service.base_url, cache_dir=False)
    client._transport._sleep = lambda _seconds: None
    return client


def test_the_contents_of_a_history(start_service) -> None:
    """A history has the user, both frames and the time of the oldest response; ``progress`` gets the number so far."""
    before, counts = datetime.now(UTC), []
    history = load_history(client_of(service_with(start_service, GOOD)), progress=counts.append)
    assert counts == [1]
    assert history.me.user.id == "7"
    assert list(history.payments["flow_cents"]) == [-500]
    assert list(history.friends["user_id"]) == ["8"]
    assert before <= history.fetched_at <= datetime.now(UTC)
    assert len(history.problems) == 0
    assert repr(history).startswith("<History of Me: 1 payments, 1 friends, 0 problems, data as of 20")


def test_a_bad_record_raises_or_is_reported(start_service) -> None:
    """An invalid field raises by default; with "report" the field is empty, the row is kept and a problem is listed."""
    service = service_with(start_service, GOOD, BAD)
    with pytest.raises(RecordError, match='on_bad_record="report"'):
        load_history(client_of(service))
    history = load_history(client_of(service), on_bad_record="report")
    assert list(history.payments["payment_id"]) == ["2", "1"]
    assert history.payments["amount_cents"].isna().tolist() == [False, True]
    assert history.problems[["payment_id", "field", "value"]].to_numpy().tolist() == [["1", "amount", "0.123"]]


def test_wrong_arguments_are_refused_before_anything_is_sent(start_service) -> None:
    """A token in place of a client, an unknown word, and a bound that is no date: one sentence each, no request."""
    service = service_with(start_service)
    with pytest.raises(ConfigurationError, match='"raise" or "report"'):
        load_history(client_of(service), on_bad_record="ignore")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="after"):
        load_history(client_of(service), after="yesterday")
    assert service.asked == []
    with pytest.raises(ConfigurationError, match=r"^load_history needs a Client, .* not str\.$"):
        load_history("abc")  # type: ignore[arg-type]


def test_a_failed_page_fails_the_whole_load(start_service) -> None:
    """A failure in the last list, that of friends, fails the whole load."""
    service = service_with(start_service, GOOD, friends=(500, {}, b""))
    with pytest.raises(ServerError):
        load_history(client_of(service))


def test_friends_and_me_are_reported_too(start_service) -> None:
    """An invalid date of a friend raises, or is listed as a problem, as requested."""
    friends = {"data": [{"id": "8", "date_joined": "2013-13-01T00:00:00"}], "pagination": None}
    service = service_with(start_service, GOOD, friends=friends)
    with pytest.raises(RecordError, match=r"friend\.date_joined.*on_bad_record"):
        load_history(client_of(service))
    history = load_history(client_of(service), on_bad_record="report")
    assert list(history.friends["user_id"]) == ["8"]
    assert list(history.problems["field"]) == ["friend.date_joined"]


def test_a_payment_between_others_is_a_problem(start_service) -> None:
    """A payment between two other users is a row without direction, and a problem is listed."""
    foreign = GOOD | {"actor": {"id": "8"}, "target": {"type": "user", "user": {"id": "9"}}}
    history = load_history(client_of(service_with(start_service, foreign)))
    assert history.payments["direction"].isna().all()
    assert history.problems[["payment_id", "field"]].to_numpy().tolist() == [["2", "actor"]]


def test_a_bound_is_kept_and_shown(start_service) -> None:
    """A partial history says since when it is complete; of older pending payments it has none."""
    history = load_history(client_of(service_with(start_service, GOOD)), after="2000-05-01T02:00:00+02:00")
    assert history.since == datetime(2000, 5, 1, tzinfo=UTC)
    sentence = "Payments made before 2000-05-01 are not loaded."
    assert sentence in history._repr_html_()
    assert sentence in p2p.Explorer(history)._scope.value
    whole = load_history(client_of(service_with(start_service, GOOD)))
    assert whole.since is None
    assert "not loaded" not in whole._repr_html_() + p2p.Explorer(whole)._scope.value


def test_invalid_text_does_not_fail_the_load(start_service) -> None:
    """A byte order mark and a lone surrogate in a note are repaired."""
    body = b"\xef\xbb\xbf" + json.dumps({"data": [GOOD | {"note": "NOTE"}]}).encode().replace(b"NOTE", rb"a\ud83c")
    history = load_history(client_of(start_service(lambda path, sent: body if path == "/v1/payments" else {
        "/v1/me": ME, "/v1/users/7/friends": {"data": []}}[path])))  # fmt: skip
    assert list(history.payments["note"]) == ["a\ufffd"]
