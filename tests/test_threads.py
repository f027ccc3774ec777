"""Work in threads: results in order, and an early end after an error or an interrupt."""

import signal
import subprocess
import sys
import threading

import pytest

from p2p_analytics.threads import map_in_threads

INTERRUPTED = """
import signal, sys, threading
import polars as pl
from p2p_analytics.threads import map_in_threads

signal.signal(signal.SIGINT, signal.default_int_handler)
pl.DataFrame({"a": [1]}).lazy().select(pl.len()).collect()
go_on = threading.Event()

def work(item):
    print(item, flush=True)
    go_on.wait(2)

try:
    map_in_threads(work, range(9), most=1)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_results_are_in_the_order_of_the_items() -> None:
    """The first item ends last if there are two threads; there may be no items."""
    second = threading.Event()

    def work(item: int) -> int:
        second.set() if item == 1 else second.wait(timeout=0.5)
        return item * item

    assert map_in_threads(work, range(5), most=2) == [0, 1, 4, 9, 16]
    assert map_in_threads(work, []) == []


def test_an_exception_ends_the_work() -> None:
    """It is raised, and items that have not begun are left."""
    begun = []
    never = threading.Event()

    def work(item: int) -> None:
        begun.append(item)
        if item == 1:
            raise ValueError("one")
        never.wait(timeout=(item - 1) / 5)

    with pytest.raises(ValueError, match="one"):
        map_in_threads(work, range(9), most=1)
    assert begun in ([0, 1], [0, 1, 2])  # the thread may have begun one more


def test_an_interrupt_ends_the_work() -> None:
    """Also after a query of Polars, which lets the wait of a main thread go on: no further item is begun."""
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)  # noqa: S603 - above
    assert process.stdout.readline() == "0\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "interrupted\n"
