"""The endpoints that read: /me, users, friends and payments."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from p2p_analytics.sandbox.api import read_parameters
from p2p_analytics.sandbox.api.authentication import Authenticator
from p2p_analytics.sandbox.domain.payments import may_see
from p2p_analytics.sandbox.domain.tokens import Caller
from p2p_analytics.sandbox.errors import NotFoundError
from p2p_analytics.sandbox.http import parameters as rules
from p2p_analytics.sandbox.http import serialize
from p2p_analytics.sandbox.http.dialects import ACTIVE_DIALECT
from p2p_analytics.sandbox.http.responses import data_response, json_response
from p2p_analytics.sandbox.storage.rows import Payment, Person
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.vocabulary import Scope


class ReadEndpoints:
    """Endpoints of profiles, friends and payments; they run in the event loop, with a few short indexed queries."""

    def __init__(self, store: Store, authenticator: Authenticator, base_url: str) -> None:
        self._store = store
        self._authenticator = authenticator
        self._base_url = base_url

    async def me(self, request: Request) -> Response:
        """GET /me."""
        caller, _ = self._enter(request, Scope.PROFILE)
        return data_response(self.profile(caller))

    def profile(self, caller: Caller) -> serialize.Json:
        """Return balance and user as in /me; balance, email and phone are null without their scopes."""
        with self._store.reading():
            person = self._store.people_by_id([caller.user_id])[caller.user_id]
            # The sample of /me says false where the field's description says null.
            user = self._user(caller, person, is_friend=False)
        return serialize.me(user, person.balance_cents if Scope.BALANCE in caller.scopes else None)

    async def user(self, request: Request) -> Response:
        """GET /users/:user_id."""
        caller, _ = self._enter(request, Scope.PROFILE)
        with self._store.reading():
            person = self._person(request.path_params["user_id"])
            is_own = person.user_id == caller.user_id
            is_friend = None if is_own else self._store.are_friends(caller.user_id, person.user_id)
            return data_response(self._user(caller, person, is_friend=is_friend))

    async def friends(self, request: Request) -> Response:
        """GET /users/:user_id/friends: by ascending id, with the last id as `after` of the next link."""
        _, parameters = self._enter(request, Scope.FRIENDS)
        query = read_parameters.read_friend_list(parameters)
        with self._store.reading():
            person = self._person(request.path_params["user_id"])
            found = self._store.friends(person.user_id, after=query.after, before=query.before, limit=query.limit + 1)
        page, more = found[: query.limit], len(found) > query.limit
        # The path as requested: a client may refuse a next link to another path.
        address = f"{self._base_url}/users/{quote(request.path_params['user_id'], safe='')}/friends"
        next_url = serialize.link(address, {"after": str(page[-1].user_id), **query.repeated}) if more else None
        return json_response(serialize.page([serialize.friend(friend) for friend in page], next_url))

    async def payments(self, request: Request) -> Response:
        """GET /payments: newest first, with the whole second of the last item as `before` of the next link."""
        caller, parameters = self._enter(request, Scope.PROFILE)
        query = read_parameters.read_payment_list(parameters)
        with self._store.reading():
            found = self._store.payments(caller.user_id, query.filter, query.limit + 1)
            page, more = found[: query.limit], len(found) > query.limit
            people = self._people_in(page)
        items = [serialize.list_item(payment, people) for payment in page]
        address = f"{self._base_url}/payments"
        next_url = None
        if more:
            next_url = serialize.link(address, {**query.repeated, "before": serialize.second(page[-1].created_us)})
        return json_response(serialize.page(items, next_url))

    async def payment(self, request: Request) -> Response:
        """GET /payments/:payment: if the caller is a party to it, or its audience includes them."""
        caller, _ = self._enter(request, Scope.PROFILE)
        with self._store.reading():
            payment = self._store.payment(rules.read_id(request.path_params["payment_id"]))
            if payment is None or not may_see(self._store, caller.user_id, payment):
                raise NotFoundError
            refund = self._store.refund(payment.payment_id)
            people = self._people_in([payment, refund] if refund else [payment])
        party = caller.user_id in (payment.actor_id, payment.target_user_id)
        return data_response(serialize.payment(payment, people, refund, to_party=party))

    def _enter(self, request: Request, scope: Scope) -> tuple[Caller, rules.Parameters]:
        parameters = rules.Parameters(request.query_params.multi_items())
        return self._authenticator.authenticate(request, parameters, scope), parameters

    def _person(self, text: str) -> Person:
        if ACTIVE_DIALECT.get().takes_usernames and not rules.ID.fullmatch(text):
            person = self._store.person_named(text)
        else:
            person = self._store.person(rules.read_id(text))
        if person is None:
            raise NotFoundError
        return person

    def _user(self, caller: Caller, person: Person, *, is_friend: bool | None) -> serialize.Json:
        # The token grants only its own user's email and phone.
        own = person.user_id == caller.user_id
        return serialize.user(
            person,
            with_email=own and Scope.EMAIL in caller.scopes,
            with_phone=own and Scope.PHONE in caller.scopes,
            is_friend=is_friend,
            friends_count=self._store.count_friends(person.user_id),
        )

    def _people_in(self, payments: list[Payment]) -> dict[int, Person]:
        ids = {one for payment in payments for one in (payment.actor_id, payment.target_user_id) if one is not None}
        return self._store.people_by_id(ids)
