"""The environment of a sign-in: a sandbox, a browser, a keyring, and the command."""

from __future__ import annotations

import http.client
import threading
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from p2p_analytics import cli
from p2p_analytics.auth import KeyringStore, SignIn

if TYPE_CHECKING:
    from collections.abc import Callable

from support.cli.sign_in import target_of


@pytest.fixture(autouse=True)
def _surroundings(server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the service and the application, and let no browser be there."""
    monkeypatch.setenv("P2P_BASE_URL", server.base_url)
    monkeypatch.setenv("P2P_CLIENT_ID", server.client_id)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def browser(server, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put a person with a browser in the place of the browser; give the pages it ended at."""
    pages: list[str] = []

    def follow(address: str) -> None:
        redirect = urlsplit(server.sign_in(address, server.viewer))
        for target in (f"{redirect.path}?{redirect.query}", "/done"):
            connection = http.client.HTTPConnection(redirect.netloc, timeout=10)
            connection.request("GET", target)
            pages.append(connection.getresponse().read().decode())
            connection.close()
            time.sleep(0.25)  # longer than the listener needs to end, without a slow request

    def open_(address: str) -> bool:
        threading.Thread(target=follow, args=[target_of(address)]).start()
        return True

    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr("webbrowser.open", open_)
    return pages


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> list[SignIn]:
    """Give a keyring that can hold one sign-in."""
    kept: list[SignIn] = []
    monkeypatch.setattr(KeyringStore, "load", lambda _self: kept[-1] if kept else None)
    monkeypatch.setattr(KeyringStore, "save", lambda _self, sign_in: kept.append(sign_in))
    monkeypatch.setattr(KeyringStore, "delete", lambda _self: bool(kept) and not kept.clear())
    return kept


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command and gives its exit code and what it wrote."""

    def call(*arguments: str) -> tuple[int, str, str]:
        status = cli.main(arguments)
        return status, *capsys.readouterr()

    return call
