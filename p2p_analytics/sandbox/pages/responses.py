"""What all HTML pages share: templates, redirects, refusals, the sign-in form, and who is signed in.

Pages have no scripts and no external resources, and all text in them is escaped.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path
from typing import Final, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from p2p_analytics.sandbox.domain.scopes import PLAIN_WORDS
from p2p_analytics.sandbox.domain.tokens import Tokens
from p2p_analytics.sandbox.errors import RefusalError
from p2p_analytics.sandbox.http.bodies import read_form
from p2p_analytics.sandbox.http.responses import error_response
from p2p_analytics.sandbox.pages.sessions import Sessions
from p2p_analytics.sandbox.storage.oauth_store import Registration
from p2p_analytics.sandbox.storage.rows import Person
from p2p_analytics.sandbox.storage.store import Store

_UNKNOWN_USERNAME: Final = "No person of this town has that username: check the spelling."
_MOST_NAMES: Final = 500
_FOLDER: Final = Path(__file__).parent / "templates"
_TEMPLATES: Final = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
_STYLE: Final = (_FOLDER / "style.css").read_text(encoding="utf-8")
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'"
_HEADERS: Final = {
    "Content-Security-Policy": f"{_POLICY}; form-action 'self'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
# For the consent page, without form-action: browsers apply it to redirects after the form as well, and the
# application may redirect further.
LEAVING: Final = {**_HEADERS, "Content-Security-Policy": _POLICY}

_Kind = TypeVar("_Kind")
_Pages = TypeVar("_Pages", bound="Pages")


def page(template: str, status: int = 200, **values: object) -> Response:
    """Return an HTML page; its policy allows forms to the sandbox only."""
    html = _TEMPLATES.get_template(template).render(style=Markup(_STYLE), **values)  # noqa: S704 - our own style sheet
    return HTMLResponse(html, status, headers=_HEADERS)


def redirect(address: str, *, headers: Mapping[str, str] = _HEADERS) -> Response:
    """Return a redirect that the browser follows with GET."""
    return Response(status_code=303, headers={**headers, "Location": address})


def is_browser(request: Request) -> bool:
    """Return whether the client accepts HTML."""
    return "text/html" in request.headers.get("accept", "")


def answer_refusals(
    handle: Callable[[_Pages, Request], Awaitable[Response]],
) -> Callable[[_Pages, Request], Awaitable[Response]]:
    """Answer the refusals of a request handler with a page for browsers, and the error envelope for other clients."""

    @functools.wraps(handle)
    async def answer(pages: _Pages, request: Request) -> Response:
        try:
            return await handle(pages, request)
        except RefusalError as refusal:
            if is_browser(request):
                return page("problem.html", refusal.status, message=refusal.message)
            return error_response(refusal)

    return answer


def describe_scopes(scopes: Collection[str]) -> list[tuple[str, str]]:
    """Return scopes with a description, in the order of the document."""
    return [(scope.value, words) for scope, words in PLAIN_WORDS.items() if scope in scopes]


class Pages:
    """A group of pages below one path."""

    def __init__(self, store: Store, tokens: Tokens, sessions: Sessions, path: str) -> None:
        self._store = store
        self._tokens = tokens
        self._oauth_store = tokens.oauth_store
        self._sessions = sessions
        self._path = path

    def _find_visitor(self, request: Request) -> tuple[str, Person | None]:
        """Return the session of a request, and the person who is signed in."""
        session = self._sessions.identify(request)
        user_id = self._sessions.user_id(session)
        return session, None if user_id is None else self._store.person(user_id)

    def _sign_in_page(
        self, session: str, step: object, *, application: Registration | None = None, is_unknown: bool = False
    ) -> Response:
        """Return the sign-in page, for an authorization request or, without application, for the account pages."""
        return page(
            "sign_in.html",
            400 if is_unknown else 200,
            action=f"{self._path}/sign-in",
            ticket=self._sessions.ticket(session, step),
            application=application,
            people=self._store.people()[:_MOST_NAMES],
            problem=_UNKNOWN_USERNAME if is_unknown else None,
        )

    async def _read_sign_in(self, request: Request, kind: type[_Kind]) -> tuple[str, _Kind, Person | None]:
        """Return session and step of a submitted sign-in page, and the person if there is one of that name."""
        form = await read_form(request)
        session, step = self._sessions.redeem(request, form, kind)
        username = form.get("username")
        return session, step, self._store.person_named(username.removeprefix("@")) if username else None
