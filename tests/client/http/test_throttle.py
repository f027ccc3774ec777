"""Rate limits hold up all connections at once, and what is stopped stops at once."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from p2p_analytics.auth import AccessToken
from p2p_analytics.client import Client
from p2p_analytics.client.http._throttle import SLOW_SECONDS, Throttle
from p2p_analytics.client.http.transport import Transport

GOOD = {"data": {"id": "7"}}


def transport_to(service, **options: object) -> Transport:
    """Return a transport without jitter."""
    return Transport(service.base_url, AccessToken("token"), timeout=(1.0, 5.0), jitter=lambda: 0.0, **options)


def test_while_one_waits_as_it_was_told_nobody_asks(scripted) -> None:
    """Of four that ask at once one is told to wait; the requests after that begin when its wait is over."""
    first = itertools.count()
    events: list[str] = []
    limited = threading.Event()

    def answer(_path: str, _parameters: dict[str, str]) -> object:
        events.append("asked")
        return (429, {"Retry-After": "7"}, b"") if next(first) == 0 else GOOD

    def sleep(seconds: float) -> None:
        events.append(f"slept {seconds:.0f}")
        limited.set()
        time.sleep(0.3)  # the others have every chance to ask
        events.append("woke")

    transport = transport_to(scripted(answer), sleep=sleep)
    with ThreadPoolExecutor(8) as threads:
        one = threads.submit(transport.get, "/me", {})
        limited.wait(5)
        others = [threads.submit(transport.get, "/me", {}) for _ in range(7)]
        assert [future.result().value for future in (one, *others)] == [b'{"data": {"id": "7"}}'] * 8
    assert events == ["asked", "slept 7", "woke", *["asked"] * 8]


def test_a_service_that_takes_one_at_a_time_is_not_given_up(scripted) -> None:
    """Eight connections to a service that refuses each second request: all get their answer."""
    asked = itertools.count()

    def answer(_path: str, _parameters: dict[str, str]) -> object:
        return (429, {"Retry-After": "0"}, b"") if next(asked) % 2 == 0 else GOOD

    transport = transport_to(scripted(answer), sleep=lambda _seconds: None)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: transport.get("/me", {}), range(80)))
    assert {found.value for found in answers} == {b'{"data": {"id": "7"}}'}


def test_the_gate_opens_again() -> None:
    """After a minute without a refusal requests pass beside each other."""
    clock = [0.0]
    gate = Throttle(lambda: clock[0])
    with ExitStack() as turn:
        assert not gate.wait_turn(turn)
    gate.slow_down()
    clock[0] = SLOW_SECONDS - 1
    with ExitStack() as turn:
        assert gate.wait_turn(turn)
    clock[0] = SLOW_SECONDS
    with ExitStack() as turn, ExitStack() as beside:
        assert not gate.wait_turn(turn)
        assert not gate.wait_turn(beside)


def payments_that(scripted, then, days_apart: int) -> Client:
    """Return a client of a service that answers its newest page, and does ``then`` with each later request."""
    dates = [datetime(2025, 6, 1, tzinfo=UTC) - timedelta(days=days_apart * number) for number in range(50)]
    rows = [{"id": str(number), "date_created": f"{date:%Y-%m-%dT%H:%M:%S}"} for number, date in enumerate(dates)]

    def answer(_path: str, parameters: dict[str, str]) -> object:
        return then if "before" in parameters else {"data": rows, "pagination": {"next": "?more"}}

    return Client("token", base_url=scripted(answer).base_url, cache_dir=False, timeout=(1.0, 60.0))


@pytest.mark.parametrize(
    "then",
    [lambda _connection: time.sleep(5), (503, {"Retry-After": "50"}, b"")],
    ids=["while answers are awaited", "while waiting to ask again"],
)
@pytest.mark.parametrize("days_apart", [1, 60], ids=["by windows", "a short history"])
@pytest.mark.parametrize("interrupts", [True, False], ids=["as it is", "as event loops leave it"])
def test_ctrl_c_ends_a_load_at_once(scripted, then, days_apart: int, request, *, interrupts: bool) -> None:
    """Nothing waits for the answers and pauses that are under way, and no thread is left."""
    signal.siginterrupt(signal.SIGINT, interrupts)  # whether a signal ends what the thread waits for
    request.addfinalizer(lambda: signal.siginterrupt(signal.SIGINT, True))  # noqa: FBT003 - the library's own
    client = payments_that(scripted, then, days_apart)
    main = threading.main_thread().ident
    timer = threading.Timer(0.4, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        list(client.history_pages())
    assert time.monotonic() - started < 4, "not the five or fifty seconds"
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]
    client.close()
