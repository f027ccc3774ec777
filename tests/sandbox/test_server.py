"""The server as a context manager and as a foreground command: its start, its end, and what it leaves behind."""

import asyncio
import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer, SettingError, UnknownPersonError
from p2p_analytics.sandbox.errors import SandboxError
from support.waiting import wait_until


def _running_servers() -> int:
    return sum(thread.name == "p2p-sandbox" for thread in threading.enumerate())


def test_what_a_running_sandbox_tells(ask, default_server) -> None:
    """The base URL is loopback and ends in /v1; the viewer comes first among the people; now is the town's."""
    address = urlsplit(default_server.base_url)
    assert (address.scheme, address.hostname, address.path) == ("http", "127.0.0.1", "/v1")
    assert default_server.people[0].username == default_server.viewer == "maya-lindqvist"
    assert len(default_server.people) == 12
    assert default_server.now.isoformat() == "2025-06-30T18:00:00+00:00"
    other = default_server.people[3].user_id  # a token can be asked for by user id as well
    assert ask(other).get_body("/me")["data"]["user"]["id"] == other


def test_nothing_is_left_behind(tmp_path, monkeypatch) -> None:
    """After an error in the block, and with an open connection, port, thread and temporary folder are gone."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    threads = _running_servers()
    server = SandboxServer(people=3, years=1)
    with requests.Session() as session, contextlib.suppress(ZeroDivisionError), server:
        assert _running_servers() == threads + 1
        (folder,) = tmp_path.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        session.get(f"{server.base_url}/me", timeout=5)
        raise ZeroDivisionError
    assert (list(tmp_path.iterdir()), _running_servers()) == ([], threads)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", urlsplit(server.base_url).port), timeout=2)
    with pytest.raises(SettingError, match="not running"):
        _ = server.store


def test_settings_that_cannot_be(tmp_path, default_server) -> None:
    """A taken port, a missing folder, odd numbers and a naive time: one sentence each, and nothing keeps running."""
    threads = _running_servers()
    taken = urlsplit(default_server.base_url).port
    for settings in (
        {"port": taken}, {"db": tmp_path / "no" / "db"}, {"port": 70_000}, {"latency": -1}, {"people": 1},
        {"seed": "a"}, {"seed": 1.5}, {"people": "3"}, {"years": 1.5}, {"port": "x"}, {"dialect": "klingon"},
        {"people": 2}, {"people": 2_001}, {"years": 0}, {"years": 21}, {"now": datetime(2025, 1, 1)},  # noqa: DTZ001
    ):  # fmt: skip
        with pytest.raises(SettingError, match=r"\.$"), SandboxServer(**settings):
            pass
    assert _running_servers() == threads


def test_an_unknown_person(default_server) -> None:
    """An unknown person is a ValueError with one sentence that names existing people; so is an unknown scope."""
    made = [{"date_created": default_server.now, "actor": "x"}]
    message = r"^No person of this town has the username .*maya-lindqvist.*\.$"
    for call in (
        lambda: default_server.token("nobody"),
        lambda: default_server.token("1"),
        lambda: default_server.add_payments("nobody", []),
        lambda: default_server.add_payments(default_server.viewer, made),
    ):
        with pytest.raises(UnknownPersonError, match=message) as caught:
            call()
        assert {ValueError, SandboxError} <= set(type(caught.value).__mro__)
    with pytest.raises(SettingError, match="access_profile"):
        default_server.token(default_server.viewer, "read_minds")


def test_a_second_start_is_refused(ask) -> None:
    """A running sandbox cannot be started again, which leaves it as it is; a stopped one can, also a failed one."""
    server = SandboxServer(people=3, years=1).start()
    try:
        base_url, threads = server.base_url, _running_servers()
        with pytest.raises(SettingError, match="running already"):
            server.start()
        assert (server.base_url, _running_servers()) == (base_url, threads)
        assert ask(on=server).get("/me").status_code == 200
        taken = SandboxServer(people=3, years=1, port=urlsplit(base_url).port)
        with pytest.raises(SettingError, match="Port"):
            taken.start()
    finally:
        server.stop()
    with taken:
        assert taken.viewer == "maya-lindqvist"


def test_before_the_start_and_after_the_end() -> None:
    """A server that does not run yet, or any longer, raises SettingError; its repr has its town and address only."""
    server = SandboxServer(8, people=3, years=1)
    for _ in range(2):
        assert repr(server) == "<SandboxServer of seed 8: not running>"
        for call in (lambda: server.token("maya-lindqvist"), lambda: server.expire("none")):
            with pytest.raises(SettingError, match="not running"):
                call()
        with server:
            store = server.store
            assert repr(server) == f"<SandboxServer of seed 8: {server.base_url}>"
        with pytest.raises(SettingError, match="closed"):
            store.people()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not list open files")
def test_threads_that_end_give_their_files_back() -> None:
    """50 threads, one after the other, leave no more open files than a few."""

    def count_files() -> int:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())

    with SandboxServer(people=3, years=1) as own:
        before = count_files()
        for _ in range(50):
            thread = threading.Thread(target=own.token, args=(own.viewer,))
            thread.start()
            thread.join()
        assert count_files() <= before + 10


ENDINGS = """
import asyncio, gc, socket, time
from urllib.parse import urlsplit
from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.runtime import thread
thread._GRACE_SECONDS = 0
def ask(server):
    idle = len(asyncio.all_tasks(server._loop))
    line = socket.create_connection(("127.0.0.1", urlsplit(server.base_url).port))
    line.sendall(b"GET /v1/me HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
    while len(asyncio.all_tasks(server._loop)) == idle:
        time.sleep(0.005)
    return line
with SandboxServer(people=3, years=1, latency=30) as server:
    first = ask(server)  # in flight at the end of the block
server = SandboxServer(people=3, years=1, latency=30).start()
second = ask(server)
del server  # never stopped
gc.collect()
time.sleep(0.2)
"""


def test_every_ending_is_quiet(tmp_path) -> None:
    """However a sandbox ends, with a request in flight or because Python ends: nothing printed, nothing left."""
    ended = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", ENDINGS], env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_a_client_that_goes_away_is_no_failure(caplog) -> None:
    """A connection that ends in the middle of a body leaves no traceback."""
    with SandboxServer(people=3, years=1) as own:
        address, idle = urlsplit(own.base_url), len(asyncio.all_tasks(own._loop))
        for path in ("/payments", "/oauth/access_token", "/oauth/sign-in"):
            head = f"POST /v1{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nab"
            with socket.create_connection((address.hostname, address.port), timeout=5) as client:
                client.sendall(head.encode())
                wait_until(lambda: len(asyncio.all_tasks(own._loop)) > idle)
            wait_until(lambda: len(asyncio.all_tasks(own._loop)) == idle)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


def test_the_end_of_the_calendar() -> None:
    """The clock goes forward only and stays before the year 9000, so that writes and the end find their moment."""
    with SandboxServer(people=3, years=1) as own:
        before, far = own.now, datetime(9000, 1, 1, tzinfo=UTC)
        for step, message in (
            ({"days": -1}, "forward only"),
            ({"duration": timedelta(microseconds=-1)}, "forward only"),
            ({"days": 10**9}, "cannot go that far"),
            ({"days": 10**400}, "cannot go that far"),
            ({"duration": datetime.max.replace(tzinfo=UTC) - before}, "year 9999"),
            ({"duration": far - before}, "year 9000"),
        ):
            with pytest.raises(SettingError, match=rf"{message}.*\.$"):
                own.advance(**step)
        assert own.now == before
        own.advance(far - timedelta(days=1) - before)
        assert own.now.year == 8999


def test_an_end_with_a_broken_database_still_ends() -> None:
    """Whatever is wrong with the clock on the way out, the server stops."""
    threads = _running_servers()
    own = SandboxServer(people=3, years=1).start()
    with own.store.writing() as connection:
        connection.execute("UPDATE clock SET now_us = ?", (2**62,))
    with pytest.raises(OverflowError):
        own.stop()
    assert _running_servers() == threads
    own.stop()


def test_latency(ask) -> None:
    """Latency delays each answer, and requests wait side by side."""
    with SandboxServer(people=3, years=1, latency=0.5) as own, ThreadPoolExecutor(4) as pool:
        clients, started = [ask(on=own) for _ in range(4)], time.monotonic()
        answers = list(pool.map(lambda client: client.get("/me").elapsed.total_seconds(), clients))
        assert time.monotonic() - started < 2.0
    assert min(answers) >= 0.5


def test_serve_until_terminated(tmp_path) -> None:
    """The command prints where it is and how to get a token, has its options; SIGTERM ends it quietly, as Ctrl-C."""
    command = [sys.executable, "-m", "p2p_analytics", "sandbox", "--port", "0", "--people", "3", "--years", "1"]
    with subprocess.Popen(  # noqa: S603 - our own code
        [*command, "--strict-redirect"], env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            lines = [process.stdout.readline() for _ in range(8)]
            address = lines[0].split()[-1].replace("/v1", "/sandbox/state")
            state = requests.get(address, headers={"X-Sandbox-Control": "1"}, timeout=5).json()
            assert (state["strict_redirect"], state["viewer"] in lines[1]) == (True, True)
            assert "/v1/oauth/authorize?client_id=" in lines[3]
            assert lines[-1] == "Stop with Ctrl-C.\n"
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=10)
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("draft", "reason"),
    [
        ({"payment_id": "5", "amount_cents": -1}, "cannot be stored"),
        ({"actor": "maya-lindqvist", "target": "maya-lindqvist"}, "the same person"),
        ({"payment_id": "007"}, "leading zeros"),
        ({"payment_id": "9" * 19}, "digits"),
        ({"date_created": datetime(2024, 1, 1)}, "zone"),  # noqa: DTZ001 - naive, so it is refused
    ],
)
def test_invalid_drafts(default_server, draft: dict[str, object], reason: str) -> None:
    """A draft that the store could not return unchanged is refused with one sentence."""
    with pytest.raises(SettingError, match=reason):
        default_server.add_payments(default_server.viewer, [{"date_created": default_server.now, **draft}])


def test_drafts_are_all_or_nothing(ask, default_server) -> None:
    """If one of several drafts has an id in use, none of them is stored."""
    drafts = [{"date_created": default_server.now, "payment_id": one} for one in ("11", "12", "11")]
    with pytest.raises(SettingError, match="cannot be stored"):
        default_server.add_payments(default_server.viewer, drafts)
    assert ask().get_refusal("/payments/12") == (404, "283")
