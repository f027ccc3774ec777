"""Requests that schemathesis makes up from the service's own description, sent to a sandbox over HTTP.

Every case is judged by its checks (no 5xx; statuses, kinds, headers and schemas of answers as described; good requests
taken, bad ones and those without a token refused; methods) and by `error_envelope` and `accepted_query` in `hooks.py`.
"""

import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.http import serialize

HERE = Path(__file__).parent
PROGRAM = Path(sys.executable).with_name("schemathesis")
EVERY = ("access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments")
OPERATIONS = {  # but for the token exchange, of which no description can make valid codes
    "GET /me", "GET /users/{user_id}", "GET /users/{user_id}/friends", "GET /payments", "POST /payments",
    "GET /payments/{payment_id}", "PUT /payments/{payment_id}",
}  # fmt: skip
SECONDS = 900
SIZES = [(5, 300), pytest.param((150, 2_000), marks=pytest.mark.soak)]  # examples of each operation, cases at least


@pytest.fixture
def fuzz(tmp_path, record_property) -> Callable[..., Counter[tuple[str, int]]]:
    """Return a runner, which returns how many cases of each operation had which status.

    A run that fails shows its report alone: the seed, and each failing case as curl without the token.
    """

    def run(server: SandboxServer, what: str, examples: int, scopes: tuple[str, ...], *options: str) -> Counter:
        seed = int(os.environ.get("P2P_SEED") or random.SystemRandom().randrange(2**32))
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
        answered: Counter[tuple[str, int]] = Counter()
        for line in events.read_text(encoding="utf-8").splitlines():
            recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
            for name, exchange in recorder.get("interactions", {}).items():
                if "response" in exchange:
                    case = recorder["cases"][name]["value"]
                    answered[f"{case['method']} {case['path']}", exchange["response"]["status_code"]] += 1
        # The program hides the token from people, but not in each corner of this file.
        events.unlink()
        told = done.stdout + done.stderr
        leaked = token in told
        assert not leaked
        record_property("schemathesis", f"{answered.total()} cases, seed {seed}, {what}")
        if done.returncode != 0:
            _, heading, failures = re.split("(=+ (?:ERRORS|FAILURES) =+\n)", told, maxsplit=1)
            pytest.fail(f"P2P_SEED={seed} repeats this.\n{heading}{failures}", pytrace=False)
        return answered

    return run


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dialect", ["documented", "observed"])
def test_made_up_requests(fuzz, dialect: str, size: tuple[int, int]) -> None:
    """No made-up request is answered otherwise than described, in either dialect; every read and write succeeds too."""
    with SandboxServer(people=6, years=1, dialect=dialect) as server:
        answered = fuzz(server, dialect, size[0], EVERY)
        assert server.audit() == []
    assert answered.total() >= size[1]
    assert {operation for operation, status in answered if status == 200} == OPERATIONS


def test_without_the_scopes(fuzz) -> None:
    """A token with no scope of the endpoint gets the described refusal for every request."""
    with SandboxServer(people=6, years=1) as server:
        scopes = ("access_email", "access_phone", "access_balance")
        answered = fuzz(server, "without scopes", 8, scopes, "--phases", "fuzzing")
    assert answered.total() >= 50
    assert {operation for operation, status in answered if status == 403} == OPERATIONS
    assert {status for _, status in answered} <= {400, 401, 403}


def test_mistakes_are_found(fuzz, monkeypatch) -> None:
    """Planted mistakes are reported with the seed, by our own check and by the schema."""
    monkeypatch.setattr(serialize, "error", lambda message, code: {"error": {"message": message}})
    monkeypatch.setattr(serialize, "page", lambda items, _: {"data": items})
    with SandboxServer(people=6, years=1) as server, pytest.raises(pytest.fail.Exception) as caught:
        fuzz(server, "mistakes", 4, EVERY, "--phases", "fuzzing", "--no-shrink")
    for found in ("P2P_SEED=", "An error is a message and a code.", '"pagination" is a required property'):
        assert found in str(caught.value)
