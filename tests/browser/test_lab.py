"""Sign-in form and explorer in a real JupyterLab, used with mouse and keyboard.

JupyterLab saves the state of all widgets here: the setting "Save Widget State Automatically" is on.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
import requests

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.town import build
from support.browser_tabs import PATIENCE, resize_page
from support.canary import CANARY, TOKEN_BYTES, issue_canary_tokens
from support.waiting import wait_until

expect = pytest.importorskip(
    "playwright.sync_api", reason="Playwright, which drives the browser, is not installed"
).expect

FORM = "import p2p_analytics as p2p\nform = p2p.TokenForm()\nform"
LOAD = """client = p2p.Client(form.token, cache_dir=False)
history = p2p.load_history(client)
print(len(history.payments), "payments of", history.me.user.display_name)"""
LOAD_LONG = f"""import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import time
import p2p_analytics as p2p
from support.widgets.histories import build_long_history
explorer = p2p.Explorer(build_long_history(20_000))
explorer"""
MEASURE = """started = time.process_time()
explorer.analysis.value = "payments"
print("first rows within a second:", time.process_time() - started < 1)"""
FIRST_NOTE = "tbody tr >> nth=0 >> td >> nth=-1"
EXPLORE = 'p2p.Explorer(history, as_of="2025-06-30", tz="America/New_York")'
BOXES = "all => all.map(one => one.getBoundingClientRect()).filter(box => box.width)"
CUT = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)"
EXPIRE = "from datetime import timedelta\nform.token.expires_at -= timedelta(minutes=30)"
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


@dataclass
class Lab:
    """Running JupyterLab with its own folders.

    Loading JupyterLab is slow, so a notebook is opened in the page where the last one was closed.
    """

    root: Path
    url: str
    token: str
    context: Any
    free_page: Any = None

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
    page: Any
    path: Path

    def close(self) -> None:
        """End the kernel and close the notebook, but not its page."""
        self.page.evaluate(CLOSE)
        self.page.locator(".jp-Notebook").wait_for(state="detached")
        self.lab.free_page = self.page

    def code(self, cell: int) -> Any:
        """Return a code cell."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(cell)

    def output(self, cell: int) -> Any:
        """Return the output area of a cell."""
        return self.code(cell).locator(".jp-OutputArea")

    def prompt(self, cell: int) -> Any:
        """Return the prompt of a cell: the number of its last run, or a star while it runs."""
        return self.code(cell).locator(".jp-InputArea-prompt")

    def start(self, cell: int) -> None:
        """Start a cell, and wait until its prompt changes, because the number of an earlier run looks like the end."""
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
        expect(self.prompt(cell)).to_have_text(re.compile(r"^\[\d+\]:$"))

    def run_command(self, name: str, **arguments: Any) -> None:
        """Run a JupyterLab command; fail if it does not finish, because Playwright would wait for ever."""
        self.page.evaluate(COMMAND, [name, arguments, PATIENCE])

    def change_theme(self, name: str) -> None:
        """Change JupyterLab's theme.

        The command ends before the style sheet is loaded. JupyterLab then hides its page for a moment, which
        closes an open list, so the next keys would have another target.
        """
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
def lab_server() -> Iterator[SandboxServer]:
    """Run a sandbox that issues canary tokens; the nonce of a redirect URI is shorter and no secret to a file."""
    with pytest.MonkeyPatch.context() as patch, SandboxServer(seed=7) as running:
        issue_canary_tokens(patch, sizes={TOKEN_BYTES})
        yield running


@pytest.fixture(scope="module")
def jupyter(browser, lab_server: SandboxServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Run a JupyterLab with its own folders and with the sandbox's URL in its environment."""
    home = tmp_path_factory.mktemp("lab")
    root, token = home / "root", secrets.token_hex(16)
    root.mkdir()
    arguments = [
        "jupyterlab", "--allow-root", f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}",
        "--ServerApp.terminals_enabled=False", "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
    ]  # fmt: skip
    variables = {"P2P_BASE_URL": lab_server.base_url, "P2P_CLIENT_ID": lab_server.client_id}
    with run_server(home, arguments, f"/api/status?token={token}", variables) as url:
        context = browser.new_context(viewport={"width": 1200, "height": 1000})
        context.set_default_timeout(PATIENCE)
        yield Lab(root, url, token, context)
        context.close()


