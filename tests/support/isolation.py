"""Isolation from the settings of the user who runs the tests."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PROXIES = [f"{kind}_proxy" for kind in ("http", "https", "all", "no")]
_PROXIES += [name.upper() for name in _PROXIES]
_SETTINGS = ("ACCESS_TOKEN", "BASE_URL", "CLIENT_ID", "CLIENT_SECRET", "PRIVACY")


@pytest.fixture(scope="session")
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return an iterator over paths, one for each test.

    `tmp_path_factory.mktemp` would list the folders of all earlier tests to find a free number.
    """
    root = tmp_path_factory.mktemp("own")
    return (root / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def _isolated_environment(monkeypatch: pytest.MonkeyPatch, _own_folders: Iterator[Path]) -> None:
    """Keep every test away from the environment's tokens, addresses, proxies, caches, sign-ins and keyring."""
    for name in (*(f"P2P_{name}" for name in _SETTINGS), *_PROXIES):
        monkeypatch.delenv(name, raising=False)
    folder = next(_own_folders)
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("P2P_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("P2P_STATE_DIR", str(folder / "state"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
