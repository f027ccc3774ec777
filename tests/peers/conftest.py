"""A sandbox in the observed dialect, and clients that others wrote, each in a separate process.

`make test-all` installs them beside the environment and not into it, so they run with the packages that were installed
with them and ours are out of their sight.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.servers import sandbox_fixture

HERE = Path(__file__).parent
PYTHON_PEERS, NODE_PEERS = Path(sys.prefix) / "peers", Path(sys.prefix) / "peers-node"
SECONDS = 30


# The clients were written for the real service, so the sandbox answers in the observed dialect.
peers_server = sandbox_fixture(people=6, years=1, dialect="observed")


@pytest.fixture
def run_peer(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a runner of a Python program beside this file: run_peer("calls.py", *arguments, given=text on its input).

    Its home is the test's own, without the packages of this environment, and its clock is at UTC.
    """
    if not PYTHON_PEERS.is_dir():
        pytest.skip("The Python clients are not installed: `make test-all` installs them if PyPI can be reached")
    surroundings = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(PYTHON_PEERS), "TZ": "UTC"}

    def start(program: str, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - a program of this folder
            [sys.executable, "-S", "-P", "-X", "utf8", str(HERE / program), *arguments],
            input=given, env=surroundings, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False,
        )  # fmt: skip

    return start


@pytest.fixture
def application() -> Iterator[Callable[..., str]]:
    """Return a starter of the node application: application(**options) returns its address; all end with the test."""
    node = shutil.which("node")
    if node is None or not NODE_PEERS.is_dir():
        pytest.skip("Node or its client is not installed: `make test-all` installs the client if npm is available")
    surroundings = {"PATH": os.environ["PATH"], "NODE_PATH": str(NODE_PEERS / "node_modules")}
    running: list[subprocess.Popen[str]] = []

    def start(**options: Any) -> str:
        process = subprocess.Popen(  # noqa: S603 - a program of this folder
            [node, str(HERE / "application.js")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=surroundings, encoding="utf-8",
        )  # fmt: skip
        running.append(process)
        print(json.dumps(options), file=process.stdin, flush=True)
        return f"http://127.0.0.1:{int(process.stdout.readline())}"

    yield start
    for process in running:
        try:
            process.communicate(timeout=SECONDS)
        finally:
            process.kill()
        assert process.returncode == 0
