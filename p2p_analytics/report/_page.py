"""A page as data, and the two forms in which it is written: HTML and Markdown."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from p2p_analytics.display import clean_line
from p2p_analytics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


MARKDOWN: Final = "markdown"
_KINDS: Final = ("html", MARKDOWN)


class Span(NamedTuple):
    """A text in an element; ``bdi`` keeps a foreign text from changing the direction of others."""

    text: str
    tag: str = "bdi"
    style: str = ""


class Small(NamedTuple):
    """Small text on a separate line."""

    line: Line


Line = tuple[str | Span | Small, ...]


class Cell(NamedTuple):
    """A cell of a table, and the value by which the script of the page sorts it.

    Without a key it is sorted as the text; with the key "", which a missing value has, it comes last.
    """

    line: Line
    key: object = None


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, with the class of its element."""

    line: Line
    style: str = ""
    kind: ClassVar = "paragraph"


@dataclass(frozen=True)
class Picture:
    """A figure as a data address, and its description."""

    address: str
    words: str
    kind: ClassVar = "picture"


@dataclass(frozen=True)
class Table:
    """A table; the first cell of a row is its header."""

    caption: str
    headings: Sequence[tuple[str, str]]  # each with the class of the cells in its column
    rows: Sequence[Sequence[Cell]]
    order: str = ""  # in the caption; the script of the page replaces it when it sorts the table
    note: str = ""  # the end of the caption
    rest: Sequence[Cell] = ()  # the last rows, which are not sorted
    total: Sequence[Cell] = ()
    style: str = ""
    kind: ClassVar = "table"


@dataclass(frozen=True)
class Texts:
    """A list of foreign texts."""

    texts: Sequence[str]
    style: str
    kind: ClassVar = "texts"


@dataclass(frozen=True)
class Fold:
    """Blocks that are folded on screens, below a summary."""

    summary: str
    blocks: Sequence[Block]
    style: str = ""
    kind: ClassVar = "fold"


Block = Paragraph | Picture | Table | Texts | Fold


class Section(NamedTuple):
    """A part of a page with a heading; ``entry`` is its title in the table of contents."""

    name: str
    title: str
    blocks: Sequence[Block]


class Figure(NamedTuple):
    """A figure at the head of a page: its name, its value as text, and a few words about it."""

    name: str
    value: str
    words: str


@dataclass(frozen=True)
class Page:
    """A report, or a year in review."""

    template: str  # the name of the HTML template
    title: str  # of the window
    heading: Line
    introduction: Sequence[Paragraph]
    figures: Sequence[Figure]
    remarks: Sequence[Paragraph]  # below the figures
    findings: Sequence[tuple[str, Line]]  # each with the name of the section that it is about
    notes: Sequence[Line]  # what the page counts
    sections: Sequence[Section]
    longest_amount: int  # the number of characters of the longest amount in a table
    longest_figure: int  # and at the head of the page
    has_notes_last: bool = False  # whether the notes are the end of the page


def require_kind(kind: str) -> None:
    """Raise a ConfigurationError if a page cannot be of a kind."""
    if kind not in _KINDS:
        raise ConfigurationError(f"kind is 'html' or 'markdown', not {kind!r}.")


def write_page(page: Page, kind: str) -> str:
    """Return the text of a page, in HTML or Markdown."""
    if kind == MARKDOWN:
        return "\n\n".join(_list_blocks(page)) + "\n"
    return _ENVIRONMENT.get_template(page.template).render(page=page)


_ENVIRONMENT: Final = Environment(
    loader=PackageLoader("p2p_analytics.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["digest"] = lambda text: base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

# Markdown has no figures, no sections that consist of a figure, and no table of contents. All text is escaped: names
# and notes can add no markup, link, image, cell or line.

_SPECIAL: Final = re.compile(
    r"[\\`*_\[\]<>&|~#$@]|(?<=https):|(?<=http):|(?<=ftp):|(?<=mailto):|(?<=www)\.", re.IGNORECASE
)
_STARTS: Final = re.compile(r"^([-+=:]|\d{1,9}(?=[.)](?:\s|$)))")  # of a list, heading or rule


def _list_blocks(page: Page) -> Iterator[str]:
    """Yield the blocks of a page in Markdown."""
    yield f"# {_escape(page.heading)}"
    yield from (_escape(paragraph.line) for paragraph in page.introduction)
    if page.figures:
        # Two lists with one marker would be one list.
        yield "\n".join(
            f"- {_escape((each.name,))}: {_escape((each.value, Small((each.words,))))}" for each in page.figures
        )
    yield from (_escape(paragraph.line) for paragraph in page.remarks)
    if page.findings:
        yield "\n".join(f"* {_escape(line)}" for _, line in page.findings)
    notes = [_escape(line) for line in page.notes]
    if not page.has_notes_last:
        yield from notes
    for section in page.sections:
        if blocks := [*_convert(section.blocks)]:
            yield f"## {_escape((section.title,))}"
            yield from blocks
    if page.has_notes_last:
        yield "## Notes"
        yield from notes


def _convert(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Paragraph):
            if "paper" not in block.style.split():  # only a printed page has it
                yield _escape(block.line)
        elif isinstance(block, Table):
            yield _escape((f"{block.caption}{block.order}{block.note}",))
            rules = ["---:" if "number" in style.split() else "---" for _, style in block.headings]
            rows = [*block.rows, block.rest, block.total]
            cells = [[_escape(cell.line) for cell in row] for row in rows if row]
            heads = [_escape((name,)) for name, _ in block.headings]
            yield "\n".join(f"| {' | '.join(row)} |" for row in (heads, rules, *cells))
        elif isinstance(block, Texts):
            yield "\n".join(f"* {_escape((text,))}" for text in block.texts)
        elif isinstance(block, Fold):
            yield from _convert(block.blocks)


def _escape(line: Line) -> str:
    """Return a line as escaped text, with a dot before and after small text."""
    text = " · ".join(filter(None, map(clean_line, _split(line))))
    text = _SPECIAL.sub(r"\\\g<0>", text)
    return _STARTS.sub(lambda found: f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}", text)


def _split(line: Line) -> list[str]:
    """Return the texts of a line: each small text, and the ones between them."""
    texts = [""]
    for part in line:
        if isinstance(part, Small):
            texts += [*_split(part.line), ""]
        else:
            texts[-1] += part if isinstance(part, str) else part.text
    return texts
