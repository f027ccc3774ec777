"""Exceptions of any kind that interrupt a request: none leads to a secret, and no tool that prints them shows one."""

import contextlib
import ctypes
import http.client
import io
import itertools
import logging
import os
import re
import signal
import sys
import threading
import time
import traceback
from typing import Any
from unittest.mock import Mock

import pytest
import requests
import urllib3
from IPython.core.ultratb import VerboseTB

import p2p_analytics as p2p
from p2p_analytics import auth
from support.canary import CANARY, issue_canary_tokens
from support.interrupts import (
    GOOD,
    INTERRUPT_MARKS,
    KINDS,
    PLAIN_KINDS,
    Stop,
    Timeout,
    find_secrets,
    make_noted,
    transport_to,
    without_tests,
)

pytestmark = INTERRUPT_MARKS


def time_out(*_: object) -> None:
    """Raise an exception of another library."""
    raise Timeout


def test_the_search_would_find_a_token() -> None:
    """The search covers frames and their variables, texts, notes, attributes, causes and groups."""
    assert all(find_secrets(KINDS[kind]()) for kind in KINDS.keys() - PLAIN_KINDS)
    request = requests.Request("GET", f"http://127.0.0.1:1/?access_token={CANARY}").prepare()
    with pytest.raises(requests.ConnectionError) as caught:
        requests.adapters.HTTPAdapter(max_retries=0).send(request)
    caught.value.args = ()
    assert any(where.endswith(" request") for where in find_secrets(caught.value))


DEPTHS = {
    "connecting": (urllib3.util.connection, "create_connection"),
    "sending": (http.client.HTTPConnection, "endheaders"),
    "waiting for the answer": (http.client.HTTPConnection, "getresponse"),
    "reading the body": (urllib3.HTTPResponse, "read1"),
    "decoding": None,
}


# At any place test_interrupts_anywhere.py raises the other kinds, which hold no token themselves.
@pytest.mark.parametrize("kind", ["Ctrl-C", *(kind for kind in KINDS if kind not in PLAIN_KINDS)])
@pytest.mark.parametrize("depth", DEPTHS)
def test_in_the_middle_of_a_request(start_service, monkeypatch, depth: str, kind: str) -> None:
    """Each kind at each depth: the caller gets the same exception, without the token."""
    raised = KINDS[kind]()
    interrupt = Mock(side_effect=raised)
    transport = transport_to(start_service(lambda *_: GOOD).base_url)
    if DEPTHS[depth] is not None:
        monkeypatch.setattr(*DEPTHS[depth], interrupt)
    with pytest.raises(type(raised)) as caught:
        transport.get("/me", {}, interrupt)
    assert caught.value is raised
    assert find_secrets(raised) == []


def test_an_error_without_frames_says_where_it_was_raised(start_service, monkeypatch) -> None:
    """Unexpected errors alone get one note with file, line and function; attributes without a token are kept."""

    class UnreadableError(Exception):
        asked, about = 0, None

        @property
        def costly(self) -> None:  # must not be read
            self.asked += 1

    def fail(*_: object) -> None:
        error = UnreadableError("odd")
        error.about = ["kept"]
        raise error

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", fail)
    get = auth.hide_frames(transport_to(start_service(lambda *_: GOOD).base_url).get)
    with pytest.raises(UnreadableError) as caught:
        get("/me", {})
    assert (caught.value.about, caught.value.asked, caught.value.args) == (["kept"], 0, ("odd",))
    (note,) = caught.value.__notes__
    assert re.fullmatch(r"Raised in test_interrupts\.py, line \d+, in fail; its frames are removed .*", note)
    with pytest.raises(p2p.errors.TransportError) as refused:
        transport_to("http://127.0.0.1:1/v1").get("/me", {})
    assert not hasattr(refused.value, "__notes__")


