"""Figures of the tests: closed after each test, and drawn without a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _figures() -> Iterator[None]:
    mpl.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
