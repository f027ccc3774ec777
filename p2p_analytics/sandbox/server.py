"""The sandbox as a running server: a context manager for Python, `serve` for the shell."""

from __future__ import annotations

import atexit
import contextlib
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

from p2p_analytics.errors import how_to_install
from p2p_analytics.sandbox import browser
from p2p_analytics.sandbox.domain import applications
from p2p_analytics.sandbox.domain.applications import Application, Draft
from p2p_analytics.sandbox.domain.payments import Transitions
from p2p_analytics.sandbox.domain.tokens import Tokens
from p2p_analytics.sandbox.errors import SettingError, UnknownPersonError
from p2p_analytics.sandbox.faults.settings import Steerable, Steering
from p2p_analytics.sandbox.http import parameters
from p2p_analytics.sandbox.runtime.request_log import RequestLog
from p2p_analytics.sandbox.runtime.temporary import temporary_folder
from p2p_analytics.sandbox.runtime.thread import HOST, listen, running
from p2p_analytics.sandbox.storage import ledger
from p2p_analytics.sandbox.storage.oauth_store import Registration, Registry
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.sandbox.town import build
from p2p_analytics.sandbox.town import people as known_people
from p2p_analytics.sandbox.town.drafts import PaymentDraft, as_row
from p2p_analytics.sandbox.town.people import TEST_USER
from p2p_analytics.sandbox.town.plan import Plan
from p2p_analytics.vocabulary import AUTHORIZE, CLIENT_TOKEN_SECONDS, VERSION_PATH, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime
    from typing import Self

    from p2p_analytics.sandbox.runtime.middleware import RequestMiddleware

READ_SCOPES: Final = tuple(scope for scope in Scope if scope is not Scope.PAYMENTS)
_NAMES_TOLD: Final = 20
_LAST_YEAR: Final = 9000  # expiries and writes later on still need room before the year 10000
DIALECTS: Final = ("documented", "observed")
_RATE_LIMIT_STATUSES: Final = {"documented": (429,), "observed": (429, 400)}
DEMO_CLIENT_ID: Final = "1001"
DEMO_REDIRECT_URL: Final = "http://127.0.0.1/callback"


class Resident(NamedTuple):
    """Somebody a caller can be."""

    user_id: str
    username: str
    display_name: str


