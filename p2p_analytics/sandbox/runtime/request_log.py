"""The log of requests that a sandbox keeps for tests."""

from __future__ import annotations

import sys
from typing import Final

LARGEST_COUNT: Final = 100_000
LARGEST_BYTES: Final = 32 * 1024 * 1024
_TUPLE_BYTES: Final = sys.getsizeof(("", ""))


class RequestLog(list[tuple[str, str]]):
    """A list of (method, path) that forgets its older half when it has too many entries or takes too much memory.

    It is a list, so that a test can clear or change it like any other; `note` is how the sandbox adds to it.
    """

    _bytes = 0  # at least what the entries take: what a test removes is not subtracted

    def note(self, method: str, path: str) -> None:
        """Add a request; the newest one stays, whatever its size."""
        entry = (method, path)
        self.append(entry)
        self._bytes += _size(entry)
        if len(self) > LARGEST_COUNT or self._bytes > LARGEST_BYTES:
            self._forget()

    def _forget(self) -> None:
        kept = size = 0
        for entry in reversed(self):
            if kept and (kept == LARGEST_COUNT // 2 or size + _size(entry) > LARGEST_BYTES // 2):
                break
            kept, size = kept + 1, size + _size(entry)
        del self[:-kept]
        self._bytes = size


def _size(entry: tuple[str, str]) -> int:
    return _TUPLE_BYTES + sum(map(sys.getsizeof, entry))
