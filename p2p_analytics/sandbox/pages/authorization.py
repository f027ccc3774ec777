"""Authorization pages: sign-in, consent, and the redirect back to the application (document: "Authentication")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from p2p_analytics.sandbox.domain import redirects
from p2p_analytics.sandbox.domain.tokens import Tokens
from p2p_analytics.sandbox.errors import (
    ForgeryError,
    InvalidParameterError,
    ResponseTypeError,
    UnapprovedClientError,
    UnknownClientError,
)
from p2p_analytics.sandbox.http import parameters as rules
from p2p_analytics.sandbox.http.bodies import read_form
from p2p_analytics.sandbox.http.dialects import ACTIVE_DIALECT
from p2p_analytics.sandbox.pages.responses import LEAVING, Pages, answer_refusals, describe_scopes, page, redirect
from p2p_analytics.sandbox.pages.sessions import Sessions
from p2p_analytics.sandbox.storage.oauth_store import Registration
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


class Authorization(Pages):
    """The browser steps of both flows, which differ in the parameter that the redirect URL gets."""

    def __init__(
        self, store: Store, tokens: Tokens, sessions: Sessions, prefix: str, *, strict_redirect: bool = False
    ) -> None:
        super().__init__(store, tokens, sessions, f"{prefix}/oauth")
        self._strict = strict_redirect

    @answer_refusals
    async def start(self, request: Request) -> Response:
        """GET /oauth/authorize: the consent page if a person is signed in, otherwise the sign-in page."""
        wanted = self._validate(request.query_params.multi_items())
        session, person = self._find_visitor(request)
        if person is None:
            shown = self._sign_in_page(session, _SignIn(wanted), application=wanted.application)
        else:
            shown = page(
                "consent.html",
                action=f"{self._path}/consent",
                ticket=self._sessions.ticket(session, _Consent(wanted, person.user_id)),
                application=wanted.application,
                person=person,
                scopes=describe_scopes(wanted.scopes),
                host=urlsplit(wanted.redirect_url).netloc,
                lasting=wanted.code_requested,
            )
            shown.headers.update(LEAVING)
        return self._sessions.attach(shown, session)

    @answer_refusals
    async def sign_in(self, request: Request) -> Response:
        """POST /oauth/sign-in: redirect to the consent page, or the sign-in page again for an unknown name."""
        session, step, person = await self._read_sign_in(request, _SignIn)
        if person is None:
            return self._sign_in_page(session, step, application=step.wanted.application, is_unknown=True)
        return self._sessions.attach(self._restart(step.wanted), self._sessions.sign_in(session, person.user_id))

    @answer_refusals
    async def consent(self, request: Request) -> Response:
        """POST /oauth/consent: redirect to the application with a token, a code or an error."""
        form = await read_form(request)
        decision = form.require("decision")
        if decision not in ("allow", "deny", "switch"):
            raise InvalidParameterError("decision must be allow, deny or switch.")
        session, step = self._sessions.redeem(request, form, _Consent)
        wanted, client_id = step.wanted, step.wanted.application.client_id
        # The application may have been changed or deleted since the page was rendered.
        if self._validate(wanted.query) != wanted or self._sessions.user_id(session) != step.user_id:
            raise ForgeryError("Your sign-in or the application has changed since this page was shown: start again.")
        if decision == "switch":
            self._sessions.sign_out(session)
            return self._restart(wanted)
        if decision == "deny":
            return _redirect_back(wanted, {"error": "user denied access"})
        if wanted.code_requested:
            code = await run_in_threadpool(
                self._tokens.issue_code, step.user_id, wanted.scopes, client_id, wanted.redirect_url
            )
            return _redirect_back(wanted, {"code": code})
        token = await run_in_threadpool(self._tokens.issue, step.user_id, wanted.scopes, client_id=client_id)
        return _redirect_back(wanted, {TOKEN_PARAMETER: token})

    def _validate(self, pairs: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> _AuthorizationRequest:
        parameters = rules.Parameters(pairs)
        application = self._oauth_store.application(parameters.require("client_id"))
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
        return redirect(f"{self._path}/authorize?{urlencode(wanted.query)}")


def _redirect_back(wanted: _AuthorizationRequest, outcome: dict[str, str]) -> Response:
    """Return the redirect to the application."""
    if wanted.state is not None:
        outcome |= {"state": wanted.state}
    _, mark, query = wanted.redirect_url.partition("?")
    separator = ("&" if query and not query.endswith("&") else "") if mark else "?"
    return redirect(wanted.redirect_url + separator + urlencode(outcome), headers=LEAVING)
