"""Sign-in form and explorer in a real JupyterLab, used with mouse and keyboard.

JupyterLab saves the state of all widgets here: the setting "Save Widget State Automatically" is on.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.town import build
from support.browser_tabs import resize_page
from support.canary import CANARY, TOKEN_BYTES, issue_canary_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

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
TOWN = build.build(7)
MAYA = TOWN.people[0].user_id
COUNT = sum(MAYA in (one.actor_id, one.target_user_id) and one.refund_of is None for one in TOWN.payments)


@pytest.fixture(scope="module")
def lab_server() -> Iterator[SandboxServer]:
    """Run a sandbox that issues canary tokens; the nonce of a redirect URI is shorter and no secret to a file."""
    with pytest.MonkeyPatch.context() as patch, SandboxServer(seed=7) as running:
        issue_canary_tokens(patch, sizes={TOKEN_BYTES})
        yield running


@pytest.fixture(scope="module")
def jupyter(lab: Callable[..., Any], lab_server: SandboxServer) -> Any:
    """Run a JupyterLab with the sandbox's URL in its environment."""
    return lab(P2P_BASE_URL=lab_server.base_url, P2P_CLIENT_ID=lab_server.client_id)


@pytest.fixture
def shoot() -> Callable[..., None]:
    """Return a function that takes a screenshot, if the environment variable P2P_SHOTS names a folder for them."""
    folder = os.environ.get("P2P_SHOTS")

    def take(page: Page, name: str, **options: Any) -> None:
        if folder:
            page.screenshot(path=Path(folder) / f"{name}.png", **options)  # which makes the folder

    return take


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
    from playwright.sync_api import expect

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
    expect(notebook.output(1)).to_contain_text(f"{COUNT} payments of Maya Lindqvist")
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
    expect(notebook.output(1)).to_contain_text(f"{COUNT} payments")
    shoot(notebook.page, "signed-in-dark")
    assert CANARY not in notebook.save()
    notebook.close()


def test_by_pasting_and_by_declining(jupyter: Any, lab_server: SandboxServer, shoot: Callable[..., None]) -> None:
    """The box accepts a redirect URL and explains the problem with another; no file of Jupyter holds its text.

    These are the saved states, the log, the workspaces and the history of the cells.
    """
    from playwright.sync_api import expect

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
    expect(notebook.output(1)).to_contain_text(f"{COUNT} payments")
    lab_server.expire(address.partition("access_token=")[2])
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("AuthenticationError: The service does not accept the token")
    form.get_by_role("button", name="Sign in again").click()
    complete_sign_in(notebook, None)
    expect(form.get_by_role("status")).to_contain_text("Signed in as Maya Lindqvist")
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text(f"{COUNT} payments")
    assert CANARY not in notebook.save()
    notebook.close()
    files = {path: path.read_bytes() for path in jupyter.root.parent.rglob("*") if path.is_file()}
    history = b"".join(content for path, content in files.items() if path.name.startswith("history.sqlite"))
    assert b"p2p.TokenForm()" in history
    assert {"log", "paste.ipynb", "paste-checkpoint.ipynb"} <= {path.name for path in files}
    assert [path for path, content in files.items() if CANARY.encode() in content] == []


def test_a_busy_kernel_disables_the_box(jupyter: Any, lab_server: SandboxServer) -> None:
    """While a cell runs, also the one that displays the form, pasting is disabled, so that no state holds a token."""
    from playwright.sync_api import expect

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
    from playwright.sync_api import expect

    notebook = jupyter.open_notebook("prompt", FORM.replace("TokenForm()", 'TokenForm(how="prompt")'), LOAD)
    notebook.page.get_by_role("menuitem", name="Run", exact=True).click()
    notebook.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    prompt = notebook.output(0).locator("input.jp-Stdin-input")
    prompt.fill(lab_server.sign_in(lab_server.authorize_url("access_profile", "access_friends"), lab_server.viewer))
    prompt.press("Enter")
    notebook.wait_for_cell(1)
    expect(notebook.output(1)).to_contain_text(f"{COUNT} payments of Maya Lindqvist")
    assert CANARY not in notebook.save()
    notebook.close()


def test_twenty_thousand_payments(jupyter: Any) -> None:
    """The page holds a hundred rows at a time; search and pages work by keyboard, and inputs follow the theme."""
    from playwright.sync_api import expect

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


def test_the_dashboard_is_a_page(voila: Callable[[Path], Any], shoot: Callable[..., None]) -> None:
    """Voila runs the dashboard's notebook as an application, and shows a working explorer without the code."""
    from playwright.sync_api import expect

    page = voila(Path(__file__).parents[2] / "notebooks" / "dashboard.ipynb")
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
