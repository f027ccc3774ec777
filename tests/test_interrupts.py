"""Whatever exception interrupts whatever handles a secret: none is found from the exception that comes out.

The search does what tools do that print tracebacks with variables, and goes further: it reads the variables of each
frame and what these hold, three levels deep, in the exception, its causes, contexts, arguments, notes and attributes.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import getpass
import http.client
import io
import itertools
import json
import logging
import os
import re
import secrets
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from types import CodeType, FrameType, FunctionType, MethodType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

import pytest
import requests
import urllib3
from IPython.core.ultratb import VerboseTB
from rich.console import Console
from rich.traceback import Traceback

import p2p_analytics as p2p
from p2p_analytics import auth
from p2p_analytics.auth import _redaction, _sealing
from p2p_analytics.cli import _prompt
from p2p_analytics.client import oauth
from p2p_analytics.client.http import adapter as _adapter
from p2p_analytics.client.http import transport as _transport
from p2p_analytics.client.http.cache import ResponseStore
from p2p_analytics.client.http.transport import Keep, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CANARY = "CANARYc0ffee"
GOOD = {"data": {"id": "7", "user": {"id": "7"}}, "pagination": None}
TOKENS = {"access_token": f"{CANARY}-2", "expires_in": 5000, "refresh_token": f"{CANARY}-3"}
PACKAGE = str(Path(p2p.__file__).parent)
NOT_SEARCHED = (ModuleType, type, FunctionType, MethodType, FrameType, CodeType, TracebackType)
# An injected exception may leave a socket behind, or be raised where Python can only print it.
pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:The 'pool' property:FutureWarning"),  # the search reads all attributes
]


class Stop(BaseException):
    """Something that a program raises to end what it does."""


class Timeout(Exception):  # noqa: N818 - named as such exceptions are
    """What a signal handler raises."""


def request_of_the_wire() -> requests.PreparedRequest:
    """Return a request as it is sent."""
    return requests.Request("GET", f"http://127.0.0.1/v1/me?access_token={CANARY}").prepare()


def noted() -> Timeout:
    """Return an exception with notes, texts and objects."""
    error = Timeout(f"while asking /me?access_token={CANARY}", [request_of_the_wire()])
    error.add_note(f"asked with {CANARY[::-1]}")
    error.where = request_of_the_wire()  # type: ignore[attr-defined]
    return error


def group() -> BaseExceptionGroup[Any]:
    """Return a group whose members were raised by frames that held a token."""
    try:
        json.loads(f'["{CANARY}')
    except ValueError as error:
        return BaseExceptionGroup("several", [error, Stop()])


def chained() -> Timeout:
    """Return an exception with a cause."""
    error = Timeout("late")
    error.__cause__ = ConnectionError(f"/me?access_token={CANARY}")
    return error


KINDS_OF_OTHERS: dict[str, Callable[[], BaseException]] = {
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
# These know the token themselves, from where they were raised.
KINDS = {
    **KINDS_OF_OTHERS,
    "with notes, texts and objects": noted,
    "group": group,
    "with a cause": chained,
    "text that cannot be decoded": lambda: UnicodeDecodeError("utf-8", CANARY.encode(), 0, 1, "invalid start byte"),
    "missing attribute": lambda: AttributeError("no such attribute", name="x", obj=request_of_the_wire()),
}


def inside(value: Any, depth: int) -> Iterator[str]:
    """Yield the texts of a value and of what it holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes | bytearray):
        yield value.decode("latin-1")
    if depth == 0 or isinstance(value, NOT_SEARCHED):
        return
    with contextlib.suppress(Exception):
        yield repr(value)
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    held = [*getattr(value, "__dict__", {}).values(), *(getattr(value, name, None) for name in slots)]
    if isinstance(value, dict):
        held += [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        held += value
    if isinstance(value, io.BytesIO) and not value.closed:
        held.append(value.getvalue())
    for each in held:
        yield from inside(each, depth - 1)


def found_from(error: BaseException) -> list[str]:
    """Return where a secret is found from an exception, apart from the frames of the tests."""
    found, todo, seen = [], [error], set()
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        attributes = {name: getattr(each, name, None) for name in dir(each) if not name.startswith("__")}
        texts = {"text": [str(each), *traceback.format_exception_only(each), *getattr(each, "__notes__", [])]}
        texts["attributes"] = [text for value in attributes.values() for text in inside(value, 2)]
        held = [*each.args, *attributes.values(), *getattr(each, "exceptions", ())]
        todo += [one for one in [*held, each.__cause__, each.__context__] if isinstance(one, BaseException)]
        for frame, line in traceback.walk_tb(each.__traceback__):
            if frame.f_code.co_filename == __file__ or "_pytest" in frame.f_code.co_filename:
                continue
            for name, value in frame.f_locals.items():
                texts[f"{frame.f_code.co_filename}:{line} {name}"] = list(inside(value, 3))
        marks = (CANARY, CANARY[::-1])
        found += [where for where, said in texts.items() if any(mark in text for text in said for mark in marks)]
    return found


def test_the_search_would_find_a_token() -> None:
    """Frames, what their variables hold, texts, notes, attributes, causes and groups are all searched."""
    for make in (noted, group, chained, KINDS["text that cannot be decoded"], KINDS["missing attribute"]):
        assert found_from(make()), make
    adapter = requests.adapters.HTTPAdapter(max_retries=0)
    with pytest.raises(requests.ConnectionError) as caught:
        adapter.send(requests.Request("GET", f"http://127.0.0.1:1/?access_token={CANARY}").prepare())
    caught.value.args = ()
    assert any(where.endswith(" request") for where in found_from(caught.value))


def transport_to(base_url: str, **options: Any) -> Transport:
    """Return a transport that does not wait."""
    return Transport(base_url, p2p.AccessToken(CANARY), timeout=(5.0, 5.0), **{"sleep": lambda _: None} | options)


DEPTHS: dict[str, tuple[Any, str]] = {
    "connecting": (urllib3.util.connection, "create_connection"),
    "resolving": (socket, "getaddrinfo"),
    "sending": (http.client.HTTPConnection, "endheaders"),
    "waiting for the answer": (http.client.HTTPConnection, "getresponse"),
    "reading the body": (urllib3.HTTPResponse, "read1"),
    "decoding": (_transport, "is_envelope"),
    "judging": (_transport, "Answer"),
    "looking into the cache": (ResponseStore, "__getitem__"),
    "writing into the cache": (ResponseStore, "__setitem__"),
    "mending the body": (_adapter, "mended"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_in_the_middle_of_a_request(scripted, monkeypatch, tmp_path, depth: str, kind: str) -> None:
    """Each kind at each depth of a GET through the cache: the same exception comes out, and holds no token."""
    raised = []

    def interrupt(*_arguments: object, **_options: object) -> None:
        raised.append(KINDS[kind]())
        raise raised[-1]

    service = scripted(lambda _path, _asked: GOOD)
    transport = transport_to(service.base_url)
    transport.use_cache(tmp_path, "7")
    monkeypatch.setattr(*DEPTHS[depth], interrupt)
    error = None
    try:
        transport.get("/me", {}, keep=Keep.BRIEFLY)
    except BaseException as came:  # noqa: BLE001 - of any kind
        error = came
    assert raised
    if (depth, kind) == ("looking into the cache", "missing attribute"):
        assert error is None, "the library below takes it for an entry that is not there"
        return
    assert error is raised[-1]
    assert found_from(error) == []


@pytest.mark.parametrize("kind", KINDS_OF_OTHERS)
def test_in_the_wait_before_a_retry(scripted, kind: str) -> None:
    """The failure that is waited after quotes the token."""
    error = KINDS_OF_OTHERS[kind]()
    answer = 500, {}, {"error": {"message": f"access_token={CANARY}", "code": 1}}

    def interrupt(_seconds: float) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        transport_to(scripted(lambda *_: answer).base_url, sleep=interrupt).get("/me", {})
    assert found_from(caught.value) == []


def test_a_sealed_error_says_where_it_was_raised_and_stays_usable(scripted, monkeypatch) -> None:
    """One note with file, line and function, for unexpected errors alone; attributes without a token are kept."""

    class Odd(Exception):  # noqa: N818 - not an error of ours
        """An exception with a property that must not be asked."""

        def __init__(self) -> None:
            super().__init__("odd")
            self.about, self.asked = ["kept"], 0

        @property
        def costly(self) -> None:
            self.asked += 1

    def fail(*_: object) -> None:
        raise Odd

    @auth.sealed
    def outer() -> None:
        transport_to(scripted(lambda *_: GOOD).base_url).get("/me", {})

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", fail)
    with pytest.raises(Odd) as caught:
        outer()
    assert (caught.value.about, caught.value.asked, caught.value.args) == (["kept"], 0, ("odd",))
    (note,) = caught.value.__notes__
    assert re.fullmatch(r"Raised in test_interrupts\.py, line \d+, in fail; the frames are left out .*", note)
    with pytest.raises(p2p.errors.TransportError) as refused:
        transport_to("http://127.0.0.1:1/v1").get("/me", {})
    assert not hasattr(refused.value, "__notes__")


def test_by_a_signal(scripted) -> None:
    """A handler raises while the service does not answer, as an alarm of pytest-timeout does."""
    interrupted = threading.Event()

    def handler(_number: int, _frame: object) -> None:
        interrupted.set()
        raise Timeout

    def hang(_connection: socket.socket) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        interrupted.wait(20)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(Timeout) as caught:
            transport_to(scripted(lambda *_: hang).base_url).get("/me", {})
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert found_from(caught.value) == []


def test_by_another_thread(scripted) -> None:
    """``PyThreadState_SetAsyncExc``, while the service does not answer."""
    here = ctypes.c_ulong(threading.get_ident())

    def answer(*_: object) -> Any:
        assert ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(Timeout)) == 1
        return GOOD

    with pytest.raises(Timeout) as caught:
        transport_to(scripted(answer).base_url).get("/me", {})
    assert found_from(caught.value) == []


@pytest.mark.parametrize(
    "step", [(_sealing, "_note_origin"), (_sealing, "_detach"), (_redaction, "_scrub"), (_redaction, "_cleaned")]
)
def test_by_a_second_one_while_the_first_is_sealed(scripted, monkeypatch, step: tuple[Any, str]) -> None:
    """Ctrl-C again, just as the frames of the first exception are taken away."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def fail(*_: object, **_options: object) -> None:
        raise noted()

    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", fail)
    monkeypatch.setattr(*step, interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        transport_to(scripted(lambda *_: GOOD).base_url).get("/me", {})
    assert found_from(caught.value) == []


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


def without_tests(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback from the first frame on that is not of this file."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


@pytest.mark.parametrize("kind", ["no memory", "own base exception", "handler of a signal"])
def test_in_a_thread_of_a_load(monkeypatch, kind: str) -> None:
    """What ends a worker's request comes out of the load, without the worker's frames."""
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
    assert found_from(caught.value) == []


# ---- any line of ours, any function below


_OTHERS = re.compile(r"^<|/(_pytest|traitlets|ipywidgets|IPython|comm)/|/contextlib\.py$")


class Interrupter:
    """Raises at one place: a line of this package, or the beginning of a function that it calls."""

    def __init__(self) -> None:
        self.places: dict[tuple[str, int], None] = {}
        self.at: tuple[str, int] | None = None
        self.error: BaseException | None = None

    def reach(self, place: tuple[str, int]) -> None:
        """Note a place, or raise there."""
        if self.at is None:
            self.places[place] = None
        elif place == self.at and self.error is not None:
            error, self.error = self.error, None
            raise error

    def __call__(self, frame: FrameType, _event: str, _value: object) -> Any:
        """Follow the calls of functions."""
        name = frame.f_code.co_filename
        if name == __file__ or _OTHERS.search(name):
            return None
        if PACKAGE in name:
            return self.line
        self.reach((name, frame.f_code.co_firstlineno))
        return None

    def line(self, frame: FrameType, event: str, _value: object) -> Any:
        """Follow the lines of a frame."""
        # Between those of the seal itself no interrupt is delivered.
        if event == "line" and not frame.f_code.co_filename.endswith("_sealing.py"):
            self.reach((frame.f_code.co_filename, frame.f_lineno))
        return self.line

    def run(self, flow: Callable[[], object]) -> BaseException | None:
        """Run a flow, and return what it raised."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            flow()
        except BaseException as error:  # noqa: BLE001 - what the test is about
            return error
        finally:
            sys.settrace(before)
        return None


def sign_in() -> auth.SignIn:
    """Return a sign-in that can be renewed."""
    return auth.SignIn("http://127.0.0.1/v1", p2p.AccessToken(CANARY), "1", auth.Secret(f"{CANARY}-1"))


def flow_get(service: Any, _folder: Path) -> Callable[[], object]:
    """Read a page through the cache."""
    folders = map(str, itertools.count())

    def flow() -> None:
        transport = transport_to(service.base_url)
        transport.use_cache(_folder, next(folders))
        transport.get("/me", {}, keep=Keep.BRIEFLY)

    return flow


def flow_refused(service: Any, _folder: Path) -> Callable[[], object]:
    """Read what is refused with the token in the message, once with a retry."""
    answers = itertools.cycle(
        [(500, {}, b""), (401, {}, {"error": {"message": f"No such token: {CANARY}", "code": 261}})]
    )
    service.answer = lambda *_: next(answers)
    return lambda: transport_to(service.base_url).get("/me", {})


def flow_unreachable(_service: Any, _folder: Path) -> Callable[[], object]:
    """Read from nobody."""
    return lambda: transport_to("http://127.0.0.1:1/v1").get("/me", {})


def flow_write(service: Any, _folder: Path) -> Callable[[], object]:
    """Send a form."""
    return lambda: transport_to(service.base_url).write("POST", "/payments", {"amount": "1"})


def flow_exchange(service: Any, _folder: Path) -> Callable[[], object]:
    """Redeem a code."""
    service.answer = lambda *_: TOKENS
    own = {"base_url": service.base_url, "client_id": "1"}
    return lambda: oauth.exchange(auth.Secret(f"{CANARY}-4"), secret=auth.Secret(f"{CANARY}-5"), **own)


def flow_refresh(service: Any, _folder: Path) -> Callable[[], object]:
    """Renew a sign-in."""
    service.answer = lambda *_: TOKENS
    kept = auth.SignIn(service.base_url, p2p.AccessToken(CANARY), "1", auth.Secret(f"{CANARY}-1"))
    return lambda: oauth.refresh(kept, secret=auth.Secret(f"{CANARY}-5"))


def flow_file(_service: Any, _folder: Path) -> Callable[[], object]:
    """Keep a sign-in in the state file, find it, and delete it."""

    def flow() -> None:
        auth.FileStore().save(sign_in())
        auth.find_token(base_url="http://127.0.0.1/v1")
        auth.FileStore().delete()

    return flow


class Keyring:
    """A keyring in memory."""

    kept: str | None = None

    def get_password(self, *_: str) -> str | None:
        """Return what is kept."""
        return self.kept

    def set_password(self, *words: str) -> None:
        """Keep a text."""
        self.kept = words[-1]

    def delete_password(self, *_: str) -> None:
        """Forget it."""
        self.kept = None


def flow_keyring(_service: Any, _folder: Path) -> Callable[[], object]:
    """Keep a sign-in in the keyring, read it, and delete it."""
    ring: Any = Keyring()

    def flow() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, "keyring", ring)
            auth.KeyringStore().save(sign_in())
            auth.KeyringStore().load()
            auth.KeyringStore().delete()

    return flow


def flow_environment(_service: Any, _folder: Path) -> Callable[[], object]:
    """Take token and secret from the environment."""

    def flow() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("P2P_ACCESS_TOKEN", CANARY)
            patch.setenv("P2P_CLIENT_SECRET", CANARY)
            auth.as_token()
            auth.client_secret()

    return flow


def flow_texts(_service: Any, _folder: Path) -> Callable[[], object]:
    """Take tokens and codes from what was pasted."""

    def flow() -> None:
        auth.as_token(CANARY)
        for text in (CANARY, f"http://127.0.0.1/?access_token={CANARY}"):
            auth.token_from_text(text)
        auth.code_from_redirect(f"?code={CANARY}")
        with contextlib.suppress(auth.ConsentDenied):
            auth.token_from_redirect(f"?error=no+{CANARY}&access_token={CANARY}")

    return flow


def flow_listener(_service: Any, _folder: Path) -> Callable[[], object]:
    """Take the redirect."""

    def flow() -> None:
        # One that is interrupted before it can be closed ends by itself.
        listener = auth.Listener(lambda _: None, timeout=2.0, linger=0.5)
        host = listener.redirect_uri.split("/")[2]
        here, there = socket.socketpair()
        with here, there:
            path = listener.redirect_uri.partition(host)[2]
            there.sendall(f"GET {path}?access_token={CANARY} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            try:
                assert listener._answer(here) is not None
            finally:
                listener.close()

    return flow


def flow_prompt(_service: Any, _folder: Path) -> Callable[[], object]:
    """Ask in the terminal, and read from a pipe."""

    def flow() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", io.StringIO(f"{CANARY}\n{CANARY}\n"))
            _prompt.redirected(
                lambda **_: "http://127.0.0.1/", auth.token_from_redirect, auth.token_from_text,
                listens=False, opens=False,
            )  # fmt: skip
            _prompt.hidden_line("Token: ")

    return flow


def flow_form(service: Any, _folder: Path) -> Callable[[], object]:
    """Give a form of a notebook a token, by its prompt and by its box."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(getpass, "getpass", lambda _: "")
        form = p2p.TokenForm(service.base_url, "1", how="prompt")
    FORMS.append(form)

    def flow() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(getpass, "getpass", lambda _: CANARY)
            form._ask()
            form._pasted({"new": CANARY})

    return flow


FORMS: list[p2p.TokenForm] = []
FLOWS = [flow for name, flow in list(globals().items()) if name.startswith("flow_")]


@pytest.mark.parametrize("flow", FLOWS, ids=lambda flow: flow.__name__.removeprefix("flow_"))
def test_at_any_place(scripted, tmp_path, flow: Any) -> None:
    """An exception at each line of this package, and in 50 of the functions that it calls, with the kinds in turn."""
    interrupter = Interrupter()
    run = flow(scripted(lambda *_: GOOD), tmp_path)
    interrupter.run(run)
    places = [place for place in interrupter.places if PACKAGE in place[0]]
    below = [place for place in interrupter.places if PACKAGE not in place[0]]
    assert len(places) > 10
    kinds = itertools.cycle(KINDS_OF_OTHERS.values())
    came = 0
    for place in places + below[:: 1 + len(below) // 50]:
        interrupter.at, interrupter.error = place, next(kinds)()
        raised, error = interrupter.error, interrupter.run(run)
        came += error is raised
        assert error is None or found_from(error) == [], (place, type(raised))
    assert came > 10
    while FORMS:
        FORMS.pop().close()
    gc.collect()  # what an exception left behind is warned about here, and not in the next test
