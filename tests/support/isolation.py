"""Isolation from the settings of the user who runs the tests."""

import itertools
import os
from collections.abc import Iterator

import pytest

_PROXIES = [f"{kind}_proxy" for kind in ("http", "https", "all", "no")]
_SETTINGS = [f"P2P_{name}" for name in ("ACCESS_TOKEN", "BASE_URL", "CLIENT_ID", "CLIENT_SECRET", "PRIVACY")]
_NUMBERS = itertools.count()


@pytest.fixture(autouse=True)
def _isolated_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory) -> None:
    """Keep every test away from the environment's tokens, addresses, proxies, caches, sign-ins and keyring."""
    for name in (*_SETTINGS, *_PROXIES, *map(str.upper, _PROXIES)):
        monkeypatch.delenv(name, raising=False)
    # `mktemp` would list the folders of all earlier tests to find a free number.
    folder = tmp_path_factory.getbasetemp() / "own" / str(next(_NUMBERS))
    folder.mkdir(mode=0o700, parents=True)
    monkeypatch.setenv("P2P_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("P2P_STATE_DIR", str(folder / "state"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """Leave out the flushes to the disk: no test cuts the power, and thousands of them take a tenth of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _descriptor: None)
        yield
