"""The plugins of all test folders: see `tests/support`."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("support")
pytest_plugins = [
    "support.archives.histories",
    "support.isolation",
    "support.scripted",
    "support.servers",
    "support.summary",
]
