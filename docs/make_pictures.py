"""Draw the pictures of the README and the documentation again: ``make pictures``.

Everyone in them lives in the sandbox's invented town. The pages need Chromium; without it, only the plots are drawn.
Without fonts for Chinese, Korean and emoji (Debian: fonts-noto-cjk, fonts-noto-color-emoji) some names show as boxes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib import font_manager

import p2p_analytics as p2p

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

FOLDER = Path(__file__).with_name("pictures")
REPORT, YEAR = "report.png", "year.png"
STATEMENTS = Path(__file__).parents[1] / "data" / "statements"
GALLERY = Path(__file__).with_name("gallery.md").read_text("utf-8")
# The code before each picture of the gallery draws it.
_DRAWN = re.compile(r"^```python\n([^`]*)^```\n\n!\[[^\]]*\]\(pictures/(\w+)\.png\)", re.MULTILINE)
PLOTS = {name: code for code, name in _DRAWN.findall(GALLERY)}
PICTURES = (REPORT, YEAR, *(f"{name}.png" for name in PLOTS))
# The town of the other pictures is too small for these: its people all stay, and no public note reveals anything.
OF_LARGE_TOWN = ("people_by_year", "sensitive_notes")
REVEALING_NOTES = (
    "therapist, tuesday",
    "dentist",
    "antidepressants refill",
    "casino night",
    "wine and beers",
    "heading to Lisbon, back on Monday",
    "at the beach this week",
    "Oslo trip",
    "church donation",
    "payday loan",
    "text me at 555-0134",
    "spare key is at 12 Harbour Street",
)
PAGE_SIZE = "860,1136"
PLOT_DPI = 110


def load() -> tuple[p2p.History, datetime]:
    """Return the history of the town's main person, and the time in the town."""
    with p2p.sandbox.SandboxServer(seed=7) as server:
        with p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client:
            history = p2p.load_history(client)
        return dataclasses.replace(history, fetched_at=server.now), server.now


def load_large_town() -> p2p.History:
    """Return a history of more people and years, with a public payment for each of the notes."""
    with p2p.sandbox.SandboxServer(seed=7, people=30, years=6) as server:
        newest = server.now
        drafts = [
            {"date_created": newest - timedelta(days=30 * at), "note": note, "audience": "public"}
            for at, note in enumerate(REVEALING_NOTES, start=1)
        ]
        server.add_payments(server.viewer, drafts)
        with p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client:
            return p2p.load_history(client)


def write_damaged_files(folder: Path) -> None:
    """Copy the statements in ``data`` into a folder, without the third file and a row of the fourth."""
    files = sorted(STATEMENTS.glob("*.csv"))
    for file in files[:2] + files[3:]:
        shutil.copy(file, folder)
    damaged = folder / files[3].name
    lines = damaged.read_text("utf-8").splitlines(keepends=True)
    row = next(number for number, line in enumerate(lines) if ",Payment,Complete," in line)
    damaged.write_text("".join(lines[:row] + lines[row + 1 :]), "utf-8")


def draw_plots(history: p2p.History, as_of: datetime, folder: Path) -> None:
    """Write one PNG file per plot into the folder, by the lines of the gallery that draw it."""
    mpl.use("Agg")
    large = load_large_town()
    with own_fonts(), tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        downloads = Path("downloads")
        downloads.mkdir()
        write_damaged_files(downloads)
        for name, code in PLOTS.items():
            shown = large if name in OF_LARGE_TOWN else history
            names = {"p2p": p2p, "history": shown, "payments": shown.payments, "as_of": as_of}
            exec(compile(code, f"gallery: {name}", "exec"), names)  # noqa: S102 - the documentation's own example
            figure = names["axes"].figure
            figure.savefig(folder / f"{name}.png", dpi=PLOT_DPI, metadata={"Software": None})
            plt.close(figure)


@contextlib.contextmanager
def own_fonts() -> Iterator[None]:
    """Hide the fonts that are not part of matplotlib, so that the pictures are the same on every machine."""
    manager = font_manager.fontManager
    installed = manager.ttflist
    manager.ttflist = [entry for entry in installed if Path(entry.fname).is_relative_to(mpl.get_data_path())]
    try:
        yield
    finally:
        manager.ttflist = installed


def photograph_pages(history: p2p.History, as_of: datetime, folder: Path, chromium: str) -> None:
    """Write pictures of the tops of the report and of the year in review into the folder."""
    masked = history.masked(key=bytes(32))  # that of each machine gives other names
    pages = {REPORT: p2p.render_report(history, as_of=as_of), YEAR: p2p.render_year(masked, as_of=as_of, year=2024)}
    for name, text in pages.items():
        photograph(text, folder / name, chromium)


def photograph(text: str, file: Path, chromium: str) -> None:
    """Write a picture of the top of a page."""
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / "page.html"
        page.write_text(text, encoding="utf-8")
        flags = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--user-data-dir={scratch}/profile"]
        picture = [f"--window-size={PAGE_SIZE}", f"--screenshot={file}"]
        command = [chromium, *flags, *picture, page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)  # noqa: S603 - a fixed command


def main() -> None:
    """Draw all pictures."""
    history, as_of = load()
    draw_plots(history, as_of, FOLDER)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium:
        photograph_pages(history, as_of, FOLDER, chromium)
    else:
        sys.stderr.write(f"Chromium is not on PATH: {REPORT} and {YEAR} stay as they are.\n")


if __name__ == "__main__":
    main()
