"""Tools that print errors, most of them with variables, and interrupted requests: none prints the token."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import io
import logging
import sys
import threading
import traceback

import pytest
import requests
from IPython.core.ultratb import VerboseTB
from rich.console import Console
from rich.traceback import Traceback

from support.canary import CANARY
from support.interrupts import GOOD, INTERRUPT_MARKS, Timeout, transport_to, without_tests

pytestmark = INTERRUPT_MARKS


def print_with_logging(error: BaseException) -> str:
    """Return the log entry of an error, with its stack."""
    stream = io.StringIO()
    log = logging.Logger("test")  # noqa: LOG001 - not shared with other tests
    log.addHandler(logging.StreamHandler(stream))
    log.error("It failed: %r", error, exc_info=error, stack_info=True)
    return stream.getvalue()


def print_with_ipython(error: BaseException) -> str:
    """Return the output of ``%xmode Verbose``."""
    for _ in range(2):  # CPython 3.11 counts the depth of ast.parse for all threads together; a thread ended one
        with contextlib.suppress(SystemError):
            shown = VerboseTB(include_vars=True).structured_traceback(type(error), error, error.__traceback__)
    return "\n".join(shown)


def print_with_rich(error: BaseException) -> str:
    """Return rich's traceback of an error, with variables."""
    whole = {"show_locals": True, "locals_max_length": None, "locals_max_string": None}
    stream = io.StringIO()
    Console(file=stream, width=4000).print(Traceback.from_exception(type(error), error, error.__traceback__, **whole))
    return stream.getvalue()


def print_with_pytest(error: BaseException) -> str:
    """Return the output of ``pytest --showlocals``."""
    return str(pytest.ExceptionInfo.from_exception(error).getrepr(showlocals=True, style="long", truncate_locals=False))


def print_with_asyncio(error: BaseException) -> str:
    """Return the log of an event loop in debug mode about an unhandled error."""
    stream, log = io.StringIO(), logging.getLogger("asyncio")
    log.addHandler(handler := logging.StreamHandler(stream))
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        loop.set_debug(enabled=True)
        loop.call_exception_handler({"message": "It failed.", "exception": error})
    log.removeHandler(handler)
    return stream.getvalue()


def print_with_python(error: BaseException) -> str:
    """Return Python's own traceback with variables, and those at its end and in a thread."""
    kind, trace = type(error), error.__traceback__
    with contextlib.redirect_stderr(io.StringIO()) as stream:
        sys.__excepthook__(kind, error, trace)
        threading.__excepthook__(threading.ExceptHookArgs((kind, error, trace, threading.current_thread())))
    printed = traceback.TracebackException.from_exception(error, capture_locals=True)
    return stream.getvalue() + "".join(printed.format())


SHOWS_VARIABLES = (print_with_ipython, print_with_rich, print_with_pytest, print_with_python)


@pytest.mark.parametrize(
    "printer", [*SHOWS_VARIABLES, print_with_logging, print_with_asyncio], ids=lambda printer: printer.__name__
)
def test_no_tool_prints_the_token(start_service, monkeypatch, printer) -> None:
    """For a request of this package no tool prints the token; for an unprotected one the tools with variables do."""
    base_url = start_service(lambda *_: GOOD).base_url
    transport = transport_to(base_url)

    def interrupt(_response: object) -> None:
        raise Timeout

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", interrupt)
    for send, is_shown in (
        (lambda: transport.get("/me", {}), False),
        (lambda: requests.get(f"{base_url}/me?access_token={CANARY}", timeout=5), printer in SHOWS_VARIABLES),
    ):
        with pytest.raises(Timeout) as caught:
            send()
        said = printer(caught.value.with_traceback(without_tests(caught.tb)))
        assert ("Timeout" in said, CANARY in said) == (True, is_shown)
