"""Mark of a process forked after its parent loaded Polars: a fork does not copy the threads of Polars."""

from __future__ import annotations

from threading import Event
from typing import Final

_marked: Final = Event()


def mark_process() -> None:
    """Mark this process, and those forked from it: Polars would wait in it for threads that it does not have."""
    _marked.set()


def is_marked() -> bool:
    """Return whether a query of Polars could hang in this process."""
    return _marked.is_set()
