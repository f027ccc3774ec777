"""Browser shared by the tests of this folder, and a real JupyterLab for it.

The browser is closed at the end of each test file and not of the session: while it
runs, this thread counts as running an event loop, and other tests could not start their own.
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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
import requests

from support.browser_tabs import DESK, PHONE, open_tab
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, BrowserContext, Locator, Page

PATIENCE = 60_000  # milliseconds: starting a kernel and drawing are slow beside three other test processes
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SETTINGS = {
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    "@jupyter-widgets/jupyterlab-manager:plugin": {"saveState": True},  # the worst case for a secret in a widget
}
# The status bar reports idle even before the kernel exists, so this waits for the kernel itself.
READY = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.context.ready;
  await panel.sessionContext.ready;
  await panel.sessionContext.session.kernel.info;
}"""
CLOSE = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.sessionContext.shutdown();
  panel.dispose();
}"""
COMMAND = """([name, args, patience]) => Promise.race([
  window.jupyterapp.commands.execute(name, args).then(() => null),
  new Promise((_, fail) => setTimeout(() => fail(new Error(`${name} did not end`)), patience)),
])"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Debian's Chromium, or skip the tests if it is not installed."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright, which drives the browser, is not installed"
    )
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@dataclass
class Lab:
    """Running JupyterLab with its own folders.

    Loading JupyterLab is slow, so a notebook is opened in the page where the last one was closed.
    """

    root: Path
    url: str
    token: str
    context: BrowserContext
    free_page: Page | None = None

    def open_notebook(self, name: str, *cells: str) -> Notebook:
        """Write a notebook of code cells and open it; a test that fails leaves no page to the next one."""
        document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        document.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(document, self.root / f"{name}.ipynb")
        page, self.free_page = self.free_page, None
        if page is None:
            page = self.context.new_page()
            page.goto(f"{self.url}/lab/tree/{name}.ipynb?token={self.token}&reset")
        else:
            page.evaluate(COMMAND, ["docmanager:open", {"path": f"{name}.ipynb"}, PATIENCE])
        page.locator(".jp-Notebook").wait_for()
        page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget?.sessionContext")
        page.evaluate(READY)
        notebook = Notebook(self, page, self.root / f"{name}.ipynb")
        notebook.wait_for_splash()
        return notebook


@dataclass
class Notebook:
    """Notebook that is open in the browser."""

    lab: Lab
    page: Page
    path: Path

    def close(self) -> None:
        """End the kernel and close the notebook, but not its page."""
        self.page.evaluate(CLOSE)
        self.page.locator(".jp-Notebook").wait_for(state="detached")
        self.lab.free_page = self.page

    def code(self, cell: int) -> Locator:
        """Return a code cell."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(cell)

    def output(self, cell: int) -> Locator:
        """Return the output area of a cell."""
        return self.code(cell).locator(".jp-OutputArea")

    def prompt(self, cell: int) -> Locator:
        """Return the prompt of a cell: the number of its last run, or a star while it runs."""
        return self.code(cell).locator(".jp-InputArea-prompt")

    def start(self, cell: int) -> None:
        """Start a cell, and wait until its prompt changes, because the number of an earlier run looks like the end."""
        from playwright.sync_api import expect

        before = self.prompt(cell).inner_text()
        self.code(cell).locator(".jp-InputArea-editor").click()
        self.page.keyboard.press("Control+Enter")
        expect(self.prompt(cell)).not_to_have_text(before)

    def run(self, cell: int) -> None:
        """Run a cell and wait for its end."""
        self.start(cell)
        self.wait_for_cell(cell)

    def wait_for_cell(self, cell: int) -> None:
        """Wait until a cell has finished."""
        from playwright.sync_api import expect

        expect(self.prompt(cell)).to_have_text(re.compile(r"^\[\d+\]:$"))

    def run_command(self, name: str, **arguments: Any) -> None:
        """Run a JupyterLab command; fail if it does not finish, because Playwright would wait for ever."""
        self.page.evaluate(COMMAND, [name, arguments, PATIENCE])

    def change_theme(self, name: str) -> None:
        """Change JupyterLab's theme.

        The command ends before the style sheet is loaded. JupyterLab then hides its page for a moment, which
        closes an open list, so the next keys would have another target.
        """
        from playwright.sync_api import expect

        self.run_command("apputils:change-theme", theme=name)
        expect(self.page.locator("body")).to_have_attribute("data-jp-theme-name", name)
        self.wait_for_splash()

    def wait_for_splash(self) -> None:
        """Wait until JupyterLab has removed the splash screen that covers the page while a theme loads."""
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")

    def save(self) -> str:
        """Save, and return the files on disk: the notebook with its widgets' state, and its checkpoint."""
        self.run_command("docmanager:save")
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

        def start(**variables: str) -> Lab:
            home = tmp_path_factory.mktemp("lab")
            root, token = home / "root", secrets.token_hex(16)
            root.mkdir()
            arguments = [
                "jupyterlab", "--allow-root", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}",
                "--ServerApp.terminals_enabled=False", "--LabApp.expose_app_in_browser=True",
                "--LabApp.extension_manager=readonly",
            ]  # fmt: skip
            url = stack.enter_context(run_server(home, arguments, f"/api/status?token={token}", variables))
            context = browser.new_context(viewport={"width": 1200, "height": 1000})
            context.set_default_timeout(PATIENCE)
            stack.callback(context.close)
            return Lab(root, url, token, context)

        yield start


