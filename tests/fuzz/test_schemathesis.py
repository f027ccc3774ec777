"""Requests that schemathesis makes up from the service's own description, sent to a sandbox over HTTP.

Every case is judged by its checks (no 5xx; statuses, kinds, headers and schemas of answers as described; good requests
taken, bad ones and those without a token refused; methods) and by `error_envelope` and `accepted_query` in `hooks.py`.
"""

from __future__ import annotations

import base64
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.http import parameters, serialize

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
PROGRAM = Path(sys.executable).with_name("schemathesis")
EVERY = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")
EXCHANGE = "POST /oauth/access_token"
OPERATIONS = {
    "GET /me", "GET /users/{user_id}", "GET /users/{user_id}/friends", "GET /payments", "POST /payments",
    "GET /payments/{payment_id}", "PUT /payments/{payment_id}", EXCHANGE,
}  # fmt: skip
SECONDS = 900
BOUNDARY = re.compile(rb"[0-9a-f]{32}")  # of a multipart body: random, whatever the seed is


class Run(NamedTuple):
    """One run of schemathesis: the answered cases in order, as method, address, body and status."""

    seed: int
    cases: list[tuple[str, str, bytes, int]]
    answered: Counter[tuple[str, int]]
    succeeded: bool
    told: str

    def check(self) -> None:
        """Fail where the run did, with its report alone."""
        if not self.succeeded:
            pytest.fail(self.report(), pytrace=False)

    def report(self) -> str:
        """Return what to say of a run that failed: the seed, and each failing case as curl without the token."""
        _, heading, failures = re.split("(=+ (?:ERRORS|FAILURES) =+\n)", self.told, maxsplit=1)
        return f"P2P_SEED={self.seed} repeats this.\n{heading}{failures}"


class Size(NamedTuple):
    """How many examples of each operation schemathesis makes, and the least number of cases that come of it in all."""

    examples: int
    cases: int


@pytest.fixture(scope="module")
def seed() -> int:
    """Return the seed that P2P_SEED gives, or another each time."""
    return int(os.environ.get("P2P_SEED") or random.SystemRandom().randrange(2**32))


@pytest.fixture
def fuzz(tmp_path: Path) -> Callable[..., Run]:
    """Return a runner: fuzz(server, seed, examples, scopes, *options)."""

    def run(server: SandboxServer, seed: int, examples: int, scopes: tuple[str, ...], *options: str) -> Run:
        token = server.token(server.viewer, *scopes, seconds=SECONDS)
        events = tmp_path / "events.ndjson"
        command = [
            PROGRAM, "--config-file", HERE / "schemathesis.toml", "run",
            server.base_url.removesuffix("/v1") + "/sandbox/openapi.json",
            "--seed", str(seed), "--max-examples", str(examples), "--no-color", "--report", "ndjson",
            "--report-ndjson-path", events, *options,
        ]  # fmt: skip
        surroundings = os.environ | {"P2P_FUZZ_TOKEN": token, "SCHEMATHESIS_HOOKS": str(HERE / "hooks.py")}
        done = subprocess.run(  # noqa: S603 - the program that was installed with the tests
            command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        written = events.read_text(encoding="utf-8")
        told = done.stdout + done.stderr
        # The program hides the token from people, but not in each corner of this file.
        events.unlink()
        leaked = token in told
        assert not leaked
        cases, answered = read(written)
        return Run(seed, cases, answered, done.returncode == 0, told)

    return run


def read(events: str) -> tuple[list[tuple[str, str, bytes, int]], Counter[tuple[str, int]]]:
    """Return the answered cases of a report, and how many of each operation had which status."""
    cases, answered = [], Counter()
    for line in events.splitlines():
        recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
        for name, exchange in recorder.get("interactions", {}).items():
            if "response" not in exchange:
                continue
            request, status = exchange["request"], exchange["response"]["status_code"]
            address = request["uri"].partition("/v1/")[2]
            body = base64.b64decode(request.get("body", {}).get("$base64", ""))
            cases.append((request["method"], address, BOUNDARY.sub(b"", body), status))
            case = recorder["cases"][name]["value"]
            answered[f"{case['method']} {case['path']}", status] += 1
    return cases, answered


@pytest.mark.parametrize("size", [Size(5, 300), pytest.param(Size(150, 2_000), marks=pytest.mark.soak)], ids=str)
@pytest.mark.parametrize("dialect", ["documented", "observed"])
def test_made_up_requests(
    fuzz: Callable[..., Run], seed: int, dialect: str, size: Size, record_property: Callable[..., None]
) -> None:
    """No made-up request is answered otherwise than described, in either dialect; every read and write succeeds too."""
    with SandboxServer(people=6, years=1, dialect=dialect) as server:
        run = fuzz(server, seed, size.examples, EVERY)
        assert server.audit() == []
    record_property("schemathesis", f"{len(run.cases)} cases, seed {seed}, {dialect}")
    run.check()
    assert len(run.cases) >= size.cases
    assert {operation for operation, status in run.answered if status == 200} == OPERATIONS - {EXCHANGE}


def test_without_the_scopes(fuzz: Callable[..., Run], seed: int, record_property: Callable[..., None]) -> None:
    """A token with no scope of the endpoint gets the described refusal for every request."""
    with SandboxServer(people=6, years=1) as server:
        run = fuzz(server, seed, 8, ("access_email", "access_phone", "access_balance"), "--phases", "fuzzing")
    record_property("schemathesis", f"{len(run.cases)} cases, seed {seed}, without scopes")
    run.check()
    assert len(run.cases) >= 50
    assert {operation for operation, status in run.answered if status == 403} == OPERATIONS - {EXCHANGE}
    assert {status for _, status in run.answered} <= {400, 401, 403}


def test_mistakes_are_found(fuzz: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    """Mistakes planted in the sandbox are reported, with the seed and the request as curl without the token."""
    monkeypatch.setattr(serialize, "error", lambda message, code: {"error": {"message": message}})
    monkeypatch.setattr(serialize, "page", lambda items, _: {"data": items})
    monkeypatch.setattr(parameters, "read_id", lambda text: {"7": 7}[text])
    with SandboxServer(people=6, years=1) as server:
        run = fuzz(server, 7, 4, EVERY, "--phases", "fuzzing", "--no-shrink")
    assert not run.succeeded
    report = run.report()
    for found in ("An error is a message and a code.", '"pagination" is a required property', "Server error"):
        assert found in report
    assert report.startswith("P2P_SEED=7 ")
    assert "access_token=%5BFiltered%5D" in report
