"""Work that several threads share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_SECONDS: Final = 0.1


def map_in_threads(work: Callable[[Item], Result], items: Sequence[Item], *, most: int | None = None) -> list[Result]:
    """Return what a function returns for each item, in their order; each processor has a thread, up to ``most``.

    After an exception, or an interrupt, no further item is begun.
    """
    threads = min(most or len(items), len(items), os.cpu_count() or 1)
    pool = ThreadPoolExecutor(max(threads, 1), thread_name_prefix="p2p-map")
    try:
        results = []
        for future in [pool.submit(work, item) for item in items]:
            # Again and again: once Polars has run a query, an interrupt does not end a wait of the main thread.
            while not wait([future], timeout=_SECONDS).done:
                pass
            results.append(future.result())
        return results
    finally:
        pool.shutdown(cancel_futures=True)
