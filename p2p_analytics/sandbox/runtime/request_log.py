"""The log of requests that a sandbox keeps for tests."""

from __future__ import annotations

import sys
from typing import Final

LARGEST_COUNT: Final = 100_000
LARGEST_BYTES: Final = 32 * 1024 * 1024
_TUPLE_BYTES: Final = sys.getsizeof(("", ""))


class RequestLog(list[tuple[str, str]]):
    """A list of (method, path) that drops its older half above a count or size.

    It is a list, so that tests can clear or change it; the sandbox adds to it by `note`.
    """

    _bytes = 0  # an upper bound: entries that a test removes are not subtracted

    def note(self, method: str, path: str) -> None:
        """Add a request; the newest one is kept at any size."""
        entry = (method, path)
        self.append(entry)
        self._bytes += _size(entry)
        if len(self) > LARGEST_COUNT or self._bytes > LARGEST_BYTES:
            self._drop_older()

    def _drop_older(self) -> None:
        kept = size = 0
        for entry in reversed(self):
            if kept and (kept == LARGEST_COUNT // 2 or size + _size(entry) > LARGEST_BYTES // 2):
                break
            kept, size = kept + 1, size + _size(entry)
        del self[:-kept]
        self._bytes = size


def _size(entry: tuple[str, str]) -> int:
    return _TUPLE_BYTES + sum(map(sys.getsizeof, entry))
