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
        ((429, {}, b""), errors.RateLimitedError),
        ((200, {}, b"<html>please log in</html>"), errors.ProtocolError),
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


@pytest.mark.parametrize("max_attempts", [1, 7])
def test_the_number_of_attempts_is_a_setting_of_the_client(start_service, max_attempts: int) -> None:
    """A client sends a request that fails for a moment as often as its `max_attempts` says, and then raises."""
    service = start_service(lambda _path, _parameters: (503, {}, b""))
    with p2p.Client(CANARY, base_url=service.base_url, cache_dir=False, max_attempts=max_attempts) as client:
        client._transport._sleep = lambda _seconds: None
        with pytest.raises(errors.ServerError):
            client.me()
    assert len(service.asked) == max_attempts


def in_twenty_seconds() -> str:
    """Return an HTTP date."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)


@pytest.mark.parametrize(
    ("header", "waits"),
    [("7", [7.5]), (None, [20]), ("soon", [0.375]), ("-5", [0.375]), ("", [0.375]), ("1.5", [0.375])],
    ids=["seconds", "date", "word", "negative", "empty", "fraction"],
)
def test_a_readable_retry_after_is_obeyed(start_service, header: str | None, waits: list[float]) -> None:
    """A number of seconds is waited, plus jitter, or until a date; any other value is ignored."""
    answers = iter([(429, {"Retry-After": in_twenty_seconds() if header is None else header}, b""), GOOD])
    transport, waited = transport_to(start_service(lambda _path, _parameters: next(answers)).base_url)
    assert transport.get("/me", {}).value == b'{"data": {"id": "7"}}'
    assert waited == pytest.approx(waits, abs=5 if header is None else 0.1)


def test_a_long_retry_after_raises_at_once(start_service) -> None:
    """The transport does not wait a day; the error has the requested delay."""
    service = start_service(lambda _path, _parameters: (429, {"Retry-After": "86400"}, b""))
    transport, waits = transport_to(service.base_url)
    with pytest.raises(errors.RateLimitedError) as caught:
        transport.get("/me", {})
    assert (caught.value.retry_after, waits, len(service.asked)) == (86400.0, [], 1)


def test_the_deadline_bounds_all_attempts_together(start_service) -> None:
    """A wait beyond the deadline does not begin."""
    clock = itertools.count(step=3.0)
    service = start_service(lambda _path, _parameters: (500, {}, b""))
    transport, waits = transport_to(service.base_url, deadline=10.0, monotonic=lambda: next(clock))
    with pytest.raises(errors.ServerError):
        transport.get("/me", {})
    assert len(service.asked) < MAX_ATTEMPTS
    assert len(waits) == len(service.asked) - 1
