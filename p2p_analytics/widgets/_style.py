"""Display protocol, styles, inputs and HTML fragments shared by the widgets."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, Final, Literal

import ipywidgets

# Each row as a card, for a table that does not fit the page. TABLE is the selector of the tables.
_CARDS: Final = """\
  .p2p TABLE, .p2p TABLE caption, .p2p TABLE tbody { display: block; }
  .p2p TABLE thead { display: none; }
  .p2p TABLE tbody tr { display: grid; grid-template-columns: repeat(auto-fill, minmax(170px, 1fr));
    gap: 2px 20px; padding: 6px 4px 6px 0; border-bottom: 1px solid var(--jp-border-color2, #d9d9d6); }
  .p2p TABLE tbody th, .p2p TABLE tbody td, .p2p TABLE tbody .words {
    border: 0; padding: 0; min-width: 0; max-width: none; }
  .p2p TABLE.figures tbody th { grid-column: 1 / -1; font-weight: 600; }
  .p2p TABLE.figures td { display: flex; justify-content: space-between; gap: 8px; }
  .p2p TABLE.figures td::before { content: attr(data-label); flex: none; color: var(--jp-ui-font-color2, #5f5f5f); }
"""
# The colours come from the notebook's theme; the fallback is a light page.
STYLE: Final = (
    """<style>
.p2p { color: var(--jp-ui-font-color1, #1b1b1b); font: 14px/1.5 var(--jp-ui-font-family, system-ui, sans-serif); }
.p2p .widget-html-content { font-size: 14px; line-height: 1.5; }
.p2p p { margin: .2em 0; }
.p2p h3 { margin: .2em 0 .4em; font-size: 16px; }
.p2p .quiet { color: var(--jp-ui-font-color2, #5f5f5f); }
.p2p .quiet a { color: var(--jp-content-link-color, #1f5fae); text-decoration: underline; }
.p2p a.sign-in { display: inline-block; padding: .35em .9em; border-radius: 4px; font-weight: 600;
  text-decoration: none; color: #fff; background: #1f5fae; }
.p2p a.sign-in:hover { background: #174a88; }
.p2p a.sign-in:focus-visible, .p2p .scroll:focus-visible { outline: 3px solid #56b4e9; outline-offset: 2px; }
.p2p .message { border-left: 4px solid #767676; padding: .15em .7em; margin: .2em 0; }
.p2p .message.good { border-color: #009e73; }
.p2p .message.bad { border-color: #d55e00; }
.p2p .inputs { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 290px), 1fr));
  gap: 4px 20px; max-width: 960px; margin-bottom: 4px; overflow: visible; }
.p2p .inputs > * { width: auto; margin: 0; }
.p2p .inputs .widget-label { flex: 0 0 56px; width: auto; text-align: left; overflow: visible; }
.p2p .inputs input, .p2p .inputs select { flex: 1 1 0; width: auto; min-width: 0; }
.p2p .inputs select { padding-right: 24px; text-overflow: ellipsis; background-repeat: no-repeat;
  background-size: 5px 5px; background-position: right 13px center, right 8px center;
  background-image: linear-gradient(45deg, transparent 50%, var(--jp-ui-font-color1, #1b1b1b) 50%),
    linear-gradient(135deg, var(--jp-ui-font-color1, #1b1b1b) 50%, transparent 50%); }
body[data-jp-theme-light="false"] .p2p, body.vscode-dark .p2p { color-scheme: dark; }
.p2p .buttons { display: flex; flex-flow: row wrap; gap: 4px; overflow: visible; }
.p2p .buttons > * { width: auto; min-width: 148px; margin: 0; }
.p2p figure { margin: .5em 0; padding: 8px; background: #fff; border-radius: 6px; max-width: 620px; }
.p2p figure img { display: block; width: 100%; height: auto; }
.p2p .reminders { margin: 0; padding: 0; list-style: none; }
.p2p .reminders li { margin: 0; padding: .4em 0; border-bottom: 1px solid var(--jp-border-color2, #d9d9d6); }
.p2p .reminders bdi { user-select: all; overflow-wrap: anywhere; }
.p2p summary { margin: .5em 0; cursor: pointer; }
.p2p .scroll { container-type: inline-size; margin-bottom: .5em; overflow: auto; max-height: 30em; }
.p2p table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
.p2p caption { text-align: left; padding: .2em 0 .4em; color: var(--jp-ui-font-color2, #5f5f5f); }
.p2p th, .p2p td { text-align: left; vertical-align: top; padding: .25em .9em .25em 0; white-space: nowrap;
  border-bottom: 1px solid var(--jp-border-color2, #d9d9d6); }
.p2p thead th { position: sticky; top: 0; background: var(--jp-layout-color0, #fff); }
body[data-voila] .p2p thead th { background: var(--jp-layout-color1, #fff); }
.p2p tbody th { font-weight: 400; }
.p2p tbody bdi { white-space: nowrap; }
.p2p tbody .words bdi { white-space: normal; }
.p2p tbody .words { white-space: normal; overflow-wrap: anywhere; max-width: 22em; }
.p2p tbody th.words { min-width: 8em; }
.p2p .payments td.words:last-child { max-width: 40em; }
.p2p th.number, .p2p td.number { text-align: right; }
.p2p th[aria-sort="ascending"]::after { content: " \\2191"; }
.p2p th[aria-sort="descending"]::after { content: " \\2193"; }
@media (max-width: 600px) { .p2p .scroll { max-height: max(30em, 70vh); } }
@container (max-width: 900px) {
"""
    + _CARDS.replace("TABLE", "table.wide")
    + """}
@container (max-width: 560px) {
"""
    + _CARDS.replace("TABLE", "table")
    + """  .p2p .payments tbody tr { grid-template-columns: 1fr auto; }
  .p2p .payments td:nth-child(2) { order: -2; font-weight: 600; }
  .p2p .payments td:nth-child(3) { order: -1; font-weight: 600; }
  .p2p .payments td:nth-child(4) { text-align: right; }
  .p2p .payments td:nth-child(5) { grid-column: 1 / -1; }
}
</style>"""
)


class NotebookDisplay:
    """Object that notebooks display as its widget, and other frontends as its repr.

    Attributes
    ----------
    widget : ipywidgets.Widget
        The displayed widget, for use in other layouts.
    """

    widget: Any

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        widget_bundle = self.widget._repr_mimebundle_
        bundle = {**widget_bundle(), "text/html": self._static_html()} if widget_bundle else {}
        return {**bundle, "text/plain": repr(self)}

    def _static_html(self) -> str:
        """Return HTML for viewers without a kernel, such as a saved notebook or an exported page."""
        raise NotImplementedError


def build_dropdown(label: str, options: list[Any], value: object = None) -> Any:  # noqa: ANN401 - ipywidgets has no types
    """Return a list to choose from, at its first option unless a value is given."""
    return ipywidgets.Dropdown(options=options, description=label, **({} if value is None else {"value": value}))


def build_button(label: str, icon: str, on_click: Callable[[], None], tip: str = "") -> Any:  # noqa: ANN401 - likewise
    """Return a button."""
    button = ipywidgets.Button(description=label, icon=icon, tooltip=tip or label)
    button.on_click(lambda _button: on_click())
    return button


def build_row(style: Literal["inputs", "buttons"], *children: Any) -> Any:  # noqa: ANN401 - likewise
    """Return a box with as many inputs or buttons next to each other as the page has room for."""
    box = ipywidgets.Box(children)
    box.add_class(style)
    return box


def set_visible(widget: Any, visible: bool) -> None:  # noqa: ANN401, FBT001 - likewise; one flag for one property
    """Show a widget, or remove it from the page."""
    widget.layout.display = None if visible else "none"


def build_box(*children: Any) -> Any:  # noqa: ANN401 - likewise
    """Return a vertical box with the styles of this package."""
    box = ipywidgets.VBox([ipywidgets.HTML(STYLE, layout={"display": "none"}), *children])
    box.add_class("p2p")
    return box


def format_message(sentence: str, kind: str = "", *, role: str = "status") -> str:
    """Return a sentence as HTML that screen readers announce; empty for an empty sentence."""
    return f'<div class="message {kind}" role="{role}">{escape(sentence)}</div>' if sentence else ""
