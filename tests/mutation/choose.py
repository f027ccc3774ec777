"""A plugin of pytest for `mutate`: it records which lines each test runs, or runs only the tests that are listed."""

import os
from pathlib import Path

import pytest
from coverage import Coverage

SEPARATOR = "\0"  # between the ids of tests


def pytest_runtest_logstart(nodeid: str) -> None:
    """Name the test that runs the next lines."""
    if (coverage := Coverage.current()) is not None:
        coverage.switch_context(nodeid)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the listed tests, in the order of the list."""
    if name := os.environ.get("MUTATION_TESTS"):
        places = {test: place for place, test in enumerate(Path(name).read_text().split(SEPARATOR))}
        items[:] = sorted((item for item in items if item.nodeid in places), key=lambda item: places[item.nodeid])
