"""HTML pages from templates, without scripts or external resources, with all text escaped."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from p2p_analytics.sandbox.domain.applications import Application, ApplicationDraft
from p2p_analytics.sandbox.domain.scopes import PLAIN_WORDS
from p2p_analytics.sandbox.storage.oauth_store import AuthorizedApplication, Registration
from p2p_analytics.sandbox.storage.rows import Person
from p2p_analytics.vocabulary import Scope

UNKNOWN_USERNAME: Final = "No person of this town has that username: check the spelling."
MOST_NAMES: Final = 500
_FOLDER: Final = Path(__file__).parent / "templates"
_STYLE: Final = (_FOLDER / "style.css").read_text(encoding="utf-8")
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'"
HEADERS: Final = {
    "Content-Security-Policy": f"{_POLICY}; form-action 'self'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
# For the consent page, without form-action: browsers apply it to redirects after the form as well, and the
# application may redirect further.
LEAVING: Final = {**HEADERS, "Content-Security-Policy": _POLICY}


def sign_in(
    *, action: str, ticket: str, people: Sequence[Person], problem: str | None, application: Registration | None = None
) -> str:
    """Return the sign-in page, for an authorization request or, without application, for the account pages."""
    return _render(
        "sign_in.html", action=action, ticket=ticket, application=application, people=people, problem=problem
    )


def consent(  # noqa: PLR0913 - each is one part of the page
    *,
    action: str,
    ticket: str,
    application: Registration,
    person: Person,
    scopes: Sequence[Scope],
    host: str,
    lasting: bool,
) -> str:
    """Return the consent page with the requested scopes."""
    return _render(
        "consent.html",
        action=action,
        ticket=ticket,
        application=application,
        person=person,
        scopes=_describe_scopes(scopes),
        host=host,
        lasting=lasting,
    )


def developer(  # noqa: PLR0913 - each is one part of the page
    *,
    account: str,
    ticket: str,
    person: Person,
    applications: Sequence[Registration],
    refusal: str | None,
    draft: ApplicationDraft,
    problems: Mapping[str, str],
) -> str:
    """Return the developer settings: the person's applications, and the registration form or why it is missing."""
    return _render(
        "developer.html",
        account=account,
        ticket=ticket,
        person=person,
        applications=applications,
        refusal=refusal,
        draft=draft,
        problems=problems,
    )


def application(  # noqa: PLR0913 - each is one part of the page
    *,
    account: str,
    ticket: str,
    person: Person,
    application: Registration,
    redirect_url: str,
    problem: str | None = None,
    saved: bool = False,
    made: Application | None = None,
) -> str:
    """Return the page of an application; `made` holds a new secret, which is shown only once."""
    return _render(
        "application.html",
        account=account,
        ticket=ticket,
        person=person,
        application=application,
        redirect_url=redirect_url,
        problem=problem,
        saved=saved,
        made=made,
    )


def applications(*, account: str, ticket: str, person: Person, applications: Sequence[AuthorizedApplication]) -> str:
    """Return the list of authorized applications, each with a button to revoke its access."""
    listed = [
        (one, _describe_scopes([scope for scope in Scope if scope in one.scopes.split()])) for one in applications
    ]
    return _render("allowed.html", account=account, ticket=ticket, person=person, applications=listed)


def problem(message: str) -> str:
    """Return the page of an error message."""
    return _render("problem.html", message=message)


def _describe_scopes(scopes: Sequence[Scope]) -> list[tuple[str, str]]:
    return [(scope.value, PLAIN_WORDS[scope]) for scope in scopes]


def _render(name: str, **values: object) -> str:
    return _environment().get_template(name).render(style=Markup(_STYLE), **values)  # noqa: S704 - the style sheet is our own file


@functools.cache
def _environment() -> Environment:
    return Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
