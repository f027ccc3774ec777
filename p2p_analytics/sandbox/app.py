"""The ASGI application: all routes, and the responses to errors (document: "Endpoints")."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from p2p_analytics.sandbox.api import openapi
from p2p_analytics.sandbox.api.authentication import Authenticator
from p2p_analytics.sandbox.api.control import Controllable, ControlRoutes
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
    request_log: RequestLog | None = None,
    dialect: Dialect | None = None,
    strict_redirect: bool = False,
    request_settings: RequestSettings | None = None,
    controlled: Controllable | None = None,
) -> RequestMiddleware:
    """Return the service as an ASGI application.

    Parameters
    ----------
    base_url : str
        The address of the service, for the links in its responses.
    request_log : RequestLog or None
        Receives each request to the service.
    dialect : Dialect or None
        How responses are written; by the document if not given.
    strict_redirect : bool
        Whether a ``redirect_uri`` must equal the redirect URL on file.
    request_settings : RequestSettings or None
        Latency, faults and rate limit.
    controlled : Controllable or None
        The server that the control routes change; without it control routes do not exist.
    """
    request_settings = RequestSettings() if request_settings is None else request_settings
    prefix = urlsplit(base_url).path
    authenticator = Authenticator(tokens, request_settings)
    reads = ReadEndpoints(store, authenticator, base_url)
    writes = WriteEndpoints(authenticator, store)
    exchange = TokenExchange(store, tokens, authenticator)
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
            *_page_routes(store, tokens, base_url, strict_redirect=strict_redirect),
            *([] if controlled is None else ControlRoutes(controlled).routes()),
            Route(openapi.PATH, _description(base_url, dialect or Dialect())),
        ],
        exception_handlers={RefusalError: _refuse, HTTPException: _refuse_http, Exception: _fail},
    )
    app.router.redirect_slashes = False  # a redirect would repeat the token of the query in its Location header
    return RequestMiddleware(app, base_url, request_settings=request_settings, request_log=request_log, dialect=dialect)


def _page_routes(store: Store, tokens: Tokens, base_url: str, *, strict_redirect: bool) -> list[Route]:
    """Return the routes of the HTML pages."""
    address = urlsplit(base_url)
    prefix = address.path
    sessions = Sessions(address.port, prefix)
    authorization = Authorization(store, tokens, sessions, prefix, strict_redirect=strict_redirect)
    account = AccountPages(store, tokens, sessions, prefix)
    return [
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
    ]


def _description(base_url: str, dialect: Dialect) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of the OpenAPI description, which is built on first use."""

    @functools.cache
    def build() -> bytes:
        return serialize.encode(openapi.describe(base_url, dialect))

    async def describe(_request: Request) -> Response:
        return Response(build(), headers=DATA_HEADERS, media_type="application/json")

    return describe


async def _refuse(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusalError)  # noqa: S101 - the handler is registered for this class
    return error_response(error)


async def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - the handler is registered for this class
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return error_response(
            MethodError("This path does not support that method.", headers={"Allow": _list_methods(request)})
        )
    if error.status_code == HTTPStatus.NOT_FOUND:
        return error_response(NotFoundError())
    return error_response(InvalidParameterError("The request cannot be read."))


async def _fail(_request: Request, _error: Exception) -> Response:
    return error_response(
        RefusalError("The sandbox failed to answer this request: this is a bug in the sandbox, please report it.")
    )


def _list_methods(request: Request) -> str:
    """Return the Allow header: the methods of all routes of the path, where Starlette names only one route's."""
    methods: set[str] = set()
    for route in request.app.router.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods or set()
    return ", ".join(sorted(methods))
