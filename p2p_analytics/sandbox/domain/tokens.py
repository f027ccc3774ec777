"""Tokens and codes: made at random, kept as SHA-256 digests only, ended by the wall clock.

The town's own time stands still, so that its payments are always the same. The life of a token is
real time (document: "Limits", 30 minutes and 60 days), from a clock that a test may replace.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.sandbox.errors import (
    DeletedTokenError,
    ExpiredCodeError,
    ExpiredTokenError,
    ForeignCodeError,
    InvalidTokenError,
    MissingScopeError,
    OAuthError,
    RedeemedCodeError,
    RefreshError,
    RevokedTokenError,
    SettingError,
)
from p2p_analytics.sandbox.storage.oauth_store import CodeRefusal, EndReason, Grant, OAuthStore, Pair, digest
from p2p_analytics.vocabulary import CLIENT_TOKEN_SECONDS, SERVER_TOKEN_SECONDS, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

CODE_SECONDS: Final = 10 * 60


class Caller(NamedTuple):
    """Who asks, what the token permits, and id and name of the application that was given it, if one was."""

    user_id: int
    scopes: frozenset[Scope]
    client_id: str | None = None
    application: str | None = None

    def needs(self, scope: Scope) -> None:
        """Refuse the request unless the token carries the scope."""
        if scope not in self.scopes:
            raise MissingScopeError(scope)


@dataclass(frozen=True, slots=True)
class Issued:
    """An access token with the refresh token that replaces it, and for whom they are; neither shows itself."""

    caller: Caller
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)


class Tokens:
    """The tokens of one sandbox."""

    def __init__(self, registry: OAuthStore, clock: Callable[[], float] = time.time) -> None:
        self.registry = registry
        self._clock = clock

    def issue(
        self,
        user_id: int,
        scopes: Iterable[Scope],
        seconds: float = CLIENT_TOKEN_SECONDS,
        *,
        client_id: str | None = None,
    ) -> str:
        """Return a new access token; this is the only moment at which the sandbox knows it."""
        token = secrets.token_urlsafe(32)
        grant = Grant(user_id, _words(scopes), self._in(seconds), None)
        self.registry.add_token(digest(token), grant, client_id, self.now_us())
        return token

    def issue_code(self, user_id: int, scopes: Iterable[Scope], client_id: str, redirect_url: str) -> str:
        """Return a new code of the server-side flow, for this client and redirect alone."""
        code = secrets.token_urlsafe(32)
        grant = Grant(user_id, _words(scopes), self._in(CODE_SECONDS), None)
        self.registry.add_code(digest(code), grant, client_id, redirect_url, self.now_us())
        return code

    def redeem(self, client_id: str, code: str, redirect_url: str | None) -> Issued:
        """Return the tokens of a code, or refuse it."""
        access, refresh, pair = self._pair()
        found = self.registry.redeem(digest(code), client_id, redirect_url, pair, self.now_us())
        if isinstance(found, Grant):
            return Issued(_caller(found), access, refresh)
        # Raised out here: inside, the transaction that ends the tokens of a code used twice would be undone.
        refusal = _REFUSED_CODES[found]
        raise refusal()

    def refresh(self, client_id: str, refresh_token: str) -> Issued:
        """Return new tokens for a refresh token, or refuse it; the old ones work no longer."""
        access, refresh, pair = self._pair()
        found = self.registry.refresh(digest(refresh_token), client_id, pair)
        if found is None:
            raise RefreshError
        return Issued(_caller(found), access, refresh)

    def caller(self, token: str) -> Caller:
        """Return who an access token stands for, or refuse it."""
        grant = self.registry.find_access_token(digest(token))
        if grant is None:
            raise InvalidTokenError
        if grant.ended is not None:
            raise RevokedTokenError if grant.ended == EndReason.REVOKED else DeletedTokenError
        if grant.expires_us <= self.now_us():
            raise ExpiredTokenError
        return _caller(grant)

    def expire(self, token: str) -> None:
        """End a token now."""
        if not self.registry.expire(digest(token), self.now_us()):
            raise SettingError("This sandbox has issued no such token.")

    def now_us(self) -> int:
        """Return the clock's time in microseconds since 1970."""
        return self._in(0)

    def _in(self, seconds: float) -> int:
        return round((self._clock() + seconds) * 1_000_000)

    def _pair(self) -> tuple[str, str, Pair]:
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        return access, refresh, Pair(digest(access), digest(refresh), self._in(SERVER_TOKEN_SECONDS))


_REFUSED_CODES: Final[dict[CodeRefusal, Callable[[], OAuthError]]] = {
    CodeRefusal.UNKNOWN: lambda: OAuthError("code is none that this sandbox gave out."),
    CodeRefusal.FOREIGN: ForeignCodeError,
    CodeRefusal.REUSED: RedeemedCodeError,
    CodeRefusal.EXPIRED: ExpiredCodeError,
    CodeRefusal.REVOKED: lambda: OAuthError("The user has taken back what this code stands for."),
    CodeRefusal.REDIRECT: lambda: OAuthError("redirect_uri is not the address that this code was sent to."),
}


def _words(scopes: Iterable[Scope]) -> str:
    return " ".join(sorted(set(scopes)))


def _caller(grant: Grant) -> Caller:
    scopes = frozenset(Scope(word) for word in grant.scopes.split())
    return Caller(grant.user_id, scopes, grant.client_id, grant.application)
