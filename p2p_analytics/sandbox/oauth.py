"""The authorization pages: sign in, agree or decline, and go back to the application (document: "Authentication").

Each page carries a one-time ticket, kept here in memory and bound to the browser's session cookie.
A form without a ticket of its own session is refused, so no other page can press the button.
"""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotations of its routes
from starlette.responses import HTMLResponse, Response

from p2p_analytics.sandbox import pages, rules
from p2p_analytics.sandbox.errors import (
    ForgeryError,
    InvalidParameterError,
    RefusalError,
    ResponseTypeError,
    UnapprovedClientError,
    UnknownClientError,
)
from p2p_analytics.sandbox.gate import answer
from p2p_analytics.vocabulary import TOKEN_PARAMETER, Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from p2p_analytics.sandbox.store import Application, Store
    from p2p_analytics.sandbox.tokens import Tokens

SESSION_COOKIE: Final = "sandbox_session"
TICKET_SECONDS: Final = 600
MOST_TICKETS: Final = 1_000
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_AUTHORITY: Final = re.compile(r"(\[::1\]|[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?)(?::(\d{1,5}))?", re.ASCII)
_PRINTABLE: Final = re.compile(r"[!-~]{1,2000}", re.ASCII)
_OURS: Final = frozenset({TOKEN_PARAMETER, "error", "state"})


@dataclass(frozen=True, slots=True)
class _Asked:
    """A checked authorization request, and from the sign-in on the person who made it."""

    application: Application
    scopes: frozenset[Scope]
    redirect_url: str
    state: str | None
    user_id: int | None = None


class Authorization:
    """The three steps of the client-side flow."""

    def __init__(self, store: Store, tokens: Tokens, prefix: str) -> None:
        self._store = store
        self._tokens = tokens
        self._path = f"{prefix}/oauth"
        self._tickets: dict[str, tuple[str, float, _Asked]] = {}

    async def start(self, request: Request) -> Response:
        """GET /oauth/authorize: the sign-in page."""
        try:
            asked = self._read(rules.Parameters(request.query_params.multi_items()))
        except RefusalError as refusal:
            return _refused(request, refusal)
        # Never the id that came along: somebody else may have put it into this browser.
        session = secrets.token_urlsafe(32)
        return self._with_cookie(self._sign_in_page(session, asked), session)

    async def sign_in(self, request: Request) -> Response:
        """POST /oauth/sign-in: the consent page, or the sign-in page again for an unknown name."""
        try:
            form = await _form(request)
            session, asked = self._redeem(request, form, signed_in=False)
            username = form.one("username")
        except RefusalError as refusal:
            return _refused(request, refusal)
        person = self._store.person_named(username.removeprefix("@")) if username else None
        if person is None:
            return self._sign_in_page(session, asked, problem="Nobody in this town has that username.", status=400)
        asked, session = replace(asked, user_id=person.user_id), secrets.token_urlsafe(32)
        html = pages.consent(
            action=f"{self._path}/consent",
            ticket=self._issue(session, asked),
            application=asked.application,
            person=person,
            scopes=[scope for scope in Scope if scope in asked.scopes],
            host=urlsplit(asked.redirect_url).netloc,
        )
        return self._with_cookie(HTMLResponse(html, headers=pages.HEADERS), session)

    async def consent(self, request: Request) -> Response:
        """POST /oauth/consent: back to the application, with a token or with the refusal."""
        try:
            form = await _form(request)
            decision = form.required("decision")
            if decision not in ("allow", "deny"):
                raise InvalidParameterError("decision must be allow or deny.")
            _, asked = self._redeem(request, form, signed_in=True)
        except RefusalError as refusal:
            return _refused(request, refusal)
        if decision == "allow" and asked.user_id is not None:
            outcome = {TOKEN_PARAMETER: await run_in_threadpool(self._tokens.issue, asked.user_id, asked.scopes)}
        else:
            outcome = {"error": "user denied access"}
        if asked.state is not None:
            outcome["state"] = asked.state
        location = f"{asked.redirect_url}{_joint(asked.redirect_url)}{urlencode(outcome)}"
        return Response(status_code=303, headers={**pages.HEADERS, "Location": location})

    def _read(self, parameters: rules.Parameters) -> _Asked:
        application = self._store.application(parameters.required("client_id"))
        if application is None:
            raise UnknownClientError("No application has this client_id.")
        redirect_url = _redirect_url(application, parameters.exact("redirect_uri"))
        if parameters.one("response_type") not in (None, "token"):
            raise ResponseTypeError("response_type must be token.")
        return _Asked(application, rules.scopes(parameters.required("scope")), redirect_url, parameters.exact("state"))

    def _sign_in_page(self, session: str, asked: _Asked, *, problem: str | None = None, status: int = 200) -> Response:
        html = pages.sign_in(
            action=f"{self._path}/sign-in",
            ticket=self._issue(session, asked),
            application=asked.application,
            people=self._store.people()[: pages.MOST_NAMES],
            problem=problem,
        )
        return HTMLResponse(html, status, headers=pages.HEADERS)

    def _with_cookie(self, response: Response, session: str) -> Response:
        response.set_cookie(SESSION_COOKIE, session, path=self._path, httponly=True, samesite="strict")
        return response

    def _issue(self, session: str, asked: _Asked) -> str:
        now = time.monotonic()
        for old in [name for name, (_, ends, _) in self._tickets.items() if ends <= now]:
            del self._tickets[old]
        while len(self._tickets) >= MOST_TICKETS:
            del self._tickets[next(iter(self._tickets))]
        ticket = secrets.token_urlsafe(32)
        self._tickets[ticket] = (session, now + TICKET_SECONDS, asked)
        return ticket

    def _redeem(self, request: Request, form: rules.Parameters, *, signed_in: bool) -> tuple[str, _Asked]:
        session, ends, asked = self._tickets.get(form.one("ticket") or "", ("", 0.0, None))
        cookie = request.cookies.get(SESSION_COOKIE, "")
        if asked is None or not secrets.compare_digest(session.encode(), cookie.encode()) or ends <= time.monotonic():
            raise ForgeryError("This form is not, or no longer, valid: start again from the application.")
        if signed_in is not (asked.user_id is not None):
            raise ForgeryError("This form belongs to another step: start again from the application.")
        del self._tickets[form.required("ticket")]
        return session, asked


