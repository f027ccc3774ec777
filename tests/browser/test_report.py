"""Reports, and tables of the explorer, in a real browser: on phones, for screen readers, and on paper."""

import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import p2p_analytics as p2p
from p2p_analytics.history import History
from p2p_analytics.report import render_report, render_year
from support.browser_tabs import DESK, PHONE, check_page, open_tab, resize_page
from support.reports import long_history, payment_row, report_history
from support.widgets.histories import build_long_history

AS_OF = "2024-06-30T12:00:00Z"
MOST_PAGES = 10
PEOPLE: list[tuple[str, int, str]] = [
    ("Åsa Lind", 12_000_00, "2024-01-01"),
    ("Zoë <img src=x onerror=alert(1)>", 950_00, "2024-01-02"),
    ("asa Berg", 1_000_00, "2024-01-03"),
    ("Ben {{7*7}}", 99, "2023-12-31"),
    ("</script><script>alert(2)</script>", 5_00, "2022-07-01"),
    ("Cy", 70_00, "2024-06-01"),
    ("\u202eDa", 8_00, "2024-02-29"),
]
# Elements beyond the edges of the screen, and elements with more content than fits. The heads of tables are for screen
# readers only where rows are cards; plots are as wide as the screen of a phone, beyond the margins of the text.
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  return [...document.querySelectorAll("body *")].filter(node => {
    const box = node.getBoundingClientRect();
    if (!box.width || (node.closest("thead") && node.closest("thead").clientWidth === 1)) return false;
    const block = getComputedStyle(node).display !== "inline" && !node.querySelector("figure");
    return box.left < -0.5 || box.right > width + 0.5 || (block && node.scrollWidth > node.clientWidth + 1);
  }).map(node => `${node.tagName} ${node.textContent.trim().slice(0, 30)}`);
}"""
UNFOLD = "document.querySelectorAll('details').forEach(one => one.open = true)"
FIGURES = """() => [...document.querySelectorAll("figure img")].map(image => image.getBoundingClientRect())
  .map(box => [box.left, box.right])"""


@pytest.fixture(scope="module")
def long_report() -> str:
    """Return the report of 20,000 payments to 300 people in 15 years."""
    return render_report(long_history(), as_of=AS_OF, tz="America/New_York")


def make_difficult_history() -> History:
    """Return a history of long names, long notes and amounts near the largest exact sum."""
    names = ["A" * 300, "محمد الأحمد " * 20, "王小明" * 40, "🎉" * 90, "<b>x</b>" * 30, "Z͑ͫ̓ͪ" * 30, None, ""]
    rows: list[dict[str, Any]] = []
    for at in range(40):
        name = names[at % len(names)]
        rows.append(
            payment_row(
                at, f"20{at % 4 + 20}-0{at % 9 + 1}-05T09:00:00Z", direction="out" if at % 2 else "in",
                flow_cents=(-1 if at % 2 else 1) * (2 * 10**14 + at), counterparty_id=f"7{at % 8:09}",
                counterparty_name=name, status="pending" if at % 4 > 1 else "settled",
                note=("x" * 900, "a long story " * 90, None)[at % 3],
            )
        )  # fmt: skip
    problems = [{"payment_id": "9" * 40, "field": "f" * 60, "value": "v" * 500, "problem": "p" * 90}]
    people = [{"user_id": "7000000000", "display_name": "B" * 300, "also_named": "; ".join(["C" * 90] * 9)}]
    return report_history(rows, problems, people, display_name="W" * 300, username="w" * 300)


def write(text: str, folder: Path) -> str:
    """Write a report, and return its address."""
    file = folder / "report.html"
    file.write_text(text, encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(browser, long_report: str, tmp_path: Path, scheme: Any) -> None:
    """No table has to be scrolled sideways, also unfolded, from the smallest phone to the desktop."""
    with open_tab(browser, viewport=PHONE, color_scheme=scheme) as page:
        page.goto(write(long_report, tmp_path))
        page.evaluate(UNFOLD)
        for width in (320, PHONE["width"], 736, 737, DESK["width"]):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate(TOO_WIDE) == [], width
            check_page(page, tmp_path, f"report-{width}-{scheme}")
        page.set_viewport_size(PHONE)  # on a phone, plots reach from one edge of the screen to the other
        plots = page.evaluate(FIGURES)
        assert len(plots) == page.locator("figure").count() > 5
        for edges in plots:
            assert edges == pytest.approx([0, PHONE["width"]], abs=1)


def test_difficult_texts_and_amounts_fit(browser, tmp_path: Path) -> None:
    """Long names and notes are broken, and huge amounts have room; the policy permits the style, without a message."""
    history = make_difficult_history()
    pages = {
        "report": render_report(history, as_of=AS_OF),
        "year": render_year(history, as_of=AS_OF, privacy=False),
        "private": render_year(long_history(years=2, payments=300), as_of=AS_OF),
    }
    with open_tab(browser, viewport=PHONE, color_scheme="dark") as page:
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        for name, text in pages.items():
            page.goto(write(text, tmp_path))
            page.evaluate(UNFOLD)
            for width in (320, PHONE["width"], DESK["width"]):
                page.set_viewport_size({"width": width, "height": 844})
                assert page.evaluate(TOO_WIDE) == [], (name, width)
                check_page(page, tmp_path, f"{name}-{width}")
        assert said == []


@pytest.mark.parametrize(("scheme", "paper", "ink"), [("light", 255, 0), ("dark", 23, 232)])
def test_plots_have_the_colours_of_the_page(browser, tmp_path, scheme, paper, ink) -> None:
    """Their background is that of the page, light or dark, and their titles have nearly the colour of its text."""
    image = pytest.importorskip("PIL.Image")
    rows = [payment_row(1, "2024-05-05T09:00:00Z", flow_cents=-500, counterparty_name="Ben")]
    with open_tab(browser, color_scheme=scheme) as page:
        page.goto(write(render_report(report_history(rows), as_of=AS_OF), tmp_path))
        drawn = image.open(io.BytesIO(page.locator("#spend_by_friend figure").screenshot())).convert("RGB")
        found = {colour for _, colour in drawn.getcolors(drawn.width * drawn.height)}
        around = image.open(io.BytesIO(page.screenshot())).convert("RGB").getpixel((1, 1))
    assert around == drawn.getpixel((2, 2)) == (paper,) * 3
    assert drawn.getpixel((drawn.width // 2, 2)) == (paper,) * 3
    assert (ink,) * 3 in found


@pytest.mark.parametrize("viewport", [PHONE, DESK])
def test_tables_stay_tables_for_screen_readers(browser, long_report, tmp_path, viewport) -> None:
    """Where rows are cards, the headers of rows and columns are still read, and the labels are not read twice."""
    with open_tab(browser, viewport=viewport) as page:
        page.goto(write(long_report, tmp_path))
        table = page.get_by_role("table").first
        headers = table.get_by_role("columnheader").all_inner_texts()
        assert headers == ["Person", "Sent", "Received", "Net", "Payments", "Share of sent"]
        assert table.get_by_role("rowheader").count() == 17  # 15 people, the others, all
        read = table.aria_snapshot()
        assert re.search(r'rowheader "Person \d+"\n\s*- cell "\$[\d,.]+"\n', read), read[:600]


@pytest.mark.parametrize("viewport", [PHONE, DESK])
def test_tables_sort_and_filter(browser, tmp_path: Path, viewport: Any) -> None:
    """Headings sort by value with mouse and keys; a filter lists rows with all words, and paper shows all of them."""
    rows = [
        payment_row(at, f"{day}T09:00:00Z", flow_cents=-cents, counterparty_id=f"{at}",
                    counterparty_name=name, status=status)
        for status in ("settled", "pending")
        for at, (name, cents, day) in enumerate(PEOPLE, start=1 if status == "settled" else 101)
    ]  # fmt: skip
    address = write(render_report(report_history(rows), as_of=AS_OF), tmp_path)
    with open_tab(browser, viewport=viewport) as page:
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(address)
        table = page.get_by_role("table", name="Settled payments by person")
        by_amount = ["Åsa", "asa", "Zoë", "Cy", "Da", "</script><script>alert(2)</script>", "Ben"]

        def read(one=table) -> list[str]:
            return [text.split()[0] for text in one.locator("tbody th:visible").all_inner_texts()]

        heading = table.get_by_role("columnheader", name="Sent", exact=True)
        button = heading.get_by_role("button")
        assert (read(), heading.get_attribute("aria-sort")) == (by_amount, None)
        button.click()
        assert (read(), heading.get_attribute("aria-sort")) == (by_amount, "descending")
        button.press("Enter")
        assert (read(), heading.get_attribute("aria-sort")) == (by_amount[::-1], "ascending")
        table.get_by_role("button", name="Person").press("Space")
        assert [name[0] for name in read()] == ["<", "a", "Å", "B", "C", "D", "Z"]
        assert heading.get_attribute("aria-sort") is None
        caption = table.locator("caption")
        assert caption.inner_text() == "Settled payments by person, sorted by “Person”, ascending"
        for _ in range(2):
            table.get_by_role("button", name="Person").click()
        assert (read(), caption.inner_text()) == (by_amount, "Settled payments by person, the most sent first")
        months = page.get_by_role("table", name="Settled payments by the month")
        page.evaluate(UNFOLD)
        months.get_by_role("button", name="Net so far").click()
        assert months.locator("caption").inner_text().endswith(", zone UTC, sorted by “Net so far”, descending")
        requests = page.get_by_role("table", name=re.compile("^Pending payments, (the oldest|sorted)"))
        requests.get_by_role("button", name="Since").click()
        assert read(requests) == ["Cy", "Da", "asa", "Zoë", "Åsa", "Ben", "</script><script>alert(2)</script>"]

        field = page.get_by_role("searchbox", name="Filter: Settled payments by person")
        field.fill("  LIND asa")
        status = page.get_by_role("status").first
        assert (read(), status.inner_text()) == (["Åsa"], "1 of 7 rows")
        assert table.get_by_text("Together").is_hidden()
        page.emulate_media(media="print")
        assert len(read()) == 7
        assert table.get_by_text("Together").is_visible()
        assert page.get_by_role("searchbox").count() == 0
        page.emulate_media(media="screen")
        field.fill("")
        assert (len(read()), status.inner_text()) == (7, "")
        check_page(page, tmp_path, f"report-sorted-{viewport['width']}")
        assert said == []


def test_tables_are_complete_without_script(browser, long_report: str, tmp_path: Path) -> None:
    """Every row is there, and there is nothing to press that would have no effect."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(write(long_report, tmp_path))
    assert page.get_by_role("table").first.locator("tbody tr").count() == 16
    assert page.locator("button, input").count() == 0
    context.close()


