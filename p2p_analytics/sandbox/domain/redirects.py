"""Where an authorization may send a browser: the redirect URL on file, and what may override it.

The document lets ``redirect_uri`` be built on the fly, so an exact match cannot be the rule; a same
origin is. An address that two readers could read differently belongs to no origin.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from p2p_analytics.sandbox.errors import InvalidParameterError, UnapprovedClientError
from p2p_analytics.vocabulary import TOKEN_PARAMETER

if TYPE_CHECKING:
    from p2p_analytics.sandbox.storage.oauth_store import Registration

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_AUTHORITY: Final = re.compile(r"(\[::1\]|[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?)(?::(\d{1,5}))?", re.ASCII)
_PRINTABLE: Final = re.compile(r"[!-~]{1,2000}", re.ASCII)
_OURS: Final = frozenset({TOKEN_PARAMETER, "code", "error", "state"})


def destination(application: Registration, override: str | None, *, strict: bool) -> str:
    """Return where the browser goes after the consent page.

    An override must have the scheme, host and port that are on file; where those are this machine's
    loopback, any loopback name and port, as native applications need it. `strict` demands the very
    address that is on file.

    Raises
    ------
    UnapprovedClientError
        No valid redirect URL is on file.
    InvalidParameterError
        The override leads elsewhere.
    """
    on_file = origin(application.redirect_url or "")
    if application.redirect_url is None or on_file is None:
        raise UnapprovedClientError("This application has no valid redirect URL on file, so it cannot be authorized.")
    if override is None or override == application.redirect_url:
        return application.redirect_url
    if strict:
        raise InvalidParameterError("redirect_uri must be the redirect URL on file, to the letter.")
    given = origin(override)
    both_loopback = given is not None and given[1] in _LOOPBACK and on_file[1] in _LOOPBACK and given[0] == on_file[0]
    if given is None or not (given == on_file or both_loopback):
        raise InvalidParameterError("redirect_uri must have the scheme, host and port of the redirect URL on file.")
    return override


def origin(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of a redirect URL; None where browsers and servers could read it differently."""
    if not _PRINTABLE.fullmatch(url) or set(url) & set("\\#<>\"'`"):
        return None
    scheme, _, rest = url.partition("://")
    place = host(re.split(r"[/?]", rest, maxsplit=1)[0])
    if scheme not in ("http", "https") or place is None or _names(rest.partition("?")[2]) & _OURS:
        return None
    return scheme, place[0], place[1] or (443 if scheme == "https" else 80)


def host(text: str) -> tuple[str, int | None] | None:
    """Return the name and port of ``host`` or ``host:port``; None for anything else."""
    match = _AUTHORITY.fullmatch(text)
    if match is None or (match[2] is not None and not 0 < int(match[2]) < 2**16):
        return None
    return match[1].lower(), None if match[2] is None else int(match[2])


def _names(query: str) -> set[str]:
    return {name.lower() for name, _ in parse_qsl(query, keep_blank_values=True)}
