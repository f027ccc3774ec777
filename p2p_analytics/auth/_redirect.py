"""Both ends of the OAuth redirect: the URL of the consent page, and the URL that the browser returns to."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, Literal
from urllib.parse import parse_qs, quote, urlencode

from p2p_analytics import settings
from p2p_analytics.auth._redaction import redact
from p2p_analytics.auth._token import AccessToken, Secret
from p2p_analytics.auth._tracebacks import hide_frames
from p2p_analytics.display import keep_printable
from p2p_analytics.errors import ConfigurationError, TokenError
from p2p_analytics.vocabulary import AUTHORIZE, CLIENT_TOKEN_SECONDS, TOKEN_PARAMETER, Scope

_PARAMETERS: Final = (f"{TOKEN_PARAMETER}=", "code=", "error=")
_LONGEST_ERROR: Final = 4096
_LONGEST_REASON: Final = 80


class ConsentDenied(TokenError):  # noqa: N818 - not one of the errors that users type
    """The service issued no token because the user declined; the sign-in is over."""


def authorize_url(  # noqa: PLR0913 - one keyword for each parameter
    base_url: str | None = None,
    client_id: str | None = None,
    scopes: Iterable[str] = (Scope.PROFILE, Scope.FRIENDS),
    *,
    redirect_uri: str | None = None,
    state: str | None = None,
    response_type: Literal["token", "code"] = "token",
) -> str:
    """Return the URL of the consent page, where the user signs in and agrees (document: "Client-side flow").

    Parameters
    ----------
    base_url, client_id : str, optional
        The service and the application; default ``P2P_BASE_URL`` and ``P2P_CLIENT_ID``.
    scopes : iterable of str
        The scopes to request, values of :class:`~p2p_analytics.vocabulary.Scope`.
    redirect_uri : str, optional
        Overrides the application's registered redirect URL.
    state : str, optional
        Returned unchanged with the redirect.
    response_type : {"token", "code"}
        Whether the redirect returns a token or, in the server-side flow, a code for
        :func:`p2p_analytics.client.oauth.exchange`.

    Raises
    ------
    ConfigurationError
        A setting is missing, no scope is given, or a scope is unknown.
    """
    requested = [str(scope) for scope in ([scopes] if isinstance(scopes, str) else scopes)]
    unknown = sorted(set(requested) - {str(scope) for scope in Scope})
    if unknown or not requested:
        raise ConfigurationError(
            f"Ask for one or more of the scopes {', '.join(Scope)}"
            + (f", not {', '.join(unknown)}." if unknown else ".")
        )
    fields = {"client_id": settings.client_id(client_id), "scope": " ".join(requested)}
    fields |= {"redirect_uri": redirect_uri} if redirect_uri else {}
    fields |= {"state": state} if state else {}
    fields |= {"response_type": response_type} if response_type != "token" else {}
    return f"{settings.base_url(base_url)}{AUTHORIZE.path}?{urlencode(fields, quote_via=quote)}"


@hide_frames
def token_from_redirect(url: str, *, scopes: Iterable[str] = (), now: datetime | None = None) -> AccessToken:
    """Return the token in a redirect URL.

    Parameters
    ----------
    url : str
        The URL in the browser's address bar after the redirect; ``access_token=...`` alone is enough.
    scopes : iterable of str, optional
        The requested scopes, stored with the token.
    now : datetime, optional
        The time of the redirect, from which the token is valid for 30 minutes (document: "Limits"); default now.

    Raises
    ------
    TokenError
        The user declined, or the URL does not hold exactly one token.
    """
    fields = _fields(url)
    if "code" in fields and TOKEN_PARAMETER not in fields:
        raise TokenError("The address holds a code, not a token: sign in with an address from authorize_url.")
    tokens = fields.get(TOKEN_PARAMETER, [])
    if len(tokens) != 1:
        raise TokenError("The address holds no access token: copy the whole address from the browser's address bar.")
    expires = (now or datetime.now(UTC)) + timedelta(seconds=CLIENT_TOKEN_SECONDS)
    return AccessToken(tokens[0], scopes=scopes, expires_at=expires)


@hide_frames
def token_from_text(text: str, *, scopes: Iterable[str] = (), now: datetime | None = None) -> AccessToken:
    """Return the token in pasted text: a redirect URL as in `token_from_redirect`, or the bare token.

    The expiry of a bare token is unknown.
    """
    bare = text.strip().strip("\"'")
    if not bare or "://" in bare or any(bare.startswith(name) or f"&{name}" in bare for name in _PARAMETERS):
        return token_from_redirect(text, scopes=scopes, now=now)
    return AccessToken(bare, scopes=scopes)


@hide_frames
def code_from_redirect(url: str) -> Secret:
    """Return the code in a redirect URL (document: "Server-side flow").

    Raises
    ------
    TokenError
        The user declined, or the URL does not hold exactly one code.
    """
    codes = _fields(url).get("code", [])
    if len(codes) != 1:
        raise TokenError("The address holds no code: copy the whole address from the browser's address bar.")
    return Secret(codes[0])


def _fields(url: str) -> dict[str, list[str]]:
    text = url.strip().strip("\"'")
    query = text.partition("?")[2] if "?" in text else text
    fields = parse_qs(query.partition("#")[0])
    if "error" in fields:
        secrets = [Secret(value) for name in (TOKEN_PARAMETER, "code") for value in fields.get(name, ())]
        reason = keep_printable(redact(fields["error"][0][:_LONGEST_ERROR], secrets), _LONGEST_REASON)
        raise ConsentDenied(f"The service issued no token ({reason}): sign in again and agree.")
    return fields
