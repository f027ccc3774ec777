"""The two ends of the redirect: where the user goes to sign in, and the address that comes back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import parse_qs, quote, urlencode

from p2p_analytics import settings
from p2p_analytics.auth._redaction import redact
from p2p_analytics.auth._sealing import sealed
from p2p_analytics.auth._token import AccessToken, Secret
from p2p_analytics.display import keep_printable
from p2p_analytics.errors import ConfigurationError, TokenError
from p2p_analytics.vocabulary import AUTHORIZE, CLIENT_TOKEN_SECONDS, TOKEN_PARAMETER, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

_PARAMETERS: Final = (f"{TOKEN_PARAMETER}=", "code=", "error=")
_LONGEST_REASON: Final = 4096


class ConsentDenied(TokenError):  # noqa: N818 - not one of the errors that users type
    """The service says that it gives no token, which ends the sign-in."""


def authorize_url(  # noqa: PLR0913 - one keyword for each parameter
    base_url: str | None = None,
    client_id: str | None = None,
    scopes: Iterable[str] = (Scope.PROFILE, Scope.FRIENDS),
    *,
    redirect_uri: str | None = None,
    state: str | None = None,
    response_type: Literal["token", "code"] = "token",
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
    response_type : {"token", "code"}
        What the redirect brings: a token, or in the server-side flow a code for
        :func:`p2p_analytics.client.oauth.exchange`.

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
    fields |= {"response_type": response_type} if response_type != "token" else {}
    return f"{settings.base_url(base_url)}{AUTHORIZE.path}?{urlencode(fields, quote_via=quote)}"


@sealed
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
    fields = _fields(url)
    if "code" in fields and TOKEN_PARAMETER not in fields:
        raise TokenError("That address holds a code and no token: sign in with an address from authorize_url.")
    tokens = fields.get(TOKEN_PARAMETER, [])
    if len(tokens) != 1:
        raise TokenError("That address holds no access token: copy the whole address the browser ended at.")
    expires = (now or datetime.now(UTC)) + timedelta(seconds=CLIENT_TOKEN_SECONDS)
    return AccessToken(tokens[0], scopes=scopes, expires_at=expires)


@sealed
def token_from_text(text: str, *, scopes: Iterable[str] = (), now: datetime | None = None) -> AccessToken:
    """Return the token in what a user pasted: a redirect address as in `token_from_redirect`, or the bare token.

    A bare token does not tell when it expires, so nor does the AccessToken.
    """
    bare = text.strip().strip("\"'")
    if not bare or "://" in bare or any(bare.startswith(name) or f"&{name}" in bare for name in _PARAMETERS):
        return token_from_redirect(text, scopes=scopes, now=now)
    return AccessToken(bare, scopes=scopes)


@sealed
def code_from_redirect(url: str) -> Secret:
    """Return the code that the service appended to a redirect address (document: "Server-side flow").

    Raises
    ------
    TokenError
        The user denied access, or the address holds no code or more than one.
    """
    codes = _fields(url).get("code", [])
    if len(codes) != 1:
        raise TokenError("That address holds no code: copy the whole address the browser ended at.")
    return Secret(codes[0])


def _fields(url: str) -> dict[str, list[str]]:
    text = url.strip().strip("\"'")
    query = text.partition("?")[2] if "?" in text else text
    fields = parse_qs(query.partition("#")[0])
    if "error" in fields:
        secrets = [Secret(value) for name in (TOKEN_PARAMETER, "code") for value in fields.get(name, ())]
        said = _plain(redact(fields["error"][0][:_LONGEST_REASON], secrets))
        raise ConsentDenied(f"The service gave no token ({said}): sign in again and agree.")
    return fields


def _plain(text: str) -> str:
    """Keep a foreign text short and printable."""
    return keep_printable(text, 80)
