"""Mark of a process forked after its parent loaded Polars: a fork does not copy the threads of Polars."""

from __future__ import annotations

from threading import Event
from typing import Final

from p2p_analytics.errors import ConfigurationError

_marked: Final = Event()


def mark_process() -> None:
    """Mark this process, and those forked from it: Polars would wait in it for threads that it does not have."""
    _marked.set()


def is_marked() -> bool:
    """Return whether a query of Polars could hang in this process."""
    return _marked.is_set()


def refuse_marked() -> None:
    """Raise a ConfigurationError in a process in which a query of Polars could hang."""
    if is_marked():
        raise ConfigurationError(
            "This process was forked after its parent loaded Polars, which would hang in it: start it with the "
            "method 'spawn' or 'forkserver'."
        )
