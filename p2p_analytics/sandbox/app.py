"""The routes of the service, below ``/v1`` (document: "Endpoints")."""

from __future__ import annotations

import functools
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match, Route

from p2p_analytics.sandbox.api import openapi
from p2p_analytics.sandbox.api.authentication import Entrance
from p2p_analytics.sandbox.api.control import Control
from p2p_analytics.sandbox.api.token_exchange import Exchange
from p2p_analytics.sandbox.api.writes import Writing
from p2p_analytics.sandbox.domain.payments import may_see
from p2p_analytics.sandbox.errors import InvalidParameterError, MethodError, NotFoundError, RefusalError
from p2p_analytics.sandbox.faults.settings import Steering
from p2p_analytics.sandbox.http import parameters as rules
from p2p_analytics.sandbox.http import serialize
from p2p_analytics.sandbox.http.dialects import SPOKEN, Dialect
from p2p_analytics.sandbox.pages.account import Account
from p2p_analytics.sandbox.pages.authorization import Authorization
from p2p_analytics.sandbox.pages.sessions import Sessions
from p2p_analytics.sandbox.runtime.middleware import DATA_HEADERS, EXCHANGE_PATH, Gate, answer
from p2p_analytics.vocabulary import Scope

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from p2p_analytics.sandbox.api.control import Steered
    from p2p_analytics.sandbox.domain.tokens import Caller, Tokens
    from p2p_analytics.sandbox.runtime.request_log import RequestLog
    from p2p_analytics.sandbox.storage.store import Payment, Person, Store

_NOT_FOUND = "Resource not found."


def create_app(  # noqa: PLR0913 - each is one part or setting of the service
    store: Store,
    tokens: Tokens,
    base_url: str,
    *,
    seen: RequestLog | None = None,
    dialect: Dialect | None = None,
    strict_redirect: bool = False,
    steering: Steering | None = None,
    steered: Steered | None = None,
) -> Gate:
    """Return the service as an ASGI application that believes to be reached at `base_url`.

    `steering` holds what is set of it at the moment; what is `steered` gets control routes.
    """
    steering = Steering() if steering is None else steering
    prefix = urlsplit(base_url).path
    entrance = Entrance(tokens, steering)
    service = _Service(store, entrance, base_url)
    writing = Writing(entrance, store)
    exchange = Exchange(store, tokens, entrance)
    app = Starlette(
        routes=[
            Route(f"{prefix}/me", service.me),
            Route(f"{prefix}/users/{{user_id}}", service.user),
            Route(f"{prefix}/users/{{user_id}}/friends", service.friends),
            Route(f"{prefix}/payments", service.payments),
            Route(f"{prefix}/payments/{{payment_id}}", service.payment),
            Route(f"{prefix}/payments", writing.create, methods=["POST"]),
            Route(f"{prefix}/payments/{{payment_id}}", writing.resolve, methods=["PUT"]),
            Route(prefix + EXCHANGE_PATH, exchange.answer, methods=["POST"]),
            *_page_routes(store, tokens, base_url, strict_redirect=strict_redirect),
            *([] if steered is None else Control(steered).routes()),
            Route(openapi.PATH, _description(base_url, dialect or Dialect())),
        ],
        exception_handlers={RefusalError: _refuse, HTTPException: _refuse_http, Exception: _fail},
    )
    app.router.redirect_slashes = False  # a redirect would repeat the token of the query in its Location header
    return Gate(app, base_url, steering=steering, seen=seen, dialect=dialect)


def _page_routes(store: Store, tokens: Tokens, base_url: str, *, strict_redirect: bool) -> list[Route]:
    """Return the routes of the HTML pages."""
    address = urlsplit(base_url)
    prefix = address.path
    sessions = Sessions(address.port, prefix)
    authorization = Authorization(store, tokens, sessions, prefix, strict_redirect=strict_redirect)
    account = Account(store, tokens, sessions, prefix)
    return [
        Route("/", account.front),
        Route(f"{prefix}/oauth/authorize", authorization.start),
        Route(f"{prefix}/oauth/sign-in", authorization.sign_in, methods=["POST"]),
        Route(f"{prefix}/oauth/consent", authorization.consent, methods=["POST"]),
        Route(f"{prefix}/account", account.home),
        Route(f"{prefix}/account/sign-in", account.entrance),
        Route(f"{prefix}/account/sign-in", account.sign_in, methods=["POST"]),
        Route(f"{prefix}/account/sign-out", account.sign_out, methods=["POST"]),
        Route(f"{prefix}/account/developer", account.developer),
        Route(f"{prefix}/account/developer", account.register, methods=["POST"]),
        Route(f"{prefix}/account/developer/{{client_id}}", account.application),
        Route(f"{prefix}/account/developer/{{client_id}}", account.change, methods=["POST"]),
        Route(f"{prefix}/account/applications", account.allowed),
        Route(f"{prefix}/account/applications", account.revoke, methods=["POST"]),
    ]


