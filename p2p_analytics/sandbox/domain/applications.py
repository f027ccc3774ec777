"""The registration of an application: what its form may hold, and what comes of it.

Document: "Application registration".
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from p2p_analytics.sandbox.domain import redirects
from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.storage.oauth_store import OAuthStore, Registration, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST_APPLICATIONS: Final = 20
LONGEST: Final = {"name": 80, "description": 300, "redirect_url": 2000, "site_url": 255}
_JOINERS: Final = "\u200c\u200d"  # part of names in some scripts, and of emoji


@dataclass(frozen=True, slots=True)
class Application:
    """What a developer gets for a new application; the secret is told this once and does not show itself."""

    client_id: str
    client_secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Draft:
    """A filled-in registration form, blanks at the ends dropped; an application may begin without a redirect URL."""

    name: str = ""
    description: str = ""
    redirect_url: str = ""
    site_url: str = ""

    @classmethod
    def of(cls, fields: Mapping[str, str | None]) -> Draft:
        """Return the draft that these texts make; lines and runs of blanks become one blank."""
        return cls(**{name: " ".join((fields.get(name) or "").split()) for name in LONGEST})

    def problems(self) -> dict[str, str]:
        """Return one sentence for each field that is not right."""
        rules: dict[str, tuple[Callable[[str], bool], str]] = {
            "name": (_is_text, "Give a name of at most 80 visible characters."),
            "description": (_is_text, "Say in at most 300 visible characters what the application is for."),
            "redirect_url": (_is_redirect_url, "The redirect URL has the form http(s)://host/path, or stays empty."),
            "site_url": (
                _is_site,
                "The site URL is a host such as app.example or localhost:8000, with no scheme before it.",
            ),
        }
        values = {name: getattr(self, name) for name in rules}
        return {
            name: sentence
            for name, (is_right, sentence) in rules.items()
            if len(values[name]) > LONGEST[name] or not is_right(values[name])
        }


def register(registry: OAuthStore, owner_id: int, draft: Draft) -> Application:
    """Register a draft without problems and return its id and secret.

    Raises
    ------
    SettingError
        The owner has `MOST_APPLICATIONS` already.
    """
    # At random and not in a row: the id of a deleted application must not come back to another one.
    made = Application(str(10**9 + secrets.randbelow(9 * 10**9)), secrets.token_urlsafe(32))
    added = registry.add_application(
        Registration(
            client_id=made.client_id,
            name=draft.name,
            description=draft.description,
            redirect_url=draft.redirect_url or None,
            site_url=draft.site_url,
            owner_id=owner_id,
            secret_digest=digest(made.client_secret),
        ),
        MOST_APPLICATIONS,
    )
    if not added:
        raise SettingError(f"Nobody has more than {MOST_APPLICATIONS} applications: delete one first.")
    return made


def renew_secret(registry: OAuthStore, client_id: str) -> Application:
    """Give an application a new secret; the old one works no longer."""
    made = Application(client_id, secrets.token_urlsafe(32))
    registry.set_secret(client_id, digest(made.client_secret))
    return made


def _is_text(text: str) -> bool:
    # Also refuses the marks that turn the direction of what follows them: a name must not rewrite a page.
    return bool(text.strip(_JOINERS)) and all(char.isprintable() or char in _JOINERS for char in text)


def _is_redirect_url(text: str) -> bool:
    return not text or (redirects.origin(text) is not None and "/" in text.partition("://")[2].partition("?")[0])


def _is_site(text: str) -> bool:
    return redirects.host(text) is not None