@pytest.mark.parametrize("way", ["signal", "thread"])
def test_from_outside(start_service, request, way: str) -> None:
    """A signal, as of pytest-timeout, and ``PyThreadState_SetAsyncExc``, while the service does not answer."""
    before = signal.signal(signal.SIGUSR1, time_out)
    request.addfinalizer(lambda: signal.signal(signal.SIGUSR1, before))
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


# The exception is redacted first, then it gets a note, then its own exceptions lose their frames.
@pytest.mark.parametrize(("attribute", "number"), [("args", 1), ("where", 1), ("__notes__", 2), ("args", 2)])
def test_by_a_second_one_while_the_first_is_redacted(start_service, monkeypatch, attribute: str, number: int) -> None:
    """The second one comes when an attribute of the first one is read, the first or the second time."""
    reads = itertools.count(1)

    class Interrupted(Timeout):
        def __getattribute__(self, name: str) -> Any:
            if name == attribute and next(reads) == number:
                raise Stop
            return super().__getattribute__(name)

    def fail(*_: object, **_options: object) -> None:
        error = make_noted()
        error.__class__ = Interrupted
        raise error

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", fail)
    with pytest.raises(Stop) as caught:
        transport_to(start_service(lambda *_: GOOD).base_url).get("/me", {})
    assert find_secrets(caught.value) == []


def test_in_a_thread_of_a_load(monkeypatch) -> None:
    """The load raises the exception of a worker's request, without the worker's frames."""
    issue_canary_tokens(monkeypatch)
    plain, count = urllib3.HTTPResponse.read1, itertools.count()

    def interrupt(*arguments: Any, **options: Any) -> bytes:
        if threading.current_thread() is not threading.main_thread() and next(count) > 2:
            raise Timeout
        return plain(*arguments, **options)

    with p2p.sandbox.SandboxServer(people=5, years=1) as server:
        token = p2p.AccessToken(server.token(server.viewer))
        monkeypatch.setattr(urllib3.HTTPResponse, "read1", interrupt)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client, pytest.raises(Timeout) as caught:
            list(client.history_pages())
    assert find_secrets(caught.value) == []


def print_with_ipython(error: BaseException) -> str:
    """Return the output of ``%xmode Verbose``."""
    for _ in range(2):  # CPython 3.11 counts the depth of ast.parse for all threads together; a thread ended one
        with contextlib.suppress(SystemError):
            shown = VerboseTB(include_vars=True).structured_traceback(type(error), error, error.__traceback__)
    return "\n".join(shown)


def print_with_python(error: BaseException) -> str:
    """Return Python's traceback with variables, those at its end and in a thread, and the log entry with its stack."""
    kind, trace = type(error), error.__traceback__
    with contextlib.redirect_stderr(io.StringIO()) as stream:
        sys.__excepthook__(kind, error, trace)
        threading.__excepthook__(threading.ExceptHookArgs((kind, error, trace, threading.current_thread())))
        logging.lastResort.handle(
            logging.makeLogRecord({"msg": "%r", "args": (error,), "exc_info": (kind, error, trace)})
        )
    printed = traceback.TracebackException.from_exception(error, capture_locals=True)
    return stream.getvalue() + "".join(printed.format())


@pytest.mark.parametrize("printer", [print_with_ipython, print_with_python])
def test_no_tool_prints_the_token(start_service, monkeypatch, printer) -> None:
    """For a request of this package no tool prints the token; for an unprotected one it does."""
    base_url = start_service(lambda *_: GOOD).base_url
    transport = transport_to(base_url)
    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", time_out)
    for send, is_shown in (
        (lambda: transport.get("/me", {}), False),
        (lambda: requests.get(f"{base_url}/me?access_token={CANARY}", timeout=5), True),
    ):
        with pytest.raises(Timeout) as caught:
            send()
        said = printer(caught.value.with_traceback(without_tests(caught.tb)))
        assert ("Timeout" in said, CANARY in said) == (True, is_shown)