def test_fifteen_years_on_paper(browser, long_report: str, tmp_path: Path) -> None:
    """Fifteen years fit on ten A4 pages, all folded tables included, without a table's first or last row alone."""
    pypdf = pytest.importorskip("pypdf", reason="pypdf, which reads the printed pages, is not installed")
    with open_tab(browser) as page:
        page.goto(write(long_report, tmp_path))
        printed = page.pdf(format="A4")
    parts = pypdf.PdfReader(io.BytesIO(printed)).pages
    pages = [part.extract_text().splitlines() for part in parts]
    assert len(pages) <= MOST_PAGES
    for row in (
        r"(Person \d+|\d+ other people|All 300) \$",  # people
        r"(\d{4}( Q\d|-\d\d)?) \$",  # periods
        r"pay (settled|pending) ",  # statuses
        r".* days.* to (receive|pay) \d",  # ages
        r"to (receive|pay)$",  # requests
    ):
        counts = [sum(re.match(row, line) is not None for line in lines) for lines in pages]
        assert sum(counts) > 1, row
        assert 1 not in counts, row
    heights: dict[str, float] = {}
    for part in parts:
        part.extract_text(visitor_text=lambda text, cm, tm, *_: heights.update({text.strip(): cm[3] * tm[5] + cm[5]}))
    for title in ("Where it went", "Year by year", "What became of it", "Still open"):
        # A figure of 12.5 cm, 354 points, follows on the same page; the bottom margin is 15 mm.
        assert heights[title] > 354 + 42, title


