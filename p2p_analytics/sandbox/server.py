"""The sandbox as a running server: a context manager for Python, `serve` for the shell."""

from __future__ import annotations

import atexit
import contextlib
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlencode

from p2p_analytics.sandbox import browser, town
from p2p_analytics.sandbox.crafted import PaymentDraft, as_row
from p2p_analytics.sandbox.errors import SettingError, UnknownPersonError
from p2p_analytics.sandbox.running import HOST, listen, running
from p2p_analytics.sandbox.store import Application, Store
from p2p_analytics.sandbox.tokens import Tokens
from p2p_analytics.vocabulary import AUTHORIZE, CLIENT_TOKEN_SECONDS, VERSION_PATH, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime
    from types import FrameType
    from typing import Self

    from starlette.types import ASGIApp

READ_SCOPES: Final = tuple(scope for scope in Scope if scope is not Scope.PAYMENTS)
_NAMES_TOLD: Final = 20
DEMO_CLIENT_ID: Final = "1001"
DEMO_REDIRECT_URL: Final = "http://127.0.0.1/callback"


class Resident(NamedTuple):
    """Somebody a caller can be."""

    user_id: str
    username: str
    display_name: str


class SandboxServer:
    """A sandbox of its own on a loopback port, from ``with`` to the end of the block.

    Parameters
    ----------
    seed : int
        The same seed gives the same town, to the byte.
    people, years : int, optional
        How many people, and how many years of history before `now`; 12 and 4 where not given.
    port : int
        0 chooses a free port.
    db : path, optional
        The SQLite file; made where it does not exist, used again where it holds the same town.
        Without it a private temporary folder that is gone at the end.
    latency : float
        Seconds that each answer waits.
    now : datetime, optional
        The moment at which the town stands still, 2025-06-30 18:00 UTC where not given.
    clock : callable
        Seconds since 1970 for the life of tokens, which is real time and not the town's.

    Attributes
    ----------
    base_url : str
        ``http://127.0.0.1:PORT/v1``, from `__enter__` on.
    requests : list of (method, path with query)
        Each request that reached the server outside ``/oauth/``, the access token left out, and *** for
        whatever else could be one; a long-running
        server forgets the oldest.
    store : Store
        The database, for tests that fill it themselves.

    Raises
    ------
    SettingError
        The settings make no town, the file holds another one, the port is taken, or the web
        framework is not installed; or it is running already, or not running where it has to.
    """

    def __init__(  # noqa: PLR0913 - each is one setting of the town or of the server
        self,
        seed: int = town.SEED,
        *,
        people: int | None = None,
        years: int | None = None,
        port: int = 0,
        db: str | Path | None = None,
        latency: float = 0.0,
        now: datetime | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.seed = seed
        self.now = town.NOW if now is None else now
        self.client_id = DEMO_CLIENT_ID
        self.requests: list[tuple[str, str]] = []
        self.base_url = ""
        self._size = (town.PEOPLE if people is None else people, town.YEARS if years is None else years)
        self._port = port
        self._db = None if db is None else Path(db)
        self._latency = latency
        self._clock = clock
        self._stack = contextlib.ExitStack()
        self._store: Store | None = None

    def __enter__(self) -> Self:
        """Build the town and start to answer; returns when the first request can be sent."""
        if self._store is not None:
            raise SettingError("The sandbox is running already; stop it first, or make another one.")
        if not 0 <= self._latency <= 60:  # noqa: PLR2004 - a minute is more than any client waits
            raise SettingError("latency is in seconds, from 0 to 60.")
        with contextlib.ExitStack() as stack:
            path = self._db
            if path is None:
                folder = stack.enter_context(
                    tempfile.TemporaryDirectory(prefix="p2p-sandbox-", ignore_cleanup_errors=True)
                )
                path = Path(folder) / "sandbox.sqlite"
            self._store = Store(path)
            stack.callback(setattr, self, "_store", None)
            stack.callback(self._store.close)
            self._fill(self._store)
            listener = stack.enter_context(listen(self._port))
            self.base_url = f"http://{HOST}:{listener.getsockname()[1]}{VERSION_PATH}"
            tokens = Tokens(self._store, self._clock)
            stack.enter_context(running(self._application(tokens), listener))
            self._tokens = tokens
            self._stack = stack.pop_all()
        # Also keeps a server that nobody holds any longer whole until then.
        atexit.register(self.stop)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop answering, close the database, remove the temporary folder."""
        atexit.unregister(self.stop)
        self._stack.close()

    def start(self) -> Self:
        """Start without a ``with`` block, as a notebook does; `stop` ends it, or else the end of Python."""
        return self.__enter__()

    def stop(self) -> None:
        """End what `start` began; a server that does not run stays as it is."""
        self.__exit__()

    @property
    def store(self) -> Store:
        """The database of the running server."""
        if self._store is None:
            raise SettingError("The sandbox is not running; use it in a with block.")
        return self._store

    @property
    def viewer(self) -> str:
        """The username of the person whose history shows most; a good one to sign in as."""
        return self.store.settings()["viewer"]

    @property
    def people(self) -> tuple[Resident, ...]:
        """Everybody, `viewer` first and then by id."""
        return tuple(Resident(str(one.user_id), one.username, one.display_name) for one in self.store.people())

    def token(self, user: str, *scopes: str, seconds: float = CLIENT_TOKEN_SECONDS) -> str:
        """Return an access token for a username or user id, without the browser.

        Parameters
        ----------
        user : str
            A username or a user id of the town.
        *scopes : str
            None at all means every scope that only reads.
        seconds : float
            The token's life; 0 gives one that has just expired.

        Raises
        ------
        UnknownPersonError
            Nobody has that name.
        SettingError
            A scope is not one of the document's.
        """
        try:
            granted = [Scope(scope) for scope in scopes] or READ_SCOPES
        except ValueError:
            raise SettingError(f"The scopes are {', '.join(Scope)}.") from None
        return self._issued().issue(self._user_id(user), granted, seconds)

    def expire(self, token: str) -> None:
        """End the life of a token now."""
        self._issued().expire(token)

    def authorize_url(self, *scopes: str, redirect_uri: str | None = None, state: str | None = None) -> str:
        """Return the address at which a person authorizes the demo application; for a browser or `sign_in`."""
        query = {"client_id": self.client_id, "scope": " ".join(scopes or READ_SCOPES)}
        query |= {
            name: value for name, value in (("redirect_uri", redirect_uri), ("state", state)) if value is not None
        }
        return f"{self.base_url}{AUTHORIZE.path}?{urlencode(query)}"

    def sign_in(self, authorize_url: str, username: str, *, allow: bool = True) -> str:
        """Be the person in front of the browser, and return the address they are sent to.

        Opens the address, fills in the sign-in form and agrees, or declines, on the consent page. The
        address that comes back carries ``access_token`` or ``error``; it is not requested.

        Raises
        ------
        UnknownPersonError
            Nobody has that username.
        SettingError
            The address is not this sandbox's, or its pages say that the request cannot be served.
        """
        self._user_id(username)
        return browser.sign_in(self.base_url, authorize_url, username, allow=allow)

    def add_payments(self, user: str, payments: Iterable[PaymentDraft | Mapping[str, object]]) -> list[str]:
        """Add crafted payments to a user's history, in one transaction; return their ids.

        Each is a `PaymentDraft` or a mapping of its fields. Balances stay as they are. For hundreds of
        thousands of rows, `store.add_payments` takes `Payment` rows without any of this.

        Raises
        ------
        UnknownPersonError
            A user, actor or target is nobody of the town.
        """
        known = {key: int(one.user_id) for one in self.people for key in (one.username, one.user_id)}
        me = self._user_id(user)
        other = next(int(one.user_id) for one in self.people if int(one.user_id) != me)
        first = self.store.next_payment_id()
        rows = []
        for number, given in enumerate(payments):
            draft = given if isinstance(given, PaymentDraft) else PaymentDraft(**given)  # type: ignore[arg-type]
            for name in (draft.actor, draft.target):
                if name is not None and name not in known:
                    raise self._unknown(name)
            rows.append(as_row(draft, me, other, known, default_id=first + number))
        self.store.add_payments(rows)
        return [str(row.payment_id) for row in rows]

    def _issued(self) -> Tokens:
        """Return the tokens of the running server."""
        _ = self.store  # which raises where nothing runs
        return self._tokens

    def _fill(self, store: Store) -> None:
        people, years = self._size
        wanted = {
            "seed": str(self.seed), "people": str(people), "years": str(years), "now": self.now.isoformat(),
        }  # fmt: skip
        found = store.settings()
        if not found:
            built = town.build(self.seed, people=people, years=years, now=self.now)
            settings = {**wanted, "viewer": built.people[0].username}
            store.create(settings, built.people, built.friendships, built.payments, [_DEMO])
            found = store.settings()
        if any(found.get(name) != value for name, value in wanted.items()):
            made = ", ".join(f"{name} {found.get(name)}" for name in wanted)
            raise SettingError(f"{store.path} holds another town ({made}); choose another file or the same settings.")

    def _application(self, tokens: Tokens) -> ASGIApp:
        try:
            from p2p_analytics.sandbox.app import create_app
        except ModuleNotFoundError as error:
            raise SettingError(
                f"The sandbox needs {error.name}; install it with: pip install 'p2p_analytics[sandbox]'."
            ) from None
        return create_app(self.store, tokens, self.base_url, latency=self._latency, seen=self.requests)

    def _user_id(self, user: str) -> int:
        person = self.store.person_named(user)
        if person is None and user.isascii() and user.isdigit() and int(user) < 2**63:
            person = self.store.person(int(user))
        if person is None:
            raise self._unknown(user)
        return person.user_id

    def _unknown(self, user: str) -> UnknownPersonError:
        names = [one.username for one in self.people]
        some = ", ".join(names[:_NAMES_TOLD]) + (", ..." if len(names) > _NAMES_TOLD else "")
        return UnknownPersonError(f"Nobody in this town has the username {user[:40]!r}; those who live here: {some}.")


def serve(  # noqa: PLR0913 - each is one option of the command
    port: int = 8400,
    *,
    db: str | Path | None = None,
    seed: int = town.SEED,
    people: int | None = None,
    years: int | None = None,
    latency: float = 0.0,
) -> None:
    """Run a sandbox in the foreground until Ctrl-C or SIGTERM.

    Prints the base URL, a few usernames, the client id and the address that hands out a token.
    """
    sandbox = SandboxServer(seed, people=people, years=years, port=port, db=db, latency=latency)
    with _ends_on_sigterm(), contextlib.suppress(KeyboardInterrupt), sandbox as server:
        print(_welcome(server), flush=True)  # noqa: T201 - the command's output
        threading.Event().wait()


_DEMO: Final = Application(
    client_id=DEMO_CLIENT_ID,
    name="Payment diary",
    description="Years of payments in a notebook, for your eyes only.",
    redirect_url=DEMO_REDIRECT_URL,
    site_url="http://127.0.0.1",
)


def _welcome(server: SandboxServer) -> str:
    names = ", ".join(one.username for one in server.people[:5])
    return (
        f"Base URL     {server.base_url}\n"
        f"People       {names} ({len(server.people)} in all)\n"
        f"Client id    {server.client_id}\n"
        f"For a token  open {server.authorize_url()}\n"
        "             and read access_token in the address you are sent to; nothing needs to answer there\n"
        "Stop with Ctrl-C."
    )


@contextlib.contextmanager
def _ends_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that the temporary folder is removed."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
