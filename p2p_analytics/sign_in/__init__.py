"""The commands that sign in, say who is signed in, and sign out. No token is shown, or taken as an argument."""

from __future__ import annotations

import contextlib
import os
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from p2p_analytics.errors import ConfigurationError, ScopeError
from p2p_analytics.sign_in import waiting

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from p2p_analytics.auth import AccessToken, SignIn


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``login``, ``whoami`` and ``logout`` to a command line."""
    login = add_parser(
        "login",
        help="sign in with the browser, and keep the token for the other commands",
        description="Sign in to the payments service. The address to sign in at is printed and opened in the browser; "
        "the token is caught on this machine, or pasted. It is kept in a file that only you can read.",
        allow_abbrev=False,
    )
    login.add_argument("--base-url", metavar="URL", help="the service (P2P_BASE_URL)")
    login.add_argument("--client-id", metavar="ID", help="the application (P2P_CLIENT_ID)")
    login.add_argument(
        "--scope",
        metavar="SCOPE",
        action="append",
        help="what to ask for, once for each scope (access_profile and access_friends)",
    )
    login.add_argument("--no-browser", action="store_true", help="print the address and do not open it")
    way = login.add_mutually_exclusive_group()
    way.add_argument("--paste", action="store_true", help="wait for a pasted address alone, and do not listen for it")
    way.add_argument(
        "--token-stdin", action="store_true", help="read a token, or the address with it, from standard input"
    )
    login.add_argument("--keyring", action="store_true", help="keep the token in the system's keyring")
    login.add_argument(
        "--server-flow",
        action="store_true",
        help="get a token of 60 days that renews itself; needs the application's secret (P2P_CLIENT_SECRET)",
    )
    login.set_defaults(command=_login)

    whoami = add_parser(
        "whoami",
        help="say who is signed in, for how long, with which scopes",
        description="Say who is signed in, until when, with which scopes, and where the token comes from.",
        allow_abbrev=False,
    )
    whoami.add_argument("--base-url", metavar="URL", help="the service (P2P_BASE_URL, or that of the last login)")
    whoami.set_defaults(command=_whoami)

    logout = add_parser(
        "logout",
        help="delete the token that is kept",
        description="Delete what login has kept in the state file and in the keyring.",
        allow_abbrev=False,
    )
    logout.set_defaults(command=_logout)


def _login(options: argparse.Namespace) -> None:
    from p2p_analytics import auth, settings

    base_url = settings.base_url(options.base_url)
    chosen, other = (auth.KeyringStore(), auth.FileStore())[:: 1 if options.keyring else -1]
    chosen.load()  # a store that cannot be used is found before anybody signs in
    sign_in = _given(options, base_url) if options.token_stdin else _agreed(options, base_url)
    who = _owner(sign_in.token, base_url)
    with auth.locked():
        chosen.save(sign_in)
        with contextlib.suppress(auth.KeyringUnavailableError):
            other.delete()  # or it might be found instead of this one
    _say(f"{who} {_terms(sign_in.token)}")


def _given(options: argparse.Namespace, base_url: str) -> SignIn:
    from p2p_analytics import auth

    if options.server_flow:
        raise ConfigurationError("A token that is given needs no flow: leave out --server-flow or --token-stdin.")
    text = waiting.hidden_line("Token, or the address with it: ")
    return auth.SignIn(base_url, auth.token_from_text(text, scopes=options.scope or ()))


def _agreed(options: argparse.Namespace, base_url: str) -> SignIn:
    """Let the user sign in and agree in the browser."""
    from functools import partial

    from p2p_analytics import auth, settings
    from p2p_analytics.client import oauth
    from p2p_analytics.vocabulary import Scope

    client_id, scopes = settings.client_id(options.client_id), options.scope or [Scope.PROFILE, Scope.FRIENDS]
    wait = partial(waiting.redirected, listens=not options.paste, opens=not options.no_browser)
    address = partial(auth.authorize_url, base_url, client_id, scopes)
    if not options.server_flow:
        caught, pasted = (partial(read, scopes=scopes) for read in (auth.token_from_redirect, auth.token_from_text))
        token, _ = wait(address, caught, pasted)
        return auth.SignIn(base_url, token, client_id)
    secret = auth.client_secret() or auth.Secret(waiting.hidden_line("The application's secret: "))
    read = auth.code_from_redirect
    code, redirect_uri = wait(partial(address, response_type="code"), read, read)
    return oauth.exchange(
        code, base_url=base_url, client_id=client_id, secret=secret, redirect_uri=redirect_uri, scopes=scopes
    )


def _whoami(options: argparse.Namespace) -> None:
    from p2p_analytics import auth, settings

    kept_for = next((sign_in.base_url for _, sign_in in auth.kept()), None)
    base_url = settings.base_url(options.base_url or os.environ.get(settings.BASE_URL_VARIABLE) or kept_for)
    who = _owner(None, base_url)  # which may renew the token, so that it is looked for again
    found = auth.find_token(base_url=base_url)
    renewed = found.sign_in is not None and found.sign_in.refresh_token is not None
    _say(f"{who} {_terms(found.token)}")
    _say(f"The token is for {base_url} and comes from {found.source}{'; it renews itself' if renewed else ''}.")


def _logout(_options: argparse.Namespace) -> None:
    from p2p_analytics import auth

    deleted = []
    with auth.locked():
        for store in (auth.FileStore(), auth.KeyringStore()):
            with contextlib.suppress(auth.KeyringUnavailableError):
                deleted += [store.name] if store.delete() else []
    _say(
        f"Signed out: deleted from {' and '.join(deleted)}." if deleted else "Nothing was kept, so nothing is deleted."
    )
    if auth.TOKEN_VARIABLE in os.environ:
        _say(f"The environment variable {auth.TOKEN_VARIABLE} is still set.")


def _owner(token: AccessToken | None, base_url: str) -> str:
    """Ask the service whose token it is, which also proves that it is good."""
    from p2p_analytics.client import Client

    with Client(token, base_url=base_url, cache_dir=False) as client:
        try:
            user = client.me(lenient=True).user
        except ScopeError:
            return "Signed in"  # without access_profile nobody says as whom
    handle = f" (@{user.username})" if user.username else ""
    name = f"{user.display_name or user.id}{handle}"
    return "Signed in as " + "".join(char for char in name if char.isprintable())


def _terms(token: AccessToken) -> str:
    scopes = ", ".join(sorted(token.scopes)) or "not known"
    if token.expires_at is None:
        return f"for as long as the token lasts; scopes: {scopes}."
    day = "" if token.expires_at - datetime.now(UTC) < timedelta(days=1) else "%Y-%m-%d "
    return f"until {token.expires_at.astimezone(UTC):{day}%H:%M} UTC; scopes: {scopes}."


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
