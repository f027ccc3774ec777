"""The browser that the tests of this folder share, and a real JupyterLab for it.

The browser serves the tests of one file, and is closed at its end and not at that of the session: while it
runs, this thread counts as one that runs an event loop, and tests that start their own could not.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
import requests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Locator, Page

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True},  # the worst case for a secret in a widget
}
# The status bar says idle before there is a kernel; this does not.
READY = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
}"""
COMMAND = """([name, args]) => Promise.race([
  window.jupyterapp.commands.execute(name, args).then(() => null),
  new Promise((_, fail) => setTimeout(() => fail(new Error(`${name} did not end`)), 30000)),
])"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Debian's Chromium; without one there is nothing to test with."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: it drives the browser")
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("There is no Chromium here: install it with apt-get install chromium.")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Lab:
    """A running JupyterLab with folders of its own."""

    root: Path
    url: str
    token: str
    context: BrowserContext

    def notebook(self, name: str, *cells: str) -> Notebook:
        """Write a notebook of code cells and open it."""
        document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        document.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(document, self.root / f"{name}.ipynb")
        page = self.context.new_page()
        page.goto(f"{self.url}/lab/tree/{name}.ipynb?token={self.token}&reset")
        page.locator(".jp-Notebook").wait_for()
        page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.sessionContext")
        page.evaluate(READY)
        return Notebook(page, self.root / f"{name}.ipynb")


@dataclass
class Notebook:
    """A notebook that is open in the browser."""

    page: Page
    path: Path

    def code(self, cell: int) -> Locator:
        """Return a code cell."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(cell)

    def output(self, cell: int) -> Locator:
        """Return all that a cell shows."""
        return self.code(cell).locator(".jp-OutputArea")

    def run(self, cell: int) -> None:
        """Run a cell and wait for its end."""
        self.code(cell).locator(".jp-InputArea-editor").click()
        self.page.keyboard.press("Control+Enter")
        self.done(cell)

    def done(self, cell: int) -> None:
        """Wait for the end of a cell's run."""
        from playwright.sync_api import expect

        expect(self.code(cell).locator(".jp-InputArea-prompt")).to_have_text(re.compile(r"^\[\d+\]:$"), timeout=60_000)

    def command(self, name: str, **arguments: Any) -> None:
        """Give JupyterLab one of its commands; an end that never comes fails, as nothing else waits for it."""
        self.page.evaluate(COMMAND, [name, arguments])

    def saved(self) -> str:
        """Save, and return what is on the disk: the notebook with its widgets' state, and its checkpoint."""
        self.command("docmanager:save")
        checkpoint = self.path.parent / ".ipynb_checkpoints" / f"{self.path.stem}-checkpoint.ipynb"
        texts = [self.path.read_text(encoding="utf-8"), checkpoint.read_text(encoding="utf-8")]
        assert all(
            "application/vnd.jupyter.widget-state+json" in json.loads(text)["metadata"]["widgets"] for text in texts
        )
        return "".join(texts)


@pytest.fixture(scope="module")
def lab(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Lab]]:
    """Return a function that starts JupyterLab, with further variables for its kernels; all end with the file."""
    with contextlib.ExitStack() as stack:
        yield lambda **variables: stack.enter_context(_lab(browser, tmp_path_factory.mktemp("lab"), variables))


@contextlib.contextmanager
def _lab(browser: Browser, home: Path, variables: dict[str, str]) -> Iterator[Lab]:
    for plugin, values in SETTINGS.items():
        package, name = plugin.rsplit(":", 1)
        folder = home / "settings" / package
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jupyterlab-settings").write_text(json.dumps(values))
    root = home / "root"
    root.mkdir()
    token = secrets.token_hex(16)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {
        "HOME": "", "IPYTHONDIR": "ipython", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "run", "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }  # fmt: skip
    # Without the variable every kernel would compile pandas anew.
    own = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "PYTHONDONTWRITE"))}
    own |= {name: str(home / place) for name, place in places.items()} | variables
    arguments = [
        "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}", "--ServerApp.terminals_enabled=False",
        "--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly",
    ]  # fmt: skip
    with (home / "log").open("wb") as log, subprocess.Popen(  # noqa: S603 - our own interpreter and words
        [sys.executable, "-m", "jupyterlab", *arguments], stdout=log, stderr=log, env=own, start_new_session=True
    ) as process:  # fmt: skip
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(f"{url}/api/status", {"token": token}, process)
            context = browser.new_context(viewport={"width": 1200, "height": 1000})
            context.set_default_timeout(30_000)
            yield Lab(root, url, token, context)
            context.close()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def _wait_for(url: str, parameters: dict[str, str], process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "JupyterLab ended before it began"
        with contextlib.suppress(requests.ConnectionError):
            if requests.get(url, params=parameters, timeout=5).ok:
                return
        time.sleep(0.1)
    raise AssertionError("JupyterLab did not answer within a minute")
