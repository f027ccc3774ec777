"""Opens the browser at an address that other users of the machine must not read."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Final

_PAGE: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
    '<meta http-equiv="refresh" content="0;url={address}"><title>Sign in</title></head>'
    '<body><p><a href="{address}">Go on to sign in</a></p></body></html>'
)


_PREFIX: Final = "p2p-sign-in-"
_NAME: Final = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}", re.ASCII)  # as `tempfile` makes them
_FILE: Final = "sign-in.html"
_LONGEST_SECONDS: Final = 3_600  # no sign-in takes as long
_GRAPHICAL: Final = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")  # variables, any of them on Linux


@contextlib.contextmanager
def in_browser(address: str) -> Iterator[bool]:
    """Open an address in the browser during the block, and give whether a browser was opened.

    Other users can read the browser's arguments in the process list. So its argument is the address of a
    private page that redirects to the real address; the page is deleted at the end of the block.
    """
    # A text browser would take over the terminal.
    is_graphical = not sys.platform.startswith("linux") or any(map(os.environ.get, _GRAPHICAL))
    is_opened = False
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, webbrowser.Error):
            is_opened = is_graphical and webbrowser.open(stack.enter_context(_redirecting_page(address)))
        yield is_opened


@contextlib.contextmanager
def _redirecting_page(address: str) -> Iterator[str]:
    parent = Path(tempfile.gettempdir())
    with contextlib.suppress(RuntimeError):  # snap browsers read neither hidden folders nor /tmp
        parent = home if (home := Path.home()).is_dir() and os.access(home, os.W_OK) else parent
    _remove_abandoned(parent)
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as folder:
        page = Path(folder, _FILE)
        with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(_PAGE.format(address=escape(address)))
        yield page.as_uri()


def _remove_abandoned(parent: Path) -> None:
    """Remove the pages that killed sign-ins of this user left behind, and nothing else."""
    for folder in parent.glob(f"{_PREFIX}*"):
        # A folder that cannot be read, or holds more than the page, stays.
        with contextlib.suppress(OSError):
            page, outside = folder / _FILE, folder.lstat()
            if not _NAME.fullmatch(folder.name) or not stat.S_ISDIR(outside.st_mode) or {*folder.iterdir()} != {page}:
                continue
            inside = page.lstat()
            is_old = time.time() - inside.st_mtime > _LONGEST_SECONDS
            is_own = {outside.st_uid, inside.st_uid} == {os.getuid()}
            if (
                is_old
                and is_own
                and stat.S_ISREG(inside.st_mode)
                and page.read_text(encoding="utf-8", errors="replace").startswith(_PAGE.partition("{address}")[0])
            ):
                page.unlink()
                folder.rmdir()
