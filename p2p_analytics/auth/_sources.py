"""Token sources, in order of precedence: the argument, the environment, the state file, the keyring."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from p2p_analytics import settings
from p2p_analytics.auth._store import (
    FileStore,
    KeyringStore,
    KeyringUnavailableError,
    SignIn,
    SignInStore,
    lock_sign_in,
)
from p2p_analytics.auth._token import AccessToken, Secret
from p2p_analytics.auth._tracebacks import hide_frames
from p2p_analytics.errors import NotSignedIn, TokenError

TOKEN_VARIABLE: Final = "P2P_ACCESS_TOKEN"  # noqa: S105 - the name of the variable, not a secret
CLIENT_SECRET_VARIABLE: Final = "P2P_CLIENT_SECRET"  # noqa: S105 - the name of the variable, not a secret


@dataclass(frozen=True, slots=True)
class FoundToken:
    """A token and its source; ``sign_in`` and ``store`` are None unless it comes from a store."""

    token: AccessToken
    source: str
    sign_in: SignIn | None = None
    store: SignInStore | None = None


@hide_frames
def find_token(value: AccessToken | str | None = None, *, base_url: str | None = None) -> FoundToken:
    """Return the first token of: the argument, ``P2P_ACCESS_TOKEN``, the state file, the keyring.

    Parameters
    ----------
    value : AccessToken or str, optional
        The argument.
    base_url : str, optional
        The service that the token is for, as :func:`p2p_analytics.settings.base_url` returns it. A stored sign-in
        is used only for the service that issued it; without an address no store is read.

    Raises
    ------
    NotSignedIn
        No token was found. An expired stored sign-in is deleted, and the error says so.
    TokenError
        The token is malformed, or the state file is not trustworthy.
    """
    if isinstance(value, AccessToken):
        return FoundToken(value, "the argument")
    if value is not None:
        return FoundToken(AccessToken(value.strip() if isinstance(value, str) else value), "the argument")
    if text := os.environ.get(TOKEN_VARIABLE, "").strip():
        try:
            return FoundToken(AccessToken(text), f"the environment variable {TOKEN_VARIABLE}")
        except TokenError:
            raise TokenError(
                f"The value of {TOKEN_VARIABLE} is not an access token: it must be one word. Unset it or replace it."
            ) from None
    reasons = []
    for store, sign_in in load_sign_ins() if base_url is not None else ():
        expires_at = sign_in.token.expires_at
        if sign_in.base_url != base_url:
            reasons.append(f" The sign-in in {store.name} is for {sign_in.base_url}.")
        elif sign_in.refresh_token is None and expires_at is not None and expires_at <= datetime.now(UTC):
            with lock_sign_in():
                current = store.load()
                if current is not None and current.ident == sign_in.ident:  # not replaced by another process meanwhile
                    store.delete()
            reasons.append(f" The sign-in in {store.name} expired at {expires_at:%Y-%m-%d %H:%M} UTC and was deleted.")
        else:
            return FoundToken(sign_in.token, store.name, sign_in, store)
    raise NotSignedIn(
        f"Not signed in: in a notebook use TokenForm, in a terminal p2p-analytics login, or set {TOKEN_VARIABLE}."
        + "".join(reasons)
    )


def load_sign_ins() -> Iterator[tuple[SignInStore, SignIn]]:
    """Yield each stored sign-in with its store; skip an unavailable keyring."""
    for store in (FileStore(), KeyringStore()):
        with contextlib.suppress(KeyringUnavailableError):
            if (sign_in := store.load()) is not None:
                yield store, sign_in


def find_base_url(value: str | None = None) -> str:
    """Return the base URL for a command: its option, else ``P2P_BASE_URL``, else the URL of the stored sign-in.

    Raises
    ------
    NotSignedIn
        Neither a base URL nor a token was found.
    ConfigurationError
        The base URL is invalid, or there is a token but no base URL.
    """
    given = value or os.environ.get(settings.BASE_URL_VARIABLE)
    # Stored sign-ins come last, because a keyring may prompt the user.
    given = given or next((sign_in.base_url for _, sign_in in load_sign_ins()), None)
    if not given and not os.environ.get(TOKEN_VARIABLE):
        raise NotSignedIn("Not signed in: run p2p-analytics login.")
    return settings.base_url(given, give="give --base-url")


@hide_frames
def find_client_secret() -> Secret | None:
    """Return the application's secret in ``P2P_CLIENT_SECRET``, None if the variable is unset or empty."""
    text = os.environ.get(CLIENT_SECRET_VARIABLE, "").strip()
    return Secret(text) if text else None
