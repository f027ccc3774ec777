"""Authentication by access token, which `domain.tokens` checks, and counting requests for the rate limit."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Iterator

from starlette.exceptions import HTTPException
from starlette.requests import Request

from p2p_analytics.sandbox.domain.tokens import Caller, Tokens
from p2p_analytics.sandbox.errors import RefusalError
from p2p_analytics.sandbox.faults.settings import RequestSettings
from p2p_analytics.sandbox.http import parameters as rules
from p2p_analytics.vocabulary import Scope


class Authenticator:
    """Authenticates requests and counts them: by user and application, or by address without a valid token."""

    def __init__(self, tokens: Tokens, request_settings: RequestSettings) -> None:
        self._tokens = tokens
        self._request_settings = request_settings

    def authenticate(self, request: Request, parameters: rules.Parameters, scope: Scope) -> Caller:
        """Return the caller that the request's token was issued for; the token must have the scope."""
        with self.count_if_refused(request):
            caller = self._tokens.authenticate(
                rules.read_bearer_token(parameters, rules.header_values(request.scope, b"authorization"))
            )
        self._request_settings.limit.count_request((caller.user_id, caller.client_id))
        caller.needs(scope)
        return caller

    @contextlib.contextmanager
    def count_if_refused(self, request: Request) -> Iterator[None]:
        """Count the request for its address if this block refuses it before the caller is known."""
        try:
            yield
        except (RefusalError, HTTPException):  # Starlette raises the second for a broken multipart body
            self.count_address(request)
            raise

    def count_address(self, request: Request) -> None:
        """Count the request for its client address; all addresses of this machine are one.

        A client that reaches a loopback address is on this machine, even if its socket is bound to another address.
        """
        client, server = request.scope.get("client"), request.scope.get("server")
        peer = client[0] if client else None
        for end in (client, server):
            with contextlib.suppress(ValueError):  # a name is not an address
                address = ipaddress.ip_address(end[0] if end else "")
                if (getattr(address, "ipv4_mapped", None) or address).is_loopback:
                    peer = "localhost"
        self._request_settings.limit.count_request(peer)
