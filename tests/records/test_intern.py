"""Interning tables that threads share."""

import threading
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from p2p_analytics.records import InternTable


class BlockingList(list):
    """A list with a first `append` that waits for an event."""

    entered, release = threading.Event(), threading.Event()

    def append(self, value: object) -> None:
        """Append once the event is set."""
        self.entered.set()
        assert self.release.wait(10)
        super().append(value)


def test_a_code_is_published_after_its_value() -> None:
    """A second thread that asks for a key while the first one adds it gets the value, not an index error."""
    steps: SimpleQueue[str] = SimpleQueue()

    def decode(key: str) -> str:
        steps.put(key)
        return key.upper()

    table = InternTable(decode)
    table.entries = entries = BlockingList()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(table.value, "rent")
        assert entries.entered.wait(10)
        assert steps.get(timeout=10) == "rent"
        second = pool.submit(table.value, "rent")
        second.add_done_callback(lambda _: steps.put("done"))
        assert steps.get(timeout=10) == "rent"  # decoded again, because the table shows no code yet
        entries.release.set()
        assert first.result(10) == second.result(10) == "RENT"
    assert entries == ["RENT"]
