"""The sign-in form: a link to the consent page, a listener for the way back, and a box to paste into."""

from __future__ import annotations

import getpass
import sys
import threading
import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

import ipywidgets
import traitlets

from p2p_analytics import settings
from p2p_analytics.auth import AccessToken, Listener, authorize_url, hide_frames, token_from_text
from p2p_analytics.client import Client
from p2p_analytics.display import HIDDEN_NAME, clean_line
from p2p_analytics.errors import (
    AuthenticationError,
    ConfigurationError,
    NotSignedIn,
    P2PAnalyticsError,
    TokenError,
)
from p2p_analytics.privacy import strip_service_text
from p2p_analytics.vocabulary import Scope
from p2p_analytics.widgets._kernel_events import follow_cells
from p2p_analytics.widgets._messages import expired, granted_scopes, left, permits, way_in
from p2p_analytics.widgets._style import Shown, box, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


_PATIENCE: Final = 3600.0  # seconds that a link works: a notebook stays open for long, and the nonce cannot be guessed
_TICK: Final = 1.0
_PASTE: Final = "paste it here and press Enter"
_WAIT: Final = "wait until no cell runs, then paste it here"
_NOBODY: Final = "Not signed in yet"


class _SecretBox(ipywidgets.Password):  # type: ignore[misc] # ipywidgets has no types
    """A password box that does not repeat what was entered to every client of the kernel."""

    value = traitlets.Unicode(help="String value").tag(sync=True, echo_update=False)


