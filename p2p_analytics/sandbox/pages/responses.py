"""What the pages' own routes share: reading a form, and answering as a page or as the envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, Response

from p2p_analytics.sandbox.http.responses import error_response
from p2p_analytics.sandbox.pages import render

if TYPE_CHECKING:
    from starlette.requests import Request

    from p2p_analytics.sandbox.errors import RefusalError


def page(html: str, status: int = 200) -> Response:
    """Return a page whose forms stay with the sandbox."""
    return HTMLResponse(html, status, headers=render.HEADERS)


def redirect(address: str) -> Response:
    """Send the browser to another address, with a GET."""
    return Response(status_code=303, headers={**render.HEADERS, "Location": address})


def refusal(request: Request, refusal: RefusalError) -> Response:
    """Return a page for a browser, the error envelope for everything else."""
    return page(render.problem(refusal.message), refusal.status) if is_browser(request) else error_response(refusal)


def is_browser(request: Request) -> bool:
    """Tell whether a person is to read the answer."""
    return "text/html" in request.headers.get("accept", "")