@pytest.fixture
def dashboard(browser, tmp_path: Path) -> Iterator[Any]:
    """Open the dashboard's notebook as a page without its code."""
    pytest.importorskip("voila", reason="Voilà, which shows a notebook as a page, is not installed")
    notebook = Path(__file__).parents[2] / "notebooks" / "dashboard.ipynb"
    with run_server(tmp_path, ["voila", str(notebook)], "/nothing", {}) as url:
        context = browser.new_context(viewport={"width": 1000, "height": 1200})
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(url)
        yield page
        context.close()


@pytest.fixture
def shoot() -> Callable[..., None]:
    """Return a function that takes a screenshot, if the environment variable P2P_SHOTS names a folder for them."""
    folder = os.environ.get("P2P_SHOTS")

    def take(page, name: str, **options: Any) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png", **options)  # which makes the folder

    return take


@cache
def count_payments() -> int:
    """Return the number of payments of Maya that the service lists."""
    town = build.build(7)
    maya = town.people[0].user_id
    return sum(maya in (one.actor_id, one.target_user_id) and one.refund_of is None for one in town.payments)


def complete_sign_in(notebook: Any, username: str | None, button: str = "Allow") -> None:
    """Follow the form's link into a new tab, answer there by keyboard, and return."""
    with notebook.page.context.expect_page() as opened:
        notebook.output(0).locator("a.sign-in").press("Enter")
    tab = opened.value
    if username is not None:
        tab.get_by_label("Username").fill(username)
        tab.get_by_role("button", name="Sign in").click()
    tab.get_by_role("button", name=button).click()
    tab.get_by_role("heading", name="You are").wait_for()
    assert "access_token" not in tab.url
    tab.close()


def test_from_the_link_to_a_saved_plot(jupyter: Any, lab_server: SandboxServer, shoot: Callable[..., None]) -> None:
    """Sign in, load, explore and save; after expiry, sign in and rerun the same cell; no saved state holds a token."""
    notebook = jupyter.open_notebook("journey", FORM, LOAD, EXPLORE, EXPIRE)
    notebook.run(0)
    form = notebook.output(0)
    form.get_by_label("Address or token").wait_for()
    assert "PasswordModel" in notebook.save()
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text(
        "NotSignedIn: Not signed in yet: sign in with the form, then run this cell again."
    )
    shoot(notebook.page, "form")
    complete_sign_in(notebook, lab_server.viewer)
    expect(form.get_by_role("status")).to_contain_text("Signed in as Maya Lindqvist")
    expect(form).to_contain_text("Valid for 29 minutes")
    assert CANARY not in notebook.save()
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text(f"{count_payments()} payments of Maya Lindqvist")
    notebook.run(2)
    explorer = notebook.output(2)
    explorer.get_by_role("table").wait_for()
    shoot(notebook.page, "explorer")
    notebook.change_theme("JupyterLab Dark")
    explorer.get_by_label("Show").press("Space")  # JupyterLab handles the arrow keys of a closed list itself
    for _ in range(3):
        notebook.page.keyboard.press("ArrowDown")
    notebook.page.keyboard.press("Enter")
    expect(explorer.get_by_label("Show")).to_have_value("Month by month")
    expect(explorer.get_by_role("table")).to_contain_text("Month by month")
    explorer.get_by_label("Person").press("N")
    expect(explorer.get_by_role("table")).to_contain_text("48 rows")
    explorer.get_by_label("From").press_sequentially("01012025")
    expect(explorer.get_by_role("table")).to_contain_text("6 rows")
    explorer.get_by_role("button", name="Save as CSV").click()
    expect(explorer.get_by_role("status")).to_contain_text(".csv")
    explorer.get_by_role("button", name="Save this plot").press("Enter")
    expect(explorer.get_by_role("status")).to_contain_text(".png")
    shoot(notebook.page, "explorer-dark")
    assert sorted(path.suffix for path in notebook.path.parent.glob("monthly_flow-*")) == [".csv", ".png"]

    notebook.run(3)
    expect(form.get_by_role("alert")).to_contain_text("The token expired at")
    assert CANARY not in notebook.save()
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("UTC: sign in with the form, then run this cell again.")
    form.scroll_into_view_if_needed()
    shoot(notebook.page, "expired-dark")
    complete_sign_in(notebook, None)
    expect(form.get_by_role("status")).to_contain_text("Signed in as Maya Lindqvist")
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text(f"{count_payments()} payments")
    shoot(notebook.page, "signed-in-dark")
    assert CANARY not in notebook.save()
    notebook.close()


