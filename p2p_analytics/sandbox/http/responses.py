"""Responses of the service: JSON bodies, the error envelope, and the paths that are treated differently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response

from p2p_analytics.sandbox.errors import RefusalError
from p2p_analytics.sandbox.http import serialize
from p2p_analytics.sandbox.http.dialects import ACTIVE_DIALECT

# Personal data: no shared cache may keep it. And it is JSON, even where a browser would guess another type.
DATA_HEADERS: Final = {"Cache-Control": "private", "X-Content-Type-Options": "nosniff"}
CONTROL_PATH: Final = "/sandbox/"
EXCHANGE_PATH: Final = "/oauth/access_token"


def json_response(body: serialize.Json, *, status: int = 200, headers: Mapping[str, str] = DATA_HEADERS) -> Response:
    """Return a JSON response."""
    return Response(serialize.encode(body), status, headers=headers, media_type="application/json")


def data_response(data: serialize.Json) -> Response:
    """Return a response with one record in the ``data`` envelope."""
    return json_response({"data": data})


def error_response(refusal: RefusalError) -> Response:
    """Return the error envelope with the status of the refusal."""
    return json_response(
        serialize.error(refusal.message, refusal.code),
        status=ACTIVE_DIALECT.get().status(refusal.status, refusal.code),
        headers={**DATA_HEADERS, **refusal.headers},
    )
