"""Reset of a sandbox: the town is replaced as a whole, also under concurrent requests and after a crash."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer, SettingError
from p2p_analytics.sandbox.runtime import readers_writer_lock
from p2p_analytics.sandbox.town import build as town
from p2p_analytics.sandbox.town.plan import Plan
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Asking = Callable[..., Any]

# Resets to two towns in turn until it is killed, and prints the seed after each reset.
RESETTER = """
import itertools, sys
from p2p_analytics.sandbox import SandboxServer
with SandboxServer(int(sys.argv[2]), people=3, years=1, db=sys.argv[1]) as server:
    for seed in itertools.cycle((8, 7)):
        server.reset(seed)
        print(seed, flush=True)
"""


def content(server: SandboxServer) -> list[str]:
    """Return all rows and tables of the database, as SQL."""
    with sqlite3.connect(server.store.path) as connection:
        found = sorted(line for line in connection.iterdump() if "sqlite_stat" not in line)
    connection.close()
    return found


def use(server: SandboxServer) -> None:
    """Leave traces in every part of the town."""
    ana, ben = (one.username for one in server.people[:2])
    server.deposit(ana, 5_000)
    server.link_bank(ben)
    server.verify(ben, verified=False)
    token = server.token(ana, "make_payments")
    for target in ({"user_id": server.people[1].user_id}, {"email": "nobody@example.net"}):
        fields = {"access_token": token, "amount": "0.10", "note": "trace", **target}
        assert requests.post(f"{server.base_url}/payments", data=fields, timeout=5).status_code == 200
    server.advance(days=40)
    app = server.register_application(ana, name="Mine", redirect_url="http://127.0.0.1/callback")
    server.sign_in(server.authorize_url(client_id=app.client_id, response_type="code"), ana)


def test_reset_restores_the_first_start(ask: Asking) -> None:
    """After a reset the database equals that of a new sandbox to the byte, and the clock is back at the start."""
    with SandboxServer(people=5, years=1) as fresh, SandboxServer(people=5, years=1) as own:
        start = content(fresh)
        use(own)
        assert content(own) != start
        own.reset()
        assert content(own) == start
        assert own.now == fresh.now
        assert own.requests == []
        assert ask(on=own).list_payments() == ask(on=fresh).list_payments()


def test_reset_with_another_seed(tmp_path: Path) -> None:
    """A reset with a seed builds the town of that seed, stores it in the file, and its ledger accepts new entries."""
    path = tmp_path / "town.sqlite"
    with SandboxServer(8, people=5, years=1) as eight, SandboxServer(7, people=5, years=1, db=path) as own:
        use(own)
        own.reset(seed=8)
        assert content(own) == content(eight)
        assert own.seed == 8
        use(own)
        assert own.audit() == []
    with SandboxServer(8, people=5, years=1, db=path) as again:
        assert again.state()["counts"]["applications"] == 2
    with pytest.raises(SettingError, match="another town"), SandboxServer(7, people=5, years=1, db=path):
        pass


def test_tokens_applications_and_sessions_end(ask: Asking, open_tab: Callable[..., Any]) -> None:
    """Old tokens, applications and sign-ins are invalid after a reset; the demo application works at once."""
    with SandboxServer(people=3, years=1) as own:
        old, tab = own.token(own.viewer), open_tab(own)
        app = own.register_application(own.viewer, name="Mine", redirect_url="http://127.0.0.1/callback")
        tab.sign_in(own.viewer)
        assert tab.open("/account/developer").status_code == 200
        own.reset()
        assert ask(on=own, token=old).get_refusal("/me") == (401, "261")
        assert requests.get(own.authorize_url(client_id=app.client_id), timeout=5).json()["error"]["code"] == "250"
        assert tab.open("/account/developer").status_code == 303
        back = own.sign_in(own.authorize_url(), own.viewer)
        token = parse_qs(urlsplit(back).query)["access_token"][0]
        assert ask(on=own, token=token).get("/me").status_code == 200


def test_settings_stay_and_counters_restart(ask: Asking) -> None:
    """Latency, faults and rate limit keep their settings; the script and the counts start over."""
    settings = {"latency": 0.001, "faults": "503 ok", "rate_limit": (1, 600)}
    with SandboxServer(people=3, years=1, **settings) as own:
        for _ in range(2):
            me = ask(on=own)
            assert [me.get("/me").status_code for _ in range(3)] == [503, 200, 429]
            own.reset()
        assert (own.latency, own.faults, own.rate_limit) == (0.001, "503 ok", (1, 600))


def test_the_books_stay_append_only() -> None:
    """The ledger entries of a new town cannot be changed, removed or replaced, as those of the first one."""
    with SandboxServer(people=3, years=1) as own:
        own.reset()
        own.deposit(own.viewer, 100)
        for statement in (
            "UPDATE entries SET cents = 1", "DELETE FROM entries",
            "INSERT OR REPLACE INTO entries SELECT * FROM entries LIMIT 1",
        ):  # fmt: skip
            with pytest.raises(sqlite3.IntegrityError, match="entries are never"), own.store.writing() as connection:
                connection.execute(statement)
        assert own.audit() == []


@pytest.mark.parametrize("part", ["town.plan.town.build", "storage.ledger.open_books", "server._open_oauth_store"])
def test_a_failed_reset_keeps_the_old_town(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """If the new town cannot be built or stored completely, the old one stays complete and is served."""

    def impossible(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with SandboxServer(people=3, years=1) as own:
        use(own)
        before = content(own)
        monkeypatch.setattr(f"p2p_analytics.sandbox.{part}", impossible)
        with pytest.raises(sqlite3.OperationalError, match="full"):
            own.reset(8)
        assert content(own) == before
        assert own.seed == 7
        token = own.token(own.viewer)
        assert requests.get(f"{own.base_url}/me", params={"access_token": token}, timeout=5).status_code == 200
    with pytest.raises(SettingError, match="not running"):
        own.reset()


def test_a_reset_that_gives_up_lets_requests_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reset that is blocked by the event loop or by a long request raises an error, and requests work afterwards."""
    monkeypatch.setattr(readers_writer_lock, "_LONGEST_WAIT", 0.05)
    with SandboxServer(people=3, years=1) as own:
        moved = threading.Event()
        own._loop.call_soon_threadsafe(moved.wait, 10)
        for _ in range(2):
            with pytest.raises(SettingError, match="busy"):
                own.reset()
        moved.set()
        assert requests.get(f"{own.base_url}/me", timeout=5).status_code == 401
        form = {"access_token": own.token(own.viewer, "make_payments"), "email": "a@example.net", "amount": "-1"}
        statuses: list[int] = []
        posting = threading.Thread(
            target=lambda: statuses.append(
                requests.post(f"{own.base_url}/payments", data={**form, "note": "x"}, timeout=5).status_code
            )
        )
        with own.store.writing():
            posting.start()
            wait_until(lambda: own._middleware.lock._readers)
            with pytest.raises(SettingError, match="busy"):
                own.reset()
            assert requests.get(f"{own.base_url}/me", timeout=5).status_code == 401
        posting.join(5)
        assert statuses == [200]
        monkeypatch.undo()
        own.reset()
        assert requests.get(f"{own.base_url}/me", timeout=5).status_code == 401


