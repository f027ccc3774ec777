"""Registration of applications: validation of the form, and the credentials.

Document: "Application registration".
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from p2p_analytics.sandbox.domain import redirects
from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.storage.oauth_store import OAuthStore, Registration, digest

MOST_APPLICATIONS: Final = 20
LONGEST: Final = {"name": 80, "description": 300, "redirect_url": 2000, "site_url": 255}
_JOINERS: Final = "\u200c\u200d"  # part of names in some scripts, and of emoji


@dataclass(frozen=True, slots=True)
class Application:
    """Credentials of a new application; the secret is shown once and is not part of the repr."""

    client_id: str
    client_secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ApplicationDraft:
    """Completed registration form with normalized spaces; the redirect URL may be added later."""

    name: str = ""
    description: str = ""
    redirect_url: str = ""
    site_url: str = ""

    @classmethod
    def from_fields(cls, fields: Mapping[str, str | None]) -> ApplicationDraft:
        """Return the draft of a form; each run of whitespace becomes one space."""
        return cls(**{name: " ".join((fields.get(name) or "").split()) for name in LONGEST})

    def problems(self) -> dict[str, str]:
        """Return one sentence for each invalid field."""
        rules: dict[str, tuple[Callable[[str], bool], str]] = {
            "name": (_is_text, "Give a name of at most 80 visible characters."),
            "description": (_is_text, "Describe the application in at most 300 visible characters."),
            "redirect_url": (
                lambda url: (
                    not url
                    or (redirects.parse_origin(url) is not None and "/" in url.partition("://")[2].partition("?")[0])
                ),
                "The redirect URL must have the form http(s)://host/path, or be empty.",
            ),
            "site_url": (
                lambda host: redirects.parse_host(host) is not None,
                "The site URL must be a host such as app.example or localhost:8000, without a scheme.",
            ),
        }
        values = {name: getattr(self, name) for name in rules}
        return {
            name: sentence
            for name, (is_valid, sentence) in rules.items()
            if len(values[name]) > LONGEST[name] or not is_valid(values[name])
        }


def register(oauth_store: OAuthStore, owner_id: int, draft: ApplicationDraft) -> Application:
    """Register a valid draft and return the id and secret of the application.

    Raises
    ------
    SettingError
        The owner has `MOST_APPLICATIONS` already.
    """
    # Ids are random, not serial: the id of a deleted application must not be assigned again.
    made = Application(str(10**9 + secrets.randbelow(9 * 10**9)), secrets.token_urlsafe(32))
    added = oauth_store.add_application(
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
        raise SettingError(f"This user has {MOST_APPLICATIONS} applications, the limit: delete one first.")
    return made


def renew_secret(oauth_store: OAuthStore, client_id: str) -> Application:
    """Replace the secret of an application."""
    made = Application(client_id, secrets.token_urlsafe(32))
    oauth_store.set_secret(client_id, digest(made.client_secret))
    return made


def _is_text(text: str) -> bool:
    # Bidirectional control characters are not printable: a name must not change the direction of the page's text.
    return bool(text.strip(_JOINERS)) and all(char.isprintable() or char in _JOINERS for char in text)
