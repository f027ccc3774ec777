"""Markdown of a report: the texts and tables of its page, as paragraphs, lists and pipe tables."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from typing import Final

from p2p_analytics.display import clean_line

_SKIPPED: Final = frozenset({"head", "figure", "nav", "summary", "script"})
_VOID: Final = frozenset({"meta", "img"})
_TEXTS: Final = frozenset({"h1", "h2", "p", "li", "dt", "dd", "caption", "th", "td"})
_SECTION: Final = "## "
_NOTES: Final = f"{_SECTION}Notes"  # the footer, which is not part of the last section
_PREFIXES: Final = {"h1": "# ", "h2": _SECTION, "p": "", "caption": ""}
_MARKERS: Final = {"li": "* ", "dd": "- "}  # two lists with one marker would be one list
_BETWEEN_LINES: Final = " · "  # of a cell
_SPECIAL: Final = re.compile(
    r"[\\`*_\[\]<>&|~#$@]|(?<=https):|(?<=http):|(?<=ftp):|(?<=mailto):|(?<=www)\.", re.IGNORECASE
)
_STARTS: Final = re.compile(r"^([-+=:]|\d{1,9}(?=[.)](?:\s|$)))")


def convert_page(page: str) -> str:
    """Return the page of a report as Markdown without figures, sections that are only a figure, contents and HTML.

    All text is escaped: names and notes can add no markup, link, image, cell or line.
    """
    converter = _Converter()
    converter.feed(page)
    converter.close()
    blocks = [*converter.blocks, _SECTION]
    kept = (
        block for block, after in pairwise(blocks) if not (block.startswith(_SECTION) and after.startswith(_SECTION))
    )
    return "\n\n".join(kept) + "\n"


class _Converter(HTMLParser):
    """Reader of the tags that the templates of the report use."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[str] = []
        self._skipped = 0  # open elements that are left out
        self._lines: list[list[str]] = [[]]  # of the current text
        self._items: list[str] = []
        self._term = ""
        self._rows: list[list[str]] = []
        self._rules: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a text, a line of it, or a row, or leave the element out."""
        kinds = dict(attrs).get("class") or ""
        if self._skipped or tag in _SKIPPED or "paper" in kinds.split():
            self._skipped += tag not in _VOID
        elif tag == "footer":
            self.blocks.append(_NOTES)
        elif tag == "small":
            self._lines.append([])
        elif tag == "table":
            self._rows, self._rules = [], []
        elif tag == "tr":
            self._rows.append([])
        elif tag in _TEXTS:
            self._lines = [[]]
            if len(self._rows) == 1 and tag == "th":
                self._rules.append("---:" if "number" in kinds.split() else "---")

    def handle_data(self, data: str) -> None:
        """Keep text."""
        if not self._skipped:
            self._lines[-1].append(data)

    def handle_endtag(self, tag: str) -> None:
        """End a text, a list or a table."""
        if self._skipped:
            self._skipped -= 1
        elif tag == "small":
            self._lines.append([])
        elif tag in _PREFIXES:
            self.blocks.append(_PREFIXES[tag] + self._read())
        elif tag in _MARKERS:
            self._items.append(f"{_MARKERS[tag]}{self._term}{self._read()}")
            self._term = ""
        elif tag == "dt":
            self._term = f"{self._read()}: "
        elif tag in {"ul", "dl"}:
            self.blocks.append("\n".join(self._items))
            self._items = []
        elif tag in {"th", "td"}:
            self._rows[-1].append(self._read())
        elif tag == "table":
            head, *rows = self._rows
            self.blocks.append("\n".join(f"| {' | '.join(cells)} |" for cells in (head, self._rules, *rows)))

    def _read(self) -> str:
        """Return the current text, escaped, on one line."""
        lines = [clean_line("".join(parts)) for parts in self._lines]
        text = _BETWEEN_LINES.join(filter(None, lines))
        return _STARTS.sub(_escape_start, _SPECIAL.sub(r"\\\g<0>", text))


def _escape_start(found: re.Match[str]) -> str:
    """Return the start of a text, so that it begins no list, heading or rule."""
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"
