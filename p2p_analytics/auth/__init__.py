"""Tokens that never show themselves, where they come from, and the two ends of the OAuth redirect.

Document: "Authentication". The application sends the user to :func:`authorize_url`; the service
redirects back to an address from which a :class:`Listener`, or :func:`token_from_redirect`, takes the token.
"""

from __future__ import annotations

from p2p_analytics.auth._listener import Listener
from p2p_analytics.auth._redaction import redact, scrub
from p2p_analytics.auth._redirect import (
    ConsentDenied,
    authorize_url,
    code_from_redirect,
    token_from_redirect,
    token_from_text,
)
from p2p_analytics.auth._sealing import sealed
from p2p_analytics.auth._sources import (
    CLIENT_SECRET_VARIABLE,
    TOKEN_VARIABLE,
    Found,
    as_token,
    client_secret,
    find_token,
    kept,
    service_url,
)
from p2p_analytics.auth._store import FileStore, KeyringStore, KeyringUnavailableError, SignIn, Store, locked
from p2p_analytics.auth._token import AccessToken, Secret

__all__ = [
    "CLIENT_SECRET_VARIABLE",
    "TOKEN_VARIABLE",
    "AccessToken",
    "ConsentDenied",
    "FileStore",
    "Found",
    "KeyringStore",
    "KeyringUnavailableError",
    "Listener",
    "Secret",
    "SignIn",
    "Store",
    "as_token",
    "authorize_url",
    "client_secret",
    "code_from_redirect",
    "find_token",
    "kept",
    "locked",
    "redact",
    "scrub",
    "sealed",
    "service_url",
    "token_from_redirect",
    "token_from_text",
]
