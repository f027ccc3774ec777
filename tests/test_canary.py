"""The token is searched for in every byte we produce: logs, errors, reprs, caches, files, notebooks, process lists.

The sandbox's tokens are random; here every process makes them begin with a canary, so that one
search finds any of them, wherever it came from.
"""

from __future__ import annotations

import io
import logging
import os
import pickle
import subprocess
import sys
import time
import traceback
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import p2p_analytics as p2p

CANARY = "CANARYc0ffee"
ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PATCH = f"""
import secrets
_token_urlsafe = secrets.token_urlsafe
secrets.token_urlsafe = lambda nbytes=None: "{CANARY}" + _token_urlsafe(nbytes)
import logging
logging.basicConfig(level=logging.DEBUG)
"""
SPEAK_UP = """
import logging, secrets, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout, force=True)
secrets.token_urlsafe(4)[:6]
"""


@pytest.fixture
def patched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make every Python process started from here issue canary tokens and log at DEBUG."""
    (tmp_path / "patch").mkdir()
    (tmp_path / "patch" / "sitecustomize.py").write_text(PATCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "patch"))
    return tmp_path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    """Start a sandbox of this process that issues canary tokens."""
    import secrets

    plain = secrets.token_urlsafe
    monkeypatch.setattr(secrets, "token_urlsafe", lambda nbytes=None: CANARY + plain(nbytes))
    with p2p.sandbox.SandboxServer(seed=7, people=5, years=1) as running:
        yield running


def found_below(folder: Path) -> list[str]:
    """Return the files that hold the canary, in their bytes or their names."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [str(path) for path in files if CANARY.encode() in path.read_bytes() or CANARY in str(path)]


def process_lists() -> str:
    """Return the command lines and environments of all processes, as ``ps`` would show them."""
    shown = []
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                shown.append((process / name).read_bytes().decode("utf-8", "replace"))
            except OSError:
                continue
    return "\n".join(shown)


def test_the_search_would_find_a_token(server, tmp_path: Path) -> None:
    """A canary that never sings proves nothing: the tokens carry it, and the search sees it in a file."""
    token = server.token(server.viewer)
    assert token.startswith(CANARY)
    (tmp_path / "leak").write_text(token)
    assert found_below(tmp_path)


def test_a_load_leaves_no_token_behind(server, tmp_path, caplog, capfd, recwarn) -> None:
    """Cache, CSV, Parquet, report, plots, reprs, attributes and the log at DEBUG of a whole load."""
    caplog.set_level(logging.DEBUG)
    address = server.sign_in(p2p.authorize_url(server.base_url, server.client_id), server.viewer)
    assert CANARY in address
    token = p2p.token_from_redirect(address)
    with p2p.Client(token, base_url=server.base_url, cache_dir=tmp_path / "cache") as client:
        history = p2p.load_history(client)
        shown = [token, client, vars(client), client._transport, vars(client._transport), history, vars(history)]
        shown += [vars(sessions) for sessions in (client._transport._plain, *client._transport._kept.values())]
        shown += [client._transport.cache, vars(client._transport.cache), history.payments.attrs, history.me]
    p2p.to_csv(history.payments, tmp_path / "payments.csv")
    p2p.to_parquet(history.payments, tmp_path / "payments.parquet")
    (tmp_path / "report.html").write_text(p2p.render_report(history, as_of=server.now))
    (tmp_path / "frame.pickle").write_bytes(pickle.dumps(history.payments))
    friends = p2p.spend_by_friend(history.payments, history.friends)
    axes = p2p.plots.spend_by_friend(friends)
    axes.figure.savefig(tmp_path / "plot.svg")
    assert len(history.payments) > 50
    assert found_below(tmp_path) == []
    assert CANARY not in repr(shown)
    assert "urllib3" in caplog.text
    assert CANARY not in caplog.text
    assert CANARY not in "".join(capfd.readouterr())
    assert CANARY not in "".join(str(warning.message) for warning in recwarn)


@pytest.mark.parametrize("trouble", ["expired", "scope", "unknown id", "refused", "bad filter"])
def test_no_error_tells_the_token(server, trouble: str, caplog) -> None:
    """Message, arguments, cause, context and the traceback with its local variables of each kind of failure."""
    caplog.set_level(logging.DEBUG)
    token = p2p.AccessToken(server.token(server.viewer, "access_profile", seconds=0 if trouble == "expired" else 60))
    base_url = "http://127.0.0.1:1/v1" if trouble == "refused" else server.base_url
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
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    texts = ["".join(told.format()), repr(error), str(error.args), repr(vars(error)), repr(error.__context__)]
    assert CANARY not in "".join(texts)
    assert CANARY not in caplog.text


def test_the_demo_leaves_no_token_behind(patched: Path) -> None:
    """A whole ``demo`` as its own process: output, log at DEBUG, files, and the process list while it runs."""
    out = patched / "out"
    command = [sys.executable, "-m", "p2p_analytics", "demo", "--out", str(out), "--people", "4", "--years", "1"]
    seen = []
    with subprocess.Popen(  # noqa: S603 - our own interpreter and words
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=patched
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
    assert found_below(out) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_run_anew_holds_no_token(patched: Path, path: Path) -> None:
    """Executed with canary tokens and a log at DEBUG, widget state stored as nbclient does by default."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(SPEAK_UP))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(path.parent)}}).execute()
    assert notebook.cells[0].outputs.pop(0).data["text/plain"] == repr(CANARY[:6])
    text = nbformat.writes(notebook)
    assert "DEBUG:urllib3" in text
    assert CANARY not in text
