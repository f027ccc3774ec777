"""No output holds the token: logs, errors, reprs, caches, files, notebooks and process lists.

The sandbox's tokens are random. Here every process issues tokens that begin with a canary, so that one search finds any
of them. Tokens have 32 random bytes; the nonce of a redirect URI has fewer and is no secret to a notebook.
"""

import contextlib
import io
import json
import logging
import os
import pickle
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from support.canary import CANARY, find_canary_files, issue_canary_tokens
from support.privacy.masking import export_all

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WITH_TOKENS = [path for path in NOTEBOOKS if "SandboxServer" in path.read_text("utf-8")]
PATCH = f"""
import secrets
_token_urlsafe = secrets.token_urlsafe
secrets.token_urlsafe = lambda nbytes=None: ("{CANARY}" if nbytes == 32 else "") + _token_urlsafe(nbytes)
import logging
logging.basicConfig(level=logging.DEBUG)
"""
LOG_TO_OUTPUT = """
import logging, secrets, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, force=True)
secrets.token_urlsafe(32)[:6]
"""


@pytest.fixture
def read_output(caplog, capfd, recwarn) -> Callable[[], str]:
    """Return a function that returns the log at DEBUG, the output and the warnings so far."""
    caplog.set_level(logging.DEBUG)
    return lambda: "".join([caplog.text, *capfd.readouterr(), *(str(warning.message) for warning in recwarn)])


@pytest.fixture
def canary_server(monkeypatch: pytest.MonkeyPatch):
    """Run a sandbox in this process that issues canary tokens."""
    issue_canary_tokens(monkeypatch)
    with p2p.sandbox.SandboxServer(seed=7, people=5, years=1) as running:
        yield running


@pytest.fixture
def address(canary_server) -> str:
    """Return the address at which a browser ends, with a canary token."""
    page = p2p.authorize_url(canary_server.base_url, canary_server.client_id)
    address = canary_server.sign_in(page, canary_server.viewer)
    assert CANARY in address
    return address


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], subprocess.Popen[str]]:
    """Return a function that runs a command in a process that issues canary tokens and logs at DEBUG."""
    (tmp_path / "patch").mkdir()
    (tmp_path / "patch" / "sitecustomize.py").write_text(PATCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "patch"), prepend=os.pathsep)

    def start(line: str) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and words
            [sys.executable, "-um", "p2p_analytics", *line.split()], cwd=tmp_path, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    return start


def list_processes(process: subprocess.Popen[str]) -> str:
    """Return the command lines and environments of a process and its children."""
    pids, shown = [process.pid], ""
    for pid in pids:
        for name in ("cmdline", "environ", "task/*/children"):
            for path in Path(f"/proc/{pid}").glob(name):
                with contextlib.suppress(OSError):
                    text = path.read_text("utf-8", "replace")
                    pids += map(int, text.split()) if path.name == "children" else []
                    shown += text
    return shown


def test_a_load_leaves_no_token_behind(canary_server, address: str, tmp_path, read_output) -> None:
    """Cache, every kind of file, report, plots, reprs, attributes and the log at DEBUG of a whole load."""
    token = p2p.token_from_redirect(address)
    with p2p.Client(token, base_url=canary_server.base_url, cache_dir=tmp_path / "cache") as client:
        history = p2p.load_history(client)
        transport = client._transport
        pools = (transport._sessions, *transport._cached_sessions.values())
        held = [token, client, transport, transport.cache, history, *pools]
        shown = [*held, *map(vars, held[1:]), history.payments.attrs, history.me]
    as_of = canary_server.now
    export_all(history, tmp_path, as_of=as_of)
    report = p2p.render_report(history, as_of=as_of, only=["spend_by_friend"])  # the demo below writes a whole one
    (tmp_path / "report.html").write_text(report)
    (tmp_path / "year.html").write_text(p2p.render_year(history, as_of=as_of, privacy=False))
    table = p2p.spend_by_friend(history.payments)
    p2p.to_csv(table, tmp_path / "table.csv")
    (tmp_path / "frames.pickle").write_bytes(pickle.dumps((history.payments, table, table.attrs)))
    p2p.plots.spend_by_friend(table).figure.savefig(tmp_path / "plot.svg")
    (tmp_path / "shown").write_text(repr(shown) + (output := read_output()))
    assert (len(history.payments) > 50, "urllib3" in output) == (True, True)
    assert find_canary_files(tmp_path) == []
    (tmp_path / "leak").write_text(canary_server.token(canary_server.viewer))
    assert find_canary_files(tmp_path) == [str(tmp_path / "leak")], "the search would find a token"


