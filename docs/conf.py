"""Configuration of Sphinx: ``make docs`` builds the site from the Markdown files of the project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import p2p_analytics

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "p2p_analytics"
author = "the p2p_analytics developers"
version = release = p2p_analytics.__version__
root_doc = "README"
include_patterns = [
    "*.md",
    "data/README.md",
    "docs/*.md",
    "p2p_analytics/sandbox/README.md",
    "tests/benchmarks/results.md",
]
extensions = ["myst_parser"]
myst_heading_anchors = 3  # links to headings are written as code hosts spell them
html_theme = "furo"
html_title = project
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False


def setup(app: Sphinx) -> None:
    """Build the navigation from the list of pages in the README, so that the README stays plain Markdown."""
    app.connect("source-read", _add_navigation)


def _add_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    if page == app.config.root_doc:
        links = re.findall(r"\[([^\]]+)\]\(([\w/-]+)\.md\)", source[0].partition("## Documentation")[2])
        pages = (f"{title[0].upper()}{title[1:]} <{name}>" for title, name in links)
        source[0] += "\n".join(["", "```{toctree}", ":hidden:", "", *pages, "```", ""])
