"""Account pages: a person's own applications, and the applications they have authorized.

Document: "Application registration". Each page requires a sign-in, and shows only data of that person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from p2p_analytics.sandbox.domain.applications import (
    LONGEST,
    MOST_APPLICATIONS,
    Application,
    ApplicationDraft,
    register,
    renew_secret,
)
from p2p_analytics.sandbox.domain.tokens import Tokens
from p2p_analytics.sandbox.errors import (
    ForgeryError,
    InvalidParameterError,
    NotFoundError,
    SettingError,
    UnverifiedError,
)
from p2p_analytics.sandbox.http import parameters
from p2p_analytics.sandbox.http.bodies import read_form
from p2p_analytics.sandbox.pages.responses import (
    Pages,
    answer_refusals,
    describe_scopes,
    is_browser,
    page,
    redirect,
)
from p2p_analytics.sandbox.pages.sessions import Sessions
from p2p_analytics.sandbox.storage.oauth_store import Registration
from p2p_analytics.sandbox.storage.rows import Person
from p2p_analytics.sandbox.storage.store import Store

_UNVERIFIED: Final = "Your identity is not verified, so you cannot register applications: have it verified first."
_FULL: Final = (
    f"You have {MOST_APPLICATIONS} applications, which is the maximum: delete one before you register another."
)
_PLACES: Final = ("developer", "applications")
_EMPTY: Final = ApplicationDraft()


@dataclass(frozen=True, slots=True)
class _SignInForm:
    place: str


@dataclass(frozen=True, slots=True)
class _RenderedPage:
    """A page rendered for a person; all its forms share one ticket."""

    user_id: int


class AccountPages(Pages):
    """The pages below /account, and the redirect to them from the origin's root."""

    def __init__(self, store: Store, tokens: Tokens, sessions: Sessions, prefix: str) -> None:
        super().__init__(store, tokens, sessions, f"{prefix}/account")

    async def front(self, request: Request) -> Response:
        """GET / of the origin: a redirect for browsers, 404 for other clients."""
        if not is_browser(request):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return redirect(self._path)

    async def home(self, _request: Request) -> Response:
        """GET /account."""
        return redirect(f"{self._path}/developer")

    async def sign_in_form(self, request: Request) -> Response:
        """GET /account/sign-in."""
        place = request.query_params.get("next", "")
        session = self._sessions.identify(request)
        step = _SignInForm(place if place in _PLACES else _PLACES[0])
        return self._sessions.attach(self._sign_in_page(session, step), session)

    @answer_refusals
    async def sign_in(self, request: Request) -> Response:
        """POST /account/sign-in: redirect to the requested page, or the form again for an unknown name."""
        session, step, person = await self._read_sign_in(request, _SignInForm)
        if person is None:
            return self._sessions.attach(self._sign_in_page(session, step, is_unknown=True), session)
        session = self._sessions.sign_in(session, person.user_id)
        return self._sessions.attach(redirect(f"{self._path}/{step.place}"), session)

    @answer_refusals
    async def sign_out(self, request: Request) -> Response:
        """POST /account/sign-out."""
        session, _ = self._sessions.redeem(request, await read_form(request), _RenderedPage)
        self._sessions.sign_out(session)
        return redirect(f"{self._path}/sign-in")

    async def developer(self, request: Request) -> Response:
        """GET /account/developer: the person's applications, and the form to register another."""
        session, person = self._find_visitor(request)
        return self._redirect_to_sign_in("developer") if person is None else self._developer_page(session, person)

    @answer_refusals
    async def register(self, request: Request) -> Response:
        """POST /account/developer: the new application with its secret, or the form again with the problems."""
        form, session, person = await self._read_submission(request)
        draft = ApplicationDraft.from_fields({name: form.get(name) for name in LONGEST})
        if not self._oauth_store.is_verified(person.user_id):
            raise UnverifiedError(_UNVERIFIED)
        problems = draft.problems()
        try:
            made = None if problems else await run_in_threadpool(register, self._oauth_store, person.user_id, draft)
        except SettingError:  # too many applications, which the page explains
            made = None
        if made is None:
            return self._developer_page(session, person, draft=draft, problems=problems, status=400)
        return self._application_page(session, person, self._own(person, made.client_id), made=made)

    @answer_refusals
    async def application(self, request: Request) -> Response:
        """GET /account/developer/:client_id."""
        session, person = self._find_visitor(request)
        if person is None:
            return self._redirect_to_sign_in("developer")
        return self._application_page(session, person, self._own(person, request.path_params["client_id"]))

    @answer_refusals
    async def change(self, request: Request) -> Response:
        """POST /account/developer/:client_id: change the redirect URL, renew the secret, or delete the application."""
        form, session, person = await self._read_submission(request)
        application = self._own(person, request.path_params["client_id"])
        what = form.require("do")
        if what not in ("save", "secret", "delete"):
            raise InvalidParameterError("do must be save, secret or delete.")
        redirect_url = form.get("redirect_url") or ""
        if what == "delete":
            await run_in_threadpool(self._oauth_store.remove_application, application.client_id)
            return redirect(f"{self._path}/developer")
        if what == "secret":
            made = await run_in_threadpool(renew_secret, self._oauth_store, application.client_id)
            return self._application_page(session, person, application, made=made)
        problem = ApplicationDraft(redirect_url=redirect_url).problems().get("redirect_url")
        if problem is None:
            await run_in_threadpool(self._oauth_store.set_redirect_url, application.client_id, redirect_url or None)
            application = self._own(person, application.client_id)
        return self._application_page(session, person, application, redirect_url=redirect_url, problem=problem)

    async def applications(self, request: Request) -> Response:
        """GET /account/applications: the applications that the person has authorized."""
        session, person = self._find_visitor(request)
        if person is None:
            return self._redirect_to_sign_in("applications")
        allowed = self._oauth_store.list_authorized_applications(person.user_id, self._tokens.now_us())
        listed = [(one, describe_scopes(one.scopes.split())) for one in allowed]
        return self._page("allowed.html", session, person, applications=listed)

    @answer_refusals
    async def revoke(self, request: Request) -> Response:
        """POST /account/applications: revoke the access of one application."""
        form, _, person = await self._read_submission(request)
        await run_in_threadpool(self._oauth_store.revoke, person.user_id, form.require("client_id"))
        return redirect(f"{self._path}/applications")

    async def _read_submission(self, request: Request) -> tuple[parameters.Parameters, str, Person]:
        """Return form, session and person of a form that a signed-in person has submitted."""
        form = await read_form(request)
        session, rendered = self._sessions.redeem(request, form, _RenderedPage)
        is_signed_in = self._sessions.user_id(session) == rendered.user_id
        person = self._store.person(rendered.user_id) if is_signed_in else None
        if person is None:
            raise ForgeryError("You are no longer signed in: sign in and open the page again.")
        return form, session, person

    def _own(self, person: Person, client_id: str) -> Registration:
        application = self._oauth_store.application(client_id)
        if application is None or application.owner_id != person.user_id:
            raise NotFoundError("You have no such application.")
        return application

    def _redirect_to_sign_in(self, place: str) -> Response:
        return redirect(f"{self._path}/sign-in?next={place}")

    def _page(self, template: str, session: str, person: Person, *, status: int = 200, **values: object) -> Response:
        ticket = self._sessions.ticket(session, _RenderedPage(person.user_id))
        return page(template, status, account=self._path, ticket=ticket, person=person, **values)

    def _developer_page(
        self,
        session: str,
        person: Person,
        *,
        draft: ApplicationDraft = _EMPTY,
        problems: Mapping[str, str] | None = None,
        status: int = 200,
    ) -> Response:
        refusal = None if self._oauth_store.is_verified(person.user_id) else _UNVERIFIED
        applications = self._oauth_store.applications_of(person.user_id)
        return self._page(
            "developer.html",
            session,
            person,
            status=status,
            applications=applications,
            refusal=refusal or (_FULL if len(applications) >= MOST_APPLICATIONS else None),
            draft=draft,
            problems=problems or {},
        )

    def _application_page(  # noqa: PLR0913 - each is one part of the page
        self,
        session: str,
        person: Person,
        application: Registration,
        *,
        redirect_url: str | None = None,
        problem: str | None = None,
        made: Application | None = None,
    ) -> Response:
        """Return the page of an application; `made` holds a new secret, which is shown only once."""
        return self._page(
            "application.html",
            session,
            person,
            status=200 if problem is None else 400,
            application=application,
            redirect_url=(application.redirect_url or "") if redirect_url is None else redirect_url,
            problem=problem,
            saved=redirect_url is not None and problem is None,
            made=made,
        )
