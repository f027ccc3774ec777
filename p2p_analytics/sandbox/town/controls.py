"""Controls of a running town: its people and their tokens, applications, payments, money and clock."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from urllib.parse import urlencode

from p2p_analytics.sandbox import browser
from p2p_analytics.sandbox.domain import applications
from p2p_analytics.sandbox.domain.applications import Application, ApplicationDraft
from p2p_analytics.sandbox.domain.payments import Transitions
from p2p_analytics.sandbox.domain.tokens import Tokens
from p2p_analytics.sandbox.errors import SettingError, UnknownPersonError
from p2p_analytics.sandbox.http import parameters
from p2p_analytics.sandbox.storage import ledger
from p2p_analytics.sandbox.storage.rows import Payment, Spelling
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.sandbox.town.timeline import to_microseconds
from p2p_analytics.vocabulary import (
    AUTHORIZE,
    CLIENT_TOKEN_SECONDS,
    Action,
    Audience,
    Medium,
    Scope,
    Status,
    TargetType,
)

READ_SCOPES: Final = tuple(scope for scope in Scope if scope is not Scope.PAYMENTS)
_MOST_NAMES_IN_MESSAGE: Final = 20
_LAST_YEAR: Final = 9000  # later expiries and writes must still come before the year 10000
_ID: Final = re.compile(r"[1-9]\d{0,17}|[1-8]\d{18}", re.ASCII)


class Resident(NamedTuple):
    """A person of the town, as shown to callers."""

    user_id: str
    username: str
    display_name: str


class TownControls(ABC):
    """Methods that read and change a running town; `SandboxServer` adds starting and stopping."""

    base_url: str
    client_id: str
    _tokens: Tokens

    @property
    @abstractmethod
    def store(self) -> Store:
        """The database of the running server."""

    @property
    @abstractmethod
    def now(self) -> datetime:
        """The town's clock."""

    @property
    def viewer(self) -> str:
        """The username of the person with the most varied history; a good one to sign in as."""
        return self.store.settings()["viewer"]

    @property
    def people(self) -> tuple[Resident, ...]:
        """All people of the town, `viewer` first and then by id."""
        return tuple(Resident(str(one.user_id), one.username, one.display_name) for one in self.store.people())

    def token(self, user: str, *scopes: str, seconds: float = CLIENT_TOKEN_SECONDS) -> str:
        """Return an access token for a username or user id, without the browser.

        Parameters
        ----------
        user : str
            A username or a user id of the town.
        *scopes : str
            Every scope that only reads, where none is given.
        seconds : float
            The token's lifetime; 0 gives one that has just expired.

        Raises
        ------
        UnknownPersonError
            No person has that name.
        SettingError
            A scope is not one of the document's.
        """
        try:
            granted = [Scope(scope) for scope in scopes] or READ_SCOPES
        except ValueError:
            raise SettingError(f"The scopes are {', '.join(Scope)}.") from None
        return self._tokens_in_use().issue(self._user_id(user), granted, seconds)

    def expire(self, token: str) -> None:
        """Expire a token now."""
        self._tokens_in_use().expire(token)

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
            No person has the owner's name.
        SettingError
            The owner's identity is not verified, they have 20 applications, or a field is not of its form.
        """
        owner_id = self._user_id(owner)
        if not self._tokens.oauth_store.is_verified(owner_id):
            raise SettingError(f"The identity of {owner!r} is not verified, so they cannot register; call verify().")
        draft = ApplicationDraft.from_fields(
            {"name": name, "redirect_url": redirect_url, "description": description, "site_url": site_url}
        )
        for sentence in draft.problems().values():
            raise SettingError(sentence)
        return applications.register(self._tokens.oauth_store, owner_id, draft)

    def verify(self, user: str, *, verified: bool = True) -> None:
        """Verify a person's identity, or revoke that; all people of a new town but one are verified."""
        self._tokens_in_use().oauth_store.set_verified(self._user_id(user), verified=verified)

    def sign_in(self, authorize_url: str, username: str, *, allow: bool = True) -> str:
        """Act as the person at the browser, and return the address that the browser is redirected to.

        Opens the address, fills in the sign-in form and agrees, or declines, on the consent page. The
        returned address carries ``access_token``, ``code`` or ``error``; it is not requested.

        Raises
        ------
        UnknownPersonError
            No person has that username.
        SettingError
            The address is not this sandbox's, or its pages say that the request cannot be served.
        """
        self._user_id(username)
        return browser.sign_in(self.base_url, authorize_url, username, allow=allow)

    def add_payments(self, user: str, payments: Iterable[PaymentDraft | Mapping[str, object]]) -> list[str]:
        """Add payments of your own to a user's history, in one transaction; return their ids.

        Each is a `PaymentDraft` or a mapping of its fields. Balances do not change. For hundreds of
        thousands of rows, `store.add_payments` takes `Payment` rows without these checks.

        Raises
        ------
        UnknownPersonError
            A user, actor or target is not a person of the town.
        SettingError
            A draft is not a valid payment, such as one to oneself.
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
                    raise self._unknown_person(name)
            rows.append(build_payment(draft, me, other, known, default_id=first + number))
        self.store.add_payments(rows)
        return [str(row.payment_id) for row in rows]

    def advance(self, duration: timedelta | None = None, *, days: float = 0, hours: float = 0) -> datetime:
        """Move the town's clock forward and return its new time; payments that are due by then expire.

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
            raise SettingError(f"The town's clock goes forward only, not by {step}.")
        if year >= _LAST_YEAR:
            raise SettingError(f"The town's clock cannot go to the year {year}: it ends before the year {_LAST_YEAR}.")
        self._transitions.advance(step // timedelta(microseconds=1))
        return self.now

    def deposit(self, user: str, cents: int) -> None:
        """Move money from a user's bank to their balance, or back where `cents` is negative.

        Raises
        ------
        SettingError
            The balance is too low to move that much back.
        """
        self._transitions.deposit(self._user_id(user), cents)

    def link_bank(self, user: str, *, linked: bool = True) -> None:
        """Give a user a funding source that pays amounts above their balance; residents start without one."""
        self._transitions.link_bank(self._user_id(user), linked=linked)

    def trust(self, user: str, friend: str, *, trusted: bool = True) -> None:
        """Let a user trust a friend, so that the friend's charges are settled at once.

        Raises
        ------
        SettingError
            The two are not friends.
        """
        self._transitions.trust(self._user_id(user), self._user_id(friend), trusted=trusted)

    def audit(self) -> list[str]:
        """Return one sentence per inconsistency of the ledger; an empty list means that the money adds up."""
        with self.store.reading() as connection:
            return ledger.audit(connection)

    @property
    def _transitions(self) -> Transitions:
        return Transitions(self.store)

    def _tokens_in_use(self) -> Tokens:
        _ = self.store  # raises where the server is not running
        return self._tokens

    def _user_id(self, user: str) -> int:
        person = self.store.person_named(user)
        if person is None and parameters.ID.fullmatch(user):
            person = self.store.person(int(user))
        if person is None:
            raise self._unknown_person(user)
        return person.user_id

    def _unknown_person(self, user: str) -> UnknownPersonError:
        names = [one.username for one in self.people]
        listed = ", ".join(names[:_MOST_NAMES_IN_MESSAGE]) + (", ..." if len(names) > _MOST_NAMES_IN_MESSAGE else "")
        return UnknownPersonError(f"No person of this town has the username {user[:20]!r}; choose one of: {listed}.")


# ---- drafts of payments that a test adds to the town


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentDraft:
    """Payment for `SandboxServer.add_payments`, with defaults for all fields but one.

    People are usernames or ids. The default of `actor` is the user; the default of `target` is the user where the
    actor is another person, and otherwise the first other person of the town.
    """

    date_created: datetime
    date_completed: datetime | None = None
    payment_id: str | None = None
    actor: str | None = None
    target: str | None = None
    email: str | None = None
    phone: str | None = None
    action: str = Action.PAY
    status: str = Status.SETTLED
    amount_cents: int = 100
    note: str = ""
    audience: str = Audience.PRIVATE
    medium: str = Medium.API
    spelling: int = Spelling.STATED
    fee_cents: int | None = None


def build_payment(draft: PaymentDraft, me: int, other: int, ids: Mapping[str, int], *, default_id: int) -> Payment:
    """Return the row of a draft; `ids` maps usernames and ids as text to ids."""
    if draft.payment_id is not None and not _ID.fullmatch(draft.payment_id):
        raise SettingError(
            f"The payment_id {draft.payment_id[:24]!r} is not valid: give 1 to 19 digits without leading zeros, "
            "below 9 * 10**18."
        )
    if draft.date_created.tzinfo is None or (draft.date_completed or draft.date_created).tzinfo is None:
        raise SettingError("A datetime of the payment has no time zone: give aware datetimes.")
    actor = me if draft.actor is None else ids[draft.actor]
    addressed = draft.email is not None or draft.phone is not None
    target = ids[draft.target] if draft.target is not None else (other if actor == me else me)
    if target == actor and not addressed:
        raise SettingError("The actor and the target are the same person: give another actor or target.")
    kind = TargetType.USER if draft.phone is None else TargetType.PHONE
    kind = kind if draft.email is None else TargetType.EMAIL
    completed = draft.date_completed or (None if draft.status == Status.PENDING else draft.date_created)
    return Payment(
        payment_id=default_id if draft.payment_id is None else int(draft.payment_id),
        status=str(draft.status),
        action=str(draft.action),
        amount_cents=draft.amount_cents,
        note=draft.note,
        audience=str(draft.audience),
        medium=str(draft.medium),
        spelling=int(draft.spelling),
        created_us=to_microseconds(draft.date_created),
        completed_us=None if completed is None else to_microseconds(completed),
        actor_id=actor,
        target_type=kind.value,
        target_user_id=None if addressed else target,
        target_email=draft.email,
        target_phone=draft.phone,
        fee_cents=draft.fee_cents,
    )
