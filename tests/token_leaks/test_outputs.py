"""No output holds the token: logs, errors, reprs, caches, files, notebooks and process lists.

The sandbox's tokens are random. Here every process issues tokens that begin with a canary, so that one search finds any
of them. Tokens have 32 random bytes; the nonce of a redirect URI has fewer and is no secret to a notebook.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import pickle
import re
import subprocess
import sys
import time
import traceback
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbclient import NotebookClient

import p2p_analytics as p2p
from p2p_analytics.analyses.build import build_table
from p2p_analytics.catalogue import ANALYSES
from support.canary import CANARY, find_canary_files, issue_canary_tokens
from support.privacy.exports import export_all
from support.scripted import reset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
def canary_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make every Python subprocess issue canary tokens and log at DEBUG."""
    (tmp_path / "patch").mkdir()
    (tmp_path / "patch" / "sitecustomize.py").write_text(PATCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "patch"), prepend=os.pathsep)
    return tmp_path


@pytest.fixture
def canary_server(monkeypatch: pytest.MonkeyPatch):
    """Run a sandbox in this process that issues canary tokens."""
    issue_canary_tokens(monkeypatch)
    with p2p.sandbox.SandboxServer(seed=7, people=5, years=1) as running:
        yield running


def process_lists() -> str:
    """Return the command lines and environments of all processes, without those of tests that run at the same time."""
    parents = find_parents()
    shown = []
    for pid in parents:
        if is_of_another_worker(pid, parents):
            continue
        for name in ("cmdline", "environ"):
            try:
                shown.append(Path(f"/proc/{pid}/{name}").read_bytes().decode("utf-8", "replace"))
            except OSError:
                continue
    return "\n".join(shown)


def find_parents() -> dict[int, int]:
    """Return the parent of each process."""
    parents = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            after_name = (process / "stat").read_text("utf-8", "replace").rpartition(")")[2]
            parents[int(process.name)] = int(after_name.split()[1])
    return parents


def is_of_another_worker(pid: int, parents: dict[int, int]) -> bool:
    """Return whether a process descends from another worker of pytest-xdist: another child of this one's parent."""
    while "PYTEST_XDIST_WORKER" in os.environ and pid in parents:
        if parents[pid] == os.getppid():
            return pid != os.getpid()
        pid = parents[pid]
    return False


def test_the_search_would_find_a_token(canary_server, tmp_path: Path) -> None:
    """The tokens begin with the canary, and the search finds it in a file."""
    token = canary_server.token(canary_server.viewer)
    assert token.startswith(CANARY)
    (tmp_path / "leak").write_text(token)
    assert find_canary_files(tmp_path)


def test_a_load_leaves_no_token_behind(canary_server, tmp_path, caplog, capfd, recwarn) -> None:
    """Cache, every kind of file, report, plots, reprs, attributes and the log at DEBUG of a whole load."""
    caplog.set_level(logging.DEBUG)
    address = canary_server.sign_in(
        p2p.authorize_url(canary_server.base_url, canary_server.client_id), canary_server.viewer
    )
    assert CANARY in address
    token = p2p.token_from_redirect(address)
    with p2p.Client(token, base_url=canary_server.base_url, cache_dir=tmp_path / "cache") as client:
        history = p2p.load_history(client)
        shown = [token, client, vars(client), client._transport, vars(client._transport), history, vars(history)]
        pools = (client._transport._sessions, *client._transport._cached_sessions.values())
        shown += [vars(pool) for pool in pools]
        shown += [client._transport.cache, vars(client._transport.cache), history.payments.attrs, history.me]
    export_all(history, tmp_path, as_of=canary_server.now)
    (tmp_path / "report.html").write_text(p2p.render_report(history, as_of=canary_server.now))
    (tmp_path / "year.html").write_text(p2p.render_year(history, as_of=canary_server.now, privacy=False))
    for name in ANALYSES:
        table = build_table(name, history.payments, history, as_of=canary_server.now)
        p2p.to_csv(table, tmp_path / f"{name}.csv")
        (tmp_path / f"{name}.pickle").write_bytes(pickle.dumps((table, table.attrs)))
    (tmp_path / "frame.pickle").write_bytes(pickle.dumps(history.payments))
    friends = p2p.spend_by_friend(history.payments, history.friends)
    axes = p2p.plots.spend_by_friend(friends)
    axes.figure.savefig(tmp_path / "plot.svg")
    assert len(history.payments) > 50
    assert find_canary_files(tmp_path) == []
    assert CANARY not in repr(shown)
    assert "urllib3" in caplog.text
    assert CANARY not in caplog.text
    assert CANARY not in "".join(capfd.readouterr())
    assert CANARY not in "".join(str(warning.message) for warning in recwarn)