MEASURE_DATES = """region => [...region.querySelectorAll("bdi")]
  .filter(one => /^\\d{4}-\\d\\d-\\d\\d/.test(one.textContent)).map(one => one.getBoundingClientRect().height)"""


def test_the_saved_page_needs_no_kernel(page, phone) -> None:
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


def test_no_table_scrolls_sideways(page) -> None:
    """Nine columns with amounts of a million fit, and no date wraps, also where the page wraps all cells."""
    history = long_history(payments=600, people=20)
    payments = history.payments.assign(flow_cents=history.payments["flow_cents"] * 100)
    explorer = p2p.Explorer(replace(history, payments=payments))
    for name in ("spend_by_friend", "monthly_flow", "pending_requests", "payments"):
        explorer.analysis.value = name
        page.set_content(
            "<!doctype html><style>body td { white-space: normal !important }</style>"
            + explorer._repr_mimebundle_()["text/html"]
        )
        for width in (390, 600, 700, 850, 1200):
            resize_page(page, width, 900)
            region = page.locator(".scroll").first
            assert region.evaluate("one => one.scrollWidth - one.clientWidth") <= 0, (name, width)
            heights = region.evaluate(MEASURE_DATES)
            assert max(heights, default=0) < 30, (name, width)  # two lines have 39 pixels
