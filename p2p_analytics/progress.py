"""A progress bar where somebody is looking: in a terminal or a notebook, and nowhere else."""

from __future__ import annotations

import contextlib
import sys
import warnings
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SECONDS_BEFORE_IT_SHOWS: Final = 2.0  # what ends sooner needs none, and leaves no trace in a notebook


@contextlib.contextmanager
def loading_bar(*, delay: float = _SECONDS_BEFORE_IT_SHOWS) -> Iterator[Callable[[int, int], object]]:
    """Give a function that shows how many payments have come, and of about how many.

    Parameters
    ----------
    delay : float
        Seconds before the bar shows.
    """
    if not is_watched():
        yield lambda _payments, _expected: None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without widgets gets a line of text, and no lecture
        from tqdm.auto import tqdm  # type: ignore[import-untyped]

        bar = tqdm(desc="Loading", unit=" payments", leave=False, delay=delay, mininterval=0, miniters=1)

    def show(payments: int, expected: int) -> None:
        bar.total = expected or None
        bar.update(payments - bar.n)

    with bar:
        yield show


def is_watched() -> bool:
    """Tell whether errors go to a terminal, or this is a notebook."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    if "ipykernel" not in sys.modules:
        return False
    from IPython import get_ipython

    return get_ipython() is not None