def _redirect_url(application: Application, override: str | None) -> str:
    """Return where the browser goes afterwards.

    An override must have the scheme, host and port that are on file. Where those are this machine's
    loopback, an override may name any loopback port, as native applications need it.
    """
    on_file = _parts(application.redirect_url or "")
    if application.redirect_url is None or on_file is None:
        raise UnapprovedClientError("This application has no valid redirect URL on file, so it cannot be authorized.")
    if override is None:
        return application.redirect_url
    given = _parts(override)
    both_loopback = given is not None and given[1] in _LOOPBACK and on_file[1] in _LOOPBACK and given[0] == on_file[0]
    if given is None or not (given == on_file or both_loopback):
        raise InvalidParameterError("redirect_uri must have the scheme, host and port of the redirect URL on file.")
    return override


def _parts(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of a redirect URL; None where browsers and servers could read it differently."""
    if not _PRINTABLE.fullmatch(url) or set(url) & set("\\#<>\"'`"):
        return None
    scheme, _, rest = url.partition("://")
    match = _AUTHORITY.fullmatch(re.split(r"[/?]", rest, maxsplit=1)[0])
    if scheme not in ("http", "https") or match is None or _names(rest.partition("?")[2]) & _OURS:
        return None
    port = int(match[2] or (443 if scheme == "https" else 80))
    return (scheme, match[1].lower(), port) if 0 < port < 2**16 else None


def _joint(url: str) -> str:
    """Return what stands between a redirect URL, which stays as it is, and the parameters that are added to it."""
    _, mark, query = url.partition("?")
    if not mark:
        return "?"
    return "&" if query and not query.endswith("&") else ""


def _names(query: str) -> set[str]:
    return {name.lower() for name, _ in parse_qsl(query, keep_blank_values=True)}


async def _form(request: Request) -> rules.Parameters:
    async with request.form(max_files=0, max_fields=20) as form:
        return rules.Parameters(_texts(form.multi_items()))


def _texts(items: Iterable[tuple[str, object]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in items if isinstance(value, str)]


def _refused(request: Request, refusal: RefusalError) -> Response:
    """Return a page for a browser, the error envelope for everything else."""
    if "text/html" not in request.headers.get("accept", ""):
        return answer(refusal)
    return HTMLResponse(pages.problem(refusal.message), refusal.status, headers=pages.HEADERS)