@pytest.mark.parametrize("trouble", ["expired", "scope", "unknown id", "refused", "bad filter"])
def test_no_error_quotes_the_token(canary_server, trouble: str, caplog) -> None:
    """Message, arguments, cause, context and traceback with local variables, for each kind of failure."""
    caplog.set_level(logging.DEBUG)
    token = p2p.AccessToken(
        canary_server.token(canary_server.viewer, "access_profile", seconds=0 if trouble == "expired" else 60)
    )
    base_url = "http://127.0.0.1:1/v1" if trouble == "refused" else canary_server.base_url
    client = p2p.Client(token, base_url=base_url, cache_dir=False)
    client._transport._sleep = lambda _seconds: None
    asks = {
        "scope": client.friends,
        "unknown id": lambda: client.payment("1"),
        "bad filter": lambda: client.payments(status="lost"),
    }
    with pytest.raises(p2p.P2PAnalyticsError) as caught:
        asks.get(trouble, client.me)()
    error = caught.value
    printed = traceback.TracebackException.from_exception(error, capture_locals=True)
    texts = ["".join(printed.format()), repr(error), str(error.args), repr(vars(error)), repr(error.__context__)]
    assert CANARY not in "".join(texts)
    assert CANARY not in caplog.text


TROUBLES = {
    "no answer in time": lambda _path, _asked: lambda connection: connection.recv(1),
    "reset": lambda _path, _asked: reset,
    "cut short": lambda _path, _asked: (200, {"Content-Length": "999"}, b"{"),
    "redirect": lambda path, asked: (302, {"Location": f"{path}?access_token={asked['access_token']}"}, b""),
    "server error": lambda _path, asked: (500, {}, {"error": {"message": asked["access_token"], "code": 1}}),
    "rate limit": lambda _path, _asked: (429, {"Retry-After": "0"}, {"error": {"message": "slow down", "code": 277}}),
    "no JSON": lambda path, asked: (200, {}, f"<p>{path}?access_token={asked['access_token']}".encode()),
    "a record that is none": lambda _path, asked: (
        200,
        {},
        {"data": f"?access_token={asked['access_token']}"},
    ),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_no_broken_answer_quotes_the_token(start_service, trouble: str, caplog, capfd) -> None:
    """Error, log at DEBUG, output and pickle of each failure on the wire, with its retries."""
    caplog.set_level(logging.DEBUG)
    service = start_service(TROUBLES[trouble])
    client = p2p.Client(f"{CANARY}-1", base_url=service.base_url, cache_dir=False, timeout=(0.2, 0.2))
    client._transport._sleep = lambda _seconds: None
    with pytest.raises(p2p.P2PAnalyticsError) as caught:
        client.me()
    assert CANARY in service.asked[0][1]["access_token"]
    printed = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    texts = ["".join(printed.format()), repr(vars(caught.value)), repr(caught.value.__context__), caplog.text]
    texts += [*capfd.readouterr(), repr(pickle.dumps([str(caught.value), caught.value.args]))]
    assert "urllib3" in caplog.text
    assert CANARY not in "".join(texts)


@pytest.mark.full
def test_the_demo_leaves_no_token_behind(canary_processes: Path) -> None:
    """Output, log at DEBUG, files and the process list of a whole ``demo`` in its own process."""
    out = canary_processes / "out"
    command = [sys.executable, "-m", "p2p_analytics", "demo", "--out", str(out), "--people", "4", "--years", "1"]
    seen = []
    with subprocess.Popen(  # noqa: S603 - our own interpreter and words
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=canary_processes
    ) as process:
        output = io.BytesIO()
        while process.poll() is None:
            seen.append(CANARY in process_lists())
            output.write(os.read(process.stdout.fileno(), 2**20))
            time.sleep(0.02)
        output.write(process.stdout.read())
    assert process.returncode == 0, output.getvalue().decode()
    assert b"DEBUG" in output.getvalue()
    assert CANARY.encode() not in output.getvalue()
    assert len(seen) > 3
    assert not any(seen)
    assert find_canary_files(out) == []


def output_while_watching(command: list[str], folder: Path, typed: bytes) -> bytes:
    """Run a command with secrets on its standard input, sample the process list meanwhile, and return the output."""
    seen = []
    environment = {name: text for name, text in os.environ.items() if CANARY not in text}
    with subprocess.Popen(  # noqa: S603 - our own interpreter and words
        [sys.executable, "-m", "p2p_analytics", *command],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, env=environment,
    ) as process:  # fmt: skip
        process.stdin.write(typed)
        process.stdin.close()
        while process.poll() is None:
            seen.append(CANARY in process_lists())
            time.sleep(0.02)
        output = process.stdout.read()
    assert len(seen) > 3
    assert not any(seen)
    assert CANARY.encode() not in output
    return output


def test_signing_in_leaves_the_token_in_the_state_file_alone(
    canary_server, canary_processes: Path, monkeypatch
) -> None:
    """Output, process list and all files but the state file, for login, whoami and logout at DEBUG."""
    home = canary_processes / "home"
    for name in ("HOME", "P2P_STATE_DIR", "P2P_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home / name.lower()))
    monkeypatch.setenv("P2P_BASE_URL", canary_server.base_url)
    address = canary_server.sign_in(
        p2p.authorize_url(canary_server.base_url, canary_server.client_id), canary_server.viewer
    )
    output = output_while_watching(["login", "--token-stdin"], canary_processes, address.encode())
    assert b"DEBUG:urllib3" in output
    assert b"Signed in as " in output
    assert find_canary_files(home) == [str(home / "p2p_state_dir" / "sign-in.json")]
    assert b"comes from the state file" in output_while_watching(["whoami"], canary_processes, b"")
    assert b"Signed out" in output_while_watching(["logout"], canary_processes, b"")
    assert find_canary_files(home) == []


def test_a_caught_redirect_leaves_no_token_in_the_output(canary_server, canary_processes: Path, monkeypatch) -> None:
    """The printed address, the log and the process list of a login with its listener at DEBUG."""
    monkeypatch.setenv("P2P_STATE_DIR", str(canary_processes / "state"))
    monkeypatch.setenv("P2P_BASE_URL", canary_server.base_url)
    monkeypatch.setenv("P2P_CLIENT_ID", canary_server.client_id)
    command = [sys.executable, "-um", "p2p_analytics", "login", "--no-browser"]
    with subprocess.Popen(  # noqa: S603 - our own interpreter and words
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        output = ""
        while "/oauth/authorize" not in output:
            output += process.stdout.readline()
        redirect = canary_server.sign_in(output.split()[-1], canary_server.viewer)
        assert CANARY in redirect
        with urllib.request.urlopen(redirect, timeout=20) as page:  # noqa: S310 - loopback
            shown = page.read().decode() + str(page.headers) + page.url
        listed = process_lists()
        output += process.stdout.read()
    assert process.returncode == 0, output
    assert "Signed in as " in output
    assert "You are signed in" in shown
    assert CANARY not in output + shown + listed
    assert find_canary_files(canary_processes / "state") == [str(canary_processes / "state" / "sign-in.json")]


def test_the_server_flow_leaves_no_secret_behind(canary_server, tmp_path, monkeypatch, caplog, capfd) -> None:
    """Code, client secret and both token pairs, through exchange, refresh and their failures, at DEBUG."""
    from p2p_analytics import auth
    from p2p_analytics.client import oauth

    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "state"))
    application = canary_server.register_application(
        canary_server.viewer, name="Ledger", redirect_url="http://127.0.0.1/callback"
    )
    secret = auth.Secret(application.client_secret)
    address = p2p.authorize_url(canary_server.base_url, application.client_id, response_type="code")
    code = auth.code_from_redirect(canary_server.sign_in(address, canary_server.viewer))
    assert code.reveal().startswith(CANARY)
    settings = {"base_url": canary_server.base_url, "client_id": application.client_id, "secret": secret}
    first = oauth.exchange(code, **settings)
    second = oauth.refresh(first, secret=secret)
    assert second.token.reveal().startswith(CANARY)
    auth.FileStore().save(second)
    said = [repr([code, secret, first, second, auth.find_token(base_url=canary_server.base_url)])]
    for again in (lambda: oauth.exchange(code, **settings), lambda: oauth.refresh(first, secret=secret)):
        with pytest.raises(p2p.P2PAnalyticsError) as caught:
            again()
        printed = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        said += ["".join(printed.format()), repr(caught.value.__context__), repr(vars(caught.value))]
    assert "urllib3" in caplog.text
    assert CANARY not in "".join([*said, caplog.text, *capfd.readouterr()])
    assert len(find_canary_files(tmp_path)) == 1


@pytest.fixture(scope="module")
def execute(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[nbformat.NotebookNode], None]]:
    """Return a function that runs notebooks, all in one kernel with canary tokens, which loads the libraries once."""
    (patch := tmp_path_factory.mktemp("kernel") / "sitecustomize.py").write_text(PATCH)
    places = [str(patch.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(places)}
    folder = {"metadata": {"path": str(NOTEBOOKS[0].parent)}}
    client = NotebookClient(nbformat.v4.new_notebook(), timeout=120, resources=folder)

    def run(notebook: nbformat.NotebookNode) -> None:
        client.nb = notebook
        client.execute(cleanup_kc=False, env=variables)

    yield run
    client.nb = nbformat.v4.new_notebook()
    client.execute()  # which ends the kernel


@pytest.mark.full
@pytest.mark.parametrize("path", WITH_TOKENS, ids=lambda path: path.stem)
def test_an_executed_notebook_holds_no_token(execute: Callable[[nbformat.NotebookNode], None], path: Path) -> None:
    """The notebook runs with canary tokens and a log at DEBUG; nbclient stores the widget state by default."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(LOG_TO_OUTPUT))
    execute(notebook)
    assert notebook.cells[0].outputs.pop(0).data["text/plain"] == repr(CANARY[:6])
    text = nbformat.writes(notebook)
    assert "DEBUG:urllib3" in text
    assert CANARY not in text


def test_other_notebooks_need_no_token() -> None:
    """Their code has no sign-in and calls no service, so no run of them can hold a token."""
    others = set(NOTEBOOKS) - set(WITH_TOKENS)
    for path in others:
        code = "".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
        assert re.search("(?i)token|sign.?in|login|client|load_history|sandbox[^-]|http", code) is None, path
    assert len(others) == 2
