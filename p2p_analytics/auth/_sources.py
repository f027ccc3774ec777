"""Where a token comes from."""

from __future__ import annotations

import os
from typing import Final

from p2p_analytics.auth._token import AccessToken
from p2p_analytics.errors import NotSignedIn

TOKEN_VARIABLE: Final = "P2P_ACCESS_TOKEN"  # noqa: S105 - the name of the variable, not a secret


def as_token(value: AccessToken | str | None = None) -> AccessToken:
    """Return the token that was passed, or the one in ``P2P_ACCESS_TOKEN``.

    Raises
    ------
    NotSignedIn
        There is none.
    TokenError
        It is malformed.
    """
    if isinstance(value, AccessToken):
        return value
    text = value if value is not None else os.environ.get(TOKEN_VARIABLE)
    if text is None:
        raise NotSignedIn(f"No access token: sign in, pass token=... or set {TOKEN_VARIABLE}.")
    return AccessToken(text.strip() if isinstance(text, str) else text)
