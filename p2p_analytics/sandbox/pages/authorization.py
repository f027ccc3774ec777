"""Authorization pages: sign-in, consent, and the redirect back to the application (document: "Authentication")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from p2p_analytics.sandbox.domain import redirects
from p2p_analytics.sandbox.domain.tokens import Tokens
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
from p2p_analytics.sandbox.pages.sessions import Sessions
from p2p_analytics.sandbox.storage.oauth_store import Registration
from p2p_analytics.sandbox.storage.rows import Person
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.vocabulary import TOKEN_PARAMETER, Scope

_PARAMETERS: Final = ("client_id", "scope", "redirect_uri", "response_type", "state")


@dataclass(frozen=True, slots=True)
class _AuthorizationRequest:
    """A validated authorization request; `query` is its query string, to return to after the sign-in."""

    application: Registration
    scopes: frozenset[Scope]
    redirect_url: str
    code_requested: bool
    state: str | None
    query: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _SignIn:
    wanted: _AuthorizationRequest


@dataclass(frozen=True, slots=True)
class _Consent:
    wanted: _AuthorizationRequest
    user_id: int


class Authorization:
    """The browser steps of both flows, which differ in the parameter that the redirect URL gets."""

    def __init__(
        self, store: Store, tokens: Tokens, sessions: Sessions, prefix: str, *, strict_redirect: bool = False
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._sessions = sessions
        self._path = f"{prefix}/oauth"
        self._strict = strict_redirect

    async def start(self, request: Request) -> Response:
        """GET /oauth/authorize: the consent page if a person is signed in, otherwise the sign-in page."""
        try:
            wanted = self._validate(request.query_params.multi_items())
        except RefusalError as refusal:
            return responses.refusal(request, refusal)
        session = self._sessions.identify(request)
        user_id = self._sessions.user_id(session)
        person = None if user_id is None else self._store.person(user_id)
        shown = self._sign_in_page(session, wanted) if person is None else self._consent_page(session, wanted, person)
        return self._sessions.attach(shown, session)

    async def sign_in(self, request: Request) -> Response:
        """POST /oauth/sign-in: redirect to the consent page, or the sign-in page again for an unknown name."""
        try:
            form = await read_form(request)
            session, step = self._sessions.redeem(request, form, _SignIn)
            username = form.get("username")
        except RefusalError as refusal:
            return responses.refusal(request, refusal)
        person = self._store.person_named(username.removeprefix("@")) if username else None
        if person is None:
            return self._sign_in_page(session, step.wanted, problem=render.UNKNOWN_USERNAME, status=400)
        return self._sessions.attach(self._restart(step.wanted), self._sessions.sign_in(session, person.user_id))

    async def consent(self, request: Request) -> Response:
        """POST /oauth/consent: redirect to the application with a token, a code or an error."""
        try:
            form = await read_form(request)
            decision = form.require("decision")
            if decision not in ("allow", "deny", "switch"):
                raise InvalidParameterError("decision must be allow, deny or switch.")
            session, step = self._sessions.redeem(request, form, _Consent)
            # The application may have been changed or deleted since the page was rendered.
            if self._validate(step.wanted.query) != step.wanted or self._sessions.user_id(session) != step.user_id:
                raise ForgeryError(
                    "Your sign-in or the application has changed since this page was shown: start again."
                )
        except RefusalError as refusal:
            return responses.refusal(request, refusal)
        if decision == "switch":
            self._sessions.sign_out(session)
            return self._restart(step.wanted)
        if decision == "deny":
            return _redirect_back(step.wanted, {"error": "user denied access"})
        wanted = step.wanted
        client_id = wanted.application.client_id
        try:
            if wanted.code_requested:
                code = await run_in_threadpool(
                    self._tokens.issue_code, step.user_id, wanted.scopes, client_id, wanted.redirect_url
                )
                return _redirect_back(wanted, {"code": code})
            token = await run_in_threadpool(self._tokens.issue, step.user_id, wanted.scopes, client_id=client_id)
            return _redirect_back(wanted, {TOKEN_PARAMETER: token})
        except RefusalError as refusal:
            return responses.refusal(request, refusal)

    def _validate(self, pairs: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> _AuthorizationRequest:
        parameters = rules.Parameters(pairs)
        application = self._tokens.oauth_store.application(parameters.require("client_id"))
        if application is None:
            raise UnknownClientError("No application has this client_id.")
        redirect_url = redirects.choose_redirect_url(
            application, parameters.get_exact("redirect_uri"), strict=self._strict
        )
        response_type = parameters.get("response_type") or "token"
        if response_type not in ("token", "code"):
            raise ResponseTypeError("response_type must be token or code.")
        if response_type == "code" and application.secret_digest is None:
            raise UnapprovedClientError("This application has no secret, so it cannot redeem a code: register one.")
        scopes = rules.read_scopes(
            parameters.require("scope"), ignore_unknown=ACTIVE_DIALECT.get().ignores_unknown_scopes
        )
        state = parameters.get_exact("state")  # verbatim: the application compares it with the value that it sent
        given = {name: parameters.get_exact(name) for name in _PARAMETERS}
        query = tuple((name, value) for name, value in given.items() if value is not None)
        return _AuthorizationRequest(application, scopes, redirect_url, response_type == "code", state, query)

    def _restart(self, wanted: _AuthorizationRequest) -> Response:
        return responses.redirect(f"{self._path}/authorize?{urlencode(wanted.query)}")

    def _sign_in_page(
        self, session: str, wanted: _AuthorizationRequest, *, problem: str | None = None, status: int = 200
    ) -> Response:
        html = render.sign_in(
            action=f"{self._path}/sign-in",
            ticket=self._sessions.ticket(session, _SignIn(wanted)),
            application=wanted.application,
            people=self._store.people()[: render.MOST_NAMES],
            problem=problem,
        )
        return responses.page(html, status)

    def _consent_page(self, session: str, wanted: _AuthorizationRequest, person: Person) -> Response:
        html = render.consent(
            action=f"{self._path}/consent",
            ticket=self._sessions.ticket(session, _Consent(wanted, person.user_id)),
            application=wanted.application,
            person=person,
            scopes=[scope for scope in Scope if scope in wanted.scopes],
            host=urlsplit(wanted.redirect_url).netloc,
            lasting=wanted.code_requested,
        )
        return HTMLResponse(html, headers=render.LEAVING)


def _redirect_back(wanted: _AuthorizationRequest, outcome: dict[str, str]) -> Response:
    """Return the redirect to the application."""
    if wanted.state is not None:
        outcome |= {"state": wanted.state}
    address = wanted.redirect_url + _separator(wanted.redirect_url) + urlencode(outcome)
    return Response(status_code=303, headers={**render.LEAVING, "Location": address})


def _separator(url: str) -> str:
    """Return the separator between a redirect URL and the parameters to append: ``?``, ``&`` or nothing."""
    _, mark, query = url.partition("?")
    if not mark:
        return "?"
    return "&" if query and not query.endswith("&") else ""
