"""Responses of the HTML pages: a page, a redirect, or a refusal as page or error envelope."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from p2p_analytics.sandbox.errors import RefusalError
from p2p_analytics.sandbox.http.responses import error_response
from p2p_analytics.sandbox.pages import render


def page(html: str, status: int = 200) -> Response:
    """Return an HTML page; its policy allows forms to the sandbox only."""
    return HTMLResponse(html, status, headers=render.HEADERS)


def redirect(address: str) -> Response:
    """Return a redirect that the browser follows with GET."""
    return Response(status_code=303, headers={**render.HEADERS, "Location": address})


def refusal(request: Request, refusal: RefusalError) -> Response:
    """Return a refusal as a page for browsers, and as the error envelope for other clients."""
    return page(render.problem(refusal.message), refusal.status) if is_browser(request) else error_response(refusal)


def is_browser(request: Request) -> bool:
    """Return whether the client accepts HTML."""
    return "text/html" in request.headers.get("accept", "")
