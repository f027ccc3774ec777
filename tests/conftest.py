"""The plugins of all test folders: see `tests/support`."""

from __future__ import annotations

import os

import pytest

pytest.register_assert_rewrite("support")
pytest_plugins = [
    "support.archives.histories",
    "support.isolation",
    "support.scripted",
    "support.servers",
    "support.summary",
    "support.widgets.images",
]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of processes of `-n auto`: one more than cores, because many tests wait for other processes."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1
