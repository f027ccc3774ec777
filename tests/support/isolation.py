"""Isolation from the settings of the user who runs the tests."""

from __future__ import annotations

import pytest

_PROXIES = [f"{kind}_proxy" for kind in ("http", "https", "all", "no")]
_PROXIES += [name.upper() for name in _PROXIES]
_SETTINGS = ("ACCESS_TOKEN", "BASE_URL", "CLIENT_ID", "CLIENT_SECRET", "PRIVACY")


@pytest.fixture(autouse=True)
def _isolated_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep every test away from the environment's tokens, addresses, proxies, caches, sign-ins and keyring."""
    for name in (*(f"P2P_{name}" for name in _SETTINGS), *_PROXIES):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("P2P_CACHE_DIR", str(tmp_path_factory.mktemp("cache") / "p2p"))
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path_factory.mktemp("state") / "p2p"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
