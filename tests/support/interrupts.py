"""Exceptions that interrupt a request, and a search for the canary in everything that an exception leads to.

It searches the variables of each frame and the objects that they hold, three levels deep, in the exception, its causes,
contexts, arguments, notes and attributes: more than tools print.
"""

import asyncio
import contextlib
import io
import json
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType, TracebackType
from typing import Any

import pytest
import requests

import p2p_analytics as p2p
from p2p_analytics.client.http.transport import Transport
from support.canary import CANARY

PACKAGE = str(Path(p2p.__file__).parent)
GOOD = {"data": {"id": "7", "user": {"id": "7"}}, "pagination": None}
_TESTS = str(Path(__file__).parents[1])
_NOT_SEARCHED = (ModuleType, type, FunctionType, MethodType, FrameType, CodeType, TracebackType)
# An injected exception may leave a socket open, or be raised where Python can only print it.
INTERRUPT_MARKS = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:The 'pool' property:FutureWarning"),  # the search reads all attributes
]


class Stop(BaseException):
    """Exception that a program raises to stop its own work."""


class Timeout(Exception):  # noqa: N818 - the usual name of such exceptions
    """Exception that a signal handler raises."""


def prepare_request() -> requests.PreparedRequest:
    """Return a request in the form in which it is sent."""
    return requests.Request("GET", f"http://127.0.0.1/v1/me?access_token={CANARY}").prepare()


def make_noted() -> Timeout:
    """Return an exception with notes and a cause, and with texts and objects that hold the token."""
    error = Timeout(f"while asking /me?access_token={CANARY}", [prepare_request()])
    error.add_note(f"asked with {CANARY[::-1]}")
    error.where = prepare_request()  # type: ignore[attr-defined]
    error.__cause__ = ConnectionError(f"/me?access_token={CANARY}")
    return error


def make_group() -> BaseExceptionGroup[Any]:
    """Return an exception group with a member from a frame that held the token."""
    try:
        json.loads(f'["{CANARY}')
    except ValueError as error:
        return BaseExceptionGroup("several", [error, Stop()])


PLAIN_KINDS: dict[str, Callable[[], BaseException]] = {
    "Ctrl-C": KeyboardInterrupt,
    "exit": lambda: SystemExit(3),
    "no memory": MemoryError,
    "a generator that is closed": GeneratorExit,
    "recursion": lambda: RecursionError("maximum recursion depth exceeded"),
    "cancelled task": asyncio.CancelledError,
    "own base exception": Stop,
    "failure of a test": lambda: pytest.fail.Exception("Timeout >1.0s"),
    "handler of a signal": Timeout,
}
# The exceptions below this line hold the token themselves.
KINDS = {
    **PLAIN_KINDS,
    "with notes, texts, objects and a cause": make_noted,
    "group": make_group,
    "text that cannot be decoded": lambda: UnicodeDecodeError("utf-8", CANARY.encode(), 0, 1, "invalid start byte"),
    "missing attribute": lambda: AttributeError("no such attribute", name="x", obj=prepare_request()),
}


def texts_in(value: Any, depth: int) -> Iterator[str]:
    """Yield the texts of a value and of the objects that it holds, down to a depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes | bytearray):
        yield value.decode("latin-1")
    if depth == 0 or isinstance(value, _NOT_SEARCHED):
        return
    with contextlib.suppress(Exception):
        yield repr(value)
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    held = [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in slots)]
    if isinstance(value, dict | list | tuple | set | frozenset):
        held += [*value, *(value.values() if isinstance(value, dict) else ())]
    if isinstance(value, io.BytesIO) and not value.closed:
        held.append(value.getvalue())
    for each in held:
        yield from texts_in(each, depth - 1)


def is_test_frame(frame: FrameType) -> bool:
    """Return whether a frame runs code of the tests."""
    return frame.f_code.co_filename.startswith(_TESTS)


def find_secrets(error: BaseException) -> list[str]:
    """Return the places that an exception leads to and that hold a secret, without the frames of the tests."""
    found, todo, seen = [], [error], set()
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        attributes = {name: getattr(each, name, None) for name in dir(each) if not name.startswith("__")}
        texts = {"text": [str(each), *traceback.format_exception_only(each), *getattr(each, "__notes__", [])]}
        texts["attributes"] = [text for value in attributes.values() for text in texts_in(value, 2)]
        held = [*each.args, *attributes.values(), *getattr(each, "exceptions", ())]
        todo += [one for one in [*held, each.__cause__, each.__context__] if isinstance(one, BaseException)]
        for frame, line in traceback.walk_tb(each.__traceback__):
            if is_test_frame(frame) or "_pytest" in frame.f_code.co_filename:
                continue
            for name, value in frame.f_locals.items():
                texts[f"{frame.f_code.co_filename}:{line} {name}"] = list(texts_in(value, 3))
        marks = (CANARY, CANARY[::-1])
        found += [where for where, said in texts.items() if any(mark in text for text in said for mark in marks)]
    return found


def without_tests(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without its first frames, those of the tests."""
    while trace is not None and is_test_frame(trace.tb_frame):
        trace = trace.tb_next
    return trace


def transport_to(base_url: str, **options: Any) -> Transport:
    """Return a transport that does not sleep between retries."""
    return Transport(base_url, p2p.AccessToken(CANARY), timeout=(5.0, 5.0), **{"sleep": lambda _: None} | options)
