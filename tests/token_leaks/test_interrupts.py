"""Exceptions of any kind that interrupt a request: none leads to a secret."""

from __future__ import annotations

import ctypes
import http.client
import itertools
import os
import re
import secrets
import signal
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
import requests
import urllib3

import p2p_analytics as p2p
from p2p_analytics import auth
from p2p_analytics.auth import _redaction, _tracebacks
from p2p_analytics.client.http import adapter as _adapter
from p2p_analytics.client.http import transport as _transport
from p2p_analytics.client.http.cache import ResponseStorage
from p2p_analytics.client.http.transport import CachePolicy
from p2p_analytics.records import _wire_types
from support.canary import CANARY
from support.interrupts import (
    GOOD,
    INTERRUPT_MARKS,
    KINDS,
    PLAIN_KINDS,
    Timeout,
    find_secrets,
    make_noted,
    transport_to,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = INTERRUPT_MARKS


def test_the_search_would_find_a_token() -> None:
    """The search covers frames and their variables, texts, notes, attributes, causes and groups."""
    assert all(find_secrets(KINDS[kind]()) for kind in KINDS.keys() - PLAIN_KINDS)
    request = requests.Request("GET", f"http://127.0.0.1:1/?access_token={CANARY}").prepare()
    with pytest.raises(requests.ConnectionError) as caught:
        requests.adapters.HTTPAdapter(max_retries=0).send(request)
    caught.value.args = ()
    assert any(where.endswith(" request") for where in find_secrets(caught.value))


DEPTHS: dict[str, tuple[Any, str]] = {
    "connecting": (urllib3.util.connection, "create_connection"),
    "resolving": (socket, "getaddrinfo"),
    "sending": (http.client.HTTPConnection, "endheaders"),
    "waiting for the answer": (http.client.HTTPConnection, "getresponse"),
    "reading the body": (urllib3.HTTPResponse, "read1"),
    "decoding": (_wire_types, "is_envelope"),
    "judging": (_transport, "ServiceResponse"),
    "looking into the cache": (ResponseStorage, "__getitem__"),
    "writing into the cache": (ResponseStorage, "__setitem__"),
    "redacting the body": (_adapter, "mask_token"),
}


# At these places test_interrupts_anywhere.py raises the other kinds, which hold no token themselves.
@pytest.mark.parametrize("kind", ["Ctrl-C", *(kind for kind in KINDS if kind not in PLAIN_KINDS)])
@pytest.mark.parametrize("depth", DEPTHS)
def test_in_the_middle_of_a_request(start_service, monkeypatch, tmp_path, depth: str, kind: str) -> None:
    """Each kind at each depth of a cached GET: the caller gets the same exception, without the token."""
    raised = []

    def interrupt(*_arguments: object, **_options: object) -> None:
        raised.append(KINDS[kind]())
        raise raised[-1]

    service = start_service(lambda _path, _asked: GOOD)
    transport = transport_to(service.base_url)
    transport.open_cache(tmp_path, "7")
    monkeypatch.setattr(*DEPTHS[depth], interrupt)
    error = None
    try:
        transport.get("/me", {}, policy=CachePolicy.SHORT)
    except BaseException as came:  # noqa: BLE001 - of any kind
        error = came
    assert raised
    if (depth, kind) == ("looking into the cache", "missing attribute"):
        assert error is None, "the library below takes it for an entry that is not there"
        return
    assert error is raised[-1]
    assert find_secrets(error) == []


@pytest.mark.parametrize("kind", PLAIN_KINDS)
def test_in_the_wait_before_a_retry(start_service, kind: str) -> None:
    """The failure before the wait quotes the token; an exception during the wait does not lead to it."""
    error = PLAIN_KINDS[kind]()
    answer = 500, {}, {"error": {"message": f"access_token={CANARY}", "code": 1}}

    def interrupt(_seconds: float) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        transport_to(start_service(lambda *_: answer).base_url, sleep=interrupt).get("/me", {})
    assert find_secrets(caught.value) == []


def test_an_error_without_frames_says_where_it_was_raised(start_service, monkeypatch) -> None:
    """Unexpected errors alone get a note with file, line and function; attributes without a token are kept."""

    class UnreadableError(Exception):
        """Exception with a property that must not be read."""

        def __init__(self) -> None:
            super().__init__("odd")
            self.about, self.asked = ["kept"], 0

        @property
        def costly(self) -> None:
            self.asked += 1

    def fail(*_: object) -> None:
        raise UnreadableError

    @auth.hide_frames
    def outer() -> None:
        transport_to(start_service(lambda *_: GOOD).base_url).get("/me", {})

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", fail)
    with pytest.raises(UnreadableError) as caught:
        outer()
    assert (caught.value.about, caught.value.asked, caught.value.args) == (["kept"], 0, ("odd",))
    (note,) = caught.value.__notes__
    assert re.fullmatch(r"Raised in test_interrupts\.py, line \d+, in fail; its frames are removed .*", note)
    with pytest.raises(p2p.errors.TransportError) as refused:
        transport_to("http://127.0.0.1:1/v1").get("/me", {})
    assert not hasattr(refused.value, "__notes__")


@pytest.fixture
def _handle_signal() -> Iterator[None]:
    """Raise in the handler of a signal, as an alarm of pytest-timeout does."""

    def handler(_number: int, _frame: object) -> None:
        raise Timeout

    before = signal.signal(signal.SIGUSR1, handler)
    yield
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.usefixtures("_handle_signal")
@pytest.mark.parametrize("way", ["signal", "thread"])
def test_from_outside(start_service, way: str) -> None:
    """A signal, and ``PyThreadState_SetAsyncExc`` of another thread, while the service does not answer."""
    here = ctypes.c_ulong(threading.get_ident())

    def answer(*_: object) -> Any:
        if way == "signal":
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.5)
        else:
            assert ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(Timeout)) == 1
        return GOOD

    with pytest.raises(Timeout) as caught:
        transport_to(start_service(answer).base_url).get("/me", {})
    assert find_secrets(caught.value) == []


