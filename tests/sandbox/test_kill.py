"""The sandbox is killed in the middle of its work: what it had answered is there, and the books are right."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading

import pytest
import requests

from p2p_analytics.sandbox import SandboxServer
from support.waiting import wait_until

# One process loads the libraries once and forks a server whenever it is asked: a start takes a tenth of a second.
NURSERY = """
import os, sys
import uvicorn, p2p_analytics.sandbox.app
from p2p_analytics.sandbox import serve
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        sys.stdin.close()
        print("pid", os.getpid(), flush=True)
        serve(0, db=sys.argv[1], people=3, years=1)
        os._exit(0)
    os.waitpid(pid, 0)
    print("gone", flush=True)
"""
WRITERS = 4
IDLE = """
import sys
from p2p_analytics.sandbox import SandboxServer
with SandboxServer(people=3, years=1) as server:
    print(server.store.path.parent, flush=True)
    sys.stdin.read()
"""


def test_the_next_start_removes_the_folder_of_a_killed_sandbox(tmp_path, monkeypatch) -> None:
    """A start removes the folder of a sandbox that was killed, none that is in use, and nothing else."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    elsewhere = tmp_path / "elsewhere"
    for folder in (elsewhere, tmp_path / "p2p-sandbox-no-lock", tmp_path / "another-prefix"):
        folder.mkdir()
    for file in (elsewhere / "in-use", tmp_path / "another-prefix" / "in-use", tmp_path / "p2p-sandbox-file"):
        file.touch()
    (tmp_path / "p2p-sandbox-link").symlink_to(elsewhere)
    others = set(tmp_path.iterdir())
    command, pipe = [sys.executable, "-c", IDLE], subprocess.PIPE
    with contextlib.ExitStack() as stack:
        living, dying = (
            stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))  # noqa: S603 - our own code
            for _ in range(2)
        )
        used, left = (tmp_path / process.stdout.readline().strip() for process in (living, dying))
        with SandboxServer(people=3, years=1) as server:
            assert set(tmp_path.iterdir()) == others | {used, left, server.store.path.parent}
        dying.kill()
        dying.wait(10)
        assert (left / "sandbox.sqlite").exists()
        with SandboxServer(people=3, years=1) as server, SandboxServer(people=3, years=1) as second:
            here = {server.store.path.parent, second.store.path.parent}
            assert set(tmp_path.iterdir()) == others | {used} | here
        living.stdin.close()
        assert living.wait(10) == 0
    assert set(tmp_path.iterdir()) == others
    assert (elsewhere / "in-use").exists()


def write_until_cut(base_url: str, token: str, target: str, told: list[tuple[str, str]], stop: threading.Event) -> None:
    """Pay, charge and cancel without a pause; keep the id and status of each payment that was answered."""
    rng = random.Random(base_url)  # noqa: S311 - repeatable, not secret
    mine: list[str] = []
    with requests.Session() as session, contextlib.suppress(requests.RequestException):  # a lost request has no answer
        while not stop.is_set():
            fields = {"access_token": token, "note": "x", "user_id": target, "amount": "0.01"}
            method, path = "POST", "/payments"
            if mine and rng.random() < 0.3:  # some are taken back
                method, path, fields = "PUT", f"/payments/{mine.pop()}", {"access_token": token, "action": "cancel"}
            elif rng.random() < 0.5:  # half to addresses without an account
                fields = {"access_token": token, "note": "x", "email": "new@example.net", "amount": "0.01"}
            response = session.request(method, base_url + path, data=fields, timeout=5)
            body = response.json()
            assert response.status_code == 200, body
            payment = body["data"].get("payment", body["data"])
            told.append((payment["id"], payment["status"]))
            if payment["status"] == "pending":
                mine.append(payment["id"])


@pytest.mark.parametrize("rounds", [2, pytest.param(200, marks=pytest.mark.soak)])
def test_no_answered_write_is_lost(tmp_path, rounds: int) -> None:
    """After each kill -9 every payment that was answered has the status of its last answer, and the audit is clean."""
    path = tmp_path / "town.sqlite"
    with SandboxServer(people=3, years=1, db=path) as server:
        token = server.token(server.viewer, "make_payments", seconds=86_400)
        target = server.people[1].user_id
        server.link_bank(server.viewer)
    answered = 0
    known: dict[str, str] = {}
    rng = random.Random(rounds)  # noqa: S311 - repeatable, not secret
    with subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, "-c", NURSERY, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as nursery:
        for _ in range(rounds):
            nursery.stdin.write("start\n")
            nursery.stdin.flush()
            child = int(nursery.stdout.readline().split()[1])
            told: list[tuple[str, str]] = []
            stop, enough = threading.Event(), rng.randrange(5, 60)
            try:
                base_url = nursery.stdout.readline().split()[-1]
                given = (base_url, token, target, told, stop)
                threads = [threading.Thread(target=write_until_cut, args=given) for _ in range(WRITERS)]
                for thread in threads:
                    thread.start()
                wait_until(lambda told=told, enough=enough: len(told) >= enough)
            finally:
                os.kill(child, signal.SIGKILL)
                stop.set()
            for thread in threads:
                thread.join(20)
            while (line := nursery.stdout.readline()) != "gone\n":
                assert line
            known.update(told)
            answered += len(told)
            with SandboxServer(people=3, years=1, db=path) as server:
                assert server.audit() == []
                found = dict(server.store.connection.execute("SELECT CAST(payment_id AS TEXT), status FROM payments"))
            assert known.keys() <= found.keys()
            # A cancel may have been carried out just before the end, unanswered; nothing else may differ.
            changed = {(known[key], found[key]) for key in known if known[key] != found[key]}
            assert changed <= {("pending", "cancelled")}
            known = {key: found[key] for key in known}
        nursery.stdin.close()
        nursery.wait(20)
    assert answered >= 20 * rounds
