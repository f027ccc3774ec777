"""Access tokens, token sources and stores, and both ends of the OAuth redirect.

Document: "Authentication". The application sends the user to :func:`authorize_url`. The service redirects the
browser to an address that holds the token; a :class:`Listener` or :func:`token_from_redirect` reads it.
"""

from __future__ import annotations

from p2p_analytics.auth._listener import Listener
from p2p_analytics.auth._redaction import redact, redact_exception
from p2p_analytics.auth._redirect import (
    ConsentDenied,
    authorize_url,
    code_from_redirect,
    token_from_redirect,
    token_from_text,
)
from p2p_analytics.auth._sources import (
    CLIENT_SECRET_VARIABLE,
    TOKEN_VARIABLE,
    FoundToken,
    find_base_url,
    find_client_secret,
    find_token,
    load_sign_ins,
)
from p2p_analytics.auth._store import (
    FileStore,
    KeyringStore,
    KeyringUnavailableError,
    Owner,
    SignIn,
    SignInStore,
    lock_sign_in,
)
from p2p_analytics.auth._token import AccessToken, Secret
from p2p_analytics.auth._tracebacks import hide_frames

__all__ = [
    "CLIENT_SECRET_VARIABLE",
    "TOKEN_VARIABLE",
    "AccessToken",
    "ConsentDenied",
    "FileStore",
    "FoundToken",
    "KeyringStore",
    "KeyringUnavailableError",
    "Listener",
    "Owner",
    "Secret",
    "SignIn",
    "SignInStore",
    "authorize_url",
    "code_from_redirect",
    "find_base_url",
    "find_client_secret",
    "find_token",
    "hide_frames",
    "load_sign_ins",
    "lock_sign_in",
    "redact",
    "redact_exception",
    "token_from_redirect",
    "token_from_text",
]
