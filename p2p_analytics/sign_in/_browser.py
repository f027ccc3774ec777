"""Opening the browser at an address that other users of this machine must not read."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={address}"><title>Sign in</title></head>'
    '<body><p><a href="{address}">Go on to sign in</a></p></body></html>'
)


@contextlib.contextmanager
def in_browser(address: str) -> Iterator[bool]:
    """Open an address in the browser, and tell whether that was possible.

    The browser gets its address as an argument, which other users can read in the process list. So it
    gets the address of a private page that redirects, and that exists until the block is left.
    """
    with contextlib.ExitStack() as stack:
        opened = False
        if _has_browser():
            with contextlib.suppress(OSError):
                opened = _open(stack.enter_context(_redirecting_page(address)))
        yield opened


@contextlib.contextmanager
def _redirecting_page(address: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="p2p-sign-in-", dir=_folder()) as folder:
        page = Path(folder, "sign-in.html")
        with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(_PAGE.format(address=escape(address)))
        yield page.as_uri()


def _folder() -> Path | None:
    """Return the home folder; browsers that are installed as snaps read neither hidden folders nor ``/tmp``."""
    with contextlib.suppress(RuntimeError):
        home = Path.home()
        if home.is_dir() and os.access(home, os.W_OK):
            return home
    return None


def _has_browser() -> bool:
    """Return whether a browser can be opened that does not take the terminal over."""
    return not sys.platform.startswith("linux") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")))


def _open(address: str) -> bool:
    import webbrowser

    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False
