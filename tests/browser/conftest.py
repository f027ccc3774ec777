"""Browser shared by the tests of this folder.

The browser is closed at the end of each test file and not of the session: while it
runs, this thread counts as running an event loop, and other tests could not start their own.
"""

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from support.browser_tabs import DESK, PATIENCE, PHONE, open_tab

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
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


@pytest.fixture
def page(browser) -> Iterator[Any]:
    """Open a tab of desktop size."""
    with open_tab(browser, viewport=DESK) as page:
        yield page


@pytest.fixture
def phone(browser) -> Iterator[Any]:
    """Open a tab of phone size."""
    with open_tab(browser, viewport=PHONE) as page:
        yield page
