"""The endpoints that change something: POST /payments and PUT /payments/:payment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotations of its routes
from starlette.responses import Response

from p2p_analytics.sandbox import bodies, orders, rules, wire
from p2p_analytics.sandbox.gate import DATA_HEADERS, header
from p2p_analytics.vocabulary import Scope

if TYPE_CHECKING:
    from p2p_analytics.sandbox.tokens import Caller, Tokens
    from p2p_analytics.sandbox.transitions import Transitions


class Writing:
    """The endpoints that write.

    `enter` runs in the event loop: it reads the body and checks the token. The write itself waits for the
    lock and the disk, so it is a plain function, which runs in a thread: in the loop it would hold up
    everybody else.
    """

    def __init__(self, tokens: Tokens, transitions: Transitions) -> None:
        self._tokens = tokens
        self._transitions = transitions

    async def enter(self, request: Request) -> None:
        """Prepare a request for either endpoint, or refuse it."""
        parameters = await bodies.parameters(request)
        caller = self._tokens.caller(rules.bearer(parameters, header(request.scope, b"authorization")))
        caller.needs(Scope.PAYMENTS)
        request.state.entered = _Entered(caller, parameters)

    def create(self, request: Request) -> Response:
        """POST /payments."""
        caller, parameters = _entered(request)
        done = self._transitions.create(caller.user_id, orders.order(parameters))
        # Like everywhere: the balance is null, never missing, without its scope.
        balance = done.balance_cents if Scope.BALANCE in caller.scopes else None
        return _answer(wire.created(done.payment, done.people, balance))

    def resolve(self, request: Request) -> Response:
        """PUT /payments/:payment."""
        caller, parameters = _entered(request)
        payment_id = rules.identifier(request.path_params["payment_id"])
        done = self._transitions.resolve(caller.user_id, payment_id, orders.resolution(parameters))
        return _answer(wire.payment(done.payment, done.people, done.refund))


class _Entered(NamedTuple):
    caller: Caller
    parameters: rules.Parameters


def _entered(request: Request) -> _Entered:
    entered: _Entered = request.state.entered
    return entered


def _answer(data: wire.Json) -> Response:
    return Response(wire.encode({"data": data}), headers=DATA_HEADERS, media_type="application/json")
