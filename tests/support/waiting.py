"""A bounded wait for what another thread or process does, where no event can be injected."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Return as soon as a condition holds; fail if it does not hold in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"no such state within {seconds} seconds"
        time.sleep(0.005)
