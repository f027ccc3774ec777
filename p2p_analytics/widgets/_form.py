"""Sign-in form: a link to the consent page, a listener for the redirect, and a box to paste into."""

from __future__ import annotations

import getpass
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from html import escape
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import ipywidgets
import traitlets
from IPython.core.getipython import get_ipython

from p2p_analytics import settings
from p2p_analytics.auth import AccessToken, Listener, authorize_url, hide_frames, token_from_text
from p2p_analytics.client import Client
from p2p_analytics.display import HIDDEN_NAME, NO_NAME, clean_line
from p2p_analytics.errors import (
    AuthenticationError,
    ConfigurationError,
    NotSignedIn,
    P2PAnalyticsError,
    ScopeError,
    TokenError,
)
from p2p_analytics.privacy import strip_service_text
from p2p_analytics.records import Me
from p2p_analytics.vocabulary import Scope
from p2p_analytics.widgets._style import NotebookDisplay, build_box, format_message

_READY: Final = "paste it here and press Enter"
_CELL_RUNS: Final = "wait until no cell runs, then paste it here"
_NOT_SIGNED_IN: Final = "Not signed in yet"
# Set if the kernel runs on another machine than the browser: hubs, Binder, remote VS Code, Codespaces.
_REMOTE_VARIABLES: Final = ("JUPYTERHUB_", "BINDER_", "CODESPACES", "REMOTE_CONTAINERS", "VSCODE_AGENT_FOLDER")


class _SecretBox(ipywidgets.Password):  # type: ignore[misc] # ipywidgets has no types
    """Password box that does not echo its value to every client of the kernel."""

    value = traitlets.Unicode(help="String value").tag(sync=True, echo_update=False)