def test_by_pasting_and_by_declining(jupyter: Any, lab_server: SandboxServer, shoot: Callable[..., None]) -> None:
    """The box accepts a redirect URL and explains the problem with another; no file of Jupyter holds its text.

    These are the saved states, the log, the workspaces and the history of the cells.
    """
    notebook = jupyter.open_notebook("paste", FORM, LOAD)
    notebook.run(0)
    form = notebook.output(0)
    box = form.get_by_label("Address or token")
    complete_sign_in(notebook, None, "Deny")
    expect(form.get_by_role("alert")).to_contain_text("(user denied access): sign in again and agree.")
    shoot(notebook.page, "declined")
    address = lab_server.sign_in(form.locator("a.sign-in").get_attribute("href"), lab_server.viewer)
    box.press_sequentially(address)
    assert CANARY not in notebook.save()
    assert box.input_value() == address
    box.fill("two words")
    box.press("Enter")
    expect(form.get_by_role("alert")).to_contain_text("Not an access token")
    assert box.input_value() == ""
    box.fill(address)
    box.press("Enter")
    expect(form.get_by_role("status")).to_contain_text("Signed in as Maya Lindqvist")
    assert CANARY not in notebook.save()
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text(f"{count_payments()} payments")
    lab_server.expire(address.partition("access_token=")[2])
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("AuthenticationError: The service does not accept the token")
    form.get_by_role("button", name="Sign in again").click()
    complete_sign_in(notebook, None)
    expect(form.get_by_role("status")).to_contain_text("Signed in as Maya Lindqvist")
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text(f"{count_payments()} payments")
    assert CANARY not in notebook.save()
    notebook.close()
    files = {path: path.read_bytes() for path in jupyter.root.parent.rglob("*") if path.is_file()}
    history = b"".join(content for path, content in files.items() if path.name.startswith("history.sqlite"))
    assert b"p2p.TokenForm()" in history
    assert {"log", "paste.ipynb", "paste-checkpoint.ipynb"} <= {path.name for path in files}
    assert [path for path, content in files.items() if CANARY.encode() in content] == []


def test_a_busy_kernel_disables_the_box(jupyter: Any, lab_server: SandboxServer) -> None:
    """While a cell runs, also the one that displays the form, pasting is disabled, so that no state holds a token."""
    busy = "import p2p_analytics as p2p, time, pathlib\nform = p2p.TokenForm()\ndisplay(form)\n"
    wait = "while not pathlib.Path('go').exists(): time.sleep(0.05)\npathlib.Path('go').unlink()"
    notebook = jupyter.open_notebook("busy", busy + wait, wait)
    go, box = notebook.path.parent / "go", notebook.output(0).get_by_label("Address or token")
    for cell in (0, 1):
        notebook.start(cell)
        expect(box).to_be_disabled()
        expect(box).to_have_attribute("placeholder", "wait until no cell runs, then paste it here")
        go.touch()
        notebook.wait_for_cell(cell)
        expect(box).to_be_enabled()
    box.fill(lab_server.sign_in(lab_server.authorize_url("access_profile", "access_friends"), lab_server.viewer))
    box.press("Enter")
    expect(notebook.output(0).get_by_role("status")).to_contain_text("Signed in as Maya Lindqvist")
    assert CANARY not in notebook.save()
    notebook.close()


