"""Server-side flow: exchanges a code, and later a refresh token, for an access token of 60 days.

The document names the flow but does not show its requests (document: "Server-side flow"); they have the form that
public clients of the service use. No request is retried, because codes and refresh tokens are valid only once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec
import requests
import urllib3

from p2p_analytics import errors, settings
from p2p_analytics.auth import (
    CLIENT_SECRET_VARIABLE,
    AccessToken,
    Secret,
    SignIn,
    find_client_secret,
    hide_frames,
    redact_exception,
)
from p2p_analytics.client.http.adapter import NotSentError, prepare_session
from p2p_analytics.client.http.error_mapping import map_error_response, map_transport_failure
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.records import repair_json
from p2p_analytics.vocabulary import SERVER_TOKEN_SECONDS

PATH: Final = "/oauth/access_token"
TIMEOUT: Final = (3.05, 30.0)
_MESSAGES: Final = {
    "240": "The service no longer knows this code: sign in again.",
    "244": "The service knows no application with this client id: check P2P_CLIENT_ID.",
    "245": "The service does not give this application tokens: check its developer settings.",
    "247": "The service does not accept the client secret: check P2P_CLIENT_SECRET.",
    "255": "The code was issued to another application: check P2P_CLIENT_ID and sign in again.",
    "256": "The code has expired: sign in again.",
    "257": "The code was used before: sign in again.",
    "259": "The sign-in was ended by the service or its user: sign in again.",
    "262": "The user revoked the sign-in: sign in again.",
    "275": "The service does not accept the refresh token, which was used before or revoked: sign in again.",
    "276": "The service does not take this kind of grant: sign in without the server-side flow.",
}


@hide_frames
def exchange(  # noqa: PLR0913 - each is one part of the request
    code: Secret | str,
    *,
    base_url: str | None = None,
    client_id: str | None = None,
    secret: Secret | str | None = None,
    redirect_uri: str | None = None,
    scopes: Iterable[str] = (),
    timeout: tuple[float, float] = TIMEOUT,
) -> SignIn:
    """Exchange the code of a redirect for a sign-in.

    Parameters
    ----------
    code : Secret or str
        As returned by :func:`p2p_analytics.auth.code_from_redirect`.
    base_url, client_id, secret : str, optional
        The service and the application; default ``P2P_BASE_URL``, ``P2P_CLIENT_ID``, ``P2P_CLIENT_SECRET``.
    redirect_uri : str, optional
        The ``redirect_uri`` of the authorization URL, if it had one.
    scopes : iterable of str, optional
        The requested scopes, which are stored with the token.
    timeout : tuple of float
        Seconds to connect, and seconds for the whole response.

    Returns
    -------
    SignIn
        ``token`` with its expiry, and ``refresh_token``.

    Raises
    ------
    ConfigurationError
        A setting is missing; nothing was sent.
    AuthenticationError
        The service does not accept the code or the application; see ``code``.
    TransportError
        No response arrived. If the request was sent, the code is used up.
    """
    endpoint = _TokenEndpoint(
        settings.base_url(base_url), settings.client_id(client_id), _resolve_client_secret(secret), timeout
    )
    more = {} if redirect_uri is None else {"redirect_uri": redirect_uri}
    return endpoint.redeem("code", _as_secret(code), frozenset(scopes), more)


@hide_frames
def refresh(
    sign_in: SignIn,
    *,
    secret: Secret | str | None = None,
    timeout: tuple[float, float] = TIMEOUT,
) -> SignIn:
    """Return a renewed sign-in of the server-side flow; the service replaces both tokens.

    Parameters
    ----------
    sign_in : SignIn
        Result of `exchange` or `refresh`. Its tokens are invalid afterwards.
    secret, timeout : optional
        As in `exchange`.

    Raises
    ------
    ConfigurationError
        The sign-in has no refresh token, or the secret is missing; nothing was sent.
    AuthenticationError
        The service does not accept the refresh token or the application; see ``code``.
    TransportError
        No response arrived. If the request was sent, the refresh token may be used up.
    """
    if sign_in.refresh_token is None or sign_in.client_id is None:
        raise ConfigurationError("This sign-in cannot be renewed, because it has no refresh token: sign in again.")
    endpoint = _TokenEndpoint(sign_in.base_url, sign_in.client_id, _resolve_client_secret(secret), timeout)
    renewed = endpoint.redeem("refresh_token", sign_in.refresh_token, sign_in.token.scopes, {})
    refresh_token = renewed.refresh_token or sign_in.refresh_token
    return replace(renewed, ident=sign_in.ident, owner=sign_in.owner, refresh_token=refresh_token)


class _TokenResponse(msgspec.Struct):
    """Used fields of a token response, which is not wrapped in ``data``."""

    access_token: str
    expires_in: float = SERVER_TOKEN_SECONDS
    refresh_token: str | None = None


@dataclass(frozen=True, slots=True)
class _TokenEndpoint:
    """Token endpoint of the service, for one application."""

    base_url: str
    client_id: str
    secret: Secret
    timeout: tuple[float, float]

    def redeem(self, name: str, grant: Secret, scopes: frozenset[str], more: dict[str, str]) -> SignIn:
        sent_at = datetime.now(UTC)
        secrets = {"client_secret": self.secret, name: grant}
        fields = {"client_id": self.client_id, **more}
        with prepare_session(requests.Session(), self.base_url, lambda: secrets) as session:
            try:
                response = session.post(
                    f"{self.base_url}{PATH}", data=fields, timeout=self.timeout, allow_redirects=False
                )
            except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
                failure = map_transport_failure(error, self.base_url)
                if not isinstance(error, NotSentError):
                    failure = errors.TransportError(
                        f"The request was sent, so the code or refresh token may be used up: sign in again. {failure}"
                    )
                    failure.retryable = False
                raise failure from None
            except BaseException as error:
                redact_exception(error, list(secrets.values()))
                raise
        if response.status_code not in range(200, 300):
            failure = map_error_response(response, self.secret, grant)
            failure.retryable = failure.retryable and isinstance(failure, errors.RateLimitedError)
            message = _MESSAGES.get(failure.code or "")
            raise (
                failure
                if message is None
                else errors.AuthenticationError(message, status_code=failure.status_code, code=failure.code)
            )
        sign_in = self._decode(response.content, sent_at, scopes)
        if sign_in is None:
            raise errors.ProtocolError(
                "The response holds no readable token: check the base URL, and sign in again.",
                status_code=response.status_code,
            )
        return sign_in

    def _decode(self, content: bytes, sent_at: datetime, scopes: frozenset[str]) -> SignIn | None:
        """Return the sign-in of a response, None if the response holds none."""
        try:
            decoded = msgspec.json.decode(repair_json(content), type=_TokenResponse, strict=False)
            expires_at = sent_at + timedelta(seconds=decoded.expires_in)
            token = AccessToken(decoded.access_token, scopes=scopes, expires_at=expires_at)
        except (msgspec.MsgspecError, ValueError, RecursionError, OverflowError, errors.TokenError):
            return None
        refresh_token = Secret(decoded.refresh_token) if decoded.refresh_token else None
        return SignIn(self.base_url, token, self.client_id, refresh_token)


def _as_secret(value: Secret | str) -> Secret:
    return value if isinstance(value, Secret) else Secret(value)


def _resolve_client_secret(value: Secret | str | None) -> Secret:
    secret = find_client_secret() if value is None else _as_secret(value)
    if secret is None:
        raise ConfigurationError(f"No client secret: set {CLIENT_SECRET_VARIABLE}.")
    return secret
