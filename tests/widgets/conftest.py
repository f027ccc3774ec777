"""Sign-in forms of the sandbox named ``server``, closed after each test; plots of equal tables are drawn once."""

import pickle
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import plots
from support.waiting import wait_until

_drawn: dict[bytes, bytes] = {}


@pytest.fixture(autouse=True)
def _draw_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep each image that a test draws for later draws of the same table: most tests look at other parts."""
    draw = plots.to_image

    def draw_or_reuse(plot: Callable[..., Any], table: pd.DataFrame, kind: str, **options: Any) -> bytes:
        key = pickle.dumps((repr(plot), kind, sorted(options.items()), table))
        if key not in _drawn:
            _drawn[key] = draw(plot, table, kind, **options)
        return _drawn[key]

    monkeypatch.setattr(plots, "to_image", draw_or_reuse)


class QuickForm(p2p.TokenForm):
    """A sign-in form that updates the remaining time often."""

    refresh_seconds = 0.02


@pytest.fixture
def make_form(server) -> Iterator[Callable[..., p2p.TokenForm]]:
    """Return a function that creates forms for the sandbox; they are closed after the test and leave no thread."""
    made: list[p2p.TokenForm] = []

    def make(kind: type[p2p.TokenForm] = QuickForm, **options: Any) -> p2p.TokenForm:
        made.append(kind(server.base_url, server.client_id, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()
    wait_until(lambda: not [thread for thread in threading.enumerate() if thread.name in {"p2p-sign-in", "p2p-token"}])


@pytest.fixture
def form(make_form: Callable[..., p2p.TokenForm]) -> p2p.TokenForm:
    """Return a form before the sign-in."""
    return make_form()