class _Service:
    """The endpoints that read. Each runs in the event loop: a page is a few short indexed queries."""

    def __init__(self, store: Store, entrance: Entrance, base_url: str) -> None:
        self._store = store
        self._entrance = entrance
        self._base_url = base_url

    async def me(self, request: Request) -> Response:
        """GET /me."""
        caller, _ = self._enter(request, Scope.PROFILE)
        with self._store.reading():
            person = self._store.people_by_id([caller.user_id])[caller.user_id]
            # The sample of /me says false where the field's description says null.
            user = self._user(caller, person, is_friend=False)
        return _data(serialize.me(user, person.balance_cents if Scope.BALANCE in caller.scopes else None))

    async def user(self, request: Request) -> Response:
        """GET /users/:user_id."""
        caller, _ = self._enter(request, Scope.PROFILE)
        with self._store.reading():
            person = self._person(request.path_params["user_id"])
            own = person.user_id == caller.user_id
            is_friend = None if own else self._store.are_friends(caller.user_id, person.user_id)
            return _data(self._user(caller, person, is_friend=is_friend))

    async def friends(self, request: Request) -> Response:
        """GET /users/:user_id/friends: ascending ids, and a next link with the last id as `after`."""
        _, parameters = self._enter(request, Scope.FRIENDS)
        asked = rules.friend_list(parameters)
        with self._store.reading():
            person = self._person(request.path_params["user_id"])
            found = self._store.friends(person.user_id, after=asked.after, before=asked.before, limit=asked.limit + 1)
        page, more = found[: asked.limit], len(found) > asked.limit
        # As it was asked for: a client may take a link to another path for a hostile one.
        address = f"{self._base_url}/users/{quote(request.path_params['user_id'], safe='')}/friends"
        next_url = serialize.link(address, {"after": str(page[-1].user_id), **asked.carried}) if more else None
        return _json(serialize.page([serialize.friend(friend) for friend in page], next_url))

    async def payments(self, request: Request) -> Response:
        """GET /payments: newest first, and a next link with the whole second of the last item as `before`."""
        caller, parameters = self._enter(request, Scope.PROFILE)
        asked = rules.payment_list(parameters)
        with self._store.reading():
            found = self._store.payments(caller.user_id, asked.wanted, asked.limit + 1)
            page, more = found[: asked.limit], len(found) > asked.limit
            people = self._people_in(page)
        items = [serialize.listed_payment(payment, people) for payment in page]
        address = f"{self._base_url}/payments"
        before = {"before": serialize.second(page[-1].created_us)} if more else {}
        return _json(serialize.page(items, serialize.link(address, {**asked.carried, **before}) if more else None))

    async def payment(self, request: Request) -> Response:
        """GET /payments/:payment: of the caller, or shown to them by its audience."""
        caller, _ = self._enter(request, Scope.PROFILE)
        with self._store.reading():
            payment = self._store.payment(rules.identifier(request.path_params["payment_id"]))
            if payment is None or not may_see(self._store, caller.user_id, payment):
                raise NotFoundError(_NOT_FOUND)
            refund = self._store.refund(payment.payment_id)
            people = self._people_in([payment, refund] if refund else [payment])
        party = caller.user_id in (payment.actor_id, payment.target_user_id)
        return _data(serialize.payment(payment, people, refund, to_party=party))

    def _enter(self, request: Request, scope: Scope) -> tuple[Caller, rules.Parameters]:
        parameters = rules.Parameters(request.query_params.multi_items())
        return self._entrance.caller(request, parameters, scope), parameters

    def _person(self, text: str) -> Person:
        if SPOKEN.get().takes_usernames and not rules.ID.fullmatch(text):
            person = self._store.person_named(text)
        else:
            person = self._store.person(rules.identifier(text))
        if person is None:
            raise NotFoundError(_NOT_FOUND)
        return person

    def _user(self, caller: Caller, person: Person, *, is_friend: bool | None) -> serialize.Json:
        # Email and phone are the token owner's to grant: nobody else's are ever shown.
        own = person.user_id == caller.user_id
        return serialize.user(
            person,
            with_email=own and Scope.EMAIL in caller.scopes,
            with_phone=own and Scope.PHONE in caller.scopes,
            is_friend=is_friend,
            friends_count=self._store.count_friends(person.user_id),
        )

    def _people_in(self, payments: list[Payment]) -> dict[int, Person]:
        ids = {one for payment in payments for one in (payment.actor_id, payment.target_user_id) if one is not None}
        return self._store.people_by_id(ids)


def _description(base_url: str, dialect: Dialect) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of the service's description, which is put together when it is first asked for."""

    @functools.cache
    def written() -> bytes:
        return serialize.encode(openapi.describe(base_url, dialect))

    async def answer(_request: Request) -> Response:
        return Response(written(), headers=DATA_HEADERS, media_type="application/json")

    return answer


def _data(data: serialize.Json) -> Response:
    return _json({"data": data})


def _json(body: serialize.Json) -> Response:
    return Response(serialize.encode(body), headers=DATA_HEADERS, media_type="application/json")


async def _refuse(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusalError)  # noqa: S101 - what the handler is registered for
    return answer(error)


async def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - what the handler is registered for
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return answer(MethodError("This path does not take that method.", headers={"Allow": _allowed(request)}))
    if error.status_code == HTTPStatus.NOT_FOUND:
        return answer(NotFoundError(_NOT_FOUND))
    return answer(InvalidParameterError("The request cannot be read."))


async def _fail(_request: Request, _error: Exception) -> Response:
    return answer(RefusalError("The sandbox failed on this request; this is a mistake in the sandbox."))


def _allowed(request: Request) -> str:
    """Return every method of the path: the framework's own answer names those of one route only."""
    methods: set[str] = set()
    for route in request.app.router.routes:
        if route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods or set()
    return ", ".join(sorted(methods))
