"""The plugins of all test folders: see `tests/support`."""

import atexit
import gc
import os
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from p2p_analytics.limits import LIMITS

HERE = Path(__file__).parent
FULL = {"browser", "fuzz", "package", "peers", "spark"}  # only `make test-all` runs the tests of these folders

pytest.register_assert_rewrite("support")
settings.register_profile("untimed", deadline=None)  # a loaded machine is no failure
settings.load_profile("untimed")
pytest_plugins = [
    "support.archives.histories",
    "support.isolation",
    "support.scripted",
    "support.servers",
    "support.summary",
    "support.widgets.images",
]


@pytest.fixture
def set_limit(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], None]:
    """Return a function that makes a limit small, so that no test needs gigabytes or minutes."""
    return partial(monkeypatch.setattr, LIMITS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number of processes of `-n auto`: one per core, and one more where tests wait for other programs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if "not (full" in config.option.markexpr else cores + 1


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the folders that `make test` leaves out: what they import takes each process seconds."""
    if "not (full" not in config.option.markexpr or not collection_path.is_relative_to(HERE):
        return None
    return True if FULL.intersection(collection_path.relative_to(HERE).parts[:1]) else None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests of folders that `make test` leaves out."""
    if item.path.relative_to(HERE).parts[0] in FULL:
        item.add_marker("full")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect no garbage while tests are collected, and exclude all objects of that time from later collections.

    Each process holds all tests; without this they are traversed hundreds of times.
    """
    gc.disable()
    atexit.register(gc.unfreeze)  # libraries complain of native objects that are never freed
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, *gc.get_threshold()[1:])
        gc.enable()
