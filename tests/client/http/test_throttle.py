"""Throttle and cancellation: a Retry-After pauses all connections, and Ctrl-C ends all requests and waits."""

import itertools
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from p2p_analytics.client import Client
from p2p_analytics.client.http.transport import SLOW_SECONDS, Throttle
from support.connections import stay_silent, transport_to
from support.waiting import wait_until


def test_one_retry_after_pauses_every_connection(start_service) -> None:
    """The first request has to wait; seven others begin only when its wait is over."""
    numbers = itertools.count()
    events: list[str] = []
    limited = threading.Event()
    turns: list[object] = []

    def answer(_path: str, _parameters: dict[str, str]) -> object:
        events.append("request")
        return (429, {"Retry-After": "7"}, b"") if next(numbers) == 0 else {"data": {"id": "7"}}

    def sleep(seconds: float) -> None:
        events.append(f"sleep {seconds:.0f}")
        limited.set()
        wait_until(lambda: len(turns) == 9)  # the first request waits for two turns, the others for one each
        events.append("wake")

    base_url = start_service(answer).base_url
    transport, _ = transport_to(base_url, timeout=(1.0, 5.0), jitter=lambda: 0.0, sleep=sleep)
    wait_turn = transport._throttle.wait_turn

    def count_turns(turn: ExitStack) -> bool:
        turns.append(turn)
        return wait_turn(turn)

    transport._throttle.wait_turn = count_turns  # type: ignore[method-assign]
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(transport.get, "/me", {})
        assert limited.wait(20)
        others = [threads.submit(transport.get, "/me", {}) for _ in range(7)]
        assert [future.result().value for future in (first, *others)] == [b'{"data": {"id": "7"}}'] * 8
    assert events == ["request", "sleep 7", "wake", *["request"] * 8]


def test_the_throttle_ends_after_a_minute() -> None:
    """Without a further refusal, requests run concurrently again."""
    clock = [0.0]
    throttle = Throttle(lambda: clock[0])
    with ExitStack() as turn:
        assert not throttle.wait_turn(turn)
    throttle.slow_down()
    clock[0] = SLOW_SECONDS - 1
    with ExitStack() as turn:
        assert throttle.wait_turn(turn)
    clock[0] = SLOW_SECONDS
    with ExitStack() as turn, ExitStack() as other:
        assert not throttle.wait_turn(turn)
        assert not throttle.wait_turn(other)


def interrupt_soon() -> None:
    """Send Ctrl-C to the main thread once it waits again."""
    main = threading.main_thread().ident
    threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT)).start()


@pytest.mark.parametrize(
    ("waits", "days_apart", "interrupts"),
    [(False, 1, True), (False, 60, False), (True, 1, False), (True, 60, True)],
    ids=["requests by windows", "requests, signals of event loops", "waits, signals of event loops", "waits"],
)
def test_ctrl_c_ends_a_load_at_once(start_service, days_apart: int, request, *, waits: bool, interrupts: bool) -> None:
    """The load closes its connections, sends nothing more, and leaves no thread."""
    signal.siginterrupt(signal.SIGINT, interrupts)  # whether a signal ends system calls
    request.addfinalizer(lambda: signal.siginterrupt(signal.SIGINT, True))  # noqa: FBT003 - the library's own
    begun = itertools.count()
    requests: list[str] = []
    closed: list[bool] = []

    def be_silent(connection: socket.socket) -> None:
        if next(begun) == 0:
            interrupt_soon()
        closed.append(stay_silent(connection))

    dates = [datetime(2025, 6, 1, tzinfo=UTC) - timedelta(days=days_apart * number) for number in range(50)]
    rows = [{"id": str(number), "date_created": f"{date:%Y-%m-%dT%H:%M:%S}"} for number, date in enumerate(dates)]

    def answer(_path: str, parameters: dict[str, str]) -> object:
        if "before" not in parameters:
            return {"data": rows, "pagination": {"next": "?more"}}
        requests.append("later")
        return (503, {"Retry-After": "50"}, b"") if waits else be_silent

    client = Client("token", base_url=start_service(answer).base_url, cache_dir=False, timeout=(1.0, 60.0))
    sleep = client._transport._sleep

    def sleep_and_interrupt(seconds: float) -> None:
        if next(begun) == 0:
            interrupt_soon()
        sleep(seconds)

    client._transport._sleep = sleep_and_interrupt
    with pytest.raises(KeyboardInterrupt):
        list(client.history_pages())
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]
    client.close()
    if waits:
        assert len(requests) <= 4, "no request was retried after its wait"
    else:
        wait_until(lambda: len(closed) == len(requests), 60)
        assert all(closed)
