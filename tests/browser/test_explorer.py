"""Tables and saved page of the explorer in a real browser, without JupyterLab and a kernel."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import p2p_analytics as p2p
from p2p_analytics.widgets._style import STYLE
from support.browser_tabs import resize_page
from support.reports import long_history
from support.widgets.histories import build_long_history

if TYPE_CHECKING:
    from playwright.sync_api import Page

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
        assert " ".join(rows.first.inner_text().split()) == "2024-05-31 23:00 Person 00 +$1.00 settled rent 0"
        wide = tab.evaluate("[...document.querySelectorAll('.scroll')].map(one => one.scrollWidth - one.clientWidth)")
        assert max(wide) <= 0
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_no_table_scrolls_sideways(page: Page) -> None:
    """Nine columns with amounts of a million fit, and no date wraps, also where the page wraps all cells."""
    history = long_history(payments=600, people=20)
    payments = history.payments.assign(flow_cents=history.payments["flow_cents"] * 100)
    explorer = p2p.Explorer(replace(history, payments=payments))
    for name in ("spend_by_friend", "monthly_flow", "pending_requests", "payments"):
        explorer.analysis.value = name
        page.set_content(
            "<!doctype html><style>body td { white-space: normal !important }</style>"
            f'<div class="p2p">{STYLE}{explorer._table.value}</div>'
        )
        for width in (390, 600, 700, 850, 1200):
            resize_page(page, width, 900)
            region = page.locator(".scroll")
            assert region.evaluate("one => one.scrollWidth - one.clientWidth") <= 0, (name, width)
            heights = region.evaluate(MEASURE_DATES)
            assert max(heights, default=0) < 30, (name, width)  # two lines have 39 pixels
