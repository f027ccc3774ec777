"""Reset of a sandbox: the town is replaced as a whole, also under concurrent requests and after a crash."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from sandbox.oauth import consent

from p2p_analytics.sandbox import SandboxServer, SettingError
from p2p_analytics.sandbox.faults.settings import Timing
from support.waiting import wait_until

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
    ana, ben = server.people[:2]
    server.deposit(ana.username, 5_000)
    server.link_bank(ben.username)
    server.verify(ben.username, verified=False)
    token = server.token(ana.username, "make_payments")
    for target in ({"user_id": ben.user_id}, {"email": "nobody@example.net"}):
        fields = {"access_token": token, "amount": "0.10", "note": "trace", **target}
        assert requests.post(f"{server.base_url}/payments", data=fields, timeout=5).status_code == 200
    server.advance(days=40)
    app = server.register_application(ana.username, name="Mine", redirect_url="http://127.0.0.1/callback")
    consent(server, ana.username, app, kind="code")


def test_reset_restores_the_first_start_of_a_seed(tmp_path) -> None:
    """After a reset the file equals that of a new sandbox of the seed to the byte; clock and log start over."""
    path, size = tmp_path / "town.sqlite", {"people": 5, "years": 1}
    with SandboxServer(7, **size) as seven, SandboxServer(8, **size) as eight, SandboxServer(7, db=path, **size) as own:
        start = content(seven)
        use(own)
        assert content(own) != start
        own.reset()
        assert (content(own), own.now, own.requests) == (start, seven.now, [])
        own.reset(seed=8)
        assert (content(own), own.seed) == (content(eight), 8)
        use(own)
        assert own.audit() == []
        with pytest.raises(sqlite3.IntegrityError, match="entries are never"):
            own.store.write("DELETE FROM entries", ())
    with SandboxServer(8, db=path, **size) as again:
        assert again.state()["counts"]["applications"] == 2
    with pytest.raises(SettingError, match="another town"):
        SandboxServer(7, db=path, **size).start()


def test_tokens_applications_and_sessions_end(ask, open_tab) -> None:
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
        token = own.sign_in(own.authorize_url(), own.viewer).partition("access_token=")[2]
        assert ask(on=own, token=token).get("/me").status_code == 200


def test_settings_stay_and_counters_restart(ask) -> None:
    """Latency, faults and rate limit keep their settings; the script and the counts start over."""
    settings = {"latency": 0.001, "faults": "503 ok", "rate_limit": (1, 600)}
    with SandboxServer(people=3, years=1, **settings) as own:
        for _ in range(2):
            me = ask(on=own)
            assert [me.get("/me").status_code for _ in range(3)] == [503, 200, 429]
            own.reset()
        assert (own.latency, own.faults, own.rate_limit) == (0.001, "503 ok", (1, 600))


@pytest.mark.parametrize("table", ["users", "entries", "oauth_applications"])
def test_a_failed_reset_keeps_the_old_town(ask, table: str) -> None:
    """If the new town cannot be stored completely, the old one stays complete and is served."""
    with SandboxServer(people=3, years=1) as own:
        use(own)
        before = content(own)
        with own.store.writing() as connection:
            connection.set_authorizer(lambda *step: step[:2] == (sqlite3.SQLITE_INSERT, table))
        with pytest.raises(sqlite3.DatabaseError, match="not authorized"):
            own.reset(8)
        with pytest.raises(SettingError, match="seed"):
            own.reset(-1)
        assert (content(own), own.seed) == (before, 7)
        assert ask(on=own).get("/me").status_code == 200
    with pytest.raises(SettingError, match="not running"):
        own.reset()


def test_a_reset_that_gives_up_lets_requests_in(ask) -> None:
    """A reset that is blocked by the event loop or by a long request raises an error, and requests work afterwards."""
    with SandboxServer(people=3, years=1, timing=Timing(reset=0.2)) as own, ThreadPoolExecutor(1) as pool:
        moved = threading.Event()
        own._loop.call_soon_threadsafe(moved.wait, 10)
        with pytest.raises(SettingError, match="busy"):
            own.reset()
        moved.set()
        me, writer = ask(on=own), ask(own.viewer, "make_payments", on=own)
        assert me.get("/me").status_code == 200
        with own.store.writing():
            posting = pool.submit(writer.post, email="a@example.net", amount="-1")
            wait_until(lambda: own._middleware.lock._readers)
            with pytest.raises(SettingError, match="busy"):
                own.reset()
            assert me.get("/me").status_code == 200
        assert posting.result(5).status_code == 200
        own.reset()
        assert me.get("/me").status_code == 401


def test_a_reset_during_the_stop_is_refused() -> None:
    """If the sandbox has stopped while the new town was built, nothing is changed and the error has one sentence."""
    with SandboxServer(people=3, years=1) as own:
        lock, loop = own._middleware.lock, own._loop
    message = r"^The sandbox is stopping or busy, so nothing was changed; try again\.$"
    with pytest.raises(SettingError, match=message), lock.exclusive(loop):
        pass


def while_resetting(server: SandboxServer, *works: Callable[[], None], until: Callable[[], bool]) -> None:
    """Repeat works in threads while resets switch between two towns: eight times, then until all has been seen."""
    stop = threading.Event()

    def repeat(work: Callable[[], None]) -> None:
        while not stop.is_set():
            work()

    with ThreadPoolExecutor(3) as pool:
        working = [pool.submit(repeat, work) for work in works]
        try:
            for count, seed in enumerate((8, 7) * 150):
                server.reset(seed)
                assert server.audit() == []
                if count >= 4 and until():
                    break
        finally:
            stop.set()
        for one in working:
            one.result(20)


def test_requests_during_resets_see_one_town(ask) -> None:
    """Each page, write and state during resets is of one whole town; a token of the other town is unknown."""
    with SandboxServer(8, people=3, years=1) as eight, SandboxServer(7, people=3, years=1) as own:
        right = {one.seed: ask(on=one).get("/payments").json()["data"] for one in (own, eight)}
        assert right[7] != right[8]
        reads: set[int] = set()
        writes: set[int] = set()
        address, header = own.base_url.replace("/v1", "/sandbox/state"), {"X-Sandbox-Control": "1"}

        def read() -> None:
            with own._middleware.lock.exclusive(own._loop):  # a token and its town, with no reset in between
                seed, token = own.seed, own.token(own.viewer)
            for _ in range(3):
                response = ask(on=own, token=token).get("/payments")
                reads.add(response.status_code)
                expected = right[seed] if response.status_code == 200 else "261"
                assert response.json().get("data", response.json().get("error", {}).get("code")) == expected

        def write() -> None:
            with own._middleware.lock.exclusive(own._loop):
                token = own.token(own.viewer, "make_payments")
            for _ in range(3):
                writes.add(ask(on=own, token=token).post(email="x@example.net", amount="-1").status_code)

        def look() -> None:
            for state in (own.state(), requests.get(address, headers=header, timeout=10).json()):
                counts = state["counts"]
                assert (counts["users"], counts["applications"], state["audit"]) == (4, 1, [])

        while_resetting(own, look, read, read, until=lambda: len(reads) == 2)
        while_resetting(own, look, write, until=lambda: len(writes) == 2)
    assert (reads, writes) == ({200, 401}, {200, 401})


@pytest.mark.parametrize("rounds", [1, pytest.param(100, marks=pytest.mark.soak)])
def test_no_half_town_after_a_kill(tmp_path, rounds: int) -> None:
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
            [sys.executable, "-c", RESETTER, str(path), str(seed)], stdout=subprocess.PIPE, text=True
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
