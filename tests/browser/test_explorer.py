"""Explorer of a long history in a real JupyterLab, and its saved page without a kernel."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import p2p_analytics as p2p
from p2p_analytics.widgets._style import STYLE
from support.reports import long_history
from support.widgets.histories import build_long_history

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Browser, Page

LOAD = f"""import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import time
import p2p_analytics as p2p
from support.widgets.histories import build_long_history
explorer = p2p.Explorer(build_long_history(20_000))
explorer"""
MEASURE = """started = time.process_time()
explorer.analysis.value = "payments"
print("first rows within a second:", time.process_time() - started < 1)"""
MEASURE_DATES = """region => [...region.querySelectorAll("bdi")]
  .filter(one => /^\\d{4}-\\d\\d-\\d\\d/.test(one.textContent)).map(one => one.getBoundingClientRect().height)"""
FIRST_NOTE = "tbody tr >> nth=0 >> td >> nth=-1"


def test_twenty_thousand_payments(lab: Callable[..., Any]) -> None:
    """The page holds a hundred rows at a time; search, order, pages and file work with mouse and keyboard."""
    from playwright.sync_api import expect

    notebook = lab().open_notebook("long", LOAD, MEASURE)
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
    explorer.get_by_label("Sort by").press("o")  # selects "oldest first" in the closed list
    expect(table.locator(FIRST_NOTE)).to_have_text("Pizza 🍕 19999")
    expect(table.get_by_role("columnheader", name="date created")).to_have_attribute("aria-sort", "ascending")

    search = explorer.get_by_label("Search")
    search.press_sequentially("RENT 1")  # each key is a request to the kernel
    expect(table.locator("caption")).to_have_text("11 payments, oldest first")
    assert search.input_value() == "RENT 1"
    explorer.get_by_role("button", name="Save as CSV").click()
    expect(explorer.get_by_role("status")).to_contain_text("11 payments in the displayed order")
    (written,) = notebook.path.parent.glob("payments-*.csv")
    assert list(p2p.read_csv(written)["note"]) == [f"rent {number}000" for number in range(19, 9, -1)] + ["rent 1000"]
    search.fill("@handle-07")
    expect(table).to_contain_text("The oldest 100 of 500 payments.")
    explorer.get_by_label("Period").select_option("this year")
    expect(explorer).to_contain_text("of 20,000 payments, created from 1 Jan 2024 to 31 Dec 2024, UTC time.")
    notebook.change_theme("JupyterLab Dark")
    expect(explorer.get_by_label("From")).to_have_css("color-scheme", "dark")  # a light icon on the dark input
    expect(explorer.get_by_label("Show")).to_have_css("background-image", re.compile("^linear-gradient"))
    notebook.page.close()


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


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 600, 700, 850, 1200])
def test_no_table_scrolls_sideways(browser: Browser, width: int, dark: bool) -> None:  # noqa: FBT001 - a parameter
    """Nine columns with amounts of a million fit, and no date wraps, also where the page wraps all cells."""
    history = long_history(payments=600, people=20)
    payments = history.payments.assign(flow_cents=history.payments["flow_cents"] * 100)
    explorer = p2p.Explorer(replace(history, payments=payments))
    tab = browser.new_page(viewport={"width": width, "height": 900})
    background = "#111; --jp-ui-font-color1: #eee; --jp-layout-color0: #111" if dark else "#fff"
    for name in ("spend_by_friend", "monthly_flow", "pending_requests", "payments"):
        explorer.analysis.value = name
        tab.set_content(
            f"<!doctype html><style>body {{ background: {background} }} body td {{ white-space: normal !important }}"
            f'</style><div class="p2p">{STYLE}{explorer._table.value}</div>'
        )
        region = tab.locator(".scroll")
        assert region.evaluate("one => one.scrollWidth - one.clientWidth") <= 0, name
        heights = region.evaluate(MEASURE_DATES)
        assert max(heights, default=0) < 30, name  # two lines have 39 pixels
    tab.close()
