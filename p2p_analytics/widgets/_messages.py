"""Messages of the sign-in form, and the requests that find out what a token permits."""

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

# Set if the kernel runs on another machine than the browser: hubs, Binder, remote VS Code, Codespaces.
_REMOTE_VARIABLES: Final = ("JUPYTERHUB_", "BINDER_", "CODESPACES", "REMOTE_CONTAINERS", "VSCODE_AGENT_FOLDER")


def format_link(link: str, plain_link: str, host: str, scopes: Iterable[str], problem: str) -> str:
    """Return the link to the consent page as HTML, with instructions in case the browser cannot return."""
    if problem:
        hint = f"{problem} The last page may not load: copy its whole address."
    elif is_remote():
        hint = (
            "This notebook runs on another machine, so the last page will not load: "
            "copy its whole address from the address bar, and paste it here."
        )
    else:
        hint = (
            "The sign-in then finishes by itself. If the last page does not load, copy its whole address and paste it "
            "here."
        )
    fallback = (
        f" If the service refuses the redirect address, <a {_link_attributes(plain_link)}>use the registered one</a> "
        "and paste."
    )
    return (
        f'<p><a class="sign-in" {_link_attributes(link)}>Sign in at {escape(host)}</a></p>'
        f'<p class="quiet">A new tab opens and asks you to agree to {escape(", ".join(scopes))}. {escape(hint)}'
        f"{fallback if link != plain_link else ''}</p>"
    )


def _link_attributes(link: str) -> str:
    return f'href="{escape(link)}" target="_blank" rel="noopener noreferrer"'


def is_remote() -> bool:
    """Return whether the environment shows that the browser is on another machine."""
    return "google.colab" in sys.modules or any(name.startswith(_REMOTE_VARIABLES) for name in os.environ)


def find_granted_scopes(client: Client, me: Me, token: AccessToken) -> set[str]:
    """Return the scopes that responses prove, and make_payments if requested, which only a payment could prove."""
    proofs = {
        Scope.PROFILE: True,
        Scope.EMAIL: me.user.email is not None,
        Scope.PHONE: me.user.phone is not None,
        Scope.BALANCE: me.balance_cents is not None,
        Scope.PAYMENTS: Scope.PAYMENTS in token.scopes,
    }
    granted: set[str] = {scope for scope, is_proven in proofs.items() if is_proven}
    try:
        next(client.friend_pages(str(me.user.id), page_size=1), None)
    except ScopeError:
        return granted
    return granted | {Scope.FRIENDS}


def format_scopes(granted: set[str], token: AccessToken) -> str:
    """Return a sentence with the granted scopes, and one with the scopes that were requested and not granted."""
    missing = sorted(token.scopes - granted)
    also = f" Requested and not granted: {', '.join(missing)}." if missing else ""
    return f"The token permits {', '.join(sorted(granted))}.{also}"


def format_expiry(token: AccessToken) -> str:
    """Return that the token expired, and when."""
    return f"The token expired at {_format_time(token)} UTC"


def format_time_left(token: AccessToken) -> str:
    """Return how long the token is valid: in minutes, and in steps of ten seconds at the end, so the page is quiet."""
    if token.expires_at is None:
        return "The expiry is unknown: a token from the browser is valid for 30 minutes."
    seconds = int((token.expires_at - datetime.now(UTC)).total_seconds())
    minutes, tens = seconds // 60, seconds // 10 * 10
    time_left = f"{minutes} minutes" if minutes > 1 else f"{max(tens, 0) or 'less than 10'} seconds"
    return f"Valid for {time_left}, until {_format_time(token)} UTC."


def _format_time(token: AccessToken) -> str:
    return f"{token.expires_at.astimezone(UTC):%H:%M}" if token.expires_at else "an unknown time"
