"""The control routes: control the sandbox by HTTP, from a test in another process or language.

They are at ``/sandbox/`` of the origin, outside the service. Web pages can send requests to a local port, so each
control route requires a header that a page could add only after a CORS preflight, which the sandbox never allows.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import anyio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from p2p_analytics.sandbox.errors import (
    ControlError,
    InvalidParameterError,
    MediaTypeError,
    SettingError,
    UnknownPersonError,
)
from p2p_analytics.sandbox.http import bodies
from p2p_analytics.sandbox.http.parameters import header_values
from p2p_analytics.sandbox.http.responses import CONTROL_PATH, DATA_HEADERS, json_response

_Endpoint: TypeAlias = "Callable[[Request], Awaitable[Response]]"

_HEADER: Final = "X-Sandbox-Control"
_NO_STORE: Final = {**DATA_HEADERS, "Cache-Control": "no-store"}
_MOST_LISTED: Final = 1_000
_Fields = dict[str, Any]
_Kinds = dict[str, type | tuple[type, ...]]
_NUMBER: Final = (int, float)


class Controllable(Protocol):
    """The methods and attributes of a server that the control routes use."""

    latency: float
    faults: str
    rate_limit: tuple[int, float] | None

    @property
    def requests(self) -> Sequence[tuple[str, str]]:
        """The requests to the service, as method and path."""

    def state(self) -> dict[str, Any]:
        """Return the state of the sandbox."""

    def advance(self, *, days: float = 0, hours: float = 0) -> object:
        """Move the town's clock forward."""

    def deposit(self, user: str, cents: int) -> None:
        """Move money from a user's bank to their balance."""

    def reset(self, seed: int | None = None) -> None:
        """Build the town again, or another one."""


class ControlRoutes:
    """Routes that read and change one sandbox; each calls the server's method or attribute of the same name."""

    def __init__(self, server: Controllable) -> None:
        self._server = server
        # Not the default limiter: a reset waits for running requests, which may themselves need a worker thread.
        self._one_at_a_time = anyio.CapacityLimiter(1)

    def routes(self) -> list[Route]:
        """Return the control routes; each checks the header first."""
        actions: tuple[tuple[str, _Kinds, Callable[[_Fields], None]], ...] = (
            ("advance", {"days": _NUMBER, "hours": _NUMBER}, self._advance),
            ("deposit", {"user": str, "cents": int}, self._deposit),
            ("faults", {"faults": str}, self._faults),
            ("latency", {"seconds": _NUMBER}, self._latency),
            ("rate-limit", {"requests": int, "seconds": _NUMBER}, self._rate_limit),
            ("reset", {"seed": int}, self._reset),
        )
        return [
            Route(f"{CONTROL_PATH}state", _require_header(self.state)),
            Route(f"{CONTROL_PATH}requests", _require_header(self.requests)),
            *(
                Route(f"{CONTROL_PATH}{name}", _require_header(self._route(act, fields)), methods=["POST"])
                for name, fields, act in actions
            ),
        ]

    async def state(self, _request: Request) -> Response:
        """GET /sandbox/state."""
        return await self._in_a_thread(lambda: None)

    async def requests(self, _request: Request) -> Response:
        """GET /sandbox/requests: the newest requests, in order."""
        seen = self._server.requests[-_MOST_LISTED:]
        return json_response(
            {"requests": [{"method": method, "path": path} for method, path in seen]}, headers=_NO_STORE
        )

    def _route(self, act: Callable[[_Fields], None], kinds: _Kinds) -> _Endpoint:
        async def route(request: Request) -> Response:
            fields = await _fields(request, kinds)
            return await self._in_a_thread(lambda: act(fields))

        return route

    async def _in_a_thread(self, act: Callable[[], None]) -> Response:
        """Run `act` in a thread and respond with the state after it."""

        def act_and_report() -> _Fields:
            act()
            return self._server.state()

        try:
            return json_response(
                await anyio.to_thread.run_sync(act_and_report, limiter=self._one_at_a_time), headers=_NO_STORE
            )
        except (SettingError, UnknownPersonError) as error:
            raise InvalidParameterError(str(error)) from None

    def _advance(self, fields: _Fields) -> None:
        self._server.advance(**fields)

    def _deposit(self, fields: _Fields) -> None:
        self._server.deposit(_require_field(fields, "user"), _require_field(fields, "cents"))

    def _faults(self, fields: _Fields) -> None:
        self._server.faults = _require_field(fields, "faults")

    def _latency(self, fields: _Fields) -> None:
        self._server.latency = _require_field(fields, "seconds")

    def _rate_limit(self, fields: _Fields) -> None:
        rate = fields or None  # an empty object removes the limit
        self._server.rate_limit = rate and (_require_field(rate, "requests"), _require_field(rate, "seconds"))

    def _reset(self, fields: _Fields) -> None:
        self._server.reset(**fields)


def _require_header(endpoint: _Endpoint) -> _Endpoint:
    """Return an endpoint that refuses a request without the header."""

    async def check(request: Request) -> Response:
        if header_values(request.scope, _HEADER.lower().encode()) != ["1"]:
            raise ControlError(f"Control routes need the header {_HEADER}: 1, which web pages cannot send.")
        return await endpoint(request)

    return check


async def _fields(request: Request, kinds: _Kinds) -> _Fields:
    """Return the fields of a JSON body, checked against the known names and types; no body counts as ``{}``."""
    body = await request.body()
    kind, _ = bodies.media_type(request)
    if kind != "application/json" and (body or kind):
        raise MediaTypeError("A control route takes JSON: send Content-Type: application/json.")
    try:
        found = json.loads(body) if body else {}
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidParameterError("The body is not a JSON object.")
    for name, value in found.items():
        if name not in kinds:
            raise InvalidParameterError(f"The fields of this route are {', '.join(kinds)}.")
        if not isinstance(value, kinds[name]) or isinstance(value, bool):
            raise InvalidParameterError(f"{name} is of the wrong type.")
    bodies.require_text([(name, value) for name, value in found.items() if isinstance(value, str)])
    return found


def _require_field(fields: _Fields, name: str) -> Any:  # noqa: ANN401 - `_fields` has checked the type
    if name not in fields:
        raise InvalidParameterError(f"The field {name} is missing.")
    return fields[name]
