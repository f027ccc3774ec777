"""Waiting for a sign-in: the redirect that is caught, or an address that is pasted, whichever comes first."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.auth import hide_frames
from p2p_analytics.cli._browser import in_browser
from p2p_analytics.errors import ConfigurationError, NotSignedIn, TokenError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

_LARGEST_INPUT: Final = 2**14
_OPENED: Final = "If the browser shows no page to sign in at, open the address above yourself."


@hide_frames
def wait_for_redirect(
    address: Callable[..., str],
    caught: Callable[[str], Any],
    pasted: Callable[[str], Any],
    *,
    listens: bool,
    opens: bool,
) -> tuple[Any, str | None]:
    """Send the user to sign in, and return what the redirect brought, and the redirect address that was asked for.

    Parameters
    ----------
    address : callable
        Gives the address to sign in at, for a ``redirect_uri`` or None.
    caught, pasted : callable
        Take the secret from a redirect that is caught, and from a text that is pasted.
    listens, opens : bool
        Whether to catch the redirect on this machine, and whether to open the browser.

    Raises
    ------
    TokenError
        The user declined, or nobody signed in in time.
    """
    from p2p_analytics.auth import Listener

    with contextlib.ExitStack() as stack:
        mailbox = stack.enter_context(_mailbox())
        listener = None
        if listens:
            try:
                listener = stack.enter_context(Listener(mailbox.put, read=caught))
            except ConfigurationError as error:
                _say(str(error))
        redirect_uri = None if listener is None else listener.redirect_uri
        url = address(redirect_uri=redirect_uri)
        _say(f"Sign in and agree at this address:\n\n  {url}\n")
        if opens:
            opened = stack.enter_context(in_browser(url))
            _say(_OPENED if opened else "No browser can be opened from here: open the address yourself.")
        if listener is None and not _is_terminal():
            return pasted(_line()), redirect_uri
        secret = _first(mailbox, pasted, listens=listener is not None)
        if listener is not None and not mailbox.empty:
            listener.wait()  # until the browser has its last page
        return secret, redirect_uri


@hide_frames
def read_hidden_line(prompt: str) -> str:
    """Return a line from the terminal, where it is not shown, or else from standard input."""
    if not _is_terminal():
        return _line()
    import getpass

    return _given(lambda: getpass.getpass(prompt))


class _Mailbox:
    """What a listener was told, and a socket that wakes whoever waits for it beside other things."""

    def __init__(self, reading: socket.socket, writing: socket.socket) -> None:
        self.reading, self._writing = reading, writing
        self._content: list[Any] = []

    @property
    def empty(self) -> bool:
        return not self._content

    def put(self, outcome: Any) -> None:  # noqa: ANN401 - whatever secret the listener read
        self._content.append(outcome)
        with contextlib.suppress(OSError):  # nobody waits any more
            self._writing.send(b"!")

    def open(self) -> Any:  # noqa: ANN401 - whatever secret the listener read
        (outcome,) = self._content
        if isinstance(outcome, TokenError):
            raise outcome
        return outcome


@contextlib.contextmanager
def _mailbox() -> Iterator[_Mailbox]:
    import socket

    reading, writing = socket.socketpair()
    with reading, writing:
        yield _Mailbox(reading, writing)


def _first(mailbox: _Mailbox, pasted: Callable[[str], Any], *, listens: bool) -> Any:  # noqa: ANN401 - as `redirected`
    import select

    from p2p_analytics.auth import ConsentDenied

    terminal = sys.stdin.fileno() if _is_terminal() else None
    if terminal is not None:
        invitation = "Or paste" if listens else "Paste"
        _say(f"{invitation} the address that the browser ended at, even of a page that did not load (it is not shown):")
    with _unechoed(terminal):
        while True:
            watched = ([mailbox.reading] if listens else []) + ([] if terminal is None else [terminal])
            if not watched:
                raise NotSignedIn("Nothing was pasted, so nobody is signed in: start the sign-in again.")
            ready, _, _ = select.select(watched, [], [])
            if mailbox.reading in ready:
                return mailbox.open()
            text = _typed(terminal)
            if not text:
                terminal = None
                continue
            try:
                return pasted(text)
            except ConsentDenied:
                raise
            except TokenError as error:
                _say(str(error))


def _typed(terminal: int | None) -> str:
    """Return the line that waits in the terminal, empty at its end."""
    try:
        return "" if terminal is None else os.read(terminal, _LARGEST_INPUT).decode("utf-8", "replace")
    except OSError:  # the terminal is gone
        return ""


@contextlib.contextmanager
def _unechoed(terminal: int | None) -> Iterator[None]:
    """Keep a terminal from showing what is typed, because it holds the token."""
    if terminal is None:
        yield
        return
    import termios

    before = termios.tcgetattr(terminal)
    silent = list(before)
    silent[3] = (before[3] & ~termios.ECHO) | termios.ECHONL
    termios.tcsetattr(terminal, termios.TCSADRAIN, silent)
    try:
        yield
    finally:
        with contextlib.suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _line() -> str:
    return _given(lambda: "" if sys.stdin is None else sys.stdin.readline(_LARGEST_INPUT))


def _given(read: Callable[[], str]) -> str:
    """Return a line that is read; none, and one that is no text, are each a sentence."""
    text = ""
    try:
        text = read()
    except EOFError:  # Ctrl-D at a prompt
        pass
    except UnicodeDecodeError:
        raise TokenError(
            "What was given is no text, so nobody is signed in: start again and give what is asked for."
        ) from None
    if not text.strip():
        raise NotSignedIn("Nothing was given, so nobody is signed in: start again and give what is asked for.")
    return text


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()
