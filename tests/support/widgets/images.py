"""Images of plots: each drawn once in a process, or none."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

_drawn: dict[bytes, bytes] = {}


@pytest.fixture
def draw_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep each image that a test draws, for later draws of the same table: the same table gives the same bytes."""
    from p2p_analytics import plots

    draw = plots.to_image

    def draw_or_reuse(plot: Callable[..., Any], table: pd.DataFrame, kind: str, **options: Any) -> bytes:
        key = pickle.dumps((repr(plot), kind, sorted(options.items()), table))
        if key not in _drawn:
            _drawn[key] = draw(plot, table, kind, **options)
        return _drawn[key]

    monkeypatch.setattr(plots, "to_image", draw_or_reuse)


@pytest.fixture
def draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every image by an empty one, for tests of a report's text or of files."""
    from p2p_analytics import plots

    monkeypatch.setattr(plots, "to_image", lambda *_arguments, **_options: b"<svg/>")
