"""Write the map of the package into ``architecture.md``: ``make docs`` runs it.

Each module is listed with the first line of its docstring, so the map has no text of its own that could become wrong.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).with_name("architecture.md")
PACKAGE = Path(__file__).parents[1] / "p2p_analytics"
MARKERS = "<!-- map -->\n", "<!-- /map -->\n"


def insert_map(text: str) -> str:
    """Return the text of the page with a current map between its markers."""
    before, begin, rest = text.partition(MARKERS[0])
    _, end, after = rest.partition(MARKERS[1])
    return before + begin + "\n".join(["", *draw_map(PACKAGE), "", ""]) + end + after


def draw_map(package: Path) -> Iterator[str]:
    """Yield the lines of the map: one section per package, one row per module."""
    for folder in sorted([package, *(init.parent for init in package.rglob("*/__init__.py"))]):
        name = folder.relative_to(package.parent).as_posix()
        yield from (f"### {name}/", "", summarize(folder / "__init__.py"), "")
        modules = sorted(module for module in folder.glob("*.py") if module.name != "__init__.py")
        if modules:
            yield from ("| module | content |", "|---|---|")
            yield from (f"| `{module.name}` | {summarize(module).replace('|', chr(92) + '|')} |" for module in modules)
            yield ""


def summarize(module: Path) -> str:
    """Return the first paragraph of a module's docstring on one line, in Markdown."""
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.partition("\n\n")[0].split()).replace("``", "`")


if __name__ == "__main__":
    PAGE.write_text(insert_map(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
