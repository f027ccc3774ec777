"""The environment of a sign-in: a sandbox and a browser."""

import html
import http.client
import io
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest


@pytest.fixture(autouse=True)
def _surroundings(server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the service and the application, and let no browser be there."""
    monkeypatch.setenv("P2P_BASE_URL", server.base_url)
    monkeypatch.setenv("P2P_CLIENT_ID", server.client_id)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def address(server) -> str:
    """Return the address at which a browser ends, with the token."""
    return server.sign_in(server.authorize_url("access_profile"), server.viewer)


@pytest.fixture
def open_pages(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], bool]], None]:
    """Return a function that replaces the browser by a function of the address of the sign-in page."""

    def replace(visit: Callable[[str], object]) -> None:
        def open_(page: str) -> bool:
            """Visit the address of the page."""
            text = Path(urlsplit(page).path).read_text()
            (found,) = re.findall(r'http-equiv="refresh" content="0;url=([^"]*)"', text)
            threading.Thread(target=visit, args=[html.unescape(found)]).start()
            return True

        monkeypatch.setenv("DISPLAY", ":0")
        monkeypatch.setattr("webbrowser.open", open_)

    return replace


@pytest.fixture
def follow_redirect() -> Callable[..., None]:
    """Return a function that opens an address of the listener as a browser does, and adds the pages to a list."""

    def follow(address: str, pages: list[str]) -> None:
        redirect = urlsplit(address)
        for target in (f"{redirect.path}?{redirect.query}", "/done"):
            connection = http.client.HTTPConnection(redirect.netloc, timeout=10)
            connection.request("GET", target)
            pages.append(connection.getresponse().read().decode())
            connection.close()
            time.sleep(0.25)  # longer than the listener needs to end, without a slow request

    return follow


@pytest.fixture
def browser(server, open_pages, follow_redirect) -> list[str]:
    """Put a person with a browser in the place of the browser; give the pages it ended at."""
    pages: list[str] = []
    open_pages(lambda address: follow_redirect(server.sign_in(address, server.viewer), pages))
    return pages


@pytest.fixture
def type_lines(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that sets standard input."""
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


@pytest.fixture
def name(server) -> str:
    """Return how the viewer is named: NAME (@handle)."""
    person = next(person for person in server.people if person.username == server.viewer)
    return f"{person.display_name} (@{person.username})"
