"""POST /oauth/access_token: exchange a code or a refresh token for tokens that last 60 days.

The document names only this flow and its 60 days. Parameters, response and error codes follow public clients.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from typing import Final
from urllib.parse import unquote_plus

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from p2p_analytics.sandbox.api.authentication import Authenticator
from p2p_analytics.sandbox.api.reads import ReadEndpoints
from p2p_analytics.sandbox.domain.tokens import TokenPair, Tokens
from p2p_analytics.sandbox.errors import (
    ClientNotFoundError,
    ClientSecretError,
    GrantTypeError,
    InvalidParameterError,
    MissingArgumentError,
)
from p2p_analytics.sandbox.http import bodies, parameters
from p2p_analytics.sandbox.http.dialects import ACTIVE_DIALECT
from p2p_analytics.sandbox.http.responses import json_response
from p2p_analytics.sandbox.storage.oauth_store import digest
from p2p_analytics.vocabulary import SERVER_TOKEN_SECONDS, TOKEN_PARAMETER, Scope

NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
GRANTS: Final = {"authorization_code": "code", "refresh_token": "refresh_token"}
_NAMES: Final = ("client_id", "client_secret")
_KNOWN: Final = frozenset({*_NAMES, *GRANTS.values(), "grant_type", "redirect_uri"})


class TokenExchange:
    """Endpoint that an application's server calls, without a browser."""

    def __init__(self, reads: ReadEndpoints, tokens: Tokens, authenticator: Authenticator) -> None:
        self._reads = reads
        self._tokens = tokens
        self._authenticator = authenticator

    async def exchange(self, request: Request) -> Response:
        """POST /oauth/access_token: return both tokens and their user, without ``data`` envelope."""
        self._authenticator.count_address(request)
        given = await _read_parameters(request)
        issued = await run_in_threadpool(self._issue, given)
        profile = self._reads.profile(issued.caller)
        if Scope.PROFILE not in issued.caller.scopes and not ACTIVE_DIALECT.get().always_shows_user:
            profile["user"] = None
        return json_response(
            {
                TOKEN_PARAMETER: issued.access_token,
                "expires_in": SERVER_TOKEN_SECONDS,
                "token_type": "bearer",
                **profile,
                "refresh_token": issued.refresh_token,
            },
            headers=NO_STORE,
        )

    def _issue(self, given: parameters.Parameters) -> TokenPair:
        client_id, secret = (given.require(name) for name in _NAMES)
        grant_type = given.get("grant_type")
        kinds = [name for name in GRANTS.values() if given.get(name) is not None]
        if grant_type is not None:
            if grant_type not in GRANTS:
                raise GrantTypeError(f"grant_type must be {' or '.join(GRANTS)}.")
            kinds = [GRANTS[grant_type]]
        elif len(kinds) > 1:  # clients leave grant_type out if only one is given
            raise InvalidParameterError("Give code or refresh_token, not both, or say which with grant_type.")
        elif not kinds:
            raise MissingArgumentError("The parameter code or refresh_token is missing.")
        application = self._tokens.oauth_store.application(client_id)
        if application is None:
            raise ClientNotFoundError
        if not secrets.compare_digest(application.secret_digest or b"", digest(secret)):
            raise ClientSecretError
        if kinds == ["code"]:
            return self._tokens.redeem(client_id, given.require("code"), given.get("redirect_uri"))
        return self._tokens.refresh(client_id, given.require("refresh_token"))


async def _read_parameters(request: Request) -> parameters.Parameters:
    """Return the parameters of query, body (form or JSON) and Authorization header; clients use each of these."""
    pairs = request.query_params.multi_items()
    if bodies.media_type(request)[0] == "application/json":
        found = bodies.parse_object(await request.body())
        given = {name: value for name, value in found.items() if name in _KNOWN and value is not None}
        if any(not isinstance(value, str | int) or isinstance(value, bool) for value in given.values()):
            raise InvalidParameterError("The fields of the JSON body must be text.")
        pairs += bodies.require_text([(name, str(value)) for name, value in given.items()])
    else:
        pairs += (await bodies.read_form(request)).pairs()
    for header in request.headers.getlist("authorization"):
        kind, _, value = header.partition(" ")
        if kind.lower() != "basic":
            continue
        try:
            name, colon, secret = base64.b64decode(value.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            colon = ""
        if not colon:
            raise InvalidParameterError("The Authorization header is not valid Basic authentication.")
        # Some clients also send their id in the body.
        pairs += [pair for pair in zip(_NAMES, map(unquote_plus, (name, secret)), strict=True) if pair not in pairs]
    return parameters.Parameters(pairs)
