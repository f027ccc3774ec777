"""Browser sessions, and the one-time tickets of forms, which protect against cross-site request forgery.

Both are kept in memory. A form is accepted once, with the ticket of a page that was rendered for the same session.
The number of tickets and sessions is bounded per session and person, so that one of them cannot evict another's.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from p2p_analytics.sandbox.errors import ForgeryError
from p2p_analytics.sandbox.http.parameters import Parameters

SESSION_SECONDS: Final = 8 * 60 * 60
TICKET_SECONDS: Final = 600
MOST: Final = 1_000  # tickets of all sessions without a sign-in
MOST_OF_ONE: Final = 20  # tickets per session, and sessions per person
_SHAPE: Final = re.compile(r"[\w-]{40,100}", re.ASCII)
_Kind = TypeVar("_Kind")


class _SignedIn(NamedTuple):
    user_id: int
    ends: float


class _Ticket(NamedTuple):
    session: str
    ends: float
    purpose: object


_Value = TypeVar("_Value", _SignedIn, _Ticket)


class Sessions:
    """The sessions of one sandbox.

    Parameters
    ----------
    port : int
        Part of the cookie's name, because browsers share cookies between the ports of a host.
    path : str
        The path of the cookie.
    """

    def __init__(self, port: int | None, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.cookie = f"sandbox_session_{port}"
        self._path = path
        self._clock = clock
        self._signed_in: dict[str, _SignedIn] = {}
        self._tickets: dict[str, _Ticket] = {}

    def identify(self, request: Request) -> str:
        """Return the session id of a request, or a new one."""
        given = request.cookies.get(self.cookie, "")
        return given if _SHAPE.fullmatch(given) else secrets.token_urlsafe(32)

    def user_id(self, session: str) -> int | None:
        """Return the signed-in user of a session, or None."""
        found = self._signed_in.get(session)
        return found.user_id if found is not None and found.ends > self._clock() else None

    def sign_in(self, session: str, user_id: int) -> str:
        """Sign a user in and return a new session id, against session fixation."""
        self.sign_out(session)
        session = secrets.token_urlsafe(32)
        _drop_ended(self._signed_in, self._clock())
        own = [name for name, one in self._signed_in.items() if one.user_id == user_id]
        for name in _names_to_evict(own, MOST_OF_ONE):
            self.sign_out(name)
        self._signed_in[session] = _SignedIn(user_id, self._clock() + SESSION_SECONDS)
        return session

    def sign_out(self, session: str) -> None:
        """End a session and all its tickets."""
        self._signed_in.pop(session, None)
        for name in [name for name, ticket in self._tickets.items() if ticket.session == session]:
            del self._tickets[name]

    def attach(self, response: Response, session: str) -> Response:
        """Set the session cookie.

        SameSite is Lax: an application on another site redirects the browser here, which must send the cookie, while
        forms submitted by another site must not.
        """
        response.set_cookie(self.cookie, session, path=self._path, httponly=True, samesite="lax")
        return response

    def ticket(self, session: str, purpose: object) -> str:
        """Return a new ticket for a form of this session."""
        _drop_ended(self._tickets, self._clock())
        own = [name for name, ticket in self._tickets.items() if ticket.session == session]
        anonymous = []
        if self.user_id(session) is None:  # new sessions evict only tickets of other sessions without a sign-in
            anonymous = [name for name, ticket in self._tickets.items() if self.user_id(ticket.session) is None]
        for name in _names_to_evict(own, MOST_OF_ONE) or _names_to_evict(anonymous, MOST):
            del self._tickets[name]
        name = secrets.token_urlsafe(32)
        self._tickets[name] = _Ticket(session, self._clock() + TICKET_SECONDS, purpose)
        return name

    def redeem(self, request: Request, form: Parameters, kind: type[_Kind]) -> tuple[str, _Kind]:
        """Use up the ticket of a form; return its session and purpose.

        Raises
        ------
        ForgeryError
            The ticket is unknown, expired, used, of another session or of another step.
        """
        name = form.get("ticket") or ""
        ticket = self._tickets.get(name)
        cookie = request.cookies.get(self.cookie, "")
        if (
            ticket is None
            or not secrets.compare_digest(ticket.session.encode(), cookie.encode())
            or ticket.ends <= self._clock()
        ):
            raise ForgeryError("This form is not, or no longer, valid: open its page again.")
        if not isinstance(ticket.purpose, kind):
            raise ForgeryError("This form belongs to another step: open its page again.")
        del self._tickets[name]
        return ticket.session, ticket.purpose


def _drop_ended(kept: dict[str, _Value], now: float) -> None:
    for name in [name for name, value in kept.items() if value.ends <= now]:
        del kept[name]


def _names_to_evict(names: list[str], most: int) -> list[str]:
    """Return the oldest names to remove before another one is added."""
    return names[: max(0, len(names) - most + 1)]
