"""Waits for the result of a sign-in: a redirect to the loopback listener or a pasted address, whichever is first."""

from __future__ import annotations

import contextlib
import getpass
import os
import select
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from p2p_analytics.auth import ConsentDenied, Listener, hide_frames
from p2p_analytics.auth.browser import in_browser
from p2p_analytics.cli import _output
from p2p_analytics.errors import ConfigurationError, NotSignedIn, TokenError

_LARGEST_INPUT: Final = 2**14
_ATTEMPTS: Final = 5  # to paste, where nothing else can end the wait
_EMPTY: Final = "The input is empty: start the sign-in again and enter the requested text."


@hide_frames
def wait_for_redirect(
    build_address: Callable[..., str],
    read_redirect: Callable[[str], Any],
    read_pasted: Callable[[str], Any],
    *,
    listen: bool,
    open_browser: bool,
) -> tuple[Any, str | None]:
    """Send the user to the sign-in page, and return the secret from the redirect and the ``redirect_uri`` used.

    The address of the page is built for a ``redirect_uri``, or None. The secret is read from the redirect to the
    listener or from pasted text.
    """
    with contextlib.ExitStack() as stack:
        received: list[Any] = []  # a secret, or the error of the listener
        reading, writing = map(stack.enter_context, socket.socketpair())

        def receive(outcome: Any) -> None:  # noqa: ANN401 - a secret
            received.append(outcome)
            with contextlib.suppress(OSError):  # the waiting side has closed
                writing.send(b"!")

        listener = None
        if listen:
            try:
                listener = stack.enter_context(Listener(receive, read=read_redirect))
            except ConfigurationError as error:
                _say(str(error))
        redirect_uri = None if listener is None else listener.redirect_uri
        url = build_address(redirect_uri=redirect_uri)
        _say(f"Sign in and agree at this address:\n\n  {url}\n")
        if open_browser:
            opened = stack.enter_context(in_browser(url))
            _say(
                "If the browser shows no page to sign in at, open the address above yourself."
                if opened
                else "No browser can be opened from here: open the address yourself."
            )
        if listener is None and not _output.is_terminal():
            return _read_piped(read_pasted), redirect_uri
        secret = _wait_for_first(None if listener is None else reading, read_pasted)
        if secret is None:
            (secret,) = received
            if isinstance(secret, TokenError):
                raise secret
        if listener is not None and received:
            listener.wait()  # until the browser has loaded its last page
        return secret, redirect_uri


@hide_frames
def _read_piped(read_pasted: Callable[[str], Any]) -> Any:  # noqa: ANN401 - a secret
    """Return the secret from the first usable one of a few lines of standard input."""
    failure: TokenError | None = None
    for _ in range(_ATTEMPTS):
        try:
            text = read_hidden_line("")
        except NotSignedIn:
            break
        if failure is not None:
            _say(str(failure))
        try:
            return read_pasted(text)
        except ConsentDenied:
            raise
        except TokenError as error:
            failure = error
    raise failure or NotSignedIn(_EMPTY)


@hide_frames
def read_hidden_line(prompt: str) -> str:
    """Return a line typed in the terminal without echo, or a line of standard input if that is not a terminal.

    Raises
    ------
    TokenError
        The line is empty, or its bytes are not text.
    """
    text = ""
    try:
        if _output.is_terminal():
            text = getpass.getpass(prompt)
        elif sys.stdin is not None:
            text = sys.stdin.readline(_LARGEST_INPUT)
    except EOFError:  # Ctrl-D at a prompt
        pass
    except UnicodeDecodeError:
        raise TokenError("The input is not text: start the sign-in again and enter the requested text.") from None
    if not text.strip():
        raise NotSignedIn(_EMPTY)
    return text


def _wait_for_first(redirect: socket.socket | None, read_pasted: Callable[[str], Any]) -> Any:  # noqa: ANN401 - a secret
    """Return the secret from pasted text; None when a redirect comes first, which ``redirect`` announces."""
    terminal = sys.stdin.fileno() if _output.is_terminal() else None
    if terminal is not None:
        invitation = "Paste" if redirect is None else "Or paste"
        _say(f"{invitation} the address that the browser ended at, even of a page that did not load (it is not shown):")
    attempts = 0
    with _without_echo(terminal):
        while True:
            watched = [each for each in (redirect, terminal) if each is not None]
            if not watched:
                raise NotSignedIn("Nothing was pasted: start the sign-in again.")
            ready, _, _ = select.select(watched, [], [])
            if terminal is None or redirect in ready:
                return None
            try:
                text = os.read(terminal, _LARGEST_INPUT).decode("utf-8", "replace")
            except OSError:  # the terminal is gone
                text = ""
            if not text:
                terminal = None
                continue
            try:
                return read_pasted(text)
            except ConsentDenied:
                raise
            except TokenError as error:
                attempts += 1
                if attempts >= _ATTEMPTS and redirect is None:
                    raise
                _say(f"{error}\nPaste the whole address again (it is not shown):")


@contextlib.contextmanager
def _without_echo(terminal: int | None) -> Iterator[None]:
    """Turn off a terminal's echo during the block, because the input holds the token."""
    if terminal is None:
        yield
        return
    import termios  # POSIX only

    before = termios.tcgetattr(terminal)
    quiet = list(before)
    quiet[3] = (before[3] & ~termios.ECHO) | termios.ECHONL
    termios.tcsetattr(terminal, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
