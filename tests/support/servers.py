"""Sandboxes for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from p2p_analytics.sandbox import SandboxServer


def sandbox_fixture(*, scope: str = "module", **settings: Any) -> Any:
    """Return a fixture that runs a sandbox with these settings and checks its ledger at the end.

    A test module, or the conftest.py of a folder, names it: ``town = sandbox_fixture(people=9, years=1)``.
    """

    @pytest.fixture(scope=scope)
    def running() -> Iterator[SandboxServer]:
        from p2p_analytics.sandbox import SandboxServer  # here, for runs without a sandbox

        with SandboxServer(**settings) as sandbox:
            yield sandbox
            assert sandbox.audit() == []

    return running


server = sandbox_fixture(seed=7, people=5, years=1)