@pytest.mark.full
def test_the_demo_leaves_no_token_behind(start, tmp_path: Path) -> None:
    """Output, log at DEBUG, files and the process list of a whole ``demo`` in its own process."""
    with start("demo --out out --people 4 --years 1") as process:
        output = listed = ""
        for line in process.stdout:
            output += line
            listed += list_processes(process)
    assert (process.returncode, "DEBUG" in output, len(listed) > 100) == (0, True, True), output
    assert CANARY not in output + listed
    assert find_canary_files(tmp_path / "out") == []


def test_only_the_state_file_holds_a_token(canary_server, address: str, tmp_path, monkeypatch, read_output) -> None:
    """Output and all files but the state file, for login, whoami and logout at DEBUG."""
    for name in ("HOME", "P2P_STATE_DIR", "P2P_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("P2P_BASE_URL", canary_server.base_url)
    monkeypatch.setattr("sys.stdin", io.StringIO(address))
    state = str(tmp_path / "p2p_state_dir" / "sign-in.json")
    for line, said, files in (
        (["login", "--token-stdin"], "Signed in as ", [state]),
        (["whoami"], "comes from the state file", [state]),
        (["logout"], "Signed out", []),
    ):
        assert cli.main(line) == 0
        (tmp_path / "output").write_text(output := read_output())
        assert (said in output, "urllib3" in output) == (True, True)
        assert find_canary_files(tmp_path) == files


def test_a_caught_redirect_leaves_no_token_in_the_output(canary_server, start, tmp_path: Path, monkeypatch) -> None:
    """The printed address, the log and the process list of a login with its listener at DEBUG."""
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("P2P_BASE_URL", canary_server.base_url)
    monkeypatch.setenv("P2P_CLIENT_ID", canary_server.client_id)
    with start("login --no-browser") as process:
        output = ""
        while "/oauth/authorize" not in output:
            output += process.stdout.readline()
        redirect = canary_server.sign_in(output.split()[-1], canary_server.viewer)
        assert CANARY in redirect
        with urllib.request.urlopen(redirect, timeout=20) as page:  # noqa: S310 - loopback
            shown = page.read().decode() + str(page.headers) + page.url
        listed = list_processes(process)
        output += process.stdout.read()
    assert (process.returncode, "DEBUG:urllib3" in output, "Signed in as " in output) == (0, True, True), output
    assert ("You are signed in" in shown, "p2p_analytics" in listed) == (True, True)
    assert CANARY not in output + shown + listed
    assert find_canary_files(tmp_path / "state") == [str(tmp_path / "state" / "sign-in.json")]


# ---- our notebooks


@pytest.fixture(scope="module")
def execute(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Any], None]]:
    """Return a function that runs notebooks, all in one kernel with canary tokens, which loads the libraries once."""
    import nbformat  # here, because importing it takes seconds
    from nbclient import NotebookClient

    (patch := tmp_path_factory.mktemp("kernel") / "sitecustomize.py").write_text(PATCH)
    places = [str(patch.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    folder = {"metadata": {"path": str(NOTEBOOKS[0].parent)}}
    client = NotebookClient(nbformat.v4.new_notebook(), timeout=120, resources=folder)

    def run(notebook: Any) -> None:
        client.nb = notebook
        client.execute(cleanup_kc=False, env=variables)

    yield run
    client.nb = nbformat.v4.new_notebook()
    client.execute()  # which ends the kernel


@pytest.mark.full
@pytest.mark.parametrize("path", WITH_TOKENS, ids=lambda path: path.stem)
def test_an_executed_notebook_holds_no_token(execute: Callable[[Any], None], path: Path) -> None:
    """The notebook runs with canary tokens and a log at DEBUG; nbclient stores the widget state by default."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(LOG_TO_OUTPUT))
    execute(notebook)
    assert notebook.cells[0].outputs.pop(0).data["text/plain"] == repr(CANARY[:6])
    text = nbformat.writes(notebook)
    assert ("DEBUG:urllib3" in text, CANARY in text) == (True, False)


def test_other_notebooks_need_no_token() -> None:
    """Their code has no sign-in and calls no service, so no run of them can hold a token."""
    others = set(NOTEBOOKS) - set(WITH_TOKENS)
    for path in others:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "".join(line for cell in cells if cell["cell_type"] == "code" for line in [*cell["source"], "\n"])
        assert re.search("(?i)token|sign.?in|login|client|load_history|sandbox[^-]|http", code) is None, path
    assert len(others) == 2
