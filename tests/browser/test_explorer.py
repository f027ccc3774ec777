"""Tables and saved page of the explorer in a real browser, without JupyterLab and a kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from p2p_analytics.widgets._style import STYLE
from support.browser_tabs import open_tab, resize_page
from support.reports import long_history
from support.widgets.histories import build_long_history

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

MEASURE_DATES = """region => [...region.querySelectorAll("bdi")]
  .filter(one => /^\\d{4}-\\d\\d-\\d\\d/.test(one.textContent)).map(one => one.getBoundingClientRect().height)"""


def test_the_saved_page_needs_no_kernel(page: Page, phone: Page) -> None:
    """The first page of payments opens without a script, and no row is wider than a phone."""
    saved = p2p.Explorer(build_long_history(300))._repr_mimebundle_()["text/html"]
    assert "<script" not in saved
    for tab in (page, phone):
        tab.set_content(f"<!doctype html><meta name=viewport content='width=device-width'>{saved}")
        rows = tab.locator("details tbody tr")
        assert not rows.first.is_visible()
        tab.get_by_text("Payments, first page").click()
        assert rows.count() == 100
        assert rows.first.is_visible()
        assert rows.first.inner_text().split() == [
            "2024-05-31",
            "23:00",
            "Person",
            "00",
            "+$1.00",
            "settled",
            "rent",
            "0",
        ]
        wide = tab.evaluate("[...document.querySelectorAll('.scroll')].map(one => one.scrollWidth - one.clientWidth)")
        assert max(wide) <= 0
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.fixture(scope="module")
def tables() -> dict[str, str]:
    """Return the explorer's tables of nine columns with amounts of a million."""
    history = long_history(payments=600, people=20)
    payments = history.payments.assign(flow_cents=history.payments["flow_cents"] * 100)
    explorer = p2p.Explorer(replace(history, payments=payments))
    tables = {}
    for name in ("spend_by_friend", "monthly_flow", "pending_requests", "payments"):
        explorer.analysis.value = name
        tables[name] = explorer._table.value
    return tables


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """Open a tab for all these tests."""
    with open_tab(browser) as tab:
        yield tab


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 600, 700, 850, 1200])
def test_no_table_scrolls_sideways(tab: Page, tables: dict[str, str], *, width: int, dark: bool) -> None:
    """Nine columns with amounts of a million fit, and no date wraps, also where the page wraps all cells."""
    resize_page(tab, width, 900)
    background = "#111; --jp-ui-font-color1: #eee; --jp-layout-color0: #111" if dark else "#fff"
    for name, table in tables.items():
        tab.set_content(
            f"<!doctype html><style>body {{ background: {background} }} body td {{ white-space: normal !important }}"
            f'</style><div class="p2p">{STYLE}{table}</div>'
        )
        region = tab.locator(".scroll")
        assert region.evaluate("one => one.scrollWidth - one.clientWidth") <= 0, name
        heights = region.evaluate(MEASURE_DATES)
        assert max(heights, default=0) < 30, name  # two lines have 39 pixels