class TokenForm(NotebookDisplay):
    """Sign-in form for notebooks, which holds the token in memory only.

    The cell that displays it returns at once. Follow the link and agree: the form signs you in when the browser
    returns (document: "Client-side flow"). If the browser cannot return, paste the address of the last page, or a
    token. The form then displays the user's name, the granted scopes and the remaining time, and offers a new link
    when the token has expired.

    Parameters
    ----------
    base_url, client_id : str, optional
        The service and the application; default ``P2P_BASE_URL`` and ``P2P_CLIENT_ID``.
    scopes : iterable of str
        The scopes to request (document: "Scopes named").
    how : {"form", "prompt"}
        ``"prompt"`` prompts in the cell instead, without echo, and waits, so the cells below can use the token in
        the same "Run All". Where prompts are impossible, the notebook continues without a token.

    Attributes
    ----------
    token : AccessToken
        The current token. Read it for each new client, because it changes with the next sign-in.
    link : str
        The URL of the consent page.
    link_seconds, refresh_seconds : float
        How long a link waits for the sign-in, and after how long the remaining time is updated; of the class.

    Raises
    ------
    ConfigurationError
        A setting is missing, or a scope is unknown.

    Notes
    -----
    Pasted text is removed from the box at once, so no saved notebook contains it. While a cell runs, the kernel cannot
    clear the box, so it is disabled.
    """

    link_seconds: float = 3600.0  # long, because notebooks stay open and the nonce cannot be guessed
    refresh_seconds: float = 1.0

    def __init__(
        self,
        base_url: str | None = None,
        client_id: str | None = None,
        scopes: Iterable[str] = (Scope.PROFILE, Scope.FRIENDS),
        *,
        how: Literal["form", "prompt"] = "form",
    ) -> None:
        if how not in {"form", "prompt"}:
            raise ConfigurationError(f'how must be "form" or "prompt", not {how!r}.')
        self.base_url = settings.base_url(base_url)
        self._host = urlsplit(self.base_url).netloc
        self._client_id = settings.client_id(client_id)
        self._scopes = (scopes,) if isinstance(scopes, str) else tuple(scopes)
        self.link = self._plain_link = authorize_url(self.base_url, self._client_id, self._scopes)
        # Guards the state against the listener's thread and the thread that watches the token.
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._listener: Listener | None = None  # None while no sign-in is open
        self._token: AccessToken | None = None
        self._reason = _NOT_SIGNED_IN
        self._user_name = self._scopes_sentence = self._problem = self._listener_problem = ""
        self._is_open = True  # whether link and box are displayed
        self._stop_watching_cells: Callable[[], None] = lambda: None
        self._how = how
        self._link_html, self._message_html, self._time_html = ipywidgets.HTML(), ipywidgets.HTML(), ipywidgets.HTML()
        self._box = _SecretBox(
            description="Address or token",
            placeholder=_READY,
            continuous_update=False,  # partial input stays out of the widget's state
            style={"description_width": "initial"},
            layout={"width": "auto", "max_width": "680px"},
        )
        self._box.observe(self._on_paste, names="value")
        self._link_button = ipywidgets.Button(layout={"width": "auto", "align_self": "flex-start"})
        self._link_button.on_click(self._on_link_button)
        if how == "form":
            self.widget = build_box(self._link_html, self._box, self._message_html, self._time_html, self._link_button)
            self._stop_watching_cells = watch_cells(self._on_cell_change)
            self._listen()
        else:
            self.widget = build_box(self._message_html, self._time_html)
            self._prompt()
        self._show()

    @property
    def token(self) -> AccessToken:
        """The current token.

        Raises
        ------
        NotSignedIn
            There is none, it has expired, or the service refused it.
        """
        token = self._token
        if token is not None:
            try:
                token.require_unexpired(datetime.now(UTC))
            except TokenError:
                self._discard(token, format_expiry(token))
            else:
                return token
        again = "sign in with the form, then run this cell again"
        if self._how == "prompt" or self._closed.is_set():
            again = "run the cell of the form again, then this one"
        raise NotSignedIn(f"{self._reason}: {again}.")

    @hide_frames
    def take(self, text: str) -> None:
        """Accept a redirect URL, ``access_token=...`` or a token, as the box does, and wait for the service's response.

        Raises
        ------
        TokenError
            The text contains no token; the form displays the same message.
        """
        try:
            token = token_from_text(text, scopes=self._scopes)
        except TokenError as error:
            self._show_problem(str(error))
            raise
        self._accept(token).wait()

    def close(self) -> None:
        """Discard the token, stop listening and close the widget; a closed form accepts no token."""
        self._closed.set()
        self._stop_watching_cells()
        self._stop_listening()
        with self._lock:
            self._token, self._reason = None, "This form is closed"
            self.widget.close()

    def __repr__(self) -> str:
        """Return the state and the user's name, without the token."""
        if self._token is None:
            return "<TokenForm: not signed in>"
        return f"<TokenForm: signed in{f' as {self._user_name}' if self._user_name else ''}>"

    def _static_html(self) -> str:
        """Return a sentence in place of the form, which needs a kernel."""
        return "<p>Sign-in form: run the cells of this notebook to use it.</p>"

    # ---- signing in

    def _listen(self) -> None:
        if self._closed.is_set():
            return
        try:
            self._listener = Listener(self._on_redirect, scopes=self._scopes, timeout=self.link_seconds)
        except ConfigurationError as error:
            self._listener_problem, self.link = str(error), self._plain_link
        else:
            self._listener_problem = ""
            self.link = authorize_url(
                self.base_url, self._client_id, self._scopes, redirect_uri=self._listener.redirect_uri
            )

    def _stop_listening(self) -> None:
        """Close the listener; call it without the lock, because the listener's thread may wait for it."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _on_redirect(self, outcome: AccessToken | TokenError) -> None:
        """Accept the outcome of the listener, in its thread; the listener stays open for the final page."""
        with self._lock:
            declined = self._listener is not None and not self._listener.closed
            self._listener = None
            if isinstance(outcome, AccessToken):
                self._accept(outcome)
                return
            if declined:
                self._listen()
            elif self._token is not None:  # an abandoned second sign-in
                self._is_open = False
                self._show()
                return
            self._show_problem(str(outcome))

    @hide_frames
    def _on_paste(self, change: dict[str, Any]) -> None:
        text, self._box.value = change["new"], ""  # first of all, because a saved notebook contains the box
        if text:
            try:
                self._accept(token_from_text(text, scopes=self._scopes))
            except TokenError as error:
                self._show_problem(str(error))
            except Exception as error:  # noqa: BLE001 - the frames of ipywidgets above hold what was pasted
                self._show_problem(f"The pasted text could not be used ({type(error).__name__}): paste it again.")

    def _on_cell_change(self, runs: bool) -> None:  # noqa: FBT001 - the only argument of a callback
        """Disable the box while a cell runs: text pasted then would stay in it and could be saved."""
        self._box.disabled, self._box.placeholder = runs, _CELL_RUNS if runs else _READY

    @hide_frames
    def _prompt(self) -> None:
        sys.stdout.write(f"Sign in and agree here:\n{self.link}\n")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", getpass.GetPassWarning)  # without this, getpass falls back to echoing
                self.take(getpass.getpass("Then paste the address of the last page: "))
        except (NotImplementedError, EOFError, getpass.GetPassWarning):  # nbconvert, nbval: no user is present
            self._show_problem("This kernel cannot prompt: the notebook continues without a token.")
        except TokenError:
            pass  # the form displays it

    def _on_link_button(self, _button: object) -> None:
        self._stop_listening()
        with self._lock:
            self._listen()
            self._is_open, self._problem = True, ""
            self._show()

    # ---- lifetime of the token

    def _accept(self, token: AccessToken) -> threading.Event:
        """Hold a token and start watching it; return an event that is set once the service has identified its user."""
        self._stop_listening()
        is_identified = threading.Event()
        with self._lock:
            if self._closed.is_set():  # the redirect or the pasted text came after close()
                is_identified.set()
                return is_identified
            self._token, self._reason, self._is_open = token, _NOT_SIGNED_IN, False
            self._user_name = self._scopes_sentence = self._problem = ""
            self._show()
        threading.Thread(target=self._watch_token, args=(token, is_identified), name="p2p-token", daemon=True).start()
        return is_identified

    def _watch_token(self, token: AccessToken, is_identified: threading.Event) -> None:
        """Request the user of a token, then update the remaining time until it expires."""
        try:
            with Client(token, base_url=self.base_url, cache_dir=False) as client:
                me = strip_service_text(client.me)(lenient=True)
                granted = strip_service_text(find_granted_scopes)(client, me, token)
            name = HIDDEN_NAME if settings.privacy() else clean_line(me.user.display_name or me.user.username)
        except (TokenError, AuthenticationError) as error:
            self._discard(token, "The service did not accept the token", str(error))
        except P2PAnalyticsError as error:  # the token may be valid all the same
            with self._lock:
                if self._token is token:
                    self._show_problem(str(error))
        else:
            with self._lock:
                if self._token is token:
                    self._user_name = name or NO_NAME
                    self._scopes_sentence = format_scopes(granted, token)
                    self._show()
        finally:
            is_identified.set()
        while self._token is token and not self._closed.wait(self.refresh_seconds):
            if token.expires_at is not None and datetime.now(UTC) >= token.expires_at:
                self._discard(token, format_expiry(token))
            else:
                self._show()

    def _discard(self, token: AccessToken, reason: str, sentence: str = "") -> None:
        with self._lock:
            if self._token is not token:
                return
            self._token, self._reason, self._is_open = None, reason, True
            self._user_name = ""
            if self._how == "form" and self._listener is None:
                self._listen()
            self._show_problem(sentence or f"{reason}: sign in again.")

    def _show_problem(self, sentence: str) -> None:
        with self._lock:
            self._problem = sentence
            self._show()

    # ---- display

    def _show(self) -> None:
        """Update the widgets from the state; ipywidgets sends only the changes."""
        with self._lock:
            token = self._token
            is_link_shown = self._is_open and (self._listener is not None or bool(self._listener_problem))
            link = format_link(self.link, self._plain_link, self._host, self._scopes, self._listener_problem)
            self._link_html.value = link if is_link_shown else ""
            self._box.layout.display = None if self._is_open else "none"
            self._link_button.layout.display = "none" if is_link_shown else None
            self._link_button.description = "New link" if self._is_open else "Sign in again"
            lines = [format_message(self._problem, "bad", role="alert")]
            if self._user_name:
                lines.append(format_message(f"Signed in as {self._user_name}. {self._scopes_sentence}", "good"))
            elif token is not None and not self._problem:
                lines.append(format_message(f"Requesting the user of this token from {self._host} …"))
            self._message_html.value = "".join(lines)
            self._time_html.value = "" if token is None else f'<p class="quiet">{format_time_left(token)}</p>'


# ---- messages, and the requests that find out what a token permits


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


def watch_cells(on_change: Callable[[bool], None]) -> Callable[[], None]:
    """Call ``on_change`` with whether a cell runs, at every change, and at once if one runs now.

    Return a function that stops the notification. Outside a notebook, ``on_change`` is never called.
    """
    shell = get_ipython()
    kernel = getattr(shell, "kernel", None)
    if shell is None or kernel is None:
        return lambda: None

    callbacks = {
        name: lambda *_, runs=runs: on_change(runs) for name, runs in (("pre_run_cell", True), ("post_run_cell", False))
    }

    def stop() -> None:
        for name, callback in callbacks.items():
            if callback in shell.events.callbacks[name]:  # the user may have reset the events before
                shell.events.unregister(name, callback)

    for name, callback in callbacks.items():
        shell.events.register(name, callback)
    if kernel.get_parent("shell").get("header", {}).get("msg_type") == "execute_request":
        on_change(True)  # noqa: FBT003 - the only argument of a callback
    return stop