def test_a_reset_during_the_stop_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the sandbox stops while the new town is built, nothing is changed and the error has one sentence."""
    built, stopped = threading.Event(), threading.Event()
    caught: list[BaseException] = []

    def build(plan: Plan) -> object:
        built.set()
        stopped.wait(10)
        return town.build(plan.seed, people=3, years=1)

    def reset() -> None:
        try:
            own.reset()
        except SettingError as error:
            caught.append(error)

    with SandboxServer(people=3, years=1) as own:
        monkeypatch.setattr(Plan, "build", build)
        resetting = threading.Thread(target=reset)
        resetting.start()
        built.wait(10)
    stopped.set()
    resetting.join(10)
    assert [str(error) for error in caught] == ["The sandbox is stopping or busy, so nothing was changed; try again."]


def page_of(server: SandboxServer, token: str, session: requests.Session) -> tuple[int, Any]:
    """Return the status of the newest page, with its data or its error code."""
    query = {"access_token": token, "limit": "20"}
    answer = session.get(f"{server.base_url}/payments", params=query, timeout=10)
    body = answer.json()
    return answer.status_code, body["error"]["code"] if "error" in body else body["data"]


def while_resetting(server: SandboxServer, work: Callable[[requests.Session], None], rounds: int = 12) -> None:
    """Repeat `work` in three threads while resets switch between two towns."""
    stop = threading.Event()

    def repeat() -> None:
        with requests.Session() as session:
            while not stop.is_set():
                work(session)

    threads = [threading.Thread(target=repeat) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for seed in [8, 7] * (rounds // 2):
            server.reset(seed)
            assert server.audit() == []
    finally:
        stop.set()
        for thread in threads:
            thread.join(20)


def test_a_request_sees_one_town_or_the_other() -> None:
    """During resets, each page is that of the token's own town, or the token is unknown; both cases occur."""
    with SandboxServer(8, people=6, years=1) as eight, SandboxServer(7, people=6, years=1) as own:
        with requests.Session() as session:
            right = {one.seed: page_of(one, one.token(one.viewer), session)[1] for one in (own, eight)}
        assert right[7] != right[8]
        found: list[tuple[bool, object]] = []

        def read(session: requests.Session) -> None:
            with own._middleware.lock.exclusive(own._loop):  # a token and its town, with no reset in between
                seed, token = own.seed, own.token(own.viewer)
            for _ in range(3):
                status, data = page_of(own, token, session)
                found.append((data == right[seed] if status == 200 else (status, data) == (401, "261"), status))

        while_resetting(own, read)
    assert all(fits for fits, _ in found)
    assert {status for _, status in found} == {200, 401}


