"""Sign-in forms of the sandbox named ``server``, closed after each test; plots of equal tables are drawn once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import p2p_analytics as p2p
from p2p_analytics.widgets import _form
from support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def _draw_once(draw_once: None) -> None:
    """Draw the plot of each table once: most of these tests look at other parts of the explorer."""


@pytest.fixture
def make_form(server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., p2p.TokenForm]]:
    """Return a function that creates forms for the sandbox; they are closed after the test and leave no thread."""
    monkeypatch.setattr(_form, "_REFRESH_SECONDS", 0.02)
    made: list[p2p.TokenForm] = []

    def make(**options: Any) -> p2p.TokenForm:
        made.append(p2p.TokenForm(server.base_url, server.client_id, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name in {"p2p-sign-in", "p2p-token"}])


@pytest.fixture
def form(make_form: Callable[..., p2p.TokenForm]) -> p2p.TokenForm:
    """Return a form before the sign-in."""
    return make_form()
