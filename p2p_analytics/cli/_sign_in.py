"""The commands ``login``, ``whoami`` and ``logout``. None shows a token."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from p2p_analytics import auth, display, settings
from p2p_analytics.auth import AccessToken, Owner, SignIn
from p2p_analytics.cli import _sign_in_prompt
from p2p_analytics.cli._options import WrongUseError
from p2p_analytics.cli._output import print_summary
from p2p_analytics.client import Client, oauth
from p2p_analytics.errors import NotSignedIn, ScopeError, ServiceError
from p2p_analytics.privacy import strip_service_text
from p2p_analytics.vocabulary import Scope

_WHOAMI_TIMEOUT: Final = (3.05, 5.0)  # seconds; how long a user without a network waits


def login(options: argparse.Namespace) -> None:
    """Sign in, and store the token."""
    base_url = settings.base_url(options.base_url, give="give --base-url")
    chosen, other = (auth.KeyringStore(), auth.FileStore())[:: 1 if options.keyring else -1]
    chosen.load()  # an unusable store fails before the sign-in starts
    if not options.token_stdin:
        sign_in = _authorize(options, base_url)
    elif options.server_flow:
        raise WrongUseError("A token that is given needs no flow: leave out --server-flow or --token-stdin.")
    else:
        read = _sign_in_prompt.read_hidden_line
        token = auth.token_from_text(read("Token, or the address with it: "), scopes=options.scope or ())
        sign_in = auth.SignIn(base_url, token)
    owner = _ask_for_owner(sign_in.token, base_url)
    sign_in = replace(sign_in, owner=owner)
    with auth.lock_sign_in():
        chosen.save(sign_in)
        with contextlib.suppress(auth.KeyringUnavailableError):
            other.delete()  # otherwise its older token could be found first
    sys.stdout.write(f"{_describe_owner(owner)} {_describe_token(sign_in.token)}\n")


def _authorize(options: argparse.Namespace, base_url: str) -> SignIn:
    """Return the result of a sign-in in the browser."""
    client_id = settings.client_id(options.client_id, give="give --client-id")
    scopes = options.scope or [Scope.PROFILE, Scope.FRIENDS]
    wait = partial(_sign_in_prompt.wait_for_redirect, listen=not options.paste, open_browser=not options.no_browser)
    address = partial(auth.authorize_url, base_url, client_id, scopes)
    if not options.server_flow:
        readers = (partial(read, scopes=scopes) for read in (auth.token_from_redirect, auth.token_from_text))
        token, _ = wait(address, *readers)
        return auth.SignIn(base_url, token, client_id)
    secret = auth.find_client_secret()
    if secret is None:
        try:
            secret = auth.Secret(_sign_in_prompt.read_hidden_line("The application's secret: ").strip())
        except NotSignedIn:  # its message mentions a token
            raise NotSignedIn(
                f"No secret of the application: set {auth.CLIENT_SECRET_VARIABLE}, or give it on standard input."
            ) from None
    read = auth.code_from_redirect
    code, redirect_uri = wait(partial(address, response_type="code"), read, read)
    return oauth.exchange(
        code, base_url=base_url, client_id=client_id, secret=secret, redirect_uri=redirect_uri, scopes=scopes
    )


def whoami(options: argparse.Namespace) -> None:
    """Print the owner, expiry, scopes and source of the token that a client would use."""
    base_url = auth.find_base_url(options.base_url)
    failure = None
    try:
        # This may renew the token, so look it up again.
        owner = _ask_for_owner(None, base_url, max_attempts=1, timeout=_WHOAMI_TIMEOUT)
    except ServiceError as error:
        if not error.retryable:
            raise
        failure = error
    found = auth.find_token(base_url=base_url)
    if failure is not None:
        owner = None if found.sign_in is None else found.sign_in.owner
    renews = found.sign_in is not None and found.sign_in.refresh_token is not None
    lines = [
        f"{_describe_owner(owner)} {_describe_token(found.token)}",
        f"The token is for {base_url} and comes from {found.source}{'; it renews itself' if renews else ''}.",
    ]
    if failure is not None:
        lines.append("The service did not confirm this: name and scopes are those of the last sign-in.")
    private = bool(settings.privacy())
    expires_at = found.token.expires_at
    print_summary(
        options,
        "\n".join(lines),
        **asdict(auth.Owner() if owner is None or private else owner),
        checked=failure is None,
        base_url=base_url,
        expires_at=expires_at and f"{expires_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        scopes=sorted(found.token.scopes) or None,
        source=found.source,
        renews=renews,
        privacy=private,
    )
    if failure is not None:
        sys.stdout.flush()
        raise failure


def logout(_options: argparse.Namespace) -> None:
    """Delete the stored tokens."""
    deleted = []
    with auth.lock_sign_in():
        for store in (auth.FileStore(), auth.KeyringStore()):
            with contextlib.suppress(auth.KeyringUnavailableError):
                deleted += [store.name] if store.delete() else []
    places = " and ".join(deleted)
    sys.stdout.write(
        f"Signed out: deleted from {places}.\n" if places else "Nothing was kept, so nothing is deleted.\n"
    )
    if os.environ.get(auth.TOKEN_VARIABLE):
        sys.stdout.write(f"The environment variable {auth.TOKEN_VARIABLE} is still set.\n")


def _ask_for_owner(token: AccessToken | None, base_url: str, **settings: Any) -> Owner | None:  # noqa: ANN401 - Client's
    """Return who is signed in; the request to the service also proves that the token is valid."""
    with Client(token, base_url=base_url, cache_dir=False, **settings) as client:
        try:
            user = strip_service_text(client.me)(lenient=True).user
        except ScopeError:
            return None  # without access_profile the name is unknown
    return Owner(user.id, user.username, user.display_name)


def _describe_owner(owner: Owner | None) -> str:
    if owner is None:
        return "Signed in"
    if settings.privacy():
        return f"Signed in as {display.HIDDEN_NAME}"
    handle = f" (@{owner.username})" if owner.username else ""
    return "Signed in as " + display.keep_printable(f"{owner.display_name or owner.user_id}{handle}")


def _describe_token(token: AccessToken) -> str:
    scopes = ", ".join(sorted(token.scopes)) or "not known"
    if token.expires_at is None:
        return f"for as long as the token lasts; scopes: {scopes}."
    left, ends = token.expires_at - datetime.now(UTC), token.expires_at.astimezone(UTC)
    if left <= timedelta(0):
        return f"with a token that expired at {ends:%Y-%m-%d %H:%M} UTC; scopes: {scopes}."
    day = "" if left < timedelta(days=1) else "%Y-%m-%d "
    return f"until {ends:{day}%H:%M} UTC; scopes: {scopes}."
