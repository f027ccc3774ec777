"""The control routes: control the sandbox by HTTP, from a test in another process or language.

They are at ``/sandbox/`` of the origin, outside the service. Web pages can send requests to a local port, so each
control route requires a header that a page could add only after a CORS preflight, which the sandbox never allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, Protocol

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

_HEADER: Final = "X-Sandbox-Control"
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


# Method, name and fields of each route, and its action; a POST returns the state after it.
_ROUTES: Final[tuple[tuple[str, str, _Kinds, Callable[[Controllable, _Fields], Any]], ...]] = (
    ("GET", "state", {}, lambda server, _: server.state()),
    (
        "GET",
        "requests",
        {},
        lambda server, _: {
            "requests": [{"method": method, "path": path} for method, path in server.requests[-_MOST_LISTED:]]
        },
    ),
    ("POST", "advance", {"days": _NUMBER, "hours": _NUMBER}, lambda server, given: server.advance(**given)),
    (
        "POST",
        "deposit",
        {"user": str, "cents": int},
        lambda server, given: server.deposit(*_require(given, "user", "cents")),
    ),
    ("POST", "faults", {"faults": str}, lambda server, given: setattr(server, "faults", *_require(given, "faults"))),
    (
        "POST",
        "latency",
        {"seconds": _NUMBER},
        lambda server, given: setattr(server, "latency", *_require(given, "seconds")),
    ),
    (
        "POST",
        "rate-limit",
        {"requests": int, "seconds": _NUMBER},
        lambda server, given: setattr(server, "rate_limit", _require(given, "requests", "seconds") if given else None),
    ),
    ("POST", "reset", {"seed": int}, lambda server, given: server.reset(**given)),
)


def control_routes(server: Controllable) -> list[Route]:
    """Return the routes that read and change one sandbox; each checks the header first."""
    # Not the default limiter: a reset waits for running requests, which may themselves need a worker thread.
    one_at_a_time = anyio.CapacityLimiter(1)

    async def respond(kinds: _Kinds, act: Callable[[Controllable, _Fields], Any], request: Request) -> Response:
        if header_values(request.scope, _HEADER.lower().encode()) != ["1"]:
            raise ControlError(f"Control routes need the header {_HEADER}: 1, which web pages cannot send.")
        changes = request.method == "POST"
        given = await _read_fields(request, kinds) if changes else {}

        def work() -> _Fields:
            found = act(server, given)
            return server.state() if changes else found

        try:
            body = await anyio.to_thread.run_sync(work, limiter=one_at_a_time)
        except (SettingError, UnknownPersonError) as error:
            raise InvalidParameterError(str(error)) from None
        return json_response(body, headers={**DATA_HEADERS, "Cache-Control": "no-store"})

    return [
        Route(CONTROL_PATH + name, partial(respond, kinds, act), methods=[method])
        for method, name, kinds, act in _ROUTES
    ]


async def _read_fields(request: Request, kinds: _Kinds) -> _Fields:
    """Return the fields of a JSON body, checked against the known names and types; no body counts as ``{}``."""
    body = await request.body()
    kind, _ = bodies.media_type(request)
    if kind != "application/json" and (body or kind):
        raise MediaTypeError("A control route takes JSON: send Content-Type: application/json.")
    found = bodies.parse_object(body) if body else {}
    for name, value in found.items():
        if name not in kinds:
            raise InvalidParameterError(f"The fields of this route are {', '.join(kinds)}.")
        if not isinstance(value, kinds[name]) or isinstance(value, bool):
            raise InvalidParameterError(f"{name} is of the wrong type.")
    bodies.require_text([(name, value) for name, value in found.items() if isinstance(value, str)])
    return found


def _require(given: _Fields, *names: str) -> tuple[Any, ...]:
    for name in names:
        if name not in given:
            raise InvalidParameterError(f"The field {name} is missing.")
    return tuple(given[name] for name in names)
