"""Requests that schemathesis makes up from the service's own description, sent to a sandbox over HTTP.

Every case is judged by its checks (no 5xx; statuses, kinds, headers and schemas of answers as described; good requests
taken, bad ones and those without a token refused; methods) and by `error_envelope` in `hooks.py`.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from p2p_analytics.sandbox import SandboxServer

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
PROGRAM = Path(sys.executable).with_name("schemathesis")
EVERY = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")
OPERATIONS = {
    "GET /me", "GET /users/{user_id}", "GET /users/{user_id}/friends", "GET /payments", "POST /payments",
    "GET /payments/{payment_id}", "PUT /payments/{payment_id}", "POST /oauth/access_token",
}  # fmt: skip
SECONDS = 900


class Run(NamedTuple):
    """One run of schemathesis: the answered cases in order, as method, address, body and status."""

    seed: int
    cases: list[tuple[str, str, str, int]]
    answered: Counter[tuple[str, int]]
    succeeded: bool
    told: str

    def report(self) -> str:
        """Return what to say of a run that failed: the seed, and each failing case as curl without the token."""
        return f"P2P_SEED={self.seed} repeats this.\n{self.told[self.told.find('= FAILURES =') :]}"


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


def read(events: str) -> tuple[list[tuple[str, str, str, int]], Counter[tuple[str, int]]]:
    """Return the answered cases of a report, and how many of each operation had which status."""
    cases, answered = [], Counter()
    for line in events.splitlines():
        recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
        for name, exchange in recorder.get("interactions", {}).items():
            if "response" not in exchange:
                continue
            request, status = exchange["request"], exchange["response"]["status_code"]
            cases.append((request["method"], request["uri"], json.dumps(request.get("body")), status))
            case = recorder["cases"][name]["value"]
            answered[f"{case['method']} {case['path']}", status] += 1
    return cases, answered


@pytest.mark.parametrize("dialect", ["documented", "observed"])
def test_made_up_requests(
    fuzz: Callable[..., Run], seed: int, dialect: str, record_property: Callable[..., None]
) -> None:
    """No made-up request is answered otherwise than described, in either dialect; each operation succeeds at times."""
    with SandboxServer(people=6, years=1, dialect=dialect) as server:
        run = fuzz(server, seed, 10, EVERY)
        assert server.audit() == []
    record_property("schemathesis", f"{len(run.cases)} cases, seed {seed}, {dialect}")
    assert run.succeeded, run.report()
    assert len(run.cases) >= 300
    assert {operation for operation, status in run.answered if status == 200} >= OPERATIONS - {
        "POST /oauth/access_token"
    }