def test_the_state_is_of_one_town_or_the_other() -> None:
    """During resets, Python and HTTP return the state of a whole town each time."""
    with SandboxServer(7, people=6, years=1) as own:
        found: list[tuple[int, int]] = []

        def look(session: requests.Session) -> None:
            address, header = own.base_url.replace("/v1", "/sandbox/state"), {"X-Sandbox-Control": "1"}
            for state in (own.state(), session.get(address, headers=header, timeout=10).json()):
                found.append((state["counts"]["users"], state["counts"]["applications"]))
                assert state["audit"] == []

        while_resetting(own, look)
    assert set(found) == {(7, 1)}


def test_a_write_is_of_one_town_or_the_other() -> None:
    """During resets, each payment is made by a person of its own town, or the token is unknown."""
    with SandboxServer(7, people=6, years=1) as own:
        seen: set[int] = set()

        def write(session: requests.Session) -> None:
            with own._middleware.lock.exclusive(own._loop):
                token = own.token(own.viewer, "make_payments")
            for _ in range(3):
                fields = {"access_token": token, "email": "x@example.net", "amount": "-1", "note": "now"}
                seen.add(session.post(f"{own.base_url}/payments", data=fields, timeout=10).status_code)

        while_resetting(own, write)
        assert own.audit() == []
    assert seen == {200, 401}


@pytest.mark.parametrize("rounds", [4, pytest.param(100, marks=pytest.mark.soak)])
def test_no_half_town_after_a_kill(tmp_path: Path, rounds: int) -> None:
    """If the process is killed during a reset, the file holds one of the two towns completely."""
    path = tmp_path / "town.sqlite"
    whole = {}
    for seed in (7, 8):
        with SandboxServer(seed, people=3, years=1) as server:
            whole[seed] = content(server)
    rng = random.Random(rounds)  # noqa: S311 - repeatable, not secret
    seed = 7
    for _ in range(rounds):
        with subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, "-c", RESETTER, str(path), str(seed)],
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            for _ in range(rng.randrange(1, 6)):
                assert process.stdout.readline()
            time.sleep(rng.random() * 0.03)
            os.kill(process.pid, signal.SIGKILL)
        with sqlite3.connect(path) as connection:
            seed = int(connection.execute("SELECT value FROM settings WHERE name = 'seed'").fetchone()[0])
        connection.close()
        with SandboxServer(seed, people=3, years=1, db=path) as server:
            assert content(server) == whole[seed]
            assert server.audit() == []