@contextlib.contextmanager
def run_server(home: Path, arguments: list[str], ready: str, variables: dict[str, str]) -> Iterator[str]:
    """Run a Jupyter server with its own folders, and yield its URL once it responds."""
    for plugin, values in SETTINGS.items():
        package, name = plugin.rsplit(":", 1)
        folder = home / "settings" / package
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.jupyterlab-settings").write_text(json.dumps(values))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {
        "HOME": "", "IPYTHONDIR": "ipython", "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "run", "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }  # fmt: skip
    # Without bytecode every kernel would compile pandas again.
    own = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "PYTHONDONTWRITE"))}
    own |= {name: str(home / place) for name, place in places.items()} | variables
    command = [sys.executable, "-m", *arguments, "--no-browser", "--ip=127.0.0.1", f"--port={port}"]
    command += ["--ServerApp.port_retries=0", "--LanguageServerManager.autodetect=False"]  # which starts Node ten times
    if setpriv := shutil.which("setpriv"):
        # An interrupted run may kill this process before its fixtures end; the server must not outlive it.
        command = [setpriv, "--pdeathsig", "TERM", *command]
    with (
        (home / "log").open("wb") as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=own, start_new_session=True) as process,  # noqa: S603 - ours
    ):
        try:
            wait_for_server(f"http://127.0.0.1:{port}{ready}", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def wait_for_server(url: str, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server sends any response."""

    def is_up() -> bool:
        assert process.poll() is None, "the server ended before its first answer"
        with contextlib.suppress(requests.ConnectionError):
            requests.get(url, timeout=5)
            return True
        return False

    wait_until(is_up, 60)


@pytest.fixture(scope="module")
def voila(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], Page]]:
    """Return a function that opens a notebook as a page without its code."""
    pytest.importorskip("voila", reason="Voilà, which shows a notebook as a page, is not installed")
    with contextlib.ExitStack() as stack:

        def show(notebook: Path) -> Page:
            home = tmp_path_factory.mktemp("voila")
            url = stack.enter_context(run_server(home, ["voila", str(notebook)], "/nothing", {}))
            context = browser.new_context(viewport={"width": 1000, "height": 1200})
            context.set_default_timeout(PATIENCE)
            stack.callback(context.close)
            page = context.new_page()
            page.goto(url)
            return page

        yield show


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Open a tab of desktop size."""
    with open_tab(browser, viewport=DESK) as page:
        yield page


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    """Open a tab of phone size."""
    with open_tab(browser, viewport=PHONE) as page:
        yield page
