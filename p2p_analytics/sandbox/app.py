"""The ASGI application: all routes, and the responses to errors (document: "Endpoints")."""

from __future__ import annotations

import functools
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from p2p_analytics.sandbox.api import openapi
from p2p_analytics.sandbox.api.authentication import Authenticator
from p2p_analytics.sandbox.api.control import Controllable, control_routes
from p2p_analytics.sandbox.api.reads import ReadEndpoints
from p2p_analytics.sandbox.api.token_exchange import TokenExchange
from p2p_analytics.sandbox.api.writes import WriteEndpoints
from p2p_analytics.sandbox.domain.tokens import Tokens
from p2p_analytics.sandbox.errors import InvalidParameterError, MethodError, NotFoundError, RefusalError
from p2p_analytics.sandbox.faults.settings import RequestSettings
from p2p_analytics.sandbox.http import serialize
from p2p_analytics.sandbox.http.dialects import Dialect
from p2p_analytics.sandbox.http.responses import DATA_HEADERS, EXCHANGE_PATH, error_response
from p2p_analytics.sandbox.pages.account import AccountPages
from p2p_analytics.sandbox.pages.authorization import Authorization
from p2p_analytics.sandbox.pages.sessions import Sessions
from p2p_analytics.sandbox.runtime.middleware import RequestMiddleware
from p2p_analytics.sandbox.runtime.request_log import RequestLog
from p2p_analytics.sandbox.storage.store import Store


def create_app(  # noqa: PLR0913 - each is one part or setting of the service
    store: Store,
    tokens: Tokens,
    base_url: str,
    *,
    request_log: RequestLog,
    dialect: Dialect,
    strict_redirect: bool,
    request_settings: RequestSettings,
    controlled: Controllable,
) -> RequestMiddleware:
    """Return the service as an ASGI application.

    Parameters
    ----------
    base_url : str
        The address of the service, for the links in its responses.
    request_log : RequestLog
        Receives each request to the service.
    dialect : Dialect
        How responses are written.
    strict_redirect : bool
        Whether a ``redirect_uri`` must equal the redirect URL on file.
    request_settings : RequestSettings
        Latency, faults, rate limit and timing.
    controlled : Controllable
        The server that the control routes change.
    """
    address = urlsplit(base_url)
    prefix = address.path
    authenticator = Authenticator(tokens, request_settings)
    reads = ReadEndpoints(store, authenticator, base_url)
    writes = WriteEndpoints(authenticator, store)
    exchange = TokenExchange(reads, tokens, authenticator)
    sessions = Sessions(address.port, prefix, request_settings.monotonic)
    authorization = Authorization(store, tokens, sessions, prefix, strict_redirect=strict_redirect)
    account = AccountPages(store, tokens, sessions, prefix)

    @functools.cache
    def description() -> bytes:
        return serialize.encode(openapi.describe(base_url, dialect))

    async def describe(_request: Request) -> Response:
        return Response(description(), headers=DATA_HEADERS, media_type="application/json")

    app = Starlette(
        routes=[
            Route(f"{prefix}/me", reads.me),
            Route(f"{prefix}/users/{{user_id}}", reads.user),
            Route(f"{prefix}/users/{{user_id}}/friends", reads.friends),
            Route(f"{prefix}/payments", reads.payments),
            Route(f"{prefix}/payments/{{payment_id}}", reads.payment),
            Route(f"{prefix}/payments", writes.create, methods=["POST"]),
            Route(f"{prefix}/payments/{{payment_id}}", writes.resolve, methods=["PUT"]),
            Route(prefix + EXCHANGE_PATH, exchange.exchange, methods=["POST"]),
            Route("/", account.front),
            Route(f"{prefix}/oauth/authorize", authorization.start),
            Route(f"{prefix}/oauth/sign-in", authorization.sign_in, methods=["POST"]),
            Route(f"{prefix}/oauth/consent", authorization.consent, methods=["POST"]),
            Route(f"{prefix}/account", account.home),
            Route(f"{prefix}/account/sign-in", account.sign_in_form),
            Route(f"{prefix}/account/sign-in", account.sign_in, methods=["POST"]),
            Route(f"{prefix}/account/sign-out", account.sign_out, methods=["POST"]),
            Route(f"{prefix}/account/developer", account.developer),
            Route(f"{prefix}/account/developer", account.register, methods=["POST"]),
            Route(f"{prefix}/account/developer/{{client_id}}", account.application),
            Route(f"{prefix}/account/developer/{{client_id}}", account.change, methods=["POST"]),
            Route(f"{prefix}/account/applications", account.applications),
            Route(f"{prefix}/account/applications", account.revoke, methods=["POST"]),
            *control_routes(controlled),
            Route(openapi.PATH, describe),
        ],
        exception_handlers={RefusalError: _refuse, HTTPException: _refuse, Exception: _refuse},
    )
    app.router.redirect_slashes = False  # a redirect would repeat the token of the query in its Location header
    return RequestMiddleware(app, base_url, request_settings=request_settings, request_log=request_log, dialect=dialect)


async def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, RefusalError):
        refusal = error
    elif not isinstance(error, HTTPException):
        refusal = RefusalError(
            "The sandbox failed to answer this request: this is a bug in the sandbox, please report it."
        )
    elif error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        # All routes of the path, where Starlette names the methods of only one.
        routes = [route for route in request.app.router.routes if route.matches(request.scope)[0] is not Match.NONE]
        methods = ", ".join(sorted(set().union(*(route.methods for route in routes))))
        refusal = MethodError("This path does not support that method.", headers={"Allow": methods})
    elif error.status_code == HTTPStatus.NOT_FOUND:
        refusal = NotFoundError()
    else:
        refusal = InvalidParameterError("The request cannot be read.")
    return error_response(refusal)
