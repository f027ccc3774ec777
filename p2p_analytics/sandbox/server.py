"""The sandbox as a server: a context manager for Python; the command line uses `serve`."""

from __future__ import annotations

import atexit
import contextlib
import time
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, Self

from p2p_analytics.sandbox.app import create_app
from p2p_analytics.sandbox.domain.test_user import TEST_USER
from p2p_analytics.sandbox.domain.tokens import Tokens
from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.faults.settings import AdjustableSettings, RequestSettings, Timing
from p2p_analytics.sandbox.http.dialects import Dialect, observed_dialect
from p2p_analytics.sandbox.runtime.middleware import RequestMiddleware
from p2p_analytics.sandbox.runtime.request_log import RequestLog
from p2p_analytics.sandbox.runtime.temporary import temporary_folder
from p2p_analytics.sandbox.runtime.thread import HOST, listen, run_server
from p2p_analytics.sandbox.statements.write import list_statement_periods, write_statement
from p2p_analytics.sandbox.storage import ledger
from p2p_analytics.sandbox.storage.oauth_store import OAuthStore, Registration
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.sandbox.town import build
from p2p_analytics.sandbox.town import people as known_people
from p2p_analytics.sandbox.town.controls import Resident, TownControls
from p2p_analytics.sandbox.town.plan import Plan
from p2p_analytics.sandbox.town.planted import PlantedSeries, describe_series
from p2p_analytics.sandbox.town.timeline import from_microseconds
from p2p_analytics.vocabulary import VERSION_PATH

DIALECTS: Final = ("documented", "observed")
_RATE_LIMIT_STATUSES: Final = {"documented": (429,), "observed": (429, 400)}
DEMO_CLIENT_ID: Final = "1001"
DEMO_REDIRECT_URL: Final = "http://127.0.0.1/callback"


