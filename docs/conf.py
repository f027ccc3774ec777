"""Configuration of Sphinx: ``make docs`` builds the site from the Markdown files of the project."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING

import p2p_analytics
from p2p_analytics.catalogue import ANALYSES

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
    "notebooks/*.ipynb",
    "p2p_analytics/sandbox/README.md",
    "tests/benchmarks/results.md",
]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
nb_execution_mode = "off"  # notebooks are shown with their stored outputs
nb_render_markdown_format = "gfm"  # outputs in Markdown have tables
autodoc_typehints = "none"  # the docstrings name the types
napoleon_custom_sections = [("Columns", "params_style")]
napoleon_use_ivar = True
suppress_warnings = ["ref.python"]  # words such as "path" name a type and several attributes
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
    app.connect("source-read", _add_reference)


def _add_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    if page == app.config.root_doc:
        links = re.findall(r"\[([^\]]+)\]\(([\w/-]+)\.md\)", source[0].partition("## Documentation")[2])
        pages = (f"{title[0].upper()}{title[1:]} <{name}>" for title, name in links)
        for caption, entries in ("Documentation", pages), ("Notebooks", ["notebooks/*"]):
            source[0] += "\n".join(
                ["", "```{toctree}", ":hidden:", ":glob:", f":caption: {caption}", "", *entries, "```", ""]
            )


def _add_reference(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add the docstring of each public name below its line in the API page, so that the page stays plain Markdown.

    A line that ends in ``.*`` stands for all analyses.
    """
    if page == "docs/api":
        source[0] = re.sub(
            r"^- `([\w.]+)\.\*`.*\n",
            lambda line: "".join(f"- `{line[1]}.{name}`\n" for name in sorted(ANALYSES)),
            source[0],
            flags=re.MULTILINE,
        )
        source[0] = re.sub(r"^- `([\w.]+)`\n", _describe, source[0], flags=re.MULTILINE)


def _describe(line: re.Match[str]) -> str:
    name = line[1].replace("p2p.", "p2p_analytics.", 1)
    parent, _, last = name.rpartition(".")
    value = getattr(importlib.import_module(parent), last)
    kind, members = ("autoclass", "   :members:\n") if isinstance(value, type) else ("autofunction", "")
    return f"```{{eval-rst}}\n.. {kind}:: {name}\n{members}```\n\n"
