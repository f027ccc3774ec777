"""The log of requests that a sandbox keeps for tests."""

from __future__ import annotations

import sys
from typing import Final

_TUPLE_BYTES: Final = sys.getsizeof(("", ""))


class RequestLog(list[tuple[str, str]]):
    """A list of (method, path) that drops its older half above a count or size.

    It is a list, so that tests can clear or change it; the sandbox adds to it by `note`.
    """

    def __init__(self, most_entries: int = 100_000, most_bytes: int = 32 * 1024 * 1024) -> None:
        super().__init__()
        self._most_entries, self._most_bytes = most_entries, most_bytes
        self._bytes = 0  # an upper bound: entries that a test removes are not subtracted

    def note(self, method: str, path: str) -> None:
        """Add a request; the newest one is kept at any size."""
        entry = (method, path)
        self.append(entry)
        self._bytes += _size(entry)
        if len(self) <= self._most_entries and self._bytes <= self._most_bytes:
            return
        kept = size = 0
        for entry in reversed(self):
            if kept and (kept == self._most_entries // 2 or size + _size(entry) > self._most_bytes // 2):
                break
            kept, size = kept + 1, size + _size(entry)
        del self[:-kept]
        self._bytes = size


def _size(entry: tuple[str, str]) -> int:
    return _TUPLE_BYTES + sum(map(sys.getsizeof, entry))