class TokenForm(Shown):
    """Signs a person in, in a notebook, and holds their token in memory alone.

    The cell that shows it returns at once. Whoever follows the link and agrees is signed in when the browser
    comes back (document: "Client-side flow"); where it cannot come back, they paste the address they end at, or a
    token. The form then says who they are, what the token permits and how long it is good, and offers a new link when
    it has expired.

    Parameters
    ----------
    base_url, client_id : str, optional
        The service and the application; else ``P2P_BASE_URL`` and ``P2P_CLIENT_ID``.
    scopes : iterable of str
        What to ask for (document: "Scopes named").
    how : {"form", "prompt"}
        ``"prompt"`` asks in the cell instead, without echo, and waits: cells below it can use the token in the same
        "Run All". Without somebody to ask, nobody is signed in.

    Attributes
    ----------
    token : AccessToken
        Read it anew for each client: after another sign-in it is another.
    link : str
        The address of the consent page.

    Raises
    ------
    ConfigurationError
        A setting is missing, or a scope is unknown.

    Notes
    -----
    What is pasted leaves the box at once, so no saved notebook holds it. While a cell runs the kernel could not clear
    the box, which is closed for that time.
    """

    def __init__(
        self,
        base_url: str | None = None,
        client_id: str | None = None,
        scopes: Iterable[str] = (Scope.PROFILE, Scope.FRIENDS),
        *,
        how: Literal["form", "prompt"] = "form",
    ) -> None:
        if how not in {"form", "prompt"}:
            raise ConfigurationError(f'how can be "form" or "prompt", not {how!r}.')
        self.base_url = settings.base_url(base_url)
        self._host = urlsplit(self.base_url).netloc
        self._client_id = settings.client_id(client_id)
        self._scopes = (scopes,) if isinstance(scopes, str) else tuple(scopes)
        self.link = self._plain_link = authorize_url(self.base_url, self._client_id, self._scopes)
        self._lock = threading.RLock()  # the listener's thread, the follower's and the kernel's all write the status
        self._closed = threading.Event()
        self._listener: Listener | None = None  # while it waits
        self._token: AccessToken | None = None
        self._reason = _NOBODY
        self._who = self._permits = self._problem = self._trouble = ""
        self._open = True  # whether link and box are shown
        self._follow_no_cells: Callable[[], None] = lambda: None
        self._how = how
        self._way, self._said, self._left = ipywidgets.HTML(), ipywidgets.HTML(), ipywidgets.HTML()
        self._box = _SecretBox(
            description="Address or token",
            placeholder=_PASTE,
            continuous_update=False,  # what is typed and not yet entered stays out of the widget's state
            style={"description_width": "initial"},
            layout={"width": "auto", "max_width": "680px"},
        )
        self._box.observe(self._pasted, names="value")
        self._again = ipywidgets.Button(layout={"width": "auto", "align_self": "flex-start"})
        self._again.on_click(self._renew)
        if how == "form":
            self.widget = box(self._way, self._box, self._said, self._left, self._again)
            self._follow_no_cells = follow_cells(self._busy)
            self._listen()
        else:
            self.widget = box(self._said, self._left)
            self._ask()
        self._show()

    @property
    def token(self) -> AccessToken:
        """The token of whoever is signed in.

        Raises
        ------
        NotSignedIn
            There is none, or it has expired or been refused.
        """
        token = self._token
        if token is not None:
            try:
                token.require_unexpired(datetime.now(UTC))
            except TokenError:
                self._forget(token, expired(token))
            else:
                return token
        again = "sign in with the form, then run this cell again"
        if self._how == "prompt" or self._closed.is_set():
            again = "run the cell of the form again, then this one"
        raise NotSignedIn(f"{self._reason}: {again}.")

    @hide_frames
    def take(self, text: str) -> None:
        """Take a redirect address, ``access_token=...`` or a token, as the box does, and wait for the service's word.

        Raises
        ------
        TokenError
            There is no token in it, which the form says too.
        """
        try:
            token = token_from_text(text, scopes=self._scopes)
        except TokenError as error:
            self._fail(str(error))
            raise
        self._accept(token).wait()

    def close(self) -> None:
        """Forget the token, stop listening and take the form away; from then on it takes none."""
        self._closed.set()
        self._follow_no_cells()
        self._stop_listening()
        with self._lock:
            self._token, self._reason = None, "This form is closed"
            self.widget.close()

    def __repr__(self) -> str:
        """Show whether somebody is signed in, and who, nothing of the token."""
        if self._token is None:
            return "<TokenForm: not signed in>"
        return f"<TokenForm: signed in{f' as {self._who}' if self._who else ''}>"

    def _still(self) -> str:
        return "<p>A form to sign in with: run the cells of this notebook to use it.</p>"

    # ---- ways in

    def _listen(self) -> None:
        if self._closed.is_set():
            return
        try:
            self._listener = Listener(self._redirected, scopes=self._scopes, timeout=_PATIENCE)
        except ConfigurationError as error:
            self._trouble, self.link = str(error), self._plain_link
        else:
            back = self._listener.redirect_uri
            self._trouble = ""
            self.link = authorize_url(self.base_url, self._client_id, self._scopes, redirect_uri=back)

    def _stop_listening(self) -> None:
        """Close the listener; never with the lock, for which its thread may wait."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _redirected(self, outcome: AccessToken | TokenError) -> None:
        """Take what the listener brings, in its thread; it stays until the browser has its page."""
        with self._lock:
            declined = self._listener is not None and not self._listener.closed
            self._listener = None
            if isinstance(outcome, AccessToken):
                self._accept(outcome)
                return
            if declined:
                self._listen()
            elif self._token is not None:  # a second sign-in that nobody went through with
                self._open = False
                self._show()
                return
            self._fail(str(outcome))

    @hide_frames
    def _pasted(self, change: dict[str, Any]) -> None:
        text, self._box.value = change["new"], ""  # before anything else: what is in the box may be saved
        if text:
            try:
                self._accept(token_from_text(text, scopes=self._scopes))
            except TokenError as error:
                self._fail(str(error))
            except Exception as error:  # noqa: BLE001 - the frames of ipywidgets above hold what was pasted
                self._fail(f"What was pasted could not be used ({type(error).__name__}): paste it again.")

    def _busy(self, runs: bool) -> None:  # noqa: FBT001 - called with the answer
        """Close the box while a cell runs: what is pasted then would stay in it until the end, and may be saved."""
        self._box.disabled, self._box.placeholder = runs, _WAIT if runs else _PASTE

    @hide_frames
    def _ask(self) -> None:
        sys.stdout.write(f"Sign in and agree here:\n{self.link}\n")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", getpass.GetPassWarning)  # it would show what is typed
                self.take(getpass.getpass("Then paste the address you end at: "))
        except (NotImplementedError, EOFError, getpass.GetPassWarning):  # nbconvert, nbval: nobody is there
            self._fail("Nobody can be asked here: the notebook goes on without a token.")
        except TokenError:
            pass  # the form says it

    def _renew(self, _button: object) -> None:
        self._stop_listening()
        with self._lock:
            self._listen()
            self._open, self._problem = True, ""
            self._show()

    # ---- the token's life

    def _accept(self, token: AccessToken) -> threading.Event:
        """Hold a token, and have it followed; return the event that the service has been asked whose it is."""
        self._stop_listening()
        asked = threading.Event()
        with self._lock:
            if self._closed.is_set():  # the browser came back just then, or somebody still pastes
                asked.set()
                return asked
            self._token, self._reason, self._open = token, _NOBODY, False
            self._who = self._permits = self._problem = ""
            self._show()
        threading.Thread(target=self._follow, args=(token, asked), name="p2p-token", daemon=True).start()
        return asked

    def _follow(self, token: AccessToken, asked: threading.Event) -> None:
        """Ask whose a token is, then count down its time."""
        try:
            self._look_up(token)
        finally:
            asked.set()
        while self._token is token and not self._closed.wait(_TICK):
            if token.expires_at is not None and datetime.now(UTC) >= token.expires_at:
                self._forget(token, expired(token))
            else:
                self._show()

    def _look_up(self, token: AccessToken) -> None:
        try:
            with Client(token, base_url=self.base_url, cache_dir=False) as client:
                me = strip_service_text(client.me)(lenient=True)
                granted = strip_service_text(granted_scopes)(client, me, token)
            name = HIDDEN_NAME if settings.privacy() else clean_line(me.user.display_name or me.user.username)
        except (TokenError, AuthenticationError) as error:
            self._forget(token, "The service did not accept the token", str(error))
        except P2PAnalyticsError as error:  # the token may be good all the same
            with self._lock:
                if self._token is token:
                    self._fail(str(error))
        else:
            with self._lock:
                if self._token is token:
                    self._who = name or "somebody without a name"
                    self._permits = permits(granted, token)
                    self._show()

    def _forget(self, token: AccessToken, reason: str, sentence: str = "") -> None:
        with self._lock:
            if self._token is not token:
                return
            self._token, self._reason, self._open = None, reason, True
            self._who = ""
            if self._how == "form" and self._listener is None:
                self._listen()
            self._fail(sentence or f"{reason}: sign in again.")

    def _fail(self, sentence: str) -> None:
        with self._lock:
            self._problem = sentence
            self._show()

    # ---- what one sees

    def _show(self) -> None:
        """Write the state into the widgets; only what changed is sent."""
        with self._lock:
            token = self._token
            offered = self._open and (self._listener is not None or bool(self._trouble))
            way = way_in(self.link, self._plain_link, self._host, self._scopes, self._trouble)
            self._way.value = way if offered else ""
            self._box.layout.display = None if self._open else "none"
            self._again.layout.display = "none" if offered else None
            self._again.description = "New link" if self._open else "Sign in again"
            lines = [told(self._problem, "bad", role="alert")]
            if self._who:
                lines.append(told(f"Signed in as {self._who}. {self._permits}", "good"))
            elif token is not None and not self._problem:
                lines.append(told(f"Asking {self._host} whose token this is …"))
            self._said.value = "".join(lines)
            self._left.value = "" if token is None else f'<p class="quiet">{left(token)}</p>'
