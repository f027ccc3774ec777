"""Sandboxes for tests."""

from collections.abc import Iterator
from typing import Any

import pytest


def sandbox_fixture(*, scope: str = "module", **settings: Any) -> Any:
    """Return a fixture that runs a sandbox with these settings and checks its ledger at the end.

    A test module, or the conftest.py of a folder, names it: ``town = sandbox_fixture(people=9, years=1)``.
    """

    @pytest.fixture(scope=scope)
    def running() -> Iterator[Any]:
        from p2p_analytics.sandbox import SandboxServer  # here, for runs without a sandbox

        with SandboxServer(**settings) as sandbox:
            yield sandbox
            assert sandbox.audit() == []

    return running


server = sandbox_fixture(seed=7, people=5, years=1)