def test_a_prompt_survives_run_all(jupyter: Any, lab_server: SandboxServer) -> None:
    """With how="prompt" the cells below wait: one Run All prompts, loads, and saves no part of the token."""
    notebook = jupyter.open_notebook("prompt", FORM.replace("TokenForm()", 'TokenForm(how="prompt")'), LOAD)
    notebook.page.get_by_role("menuitem", name="Run", exact=True).click()
    notebook.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    prompt = notebook.output(0).locator("input.jp-Stdin-input")
    prompt.fill(lab_server.sign_in(lab_server.authorize_url("access_profile", "access_friends"), lab_server.viewer))
    prompt.press("Enter")
    notebook.wait_for_cell(1)
    expect(notebook.output(1)).to_contain_text(f"{count_payments()} payments of Maya Lindqvist")
    assert CANARY not in notebook.save()
    notebook.close()


def test_twenty_thousand_payments(jupyter: Any) -> None:
    """The page holds a hundred rows at a time; search and pages work by keyboard, and inputs follow the theme."""
    notebook = jupyter.open_notebook("long", LOAD_LONG, MEASURE)
    notebook.run(0)
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("first rows within a second: True")
    explorer = notebook.output(0)
    table = explorer.get_by_role("table")
    expect(table).to_contain_text("The newest 100 of 20,000 payments.")
    expect(explorer).to_contain_text("sent $10,000.00, received $10,000.00, net $0.00. Only the 20,000 settled ones")
    assert explorer.locator("tbody tr").count() == 100
    assert explorer.locator("*").count() < 3_000  # a page with all rows would have 200,000 elements

    explorer.get_by_role("button", name="Next 100").press("Enter")
    expect(table).to_contain_text("Payments 101 to 200 of 20,000, newest first.")
    expect(table.locator(FIRST_NOTE)).to_have_text("Pizza 🍕 100")
    search = explorer.get_by_label("Search")
    search.press_sequentially("RENT 1")  # each key is a request to the kernel
    expect(table.locator("caption")).to_have_text("11 payments, newest first")
    assert search.input_value() == "RENT 1"
    notebook.change_theme("JupyterLab Light")  # an earlier test may have changed it
    expect(explorer.get_by_label("From")).not_to_have_css("color-scheme", "dark")
    notebook.change_theme("JupyterLab Dark")
    expect(explorer.get_by_label("From")).to_have_css("color-scheme", "dark")  # a light icon on the dark input
    expect(explorer.get_by_label("Show")).to_have_css("background-image", re.compile("^linear-gradient"))
    notebook.close()


def test_the_dashboard_is_a_page(dashboard, shoot) -> None:
    """Voila runs the dashboard's notebook as an application, and shows a working explorer without the code."""
    page = dashboard
    expect(page.get_by_role("table")).to_contain_text("Noor Haddad")
    page.get_by_label("Show").select_option("What became of it")
    expect(page.get_by_role("table")).to_contain_text("What became of it")
    shoot(page, "dashboard", full_page=True)
    for width in (340, 420, 700, 1280):  # each input is within the page, and its text is not cut
        resize_page(page, width, 1200)
        boxes = page.locator(".inputs input, .inputs select").evaluate_all(BOXES)
        assert len(boxes) == 8
        assert [box for box in boxes if box["left"] < 0 or box["right"] > width or box["width"] < 180] == []
        assert page.locator(".inputs .widget-label").evaluate_all(CUT) == []
        shoot(page, f"dashboard-{width}")
    assert "SandboxServer" not in page.content()
