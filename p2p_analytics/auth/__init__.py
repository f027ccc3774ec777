"""Tokens that never show themselves, where they come from, and the two ends of the OAuth redirect.

Document: "Authentication". The application sends the user to :func:`authorize_url`; the service
redirects back to an address from which a :class:`Listener`, or :func:`token_from_redirect`, takes the token.
"""

from __future__ import annotations

from p2p_analytics.auth._listener import Listener
from p2p_analytics.auth._redirect import authorize_url, token_from_redirect
from p2p_analytics.auth._sources import TOKEN_VARIABLE, as_token
from p2p_analytics.auth._token import AccessToken, Secret

__all__ = [
    "TOKEN_VARIABLE",
    "AccessToken",
    "Listener",
    "Secret",
    "as_token",
    "authorize_url",
    "token_from_redirect",
]
