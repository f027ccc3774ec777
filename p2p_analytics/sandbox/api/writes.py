"""The endpoints that write: POST /payments and PUT /payments/:payment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from p2p_analytics.sandbox.api import write_parameters
from p2p_analytics.sandbox.api.authentication import Authenticator
from p2p_analytics.sandbox.domain.payments import Outcome, Transitions
from p2p_analytics.sandbox.domain.tokens import Caller
from p2p_analytics.sandbox.http import bodies, serialize
from p2p_analytics.sandbox.http import parameters as rules
from p2p_analytics.sandbox.http.dialects import ACTIVE_DIALECT
from p2p_analytics.sandbox.http.responses import data_response
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.vocabulary import Scope

_MOST_AT_ONCE: Final = 100  # bounds how long a write waits for the batch before it


class WriteEndpoints:
    """Endpoints of payment creation and resolution."""

    def __init__(self, authenticator: Authenticator, store: Store) -> None:
        self._authenticator = authenticator
        self._transitions = Transitions(store)
        self._commits = GroupCommit(store)

    async def create(self, request: Request) -> Response:
        """POST /payments."""
        caller, parameters = await self._enter(request)
        order = write_parameters.read_order(parameters)
        separates = ACTIVE_DIALECT.get().separates_new_users
        done = await self._commits.write(
            lambda: self._transitions.create(caller.user_id, order, caller.application, separate_new_users=separates)
        )
        # Without its scope the balance is null and not left out, as in /me.
        balance = done.balance_cents if Scope.BALANCE in caller.scopes else None
        return data_response(serialize.creation(done.payment, done.people, balance))

    async def resolve(self, request: Request) -> Response:
        """PUT /payments/:payment."""
        caller, parameters = await self._enter(request)
        payment_id = rules.read_id(request.path_params["payment_id"])
        resolution = write_parameters.read_resolution(parameters)
        done = await self._commits.write(lambda: self._transitions.resolve(caller.user_id, payment_id, resolution))
        return data_response(serialize.payment(done.payment, done.people, done.refund))

    async def _enter(self, request: Request) -> tuple[Caller, rules.Parameters]:
        with self._authenticator.count_if_refused(request):
            parameters = await bodies.read_parameters(request)
        return self._authenticator.authenticate(request, parameters, Scope.PAYMENTS), parameters


class GroupCommit:
    """Group commit: writes that are waiting at the same time share one transaction, and one wait for the disk.

    Each write succeeds or fails by itself. They run in a thread, because waiting for the database lock or the disk
    would block the event loop.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[_Write] = []
        self._turn = asyncio.Lock()

    async def write(self, work: Callable[[], Outcome]) -> Outcome:
        """Return the outcome of a write, or raise its error, after the commit."""
        mine = _Write(work)
        self._waiting.append(mine)
        async with self._turn:
            while mine.outcome is None:  # not part of an earlier batch
                batch = self._waiting[:_MOST_AT_ONCE]
                del self._waiting[:_MOST_AT_ONCE]
                try:
                    await run_in_threadpool(self._carry_out, batch)
                finally:  # if this task is cancelled before the thread starts, the others are still waiting
                    self._waiting[:0] = [one for one in batch if one.outcome is None and one is not mine]
        if isinstance(mine.outcome, Exception):
            raise mine.outcome
        return mine.outcome

    def _carry_out(self, batch: list[_Write]) -> None:
        try:
            with self._store.writing() as connection:
                for one in batch:
                    try:
                        one.outcome = one.work()
                    except Exception as error:
                        if not connection.in_transaction:  # SQLite rolled the batch back, as on a full disk
                            raise
                        one.outcome = error
        except Exception as error:  # noqa: BLE001 - raised in `write` of each
            for one in batch:
                one.outcome = error


@dataclass(eq=False, slots=True)
class _Write:
    """A write, and its outcome or error."""

    work: Callable[[], Outcome]
    outcome: Outcome | Exception | None = None
