"""Inputs of the explorer: lists, dates, text boxes and buttons, each with its label."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import ipywidgets


def build_dropdown(label: str, options: list[Any], value: object = None) -> Any:  # noqa: ANN401 - ipywidgets has no types
    """Return a list to choose from, at its first option unless a value is given."""
    return ipywidgets.Dropdown(options=options, description=label, **({} if value is None else {"value": value}))


def build_date_picker(label: str, tip: str, last: date) -> Any:  # noqa: ANN401 - likewise
    """Return an empty date input."""
    return ipywidgets.DatePicker(description=label, tooltip=tip, max=last)


def build_text_box(label: str, hint: str) -> Any:  # noqa: ANN401 - likewise
    """Return a text box that reports each change while the user types."""
    return ipywidgets.Text(description=label, placeholder=hint, continuous_update=True)


def build_button(label: str, icon: str, on_click: Callable[[], None], tip: str = "") -> Any:  # noqa: ANN401 - likewise
    """Return a button."""
    button = ipywidgets.Button(description=label, icon=icon, tooltip=tip or label)
    button.on_click(lambda _button: on_click())
    return button


def build_grid(*inputs: Any) -> Any:  # noqa: ANN401 - likewise
    """Return a box with as many inputs next to each other as the page has room for."""
    return _build_row("inputs", inputs)


def build_button_row(*buttons: Any) -> Any:  # noqa: ANN401 - likewise
    """Return a box of buttons."""
    return _build_row("buttons", buttons)


def set_visible(widget: Any, visible: bool) -> None:  # noqa: ANN401, FBT001 - likewise; one flag for one property
    """Show a widget, or remove it from the page."""
    widget.layout.display = None if visible else "none"


def _build_row(style: str, children: tuple[Any, ...]) -> Any:  # noqa: ANN401 - likewise
    box = ipywidgets.Box(children)
    box.add_class(style)
    return box
