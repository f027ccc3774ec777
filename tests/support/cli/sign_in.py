"""The kept sign-in, and the page that the browser is sent to."""

from __future__ import annotations

import html
import re
import stat
from pathlib import Path
from urllib.parse import urlsplit

from p2p_analytics.auth import FileStore, SignIn


def target_of(page: str) -> str:
    """Return where a page redirects to: one that only its owner can read, in a folder that only they can enter."""
    file = Path(urlsplit(page).path)
    assert urlsplit(page).scheme == "file"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, file.parent)] == [0o600, 0o700]
    (found,) = re.findall(r'http-equiv="refresh" content="0;url=([^"]*)"', file.read_text())
    return html.unescape(found)


def load_sign_in() -> SignIn:
    """Return the sign-in in the state file."""
    sign_in = FileStore().load()
    assert sign_in is not None
    return sign_in


def name_of(server) -> str:
    """Return how the viewer is named: NAME (@handle)."""
    person = next(person for person in server.people if person.username == server.viewer)
    return f"{person.display_name} (@{person.username})"
