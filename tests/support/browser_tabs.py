"""Tabs of a real browser, and user actions in them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATIENCE = 60_000  # milliseconds: starting a kernel and drawing are slow beside three other test processes
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}

# The contrast of each text with its background (WCAG 2.2, 1.4.3), and the size of each target (2.5.8).
LOW_CONTRAST = """() => {
  const rgb = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = node => {
    for (; node; node = node.parentElement) {
      const color = rgb(getComputedStyle(node).backgroundColor);
      if (color.length < 4 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const node of document.querySelectorAll("main *")) {
    const box = node.getBoundingClientRect();
    if (!box.width || node.closest("datalist")) continue;
    if ([...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())) {
      const pair = [light(rgb(getComputedStyle(node).color)), light(behind(node))].sort((a, b) => b - a);
      const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
      if (ratio < 4.5) weak.push(`${node.tagName} ${node.textContent.trim().slice(0, 30)} ${ratio}`);
    }
    if (node.matches("button, input:not([type=hidden]), summary, a") && box.height < 24) weak.push(`${node.tagName} ${box.height}`);
  }
  return weak;
}"""  # noqa: E501 - a program in another language
RESIZED = """async width => {
  do await new Promise(requestAnimationFrame); while (innerWidth !== width);
  await new Promise(requestAnimationFrame);
}"""


@contextlib.contextmanager
def open_tab(browser, **device: Any) -> Iterator[Any]:
    """Open a tab with its own profile, and close it; a page that opens a dialog fails the test."""
    context = browser.new_context(**device)
    page = context.new_page()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    yield page
    context.close()
    assert dialogs == []


def resize_page(page, width: int, height: int) -> None:
    """Resize a page, and wait until it is drawn in its new size."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate(RESIZED, width)


def fill_sign_in(page, username: str) -> None:
    """Fill in the sign-in form that the page shows."""
    page.get_by_label("Username").fill(username)
    press_button(page, "Sign in")


def press_button(page, button: str) -> None:
    """Press a button, and wait for the next page to load, because parts of the old page could match."""
    with page.expect_navigation():
        page.get_by_role("button", name=button).click()


def check_page(page, tmp_path: Path, name: str) -> None:
    """Take a screenshot, and check width, heading, labels, contrast and target size."""
    picture = tmp_path / f"{name}.png"
    page.screenshot(path=picture, full_page=True)
    assert picture.stat().st_size > 5_000
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    assert page.locator("h1").count() == 1
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.evaluate("[...document.querySelectorAll('input:not([type=hidden])')].every(one => one.labels.length)")
    assert page.evaluate(LOW_CONTRAST) == []
