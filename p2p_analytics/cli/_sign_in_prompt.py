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
from p2p_analytics.errors import ConfigurationError, NotSignedIn, TokenError

_LARGEST_INPUT: Final = 2**14
_ATTEMPTS: Final = 5  # to paste, where nothing else can end the wait
_AGAIN: Final = "Paste the whole address again (it is not shown):"
_EMPTY: Final = "The input is empty: start the sign-in again and enter the requested text."
_OPENED: Final = "If the browser shows no page to sign in at, open the address above yourself."


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

    Parameters
    ----------
    build_address : callable
        Returns the address of the sign-in page, for a ``redirect_uri`` or None.
    read_redirect, read_pasted : callable
        Return the secret from the redirect to the listener, and from pasted text.
    listen, open_browser : bool
        Whether to listen for the redirect on this machine, and whether to open the browser.

    Raises
    ------
    TokenError
        The user declined, or the sign-in took too long.
    """
    with contextlib.ExitStack() as stack:
        mailbox = stack.enter_context(_open_mailbox())
        listener = None
        if listen:
            try:
                listener = stack.enter_context(Listener(mailbox.put, read=read_redirect))
            except ConfigurationError as error:
                _say(str(error))
        redirect_uri = None if listener is None else listener.redirect_uri
        url = build_address(redirect_uri=redirect_uri)
        _say(f"Sign in and agree at this address:\n\n  {url}\n")
        if open_browser:
            opened = stack.enter_context(in_browser(url))
            _say(_OPENED if opened else "No browser can be opened from here: open the address yourself.")
        if listener is None and not _is_terminal():
            return _read_piped(read_pasted), redirect_uri
        secret = _wait_for_first(mailbox, read_pasted, listens=listener is not None)
        if listener is not None and not mailbox.empty:
            listener.wait()  # until the browser has loaded its last page
        return secret, redirect_uri


@hide_frames
def _read_piped(read_pasted: Callable[[str], Any]) -> Any:  # noqa: ANN401 - a secret
    """Return the secret from the first usable one of a few lines of standard input."""
    failure: TokenError | None = None
    for _ in range(_ATTEMPTS):
        try:
            text = _read_line()
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
    """Return a line typed in the terminal without echo, or a line of standard input if that is not a terminal."""
    if not _is_terminal():
        return _read_line()

    return _require_text(lambda: getpass.getpass(prompt))


class _Mailbox:
    """The listener's result, with a socket that wakes a select() on it."""

    def __init__(self, reading: socket.socket, writing: socket.socket) -> None:
        self.reading, self._writing = reading, writing
        self._content: list[Any] = []

    @property
    def empty(self) -> bool:
        return not self._content

    def put(self, outcome: Any) -> None:  # noqa: ANN401 - whatever secret the listener read
        self._content.append(outcome)
        with contextlib.suppress(OSError):  # the waiting side has closed
            self._writing.send(b"!")

    def open(self) -> Any:  # noqa: ANN401 - whatever secret the listener read
        (outcome,) = self._content
        if isinstance(outcome, TokenError):
            raise outcome
        return outcome


@contextlib.contextmanager
def _open_mailbox() -> Iterator[_Mailbox]:
    reading, writing = socket.socketpair()
    with reading, writing:
        yield _Mailbox(reading, writing)


def _wait_for_first(mailbox: _Mailbox, read_pasted: Callable[[str], Any], *, listens: bool) -> Any:  # noqa: ANN401 - a secret
    terminal = sys.stdin.fileno() if _is_terminal() else None
    if terminal is not None:
        invitation = "Or paste" if listens else "Paste"
        _say(f"{invitation} the address that the browser ended at, even of a page that did not load (it is not shown):")
    attempts = 0
    with _without_echo(terminal):
        while True:
            watched = ([mailbox.reading] if listens else []) + ([] if terminal is None else [terminal])
            if not watched:
                raise NotSignedIn("Nothing was pasted: start the sign-in again.")
            ready, _, _ = select.select(watched, [], [])
            if mailbox.reading in ready:
                return mailbox.open()
            text = _read_typed(terminal)
            if not text:
                terminal = None
                continue
            try:
                return read_pasted(text)
            except ConsentDenied:
                raise
            except TokenError as error:
                attempts += 1
                if attempts >= _ATTEMPTS and not listens:
                    raise
                _say(f"{error}\n{_AGAIN}")


def _read_typed(terminal: int | None) -> str:
    """Return the line that was typed in the terminal; empty at its end."""
    try:
        return "" if terminal is None else os.read(terminal, _LARGEST_INPUT).decode("utf-8", "replace")
    except OSError:  # the terminal is gone
        return ""


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


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _read_line() -> str:
    return _require_text(lambda: "" if sys.stdin is None else sys.stdin.readline(_LARGEST_INPUT))


def _require_text(read: Callable[[], str]) -> str:
    """Return a line of input; raise a TokenError for an empty line and for bytes that are not text."""
    text = ""
    try:
        text = read()
    except EOFError:  # Ctrl-D at a prompt
        pass
    except UnicodeDecodeError:
        raise TokenError("The input is not text: start the sign-in again and enter the requested text.") from None
    if not text.strip():
        raise NotSignedIn(_EMPTY)
    return text


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
