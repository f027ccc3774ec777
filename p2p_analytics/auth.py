"""Tokens that never show themselves, and the two ends of the OAuth redirect.

Document: "Authentication". The application sends the user to :func:`authorize_url`; the service
redirects back to an address from which :func:`token_from_redirect` takes the token.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NoReturn
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from p2p_analytics import settings
from p2p_analytics.errors import ConfigurationError, TokenError
from p2p_analytics.vocabulary import AUTHORIZE, CLIENT_TOKEN_SECONDS, TOKEN_PARAMETER, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

TOKEN_VARIABLE: Final = "P2P_ACCESS_TOKEN"  # noqa: S105 - the name of the variable, not a secret
_SHAPE: Final = re.compile(r"[\x21-\x7e]{1,4096}", re.ASCII)


class AccessToken:
    """A token that cannot be printed, pickled, compared or copied by accident.

    Parameters
    ----------
    value : str
        The token as the service gave it.
    scopes : iterable of str, optional
        What the token permits, where known (document: "Scopes named").
    expires_at : datetime, optional
        Aware instant after which it is not sent any more.

    Raises
    ------
    TokenError
        The value is empty, or holds blanks or other characters that no token has.
    """

    __slots__ = ("_value", "expires_at", "scopes")

    def __init__(self, value: str, *, scopes: Iterable[str] = (), expires_at: datetime | None = None) -> None:
        if not isinstance(value, str) or not _SHAPE.fullmatch(value):
            raise TokenError("That is no access token: a token is one word without blanks; sign in again to get one.")
        if "://" in value:
            raise TokenError("That is an address, not a token: pass it to token_from_redirect.")
        if expires_at is not None and expires_at.tzinfo is None:
            raise ConfigurationError("expires_at must be an aware datetime, such as datetime.now(UTC).")
        self._value = value
        self.scopes = frozenset(scopes)
        self.expires_at = expires_at

    def reveal(self) -> str:
        """Return the token itself, for the one place that puts it on the wire."""
        return self._value

    def require_unexpired(self, now: datetime) -> None:
        """Raise a TokenError if the token's time is over."""
        if self.expires_at is not None and now >= self.expires_at:
            raise TokenError(
                f"The token expired at {self.expires_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC: sign in again."
            )

    def __repr__(self) -> str:
        """Show that there is a token, and nothing of it."""
        return "<AccessToken ***>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        """Show no more than ``repr`` does."""
        return format(repr(self), spec)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied, so that no store or cache holds the token."""
        raise TypeError("An AccessToken cannot be pickled or copied: pass the object itself.")

    __hash__ = None  # type: ignore[assignment]  # not a dictionary key, so no cache is keyed by it

    def __eq__(self, other: object) -> bool:
        """Be equal to itself alone, so that comparing tells nothing."""
        return self is other


def as_token(value: AccessToken | str | None = None) -> AccessToken:
    """Return the token that was passed, or the one in ``P2P_ACCESS_TOKEN``.

    Raises
    ------
    TokenError
        There is none, or it is malformed.
    """
    if isinstance(value, AccessToken):
        return value
    text = value if value is not None else os.environ.get(TOKEN_VARIABLE)
    if text is None:
        raise TokenError(f"No access token: sign in, pass token=... or set {TOKEN_VARIABLE}.")
    return AccessToken(text.strip() if isinstance(text, str) else text)


def authorize_url(
    base_url: str | None = None,
    client_id: str | None = None,
    scopes: Iterable[str] = (Scope.PROFILE, Scope.FRIENDS),
    *,
    redirect_uri: str | None = None,
    state: str | None = None,
) -> str:
    """Return the address where the user signs in and agrees (document: "Client-side flow").

    Parameters
    ----------
    base_url, client_id : str, optional
        The service and the application; else ``P2P_BASE_URL`` and ``P2P_CLIENT_ID``.
    scopes : iterable of str
        What to ask for, words of :class:`~p2p_analytics.vocabulary.Scope`.
    redirect_uri : str, optional
        Overrides the application's registered redirect URL.
    state : str, optional
        Comes back unchanged with the redirect.

    Raises
    ------
    ConfigurationError
        A setting is missing or no scope, or an unknown one, is asked for.
    """
    asked = [str(scope) for scope in ([scopes] if isinstance(scopes, str) else scopes)]
    unknown = sorted(set(asked) - {str(scope) for scope in Scope})
    if unknown or not asked:
        raise ConfigurationError(
            f"Ask for one or more of the scopes {', '.join(Scope)}"
            + (f", not {', '.join(unknown)}." if unknown else ".")
        )
    fields = {"client_id": settings.client_id(client_id), "scope": " ".join(asked)}
    fields |= {"redirect_uri": redirect_uri} if redirect_uri else {}
    fields |= {"state": state} if state else {}
    return f"{settings.base_url(base_url)}{AUTHORIZE.path}?{urlencode(fields, quote_via=quote)}"


def token_from_redirect(url: str, *, scopes: Iterable[str] = (), now: datetime | None = None) -> AccessToken:
    """Return the token that the service appended to a redirect address.

    Parameters
    ----------
    url : str
        The whole address the browser ended at; ``access_token=...`` alone will do.
    scopes : iterable of str, optional
        The scopes that were asked for, to be remembered with the token.
    now : datetime, optional
        When the redirect came, for the token's 30 minutes (document: "Limits"); default now.

    Raises
    ------
    TokenError
        The user denied access, or the address holds no token or more than one.
    """
    text = url.strip().strip("\"'")
    query = urlsplit(text).query if "?" in text else text
    fields = parse_qs(query.partition("#")[0])
    if "error" in fields:
        raise TokenError(f"The service gave no token ({_plain(fields['error'][0])}): sign in again and agree.")
    if "code" in fields and TOKEN_PARAMETER not in fields:
        raise TokenError("That address holds a code and no token: sign in with an address from authorize_url.")
    tokens = fields.get(TOKEN_PARAMETER, [])
    if len(tokens) != 1:
        raise TokenError("That address holds no access token: copy the whole address the browser ended at.")
    expires = (now or datetime.now(UTC)) + timedelta(seconds=CLIENT_TOKEN_SECONDS)
    return AccessToken(tokens[0], scopes=scopes, expires_at=expires)


def _plain(text: str) -> str:
    """Keep a foreign text short and printable."""
    return "".join(char for char in text if char.isprintable())[:80]
