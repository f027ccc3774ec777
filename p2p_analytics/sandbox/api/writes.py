"""The endpoints that change something: POST /payments and PUT /payments/:payment."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.concurrency import run_in_threadpool

from p2p_analytics.sandbox.api import payment_requests
from p2p_analytics.sandbox.domain.payments import Outcome, Transitions
from p2p_analytics.sandbox.http import bodies, serialize
from p2p_analytics.sandbox.http import parameters as rules
from p2p_analytics.sandbox.http.dialects import ACTIVE_DIALECT
from p2p_analytics.sandbox.http.responses import data_response
from p2p_analytics.vocabulary import Scope

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from p2p_analytics.sandbox.api.authentication import Authenticator
    from p2p_analytics.sandbox.domain.tokens import Caller
    from p2p_analytics.sandbox.storage.store import Store

_MOST_AT_ONCE: Final = 100  # whoever else wants to write waits no longer than these take


class WriteEndpoints:
    """The endpoints that write."""

    def __init__(self, authenticator: Authenticator, store: Store) -> None:
        self._authenticator = authenticator
        self._transitions = Transitions(store)
        self._commits = GroupCommit(store)

    async def create(self, request: Request) -> Response:
        """POST /payments."""
        caller, parameters = await self._enter(request)
        order = payment_requests.read_order(parameters)
        separates = ACTIVE_DIALECT.get().separates_new_users
        done = await self._commits.write(
            lambda: self._transitions.create(caller.user_id, order, caller.application, separate_new_users=separates)
        )
        # Like everywhere: the balance is null, never missing, without its scope.
        balance = done.balance_cents if Scope.BALANCE in caller.scopes else None
        return data_response(serialize.creation(done.payment, done.people, balance))

    async def resolve(self, request: Request) -> Response:
        """PUT /payments/:payment."""
        caller, parameters = await self._enter(request)
        payment_id = rules.read_id(request.path_params["payment_id"])
        resolution = payment_requests.read_resolution(parameters)
        done = await self._commits.write(lambda: self._transitions.resolve(caller.user_id, payment_id, resolution))
        return data_response(serialize.payment(done.payment, done.people, done.refund))

    async def _enter(self, request: Request) -> tuple[Caller, rules.Parameters]:
        with self._authenticator.count_if_refused(request):
            parameters = await bodies.read_parameters(request)
        return self._authenticator.authenticate(request, parameters, Scope.PAYMENTS), parameters


class GroupCommit:
    """Writes that wait at the same moment: each succeeds or fails by itself, and the disk is waited for once for all.

    They run in a thread, because the lock and the disk would hold up everybody else in the event loop.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Write] = []
        self._turn = asyncio.Lock()

    async def write(self, work: Callable[[], Outcome]) -> Outcome:
        """Return the outcome of a write, or raise its error, once it is on the disk."""
        mine = _Write(work)
        self._waiting.append(mine)
        async with self._turn:
            while mine.outcome is None:  # nobody has taken it along
                batch = self._waiting[:_MOST_AT_ONCE]
                del self._waiting[:_MOST_AT_ONCE]
                try:
                    await run_in_threadpool(self._carry_out, batch)
                finally:  # cancelled before it began, it would have lost the others' writes
                    self._waiting[:0] = [one for one in batch if one.outcome is None and one is not mine]
        if isinstance(mine.outcome, Exception):
            raise mine.outcome
        return mine.outcome

    def _carry_out(self, batch: list[_Write]) -> None:
        try:
            with self._store.writing() as connection:
                for one in batch:
                    one.outcome = _attempt(connection, one.work)
        except Exception as error:  # noqa: BLE001 - raised where each of them is waited for
            for one in batch:
                one.outcome = error


@dataclass(eq=False, slots=True)
class _Write:
    """One write, and what has become of it."""

    work: Callable[[], Outcome]
    outcome: Outcome | Exception | None = None


def _attempt(connection: sqlite3.Connection, work: Callable[[], Outcome]) -> Outcome | Exception:
    try:
        return work()
    except Exception as error:
        if not connection.in_transaction:  # SQLite has undone all of them, as it does when the disk is full
            raise
        return error
