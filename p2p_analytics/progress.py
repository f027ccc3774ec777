"""A progress bar, shown in terminals and notebooks only."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Final

_MOST_PLAUSIBLE: Final = 10_000_000  # as many as a client loads; a first page within one second gives estimates beyond
_DELAY_SECONDS: Final = 2.0  # a shorter load shows no bar, and leaves no output in a notebook


@contextlib.contextmanager
def loading_bar(*, delay: float = _DELAY_SECONDS, unit: str = "payments") -> Iterator[Callable[[int, int], object]]:
    """Give a function that shows the number of loaded payments, or of another unit, and the expected total.

    The bar appears after ``delay`` seconds.
    """
    if not is_interactive():
        yield lambda _payments, _expected: None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm warns in notebooks without widgets, and falls back to text
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        bar = tqdm(desc="Loading", unit=f" {unit}", leave=False, delay=delay, mininterval=0, miniters=1)

    def show(payments: int, expected: int) -> None:
        bar.total = expected if 0 < expected <= _MOST_PLAUSIBLE else None
        bar.update(payments - bar.n)

    with bar:
        yield show


def is_interactive() -> bool:
    """Return whether standard error is a terminal, or the process is a notebook's kernel."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return get_ipython() is not None