class SandboxServer(Steerable):
    """A sandbox of its own on a loopback port, from ``with`` to the end of the block.

    Parameters
    ----------
    seed : int
        The same seed gives the same town, to the byte; from 0 to 2**63 - 1.
    people, years : int, optional
        How many people, and how many years of history before `now`; 12 and 4 where not given.
    port : int
        0 chooses a free port.
    db : path, optional
        The SQLite file; made where it does not exist, used again where it holds the same town.
        Without it a private temporary folder that is gone at the end; after a kill, at the next start.
    latency : float
        Seconds that each answer waits; as an attribute it can be changed while the sandbox runs.
    rate_limit : (int, float), optional
        So many requests in so many seconds for each user and application, then 429; can be changed too.
    faults : str
        Rates such as ``"503:0.1,reset:0.05"`` or a script such as ``"ok*3 503 reset"``; can be changed too. The kinds
        are in the sandbox's README.
    now : datetime, optional
        The moment to which the town's history goes, 2025-06-30 18:00 UTC where not given.
    strict_redirect : bool
        Whether a ``redirect_uri`` must be the redirect URL on file to the letter, not only of its origin.
    clock : callable
        Seconds since 1970 for the life of tokens, which is real time and not the town's.
    dialect : str
        ``"documented"``: answers are written as the document says; ``"observed"``: as real ones were seen.
    monotonic : callable
        Seconds of a clock that never goes back, for the rate limit.
    rate_limit_status : int
        The HTTP status of a refusal by the rate limit: 429, or in the observed dialect also 400.

    Attributes
    ----------
    base_url : str
        ``http://127.0.0.1:PORT/v1``, from `__enter__` on.
    requests : list of (method, path with query)
        Each request but those of pages, token exchanges and control routes, the access token left out, and *** for
        whatever else could be one; of more than 100,000, or 32 MB, the older half is forgotten.
    store : Store
        The database, for tests that fill it themselves.
    test_user : Resident
        The fixed user whom one pays and charges the amounts of "Sandbox outcomes"; not among `people`.

    Raises
    ------
    SettingError
        The settings make no town, the file holds another one, the port is taken, or the web
        framework is not installed; or it is running already, or not running where it has to.
    """

    def __init__(  # noqa: PLR0913 - each is one setting of the town or of the server
        self,
        seed: int = build.SEED,
        *,
        people: int | None = None,
        years: int | None = None,
        port: int = 0,
        db: str | Path | None = None,
        latency: float = 0.0,
        now: datetime | None = None,
        strict_redirect: bool = False,
        clock: Callable[[], float] = time.time,
        dialect: str = "documented",
        rate_limit: tuple[int, float] | None = None,
        faults: str = "",
        monotonic: Callable[[], float] = time.monotonic,
        rate_limit_status: int = 429,
    ) -> None:
        self.seed = seed
        self._steering = Steering(latency=latency, faults=faults, rate_limit=rate_limit, seed=seed, monotonic=monotonic)
        self.test_user = Resident(str(TEST_USER.user_id), TEST_USER.username, TEST_USER.display_name)
        self._start = self._now = build.NOW if now is None else now
        self._dialect, self._rate_limit_status = dialect, rate_limit_status
        self.client_id = DEMO_CLIENT_ID
        self.requests = RequestLog()
        self.base_url = ""
        self._size = (build.PEOPLE if people is None else people, build.YEARS if years is None else years)
        self._port = port
        self._db = None if db is None else Path(db)
        self._strict_redirect = strict_redirect
        self._clock = clock
        self._stack = contextlib.ExitStack()
        self._store: Store | None = None

    def __enter__(self) -> Self:
        """Build the town and start to answer; returns when the first request can be sent."""
        if self._store is not None:
            raise SettingError("The sandbox is running already; stop it first, or make another one.")
        if self._dialect not in DIALECTS:
            raise SettingError(f"The dialects are {' and '.join(DIALECTS)}.")
        status = self._rate_limit_status
        if not isinstance(status, int) or status not in _RATE_LIMIT_STATUSES[self._dialect]:
            raise SettingError("rate_limit_status is 429, or also 400 in the observed dialect: add --dialect observed.")
        with contextlib.ExitStack() as stack:
            path = self._db
            if path is None:
                path = stack.enter_context(temporary_folder()) / "sandbox.sqlite"
            self._store = Store(path)
            stack.callback(setattr, self, "_store", None)
            stack.callback(self._store.close)
            self._plan().settle(self._store)
            listener = stack.enter_context(listen(self._port))
            self.base_url = f"http://{HOST}:{listener.getsockname()[1]}{VERSION_PATH}"
            self._tokens = Tokens(_registry(self._store), self._clock)
            self._middleware = self._application()
            self._loop = stack.enter_context(running(self._middleware, listener))
            self._stack = stack.pop_all()
        # Also keeps a server that nobody holds any longer whole until then.
        atexit.register(self.stop)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop answering, close the database, remove the temporary folder."""
        try:
            self._now = self.now
        finally:
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
    def now(self) -> datetime:
        """The town's clock: it stands still but for `advance`, and for the second that each write takes."""
        return self._now if self._store is None else build.instant(self._store.now_us())

    def __repr__(self) -> str:
        """Show which town it is, and where it answers; nothing of tokens."""
        return f"<SandboxServer of seed {self.seed}: {'not running' if self._store is None else self.base_url}>"

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

    def authorize_url(
        self,
        *scopes: str,
        client_id: str | None = None,
        redirect_uri: str | None = None,
        response_type: str | None = None,
        state: str | None = None,
    ) -> str:
        """Return the address at which a person authorizes an application; for a browser or `sign_in`.

        Without `client_id` it is the demo application, which has no secret; for ``response_type="code"``
        register one with a secret.
        """
        query = {"client_id": client_id or self.client_id, "scope": " ".join(scopes or READ_SCOPES)}
        more = {"redirect_uri": redirect_uri, "response_type": response_type, "state": state}
        query |= {name: value for name, value in more.items() if value is not None}
        return f"{self.base_url}{AUTHORIZE.path}?{urlencode(query)}"

    def register_application(
        self,
        owner: str,
        *,
        name: str,
        redirect_url: str = "",
        description: str = "An application of this sandbox.",
        site_url: str = "localhost",
    ) -> Application:
        """Register an application, as its owner does in the developer settings; return its id and secret.

        Raises
        ------
        UnknownPersonError
            Nobody has the owner's name.
        SettingError
            The owner's identity is not verified, they have 20 applications, or a field is not of its form.
        """
        owner_id = self._user_id(owner)
        if not self._tokens.registry.is_verified(owner_id):
            raise SettingError("Only people whose identity is verified register applications; see verify().")
        draft = Draft.of({"name": name, "redirect_url": redirect_url, "description": description, "site_url": site_url})
        for sentence in draft.problems().values():
            raise SettingError(sentence)
        return applications.register(self._tokens.registry, owner_id, draft)

    def verify(self, user: str, *, verified: bool = True) -> None:
        """Verify somebody's identity, or take that back; who moves into a town is verified, but for one."""
        self._tokens.registry.set_verified(self._user_id(user), verified=verified)

    def sign_in(self, authorize_url: str, username: str, *, allow: bool = True) -> str:
        """Be the person in front of the browser, and return the address they are sent to.

        Opens the address, fills in the sign-in form and agrees, or declines, on the consent page. The
        address that comes back carries ``access_token``, ``code`` or ``error``; it is not requested.

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
        SettingError
            A draft is no payment, such as one to oneself.
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

    def advance(self, duration: timedelta | None = None, *, days: float = 0, hours: float = 0) -> datetime:
        """Move the town's clock on and return its new moment; payments that are due by then have expired.

        Raises
        ------
        SettingError
            The clock would go back, or too far.
        """
        try:
            step = (timedelta(0) if duration is None else duration) + timedelta(days=days, hours=hours)
            year = (self.now + step).year
        except (OverflowError, ValueError):
            raise SettingError("The town's clock cannot go that far.") from None
        if step < timedelta(0):
            raise SettingError("The town's clock goes forward only.")
        if year >= _LAST_YEAR:
            raise SettingError(f"The town's clock cannot go as far as the year {_LAST_YEAR}.")
        self._transitions.advance(step // timedelta(microseconds=1))
        return self.now

    def deposit(self, user: str, cents: int) -> None:
        """Move money from a user's bank to their balance, or back where the cents are negative.

        Raises
        ------
        SettingError
            There is not so much to take back.
        """
        self._transitions.deposit(self._user_id(user), cents)

    def link_bank(self, user: str, *, linked: bool = True) -> None:
        """Give a user a funding source, which pays what their balance does not cover; nobody has one at first."""
        self._transitions.link_bank(self._user_id(user), linked=linked)

    def trust(self, user: str, friend: str, *, trusted: bool = True) -> None:
        """Let a user trust a friend, so that the friend's charges are settled at once.

        Raises
        ------
        SettingError
            The two are not friends.
        """
        self._transitions.trust(self._user_id(user), self._user_id(friend), trusted=trusted)

    def reset(self, seed: int | None = None) -> None:
        """Make everything as it was at the first start, or make another town of the same size.

        People, payments, books, clock, applications, tokens, who is signed in, and `requests`: nothing of them is left,
        and the demo application is there again. Latency, faults and rate limit stay as they are set, and begin anew.
        A request sees the old town or the new one, and one that comes meanwhile waits. A process that ends in the
        middle leaves a whole town in the file, the old one or the new one.

        Raises
        ------
        SettingError
            The sandbox is not running, or there is no such town.
        """
        store = self.store
        seed = self.seed if seed is None else seed
        plan = self._plan()._replace(seed=seed)
        built = plan.build()
        with self._middleware.lock.exclusive(self._loop):
            with store.writing():  # the town and the tables of its applications, or neither
                plan.move_in(store, built, anew=True)
                registry = _registry(store)
            self.seed = seed
            self._tokens = Tokens(registry, self._clock)
            self._middleware.app = self._application().app  # anew, with whatever it keeps in memory
            self._steering.begin_anew(seed)
            self.requests.clear()

    def state(self) -> dict[str, Any]:
        """Return what can be told of the sandbox, as ``GET /sandbox/state`` does: no token and no secret."""
        limit = self.rate_limit
        with self.store.reading() as connection:
            settings = self.store.settings()
            return {
                "base_url": self.base_url,
                "town": {name: int(settings[name]) for name in ("seed", "people", "years")},
                "viewer": settings["viewer"],
                "now": self.now.isoformat(),
                "dialect": self._dialect,
                "strict_redirect": self._strict_redirect,
                "latency": self.latency,
                "faults": self.faults,
                "faults_to_come": self._steering.faults.to_come,
                "rate_limit_status": self._rate_limit_status,
                "rate_limit": None if limit is None else {"requests": limit[0], "seconds": limit[1]},
                "counts": {**self.store.counts(), **self._issued().registry.counts(), "requests": len(self.requests)},
                "audit": ledger.audit(connection),
            }

    def audit(self) -> list[str]:
        """Return what is wrong with the money, one sentence each; nothing when all is well."""
        with self.store.reading() as connection:
            return ledger.audit(connection)

    @property
    def _transitions(self) -> Transitions:
        return Transitions(self.store)

    def _issued(self) -> Tokens:
        """Return the tokens of the running server."""
        _ = self.store  # which raises where nothing runs
        return self._tokens

    def _plan(self) -> Plan:
        return Plan(self.seed, *self._size, self._start)

    def _application(self) -> RequestMiddleware:
        try:
            from p2p_analytics.sandbox.app import create_app
            from p2p_analytics.sandbox.http.dialects import dialect_named
        except ModuleNotFoundError as error:
            library = str(error.name).partition(".")[0]
            raise SettingError(f"The sandbox needs {library}: {how_to_install('sandbox')}.") from None
        spoken = dialect_named(self._dialect, application=_DEMO.name, rate_limit_status=self._rate_limit_status)
        return create_app(
            self.store,
            self._tokens,
            self.base_url,
            seen=self.requests,
            dialect=spoken,
            strict_redirect=self._strict_redirect,
            steering=self._steering,
            steered=self,
        )

    def _user_id(self, user: str) -> int:
        person = self.store.person_named(user)
        if person is None and parameters.ID.fullmatch(user):
            person = self.store.person(int(user))
        if person is None:
            raise self._unknown(user)
        return person.user_id

    def _unknown(self, user: str) -> UnknownPersonError:
        names = [one.username for one in self.people]
        some = ", ".join(names[:_NAMES_TOLD]) + (", ..." if len(names) > _NAMES_TOLD else "")
        return UnknownPersonError(f"Nobody in this town has the username {user[:20]!r}; those who live here: {some}.")


_DEMO: Final = Registration(
    client_id=DEMO_CLIENT_ID,
    name="Payment diary",
    description="Years of payments in a notebook, for your eyes only.",
    redirect_url=DEMO_REDIRECT_URL,
    site_url="127.0.0.1",
)


def _registry(store: Store) -> Registry:
    return Registry(store, [_DEMO], known_people.UNVERIFIED)
