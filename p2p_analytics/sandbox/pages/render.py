"""The HTML that a person sees: no script, nothing from elsewhere, every text escaped."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from p2p_analytics.sandbox.domain.scopes import PLAIN_WORDS
from p2p_analytics.vocabulary import Scope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from p2p_analytics.sandbox.domain.applications import Application, Draft
    from p2p_analytics.sandbox.storage.oauth_store import AuthorizedApplication, Registration
    from p2p_analytics.sandbox.storage.rows import Person

NOBODY: Final = "Nobody in this town has that username."
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
# For the consent page, without form-action: a browser would apply it to the redirect after the form as well, and to
# wherever the application redirects from there.
LEAVING: Final = {**HEADERS, "Content-Security-Policy": _POLICY}


def sign_in(
    *, action: str, ticket: str, people: Sequence[Person], problem: str | None, application: Registration | None = None
) -> str:
    """Return the page that asks who the person is; without an application it is for their own account."""
    return _render(
        "sign_in.html", action=action, ticket=ticket, application=application, people=people, problem=problem
    )


def consent(  # noqa: PLR0913 - each is one thing on the page
    *,
    action: str,
    ticket: str,
    application: Registration,
    person: Person,
    scopes: Sequence[Scope],
    host: str,
    lasting: bool,
) -> str:
    """Return the page that asks for agreement to each scope."""
    return _render(
        "consent.html",
        action=action,
        ticket=ticket,
        application=application,
        person=person,
        wishes=_wishes(scopes),
        host=host,
        lasting=lasting,
    )


def developer(  # noqa: PLR0913 - each is one thing on the page
    *,
    account: str,
    ticket: str,
    person: Person,
    applications: Sequence[Registration],
    refusal: str | None,
    draft: Draft,
    problems: Mapping[str, str],
) -> str:
    """Return the developer settings: one's applications, and the form for another, or why there is none."""
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


def application(  # noqa: PLR0913 - each is one thing on the page
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
    """Return the page of one's application; `made` holds a new secret, shown this once."""
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
    """Return the list of applications that can reach one's account, each with a button to end that."""
    listed = [(one, _wishes([scope for scope in Scope if scope in one.scopes.split()])) for one in applications]
    return _render("allowed.html", account=account, ticket=ticket, person=person, applications=listed)


def problem(message: str) -> str:
    """Return the page that says why something cannot go on."""
    return _render("problem.html", message=message)


def _wishes(scopes: Sequence[Scope]) -> list[tuple[str, str]]:
    return [(scope.value, PLAIN_WORDS[scope]) for scope in scopes]


def _render(name: str, **values: object) -> str:
    return _environment().get_template(name).render(style=Markup(_STYLE), **values)  # noqa: S704 - our own file


@functools.cache
def _environment() -> Environment:
    return Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
