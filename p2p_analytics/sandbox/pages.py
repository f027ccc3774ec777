"""The HTML that a person sees: no script, nothing from elsewhere, every text escaped."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from p2p_analytics.vocabulary import Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from p2p_analytics.sandbox.store import Application, Person

MOST_NAMES: Final = 500
_FOLDER: Final = Path(__file__).parent / "templates"
_STYLE: Final = (_FOLDER / "style.css").read_text(encoding="utf-8")
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

# Without form-action: a browser would apply it to the redirect after the consent form as well.
HEADERS: Final = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

_PLAIN_WORDS: Final = {
    Scope.PROFILE: "See your profile, other people's profiles, and your payments",
    Scope.EMAIL: "See your email address",
    Scope.PHONE: "See your phone number",
    Scope.BALANCE: "See your balance",
    Scope.FRIENDS: "See lists of friends",
    Scope.PAYMENTS: "Make payments and charges for you, and answer requests",
}


def sign_in(
    *, action: str, ticket: str, application: Application, people: Sequence[Person], problem: str | None
) -> str:
    """Return the page that asks who the person is."""
    return _render(
        "sign_in.html", action=action, ticket=ticket, application=application, people=people, problem=problem
    )


def consent(  # noqa: PLR0913 - each is one thing on the page
    *, action: str, ticket: str, application: Application, person: Person, scopes: Sequence[Scope], host: str
) -> str:
    """Return the page that asks for agreement to each scope."""
    wishes = [(scope.value, _PLAIN_WORDS[scope]) for scope in scopes]
    return _render(
        "consent.html", action=action, ticket=ticket, application=application, person=person, wishes=wishes, host=host
    )


def problem(message: str) -> str:
    """Return the page that says why authorization cannot go on."""
    return _render("problem.html", message=message)


def _render(name: str, **values: object) -> str:
    return _environment().get_template(name).render(style=Markup(_STYLE), **values)  # noqa: S704 - our own file


@functools.cache
def _environment() -> Environment:
    return Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