STEPS = [(_tracebacks, "_note_origin"), (_tracebacks, "_detach"), (_redaction, "_redact_attributes")]


@pytest.mark.parametrize("step", [*STEPS, (_redaction, "_redact_value")], ids=lambda step: step[1])
def test_by_a_second_one_while_the_first_is_redacted(start_service, monkeypatch, step: tuple[Any, str]) -> None:
    """A second Ctrl-C, while the frames and secrets of the first exception are being removed."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def fail(*_: object, **_options: object) -> None:
        raise make_noted()

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", fail)
    monkeypatch.setattr(*step, interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        transport_to(start_service(lambda *_: GOOD).base_url).get("/me", {})
    assert find_secrets(caught.value) == []


@pytest.mark.parametrize("kind", ["no memory", "handler of a signal"])
def test_in_a_thread_of_a_load(monkeypatch, kind: str) -> None:
    """The load raises the exception of a worker's request, without the worker's frames."""
    with p2p.sandbox.SandboxServer(people=5, years=1) as server:
        plain, count = urllib3.HTTPResponse.read1, itertools.count()

        def interrupt(*arguments: Any, **options: Any) -> bytes:
            if threading.current_thread() is not threading.main_thread() and next(count) > 2:
                error = KINDS[kind]()
                raise error
            return plain(*arguments, **options)

        monkeypatch.setattr(secrets, "token_urlsafe", lambda _size=None: CANARY)
        token = p2p.AccessToken(server.token(server.viewer))
        monkeypatch.setattr(urllib3.HTTPResponse, "read1", interrupt)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
            error = KINDS[kind]()
            with pytest.raises(type(error)) as caught:
                list(client.history_pages())
    assert find_secrets(caught.value) == []
