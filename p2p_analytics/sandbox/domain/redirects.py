"""Redirect URLs of authorizations: the URL on file, and the rule for overriding it.

The document allows a ``redirect_uri`` that is built for each request, so the rule is the same origin and not an exact
match. A URL that browsers and servers could parse differently has no origin.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl

from p2p_analytics.sandbox.errors import InvalidParameterError, UnapprovedClientError
from p2p_analytics.sandbox.storage.oauth_store import Registration
from p2p_analytics.vocabulary import TOKEN_PARAMETER

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_AUTHORITY: Final = re.compile(r"(\[::1\]|[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?)(?::(\d{1,5}))?", re.ASCII)
_PRINTABLE: Final = re.compile(r"[!-~]{1,2000}", re.ASCII)
_RESERVED: Final = frozenset({TOKEN_PARAMETER, "code", "error", "state"})


def choose_redirect_url(application: Registration, override: str | None, *, strict: bool) -> str:
    """Return the URL that the browser is redirected to after the consent page.

    An override must have the scheme, host and port of the URL on file; where that is a loopback host, any loopback
    host and port, as native applications need it. `strict` demands the exact URL on file.

    Raises
    ------
    UnapprovedClientError
        No valid redirect URL is on file.
    InvalidParameterError
        The override has another origin.
    """
    on_file = parse_origin(application.redirect_url or "")
    if application.redirect_url is None or on_file is None:
        raise UnapprovedClientError("This application has no valid redirect URL on file, so it cannot be authorized.")
    if override is None or override == application.redirect_url:
        return application.redirect_url
    if strict:
        raise InvalidParameterError("redirect_uri must be exactly the redirect URL on file.")
    given = parse_origin(override)
    both_loopback = given is not None and given[1] in _LOOPBACK and on_file[1] in _LOOPBACK and given[0] == on_file[0]
    if given is None or not (given == on_file or both_loopback):
        raise InvalidParameterError("redirect_uri must have the scheme, host and port of the redirect URL on file.")
    return override


def parse_origin(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of a redirect URL, or None where it is invalid or ambiguous."""
    if not _PRINTABLE.fullmatch(url) or set(url) & set("\\#<>\"'`"):
        return None
    scheme, _, rest = url.partition("://")
    place = parse_host(re.split(r"[/?]", rest, maxsplit=1)[0])
    names = {name.lower() for name, _ in parse_qsl(rest.partition("?")[2], keep_blank_values=True)}
    if scheme not in ("http", "https") or place is None or names & _RESERVED:
        return None
    return scheme, place[0], place[1] or (443 if scheme == "https" else 80)


def parse_host(text: str) -> tuple[str, int | None] | None:
    """Return the name and port of ``host`` or ``host:port``, or None for any other text."""
    match = _AUTHORITY.fullmatch(text)
    if match is None or (match[2] is not None and not 0 < int(match[2]) < 2**16):
        return None
    return match[1].lower(), None if match[2] is None else int(match[2])
