"""Retry rule: which failures are retried, how many times, and after which delay."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.client.http.transport import MAX_ATTEMPTS
from support.canary import CANARY
from support.connections import transport_to
from support.exceptions import format_everything

GOOD = {"data": {"id": "7"}}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((500, {}, b""), errors.ServerError),
        ((503, {}, {"error": {"message": "later", "code": None}}), errors.ServerError),
        ((429, {}, b""), errors.RateLimitedError),
        ((200, {}, b"<html>please log in</html>"), errors.ProtocolError),
        ((200, {}, b"null"), errors.ProtocolError),
        ((200, {}, b"[]"), errors.ProtocolError),
        ((200, {}, b'{"data": [1, 2'), errors.ProtocolError),
        ((200, {"Content-Encoding": "gzip"}, b"not gzip"), errors.TransportError),
        ((200, {"Content-Length": "9999"}, b'{"data": 1}'), errors.TransportError),
    ],
)
def test_a_transient_fault_is_retried_with_exponential_backoff(
    start_service, answer: object, kind: type[Exception]
) -> None:
    """Five attempts, then the last failure; with jitter at its midpoint the waits are 3/4 of 0.5, 1, 2, 4."""
    service = start_service(lambda _path, _parameters: answer)
    transport, waits = transport_to(service.base_url, timeout=(1.0, 0.3))
    with pytest.raises(kind) as caught:
        transport.get("/me", {})
    assert len(service.asked) == MAX_ATTEMPTS == 5
    assert waits == [0.375, 0.75, 1.5, 3.0]
    assert CANARY not in format_everything(caught.value)


@pytest.mark.parametrize("max_attempts", [1, 2, 7])
def test_the_number_of_attempts_is_a_setting_of_the_client(start_service, max_attempts: int) -> None:
    """A client sends a request that fails for a moment as often as its `max_attempts` says, and then raises."""
    service = start_service(lambda _path, _parameters: (503, {}, b""))
    with p2p.Client(CANARY, base_url=service.base_url, cache_dir=False, max_attempts=max_attempts) as client:
        client._transport._sleep = lambda _seconds: None
        with pytest.raises(errors.ServerError):
            client.me()
    assert len(service.asked) == max_attempts


@pytest.mark.parametrize("max_attempts", [0, -1, 1.0, "2", None])
def test_an_invalid_number_of_attempts_is_refused(max_attempts: object) -> None:
    """It is a whole number from 1."""
    with pytest.raises(errors.ConfigurationError, match="max_attempts must be a whole number from 1, not"):
        p2p.Client(CANARY, base_url="http://127.0.0.1:9/v1", max_attempts=max_attempts)


def test_a_retry_returns_the_first_good_response(start_service) -> None:
    """Two transient faults cost two waits."""
    answers = itertools.chain([(500, {}, b""), (200, {}, b"<html>")], itertools.repeat(GOOD))
    service = start_service(lambda _path, _parameters: next(answers))
    transport, waits = transport_to(service.base_url)
    assert transport.get("/me", {}).value == b'{"data": {"id": "7"}}'
    assert len(waits) == 2


@pytest.mark.parametrize(
    ("header", "waits"),
    [("7", [7.5]), ("soon", [0.375]), ("-5", [0.375]), ("", [0.375]), ("1.5", [0.375])],
)
def test_a_readable_retry_after_is_obeyed(start_service, header: str, waits: list[float]) -> None:
    """A whole number of seconds is waited, plus jitter; any other value is ignored."""
    answers = itertools.chain([(429, {"Retry-After": header}, b"")], itertools.repeat(GOOD))
    transport, waited = transport_to(start_service(lambda _path, _parameters: next(answers)).base_url)
    transport.get("/me", {})
    assert waited == pytest.approx(waits, abs=0.1)


def test_retry_after_may_be_a_date(start_service) -> None:
    """The transport waits until an HTTP date."""
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    answers = itertools.chain([(503, {"Retry-After": date}, b"")], itertools.repeat(GOOD))
    transport, waited = transport_to(start_service(lambda _path, _parameters: next(answers)).base_url)
    transport.get("/me", {})
    assert 15 < waited[0] < 21


def test_a_long_retry_after_raises_at_once(start_service) -> None:
    """The transport does not wait a day; the error has the requested delay."""
    service = start_service(lambda _path, _parameters: (429, {"Retry-After": "86400"}, b""))
    transport, waits = transport_to(service.base_url)
    with pytest.raises(errors.RateLimitedError) as caught:
        transport.get("/me", {})
    assert (caught.value.retry_after, waits, len(service.asked)) == (86400.0, [], 1)


def test_the_deadline_bounds_all_attempts_together(start_service) -> None:
    """A wait beyond the deadline does not begin."""
    clock = itertools.count(step=2.0)
    service = start_service(lambda _path, _parameters: (500, {}, b""))
    transport, waits = transport_to(service.base_url, deadline=10.0, monotonic=lambda: next(clock))
    with pytest.raises(errors.ServerError):
        transport.get("/me", {})
    assert len(service.asked) < MAX_ATTEMPTS
    assert len(waits) == len(service.asked) - 1