class SandboxServer(TownControls, AdjustableSettings):
    """A sandbox on a loopback port, running from ``with`` to the end of the block.

    Parameters
    ----------
    seed : int
        The same seed gives the same town, to the byte; from 0 to ``2**63 - 1``.
    people, years : int, optional
        How many people, and how many years of history before `now`; 12 and 4 by default.
    port : int
        0 chooses a free port.
    db : path, optional
        The SQLite file; created if missing, reused if it holds the same town. Without it a private temporary
        folder that is removed at the end; after a kill, at the next start.
    latency : float
        Seconds that each response is delayed; as an attribute it can be changed while the sandbox runs.
    rate_limit : (int, float), optional
        How many requests in how many seconds are served for each user and application before 429; can be changed.
    faults : str
        Rates such as ``"503:0.1,reset:0.05"`` or a script such as ``"ok*3 503 reset"``; can be changed. The kinds
        are in the sandbox's README.
    now : datetime, optional
        The end of the town's history; 2025-06-30 18:00 UTC by default.
    strict_redirect : bool
        Whether a ``redirect_uri`` must equal the redirect URL on file, instead of only having its origin.
    clock : callable
        Seconds since 1970 for the lifetime of tokens, which is real time and not the town's.
    dialect : str
        ``"documented"``: responses as the document says; ``"observed"``: as seen from real services.
    series : bool
        Whether the first person also has payments of every cadence that recur: see `planted_series`.
    monotonic : callable
        Seconds of a monotonic clock, for the rate limit and sign-ins.
    rate_limit_status : int
        The HTTP status of a refusal by the rate limit: 429, or in the observed dialect also 400.
    timing : Timing
        How long requests and resets may take, and how slow the fault ``drip`` is.

    Attributes
    ----------
    base_url : str
        ``http://127.0.0.1:PORT/v1``, from `__enter__` on.
    requests : list of (method, path with query)
        All requests except to pages, token exchanges and control routes. The access token is left out, and other
        values that could be one become ``***``. Above 100,000 entries, or 32 MB, the older half is dropped.
    store : Store
        The database, for tests that fill it themselves.
    test_user : Resident
        The fixed user to pay and charge with the amounts of "Sandbox outcomes"; not among `people`.

    Raises
    ------
    SettingError
        The settings give no valid town, the file holds another one, the port is taken, or the web framework is not
        installed; or the server is running already, or is not running and has to be.
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
        series: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
        rate_limit_status: int = 429,
        timing: Timing = Timing(),  # noqa: B008 - immutable
    ) -> None:
        self.seed = seed
        self._request_settings = RequestSettings(
            latency=latency, faults=faults, rate_limit=rate_limit, seed=seed, monotonic=monotonic, timing=timing
        )
        self.test_user = Resident(str(TEST_USER.user_id), TEST_USER.username, TEST_USER.display_name)
        self._start = self._now = build.NOW if now is None else now
        self._dialect, self._rate_limit_status = dialect, rate_limit_status
        self.client_id = DEMO_CLIENT_ID
        self.requests = RequestLog()
        self.base_url = ""
        self._size = (build.PEOPLE if people is None else people, build.YEARS if years is None else years)
        self._with_series = series
        self._port = port
        self._db = None if db is None else Path(db)
        self._strict_redirect = strict_redirect
        self._clock = clock
        self._stack = contextlib.ExitStack()
        self._store: Store | None = None

    def __enter__(self) -> Self:
        """Build the town and start serving; return when requests are accepted."""
        if self._store is not None:
            raise SettingError("The sandbox is running already: stop it first, or create another SandboxServer.")
        if self._dialect not in DIALECTS:
            raise SettingError(f"There is no dialect {self._dialect!r}: the dialects are {' and '.join(DIALECTS)}.")
        status = self._rate_limit_status
        if not isinstance(status, int) or status not in _RATE_LIMIT_STATUSES[self._dialect]:
            raise SettingError(
                f"rate_limit_status cannot be {status!r} in the {self._dialect} dialect: "
                "it is 429, or with --dialect observed also 400."
            )
        with contextlib.ExitStack() as stack:
            listener = stack.enter_context(listen(self._port))  # first: a port that is taken leaves no database behind
            path = self._db
            if path is None:
                path = stack.enter_context(temporary_folder()) / "sandbox.sqlite"
            self._store = Store(path)
            stack.callback(setattr, self, "_store", None)
            stack.callback(self._store.close)
            self._plan().settle(self._store)
            self.base_url = f"http://{HOST}:{listener.getsockname()[1]}{VERSION_PATH}"
            self._tokens = Tokens(_open_oauth_store(self._store), self._clock)
            self._middleware = self._application()
            request_seconds = self._request_settings.timing.request
            self._loop = stack.enter_context(run_server(self._middleware, listener, request_seconds))
            self._stack = stack.pop_all()
        # The reference that atexit holds also keeps a server alive that the caller has dropped.
        atexit.register(self.stop)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving, close the database, remove the temporary folder."""
        try:
            self._now = self.now
        finally:
            atexit.unregister(self.stop)
            self._stack.close()

    def start(self) -> Self:
        """Start without a ``with`` block, as in a notebook; `stop`, or the end of the process, stops it."""
        return self.__enter__()

    def stop(self) -> None:
        """Stop a server that `start` started; does nothing if it is not running."""
        self.__exit__()

    @property
    def store(self) -> Store:
        """The database of the running server."""
        if self._store is None:
            raise SettingError("The sandbox is not running: use it in a with block, or call start().")
        return self._store

    @property
    def now(self) -> datetime:
        """The town's clock; only `advance` moves it, and each write by a second."""
        return self._now if self._store is None else from_microseconds(self._store.now_us())

    def __repr__(self) -> str:
        """Show the seed and the address, and no token."""
        return f"<SandboxServer of seed {self.seed}: {'not running' if self._store is None else self.base_url}>"

    def reset(self, seed: int | None = None) -> None:
        """Restore the state of the first start, or build another town of the same size.

        People, payments, ledger, clock, applications, tokens, sign-ins and `requests` are discarded, and the demo
        application exists again. Latency, faults and rate limit keep their settings and start over. A request sees
        either the old town or the new one; requests that arrive during the reset wait. If the process is killed
        during the reset, the file holds one whole town, the old or the new.

        Raises
        ------
        SettingError
            The sandbox is not running, or the seed is invalid.
        """
        store = self.store
        seed = self.seed if seed is None else seed
        plan = self._plan()._replace(seed=seed)
        built = plan.build()
        with self._middleware.lock.exclusive(self._loop):
            with store.writing():  # one transaction for the town and the tables of its applications
                plan.move_in(store, built, replace=True)
                oauth_store = _open_oauth_store(store)
            self.seed = seed
            self._tokens = Tokens(oauth_store, self._clock)
            self._middleware.app = self._application().app  # the old application holds sessions of the old town
            self._request_settings.restart(seed)
            self.requests.clear()

    def statement(self, user: str, start: date | str, end: date | str, generation: str = "D") -> str:
        """Return the text of one statement file, as the user could download it at the town's now.

        Parameters
        ----------
        user : str
            A username or a user id of the town.
        start, end : date or str
            The first and the last day in UTC, both included; at most 90 days.
        generation : str
            "A", "B", "C", "D", "D2025", "E" and "E-full" are CSV files of different years; "JSON" is the history as
            the service's own pages load it.

        Returns
        -------
        str
            The text, with the mark and the line ends of the generation: write it as UTF-8, without newline translation.

        Raises
        ------
        UnknownPersonError
            No person has that name.
        SettingError
            The generation is unknown, or the dates are not a period of at most 90 days.
        """
        person = self.store.person(self._user_id(user))
        assert person is not None  # noqa: S101 - `_user_id` raises for unknown users
        return write_statement(self.store, person, start, end, generation)

    def statement_periods(self) -> list[tuple[date, date]]:
        """Return the first and last days of the files that cover the town's history; neighbours share a week."""
        return list_statement_periods(self.store)

    def planted_series(self, user: str, as_of: date | None = None) -> list[PlantedSeries]:
        """Return the payments that recur, such as rent, as the town planted them and as a user sees them.

        Every town has rent and internet bills; with ``series=True``, its first person has more. Each has at least one
        settled payment. Payments that were added, or approved, since the start are left out.

        Parameters
        ----------
        user : str
            A username or a user id of the town.
        as_of : date, optional
            The day at which states are decided; the day of the town's now in UTC by default.

        Raises
        ------
        UnknownPersonError
            No person has that name.
        """
        day = self.now.date() if as_of is None else as_of
        return describe_series(self._plan().build().series, self._user_id(user), day)

    def state(self) -> dict[str, Any]:
        """Return settings, counts and the audit, as ``GET /sandbox/state`` does; no token and no secret."""
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
                "faults_to_come": self._request_settings.faults.to_come,
                "rate_limit_status": self._rate_limit_status,
                "rate_limit": None if limit is None else {"requests": limit[0], "seconds": limit[1]},
                "counts": {**self.store.counts(), **self._tokens.oauth_store.counts(), "requests": len(self.requests)},
                "audit": ledger.audit(connection),
            }

    def _plan(self) -> Plan:
        return Plan(self.seed, *self._size, self._start, self._with_series)

    def _application(self) -> RequestMiddleware:
        observed = observed_dialect(_DEMO.name, self._rate_limit_status)
        return create_app(
            self.store,
            self._tokens,
            self.base_url,
            request_log=self.requests,
            dialect=observed if self._dialect == observed.name else Dialect(),
            strict_redirect=self._strict_redirect,
            request_settings=self._request_settings,
            controlled=self,
        )


_DEMO: Final = Registration(
    client_id=DEMO_CLIENT_ID,
    name="Payment diary",
    description="Years of payments in a notebook, for your eyes only.",
    redirect_url=DEMO_REDIRECT_URL,
    site_url="127.0.0.1",
)


def _open_oauth_store(store: Store) -> OAuthStore:
    return OAuthStore(store, [_DEMO], known_people.UNVERIFIED)
