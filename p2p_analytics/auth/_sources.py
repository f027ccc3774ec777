"""Where a token comes from: the argument, the environment, the state file, the keyring, in this order."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from p2p_analytics import settings
from p2p_analytics.auth._sealing import sealed
from p2p_analytics.auth._store import FileStore, KeyringStore, KeyringUnavailableError, SignIn, Store, locked
from p2p_analytics.auth._token import AccessToken, Secret
from p2p_analytics.errors import NotSignedIn, TokenError

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN_VARIABLE: Final = "P2P_ACCESS_TOKEN"  # noqa: S105 - the name of the variable, not a secret
CLIENT_SECRET_VARIABLE: Final = "P2P_CLIENT_SECRET"  # noqa: S105 - the name of the variable, not a secret


@dataclass(frozen=True, slots=True)
class Found:
    """A token and where it came from; ``sign_in`` and ``store`` are None where it is not kept by us."""

    token: AccessToken
    source: str
    sign_in: SignIn | None = None
    store: Store | None = None


@sealed
def as_token(value: AccessToken | str | None = None, *, base_url: str | None = None) -> AccessToken:
    """Return the token that was passed, or the first that `find_token` finds.

    Raises
    ------
    NotSignedIn
        There is none.
    TokenError
        It is malformed.
    """
    return find_token(value, base_url=base_url).token


@sealed
def find_token(value: AccessToken | str | None = None, *, base_url: str | None = None) -> Found:
    """Find a token: the argument, ``P2P_ACCESS_TOKEN``, the state file, the keyring.

    Parameters
    ----------
    value : AccessToken or str, optional
        The argument.
    base_url : str, optional
        The service it is for, as :func:`p2p_analytics.settings.base_url` gives it. A sign-in that is kept
        counts for the service that it came from alone; without an address none does.

    Raises
    ------
    NotSignedIn
        There is none; what was kept and has expired is deleted, and the error says so.
    TokenError
        It is malformed, or the state file is not to be trusted.
    """
    if isinstance(value, AccessToken):
        return Found(value, "the argument")
    if value is not None:
        return Found(AccessToken(value.strip() if isinstance(value, str) else value), "the argument")
    if (token := _environment_token()) is not None:
        return Found(token, f"the environment variable {TOKEN_VARIABLE}")
    passed_over = []
    for store, sign_in in kept() if base_url is not None else ():
        if sign_in.base_url != base_url:
            passed_over.append(f" The sign-in of {store.name} is for {sign_in.base_url}.")
        elif _is_over(sign_in):
            _delete(store, sign_in)
            passed_over.append(f" The sign-in of {store.name} expired at {_spelled(sign_in)} and was deleted.")
        else:
            return Found(sign_in.token, store.name, sign_in, store)
    raise NotSignedIn(
        f"Not signed in: in a notebook use TokenForm, in a terminal p2p-analytics login, or set {TOKEN_VARIABLE}."
        + "".join(passed_over)
    )


def kept() -> Iterator[tuple[Store, SignIn]]:
    """Give each sign-in that is kept, with its store; a keyring that cannot be used is passed over."""
    for store in (FileStore(), KeyringStore()):
        with contextlib.suppress(KeyringUnavailableError):
            if (sign_in := store.load()) is not None:
                yield store, sign_in


def service_url(value: str | None = None) -> str:
    """Return the service's address for a command: its option, else ``P2P_BASE_URL``, else that of the last sign-in.

    Raises
    ------
    NotSignedIn
        There is none of these, and no token either.
    ConfigurationError
        It cannot be used, or there is a token alone.
    """
    given = value or os.environ.get(settings.BASE_URL_VARIABLE)
    given = given or next((sign_in.base_url for _, sign_in in kept()), None)  # a keyring may ask its owner
    if not given and not os.environ.get(TOKEN_VARIABLE):
        raise NotSignedIn("Nobody is signed in: run p2p-analytics login.")
    return settings.base_url(given, give="give --base-url")


@sealed
def _environment_token() -> AccessToken | None:
    """Return the token of the environment, None where it is not set or empty."""
    text = os.environ.get(TOKEN_VARIABLE, "").strip()
    if not text:
        return None
    try:
        return AccessToken(text)
    except TokenError:
        raise TokenError(
            f"What {TOKEN_VARIABLE} holds is no access token, which is one word: unset it, or set it to one."
        ) from None


@sealed
def client_secret() -> Secret | None:
    """Return the application's secret from ``P2P_CLIENT_SECRET``, None where it is not set."""
    text = os.environ.get(CLIENT_SECRET_VARIABLE, "").strip()
    return Secret(text) if text else None


def _is_over(sign_in: SignIn) -> bool:
    expires_at = sign_in.token.expires_at
    return sign_in.refresh_token is None and expires_at is not None and expires_at <= datetime.now(UTC)


def _delete(store: Store, sign_in: SignIn) -> None:
    with locked():
        now_kept = store.load()
        if now_kept is not None and now_kept.ident == sign_in.ident:  # nobody has signed in meanwhile
            store.delete()


def _spelled(sign_in: SignIn) -> str:
    return f"{sign_in.token.expires_at:%Y-%m-%d %H:%M} UTC"
