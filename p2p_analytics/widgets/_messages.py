"""What the sign-in form says about a token, and what it has to ask for that."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Final

from p2p_analytics.errors import ScopeError
from p2p_analytics.vocabulary import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from p2p_analytics.auth import AccessToken
    from p2p_analytics.client import Client
    from p2p_analytics.records import Me

# Set where the kernel runs on another machine than the browser: hubs, Binder, VS Code's remotes, Codespaces.
_ELSEWHERE: Final = ("JUPYTERHUB_", "BINDER_", "CODESPACES", "REMOTE_CONTAINERS", "VSCODE_AGENT_FOLDER")


def way_in(link: str, plain_link: str, host: str, scopes: Iterable[str], trouble: str) -> str:
    """Return the link to the consent page as HTML, and what to do where the browser cannot come back."""
    if trouble:
        hint = f"{trouble} You end at a page that may not load: copy its whole address."
    elif is_elsewhere():
        hint = (
            "This notebook runs on another machine, so the page you end at will not load: "
            "copy its whole address from the address bar, and paste it here."
        )
    else:
        hint = (
            "You come back by yourself. If the page you end at does not load, copy its whole address and paste it here."
        )
    on_file = f" If the service refuses the return address, <a {_to(plain_link)}>use the one on file</a> and paste."
    return (
        f'<p><a class="way" {_to(link)}>Sign in at {escape(host)}</a></p>'
        f'<p class="quiet">A new tab opens and asks you to agree to {escape(", ".join(scopes))}. {escape(hint)}'
        f"{on_file if link != plain_link else ''}</p>"
    )


def _to(link: str) -> str:
    return f'href="{escape(link)}" target="_blank" rel="noopener noreferrer"'


def is_elsewhere() -> bool:
    """Tell whether the browser surely is on another machine; where nothing says so, nothing is guessed."""
    return "google.colab" in sys.modules or any(name.startswith(_ELSEWHERE) for name in os.environ)


def granted_scopes(client: Client, me: Me, token: AccessToken) -> set[str]:
    """Return the scopes that answers show, and make_payments where it was asked for: only a payment could show it."""
    shows = {
        Scope.PROFILE: True,
        Scope.EMAIL: me.user.email is not None,
        Scope.PHONE: me.user.phone is not None,
        Scope.BALANCE: me.balance_cents is not None,
        Scope.PAYMENTS: Scope.PAYMENTS in token.scopes,
    }
    granted: set[str] = {scope for scope, shown in shows.items() if shown}
    try:
        next(client.friend_pages(str(me.user.id), page_size=1), None)
    except ScopeError:
        return granted
    return granted | {Scope.FRIENDS}


def permits(granted: set[str], token: AccessToken) -> str:
    missing = sorted(token.scopes - granted)
    also = f" Asked for and not seen: {', '.join(missing)}." if missing else ""
    return f"The token permits {', '.join(sorted(granted))}.{also}"


def expired(token: AccessToken) -> str:
    return f"The token expired at {_clock(token)} UTC"


def left(token: AccessToken) -> str:
    """Say how long a token is good, in minutes and at last in steps of ten seconds: a page should not always move."""
    if token.expires_at is None:
        return "How long it is good is not known: a token from the browser lasts 30 minutes."
    seconds = int((token.expires_at - datetime.now(UTC)).total_seconds())
    minutes, tens = seconds // 60, seconds // 10 * 10
    left = f"{minutes} minutes" if minutes > 1 else f"{max(tens, 0) or 'less than 10'} seconds"
    return f"Good for {left}, until {_clock(token)} UTC."


def _clock(token: AccessToken) -> str:
    return f"{token.expires_at.astimezone(UTC):%H:%M}" if token.expires_at else "a time that is not known"
