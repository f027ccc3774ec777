"""Tools that print errors, most of them with variables: none prints the token of an interrupted request."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import io
import logging
import sys
import threading
import traceback
from typing import Any

import pytest
import requests
from IPython.core.ultratb import VerboseTB
from rich.console import Console
from rich.traceback import Traceback

from support.canary import CANARY
from support.interrupts import GOOD, INTERRUPT_MARKS, Timeout, transport_to, without_tests

pytestmark = INTERRUPT_MARKS


def unsealed(base_url: str) -> None:
    """Send a request as programs do that take no care."""
    requests.get(f"{base_url}/me?access_token={CANARY}", timeout=5)


def printed_by_logging(error: BaseException) -> str:
    """Return what a log says of an error, with its stack."""
    stream = io.StringIO()
    log = logging.Logger("test")  # noqa: LOG001 - one that no other test knows
    log.addHandler(logging.StreamHandler(stream))
    log.error("It failed: %r", error, exc_info=error, stack_info=True)
    return stream.getvalue()


def printed_by_ipython(error: BaseException) -> str:
    """Return what ``%xmode Verbose`` shows."""
    return "\n".join(VerboseTB(include_vars=True).structured_traceback(type(error), error, error.__traceback__))


def printed_by_rich(error: BaseException) -> str:
    """Return what rich shows of an error, with variables."""
    console = Console(file=io.StringIO(), width=4000)
    shown = Traceback.from_exception(
        type(error), error, error.__traceback__, show_locals=True, locals_max_length=None, locals_max_string=None
    )
    console.print(shown)
    return console.file.getvalue()  # type: ignore[attr-defined]


def printed_by_pytest(error: BaseException) -> str:
    """Return what ``pytest --showlocals`` shows."""
    return str(pytest.ExceptionInfo.from_exception(error).getrepr(showlocals=True, style="long", truncate_locals=False))


def printed_by_asyncio(error: BaseException) -> str:
    """Return what an event loop in debug mode says of an error that nobody took."""
    stream, log = io.StringIO(), logging.getLogger("asyncio")
    handler = logging.StreamHandler(stream)
    log.addHandler(handler)
    loop = asyncio.new_event_loop()
    try:
        loop.set_debug(enabled=True)
        loop.call_exception_handler({"message": "It failed.", "exception": error})
    finally:
        loop.close()
        log.removeHandler(handler)
    return stream.getvalue()


def printed_by_python(error: BaseException) -> str:
    """Return what Python prints of an error with variables, and at its end, in a thread, and of a destructor."""
    kind, trace = type(error), error.__traceback__
    with contextlib.redirect_stderr(io.StringIO()) as stream:
        sys.__excepthook__(kind, error, trace)
        threading.__excepthook__(threading.ExceptHookArgs((kind, error, trace, threading.current_thread())))
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    return stream.getvalue() + "".join(told.format())


PRINTERS = [printer for name, printer in list(globals().items()) if name.startswith("printed_by_")]
SHOWS_VARIABLES = {"printed_by_ipython", "printed_by_rich", "printed_by_pytest", "printed_by_python"}


@pytest.mark.parametrize("printer", PRINTERS, ids=lambda printer: printer.__name__.removeprefix("printed_by_"))
def test_no_tool_prints_it(scripted, monkeypatch, printer: Any) -> None:
    """What prints errors, most of it with variables: of a request of ours, nothing; of another's, the token."""
    base_url = scripted(lambda *_: GOOD).base_url
    transport, said = transport_to(base_url), {}

    def interrupt(_response: object) -> None:
        raise Timeout

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", interrupt)
    for name, ask in {"ours": lambda: transport.get("/me", {}), "others": lambda: unsealed(base_url)}.items():
        with pytest.raises(Timeout) as caught:
            ask()
        said[name] = printer(caught.value.with_traceback(without_tests(caught.tb)))
        assert "Timeout" in said[name]
    assert CANARY not in said["ours"]
    assert (CANARY in said["others"]) is (printer.__name__ in SHOWS_VARIABLES)
