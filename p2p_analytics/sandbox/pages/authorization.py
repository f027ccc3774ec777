"""The authorization pages: sign in, agree or decline, and go back to the application (document: "Authentication")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response

from p2p_analytics.sandbox.domain import redirects
from p2p_analytics.sandbox.errors import (
    ForgeryError,
    InvalidParameterError,
    RefusalError,
    ResponseTypeError,
    UnapprovedClientError,
    UnknownClientError,
)
from p2p_analytics.sandbox.http import parameters as rules
from p2p_analytics.sandbox.http.bodies import read_form
from p2p_analytics.sandbox.http.dialects import ACTIVE_DIALECT
from p2p_analytics.sandbox.pages import render, responses
from p2p_analytics.vocabulary import TOKEN_PARAMETER, Scope

if TYPE_CHECKING:
    from starlette.requests import Request

    from p2p_analytics.sandbox.domain.tokens import Tokens
    from p2p_analytics.sandbox.pages.sessions import Sessions
    from p2p_analytics.sandbox.storage.oauth_store import Registration
    from p2p_analytics.sandbox.storage.rows import Person
    from p2p_analytics.sandbox.storage.store import Store

_PARAMETERS: Final = ("client_id", "scope", "redirect_uri", "response_type", "state")


@dataclass(frozen=True, slots=True)
class _Asked:
    """A checked authorization request; `query` is the request itself, to come back to."""

    application: Registration
    scopes: frozenset[Scope]
    redirect_url: str
    code_wanted: bool
    state: str | None
    query: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _SignIn:
    asked: _Asked


@dataclass(frozen=True, slots=True)
class _Consent:
    asked: _Asked
    user_id: int


class Authorization:
    """The steps in front of a browser, of both flows: they differ in what is appended to the redirect URL."""

    def __init__(
        self, store: Store, tokens: Tokens, sessions: Sessions, prefix: str, *, strict_redirect: bool = False
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._sessions = sessions
        self._path = f"{prefix}/oauth"
        self._strict = strict_redirect

    async def start(self, request: Request) -> Response:
        """GET /oauth/authorize: the consent page for somebody who is signed in, else the sign-in page."""
        try:
            asked = self._read(request.query_params.multi_items())
        except RefusalError as refusal:
            return responses.refusal(request, refusal)
        session = self._sessions.identify(request)
        user_id = self._sessions.user_id(session)
        person = None if user_id is None else self._store.person(user_id)
        shown = self._sign_in_page(session, asked) if person is None else self._consent_page(session, asked, person)
        return self._sessions.attach(shown, session)

    async def sign_in(self, request: Request) -> Response:
        """POST /oauth/sign-in: on to the consent page, or the sign-in page again for an unknown name."""
        try:
            form = await read_form(request)
            session, step = self._sessions.redeem(request, form, _SignIn)
            username = form.get("username")
        except RefusalError as refusal:
            return responses.refusal(request, refusal)
        person = self._store.person_named(username.removeprefix("@")) if username else None
        if person is None:
            return self._sign_in_page(session, step.asked, problem=render.NOBODY, status=400)
        return self._sessions.attach(self._again(step.asked), self._sessions.sign_in(session, person.user_id))

    async def consent(self, request: Request) -> Response:
        """POST /oauth/consent: back to the application, with a token, a code, or the refusal."""
        try:
            form = await read_form(request)
            decision = form.require("decision")
            if decision not in ("allow", "deny", "switch"):
                raise InvalidParameterError("decision must be allow, deny or switch.")
            session, step = self._sessions.redeem(request, form, _Consent)
            # The application may have been changed or deleted since the page was shown.
            if self._read(step.asked.query) != step.asked or self._sessions.user_id(session) != step.user_id:
                raise ForgeryError("Something has changed since this page was shown: start again.")
        except RefusalError as refusal:
            return responses.refusal(request, refusal)
        if decision == "switch":
            self._sessions.sign_out(session)
            return self._again(step.asked)
        if decision == "deny":
            return _redirect_back(step.asked, {"error": "user denied access"})
        try:
            return await self._back(step)
        except RefusalError as refusal:
            return responses.refusal(request, refusal)

    async def _back(self, step: _Consent) -> Response:
        asked = step.asked
        client_id = asked.application.client_id
        if asked.code_wanted:
            code = await run_in_threadpool(
                self._tokens.issue_code, step.user_id, asked.scopes, client_id, asked.redirect_url
            )
            return _redirect_back(asked, {"code": code})
        token = await run_in_threadpool(self._tokens.issue, step.user_id, asked.scopes, client_id=client_id)
        return _redirect_back(asked, {TOKEN_PARAMETER: token})

    def _read(self, pairs: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> _Asked:
        parameters = rules.Parameters(pairs)
        application = self._tokens.registry.application(parameters.require("client_id"))
        if application is None:
            raise UnknownClientError("No application has this client_id.")
        redirect_url = redirects.destination(application, parameters.get_exact("redirect_uri"), strict=self._strict)
        response_type = parameters.get("response_type") or "token"
        if response_type not in ("token", "code"):
            raise ResponseTypeError("response_type must be token or code.")
        if response_type == "code" and application.secret_digest is None:
            raise UnapprovedClientError("This application has no secret, so it cannot redeem a code: register one.")
        scopes = rules.read_scopes(
            parameters.require("scope"), ignore_unknown=ACTIVE_DIALECT.get().ignores_unknown_scopes
        )
        state = parameters.get_exact("state")  # to the letter: the application compares it with what it sent
        given = {name: parameters.get_exact(name) for name in _PARAMETERS}
        query = tuple((name, value) for name, value in given.items() if value is not None)
        return _Asked(application, scopes, redirect_url, response_type == "code", state, query)

    def _again(self, asked: _Asked) -> Response:
        return responses.redirect(f"{self._path}/authorize?{urlencode(asked.query)}")

    def _sign_in_page(self, session: str, asked: _Asked, *, problem: str | None = None, status: int = 200) -> Response:
        html = render.sign_in(
            action=f"{self._path}/sign-in",
            ticket=self._sessions.ticket(session, _SignIn(asked)),
            application=asked.application,
            people=self._store.people()[: render.MOST_NAMES],
            problem=problem,
        )
        return responses.page(html, status)

    def _consent_page(self, session: str, asked: _Asked, person: Person) -> Response:
        html = render.consent(
            action=f"{self._path}/consent",
            ticket=self._sessions.ticket(session, _Consent(asked, person.user_id)),
            application=asked.application,
            person=person,
            scopes=[scope for scope in Scope if scope in asked.scopes],
            host=urlsplit(asked.redirect_url).netloc,
            lasting=asked.code_wanted,
        )
        return HTMLResponse(html, headers=render.LEAVING)


def _redirect_back(asked: _Asked, outcome: dict[str, str]) -> Response:
    """Send the browser to the application."""
    if asked.state is not None:
        outcome |= {"state": asked.state}
    address = asked.redirect_url + _separator(asked.redirect_url) + urlencode(outcome)
    return Response(status_code=303, headers={**render.LEAVING, "Location": address})


def _separator(url: str) -> str:
    """Return what stands between a redirect URL, which stays as it is, and the parameters that are added to it."""
    _, mark, query = url.partition("?")
    if not mark:
        return "?"
    return "&" if query and not query.endswith("&") else ""
