"""Options of the sign-in commands ``login``, ``whoami`` and ``logout``. None takes a token as an argument."""

from __future__ import annotations

from p2p_analytics.cli import _arguments

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``login``, ``whoami`` and ``logout`` to a command line."""
    login = add_parser(
        "login",
        help="sign in with the browser, and keep the token for the other commands",
        description="Sign in to the payments service. The address to sign in at is printed and opened in the browser; "
        "the token is caught on this machine, or pasted. It is kept in a file that only you can read.",
        allow_abbrev=False,
    )
    _arguments.add_service(login, "P2P_BASE_URL")
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
    login.set_defaults(command=_run_login)

    whoami = add_parser(
        "whoami",
        help="say who is signed in, for how long, with which scopes",
        description="Say who is signed in, until when, with which scopes, and where the token comes from. The service "
        "is asked; if it cannot be reached, what the sign-in left is printed, and the exit code is 1.",
        allow_abbrev=False,
    )
    _arguments.add_service(whoami)
    _arguments.add_json(whoami)
    whoami.set_defaults(command=_run_whoami)

    logout = add_parser(
        "logout",
        help="delete the token that is kept",
        description="Delete what login has kept in the state file and in the keyring.",
        allow_abbrev=False,
    )
    logout.set_defaults(command=_run_logout)


def _run_login(options: argparse.Namespace) -> None:
    from p2p_analytics.cli import _sign_in_commands

    _sign_in_commands.login(options)


def _run_whoami(options: argparse.Namespace) -> int:
    from p2p_analytics.cli import _sign_in_commands

    return _sign_in_commands.whoami(options)


def _run_logout(_options: argparse.Namespace) -> None:
    from p2p_analytics.cli import _sign_in_commands

    _sign_in_commands.logout()
