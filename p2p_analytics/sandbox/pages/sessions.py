"""Who is signed in at which browser, and the one-time tickets of the forms that were shown there.

All of it is in memory and ends with the server. A form is accepted once, with the ticket of a page that
this very browser was shown, so no other page can press a button. What is kept is bounded, and whoever asks for
more loses their own oldest first: nobody can press another person's forms, or session, out.
"""

from __future__ import annotations

import re
import secrets
import time
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from p2p_analytics.sandbox.errors import ForgeryError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from p2p_analytics.sandbox.http.parameters import Parameters

SESSION_SECONDS: Final = 8 * 60 * 60
TICKET_SECONDS: Final = 600
MOST: Final = 1_000  # tickets of browsers at which nobody is signed in
MOST_OF_ONE: Final = 20  # tickets of one session, and sessions of one person
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
    """The browsers of one sandbox.

    Parameters
    ----------
    port : int
        Browsers share cookies between the ports of a host; its number in the cookie's name keeps two sandboxes apart.
    path : str
        The cookie is for addresses below it.
    """

    def __init__(self, port: int | None, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.cookie = f"sandbox_session_{port}"
        self._path = path
        self._clock = clock
        self._signed_in: dict[str, _SignedIn] = {}
        self._tickets: dict[str, _Ticket] = {}

    def identify(self, request: Request) -> str:
        """Return the request's session, a new one where it brings none."""
        given = request.cookies.get(self.cookie, "")
        return given if _SHAPE.fullmatch(given) else secrets.token_urlsafe(32)

    def user_id(self, session: str) -> int | None:
        """Return who is signed in."""
        found = self._signed_in.get(session)
        return found.user_id if found is not None and found.ends > self._clock() else None

    def sign_in(self, session: str, user_id: int) -> str:
        """Return a new session for somebody who signed in: whoever knew the old one does not know this."""
        self.sign_out(session)
        session = secrets.token_urlsafe(32)
        _drop_ended(self._signed_in, self._clock())
        own = [name for name, one in self._signed_in.items() if one.user_id == user_id]
        for name in _too_many(own, MOST_OF_ONE):
            self.sign_out(name)
        self._signed_in[session] = _SignedIn(user_id, self._clock() + SESSION_SECONDS)
        return session

    def sign_out(self, session: str) -> None:
        """End a session and every ticket of it."""
        self._signed_in.pop(session, None)
        for name in [name for name, ticket in self._tickets.items() if ticket.session == session]:
            del self._tickets[name]

    def attach(self, response: Response, session: str) -> Response:
        """Let the browser keep the session.

        Lax and not Strict: an application on another site sends the browser here, and must find who is
        signed in. With a form that another site submits, a Lax cookie does not come.
        """
        response.set_cookie(self.cookie, session, path=self._path, httponly=True, samesite="lax")
        return response

    def ticket(self, session: str, purpose: object) -> str:
        """Return a new ticket for a form of this session."""
        _drop_ended(self._tickets, self._clock())
        own = [name for name, ticket in self._tickets.items() if ticket.session == session]
        strangers = []
        if self.user_id(session) is None:  # a flood of new browsers makes room among its own kind
            strangers = [name for name, ticket in self._tickets.items() if self.user_id(ticket.session) is None]
        for name in _too_many(own, MOST_OF_ONE) or _too_many(strangers, MOST):
            del self._tickets[name]
        name = secrets.token_urlsafe(32)
        self._tickets[name] = _Ticket(session, self._clock() + TICKET_SECONDS, purpose)
        return name

    def redeem(self, request: Request, form: Parameters, kind: type[_Kind]) -> tuple[str, _Kind]:
        """Return session and purpose of a form's ticket, which then works no longer.

        Raises
        ------
        ForgeryError
            There is no such ticket, it is another browser's, too old, used, or of another step.
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


def _too_many(names: list[str], most: int) -> list[str]:
    """Return the oldest names, which have to go before another one comes."""
    return names[: max(0, len(names) - most + 1)]
