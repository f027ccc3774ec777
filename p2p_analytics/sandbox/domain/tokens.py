"""Tokens and codes: random, stored as SHA-256 digests only, with an expiry on the wall clock.

The town's clock stands still, so that its payments are always the same. The lifetime of a token is real time (document:
"Limits", 30 minutes and 60 days), on a clock that tests can replace.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from p2p_analytics.sandbox.errors import (
    DeletedTokenError,
    ExpiredTokenError,
    InvalidTokenError,
    MissingScopeError,
    RefreshError,
    RevokedTokenError,
    SettingError,
)
from p2p_analytics.sandbox.storage.oauth_store import EndReason, Grant, OAuthStore, Pair, digest
from p2p_analytics.vocabulary import CLIENT_TOKEN_SECONDS, SERVER_TOKEN_SECONDS, Scope

CODE_SECONDS: Final = 10 * 60


class Caller(NamedTuple):
    """User and scopes of a request's token, and id and name of the application that it was issued to, if any."""

    user_id: int
    scopes: frozenset[Scope]
    client_id: str | None = None
    application: str | None = None

    def needs(self, scope: Scope) -> None:
        """Raise MissingScopeError unless the token has the scope."""
        if scope not in self.scopes:
            raise MissingScopeError(scope)


@dataclass(frozen=True, slots=True)
class TokenPair:
    """Access token with its refresh token and their owner; neither token is part of the repr."""

    caller: Caller
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)


class Tokens:
    """Tokens and codes of one sandbox."""

    def __init__(self, oauth_store: OAuthStore, clock: Callable[[], float] = time.time) -> None:
        self.oauth_store = oauth_store
        self._clock = clock

    def issue(
        self,
        user_id: int,
        scopes: Iterable[Scope],
        seconds: float = CLIENT_TOKEN_SECONDS,
        *,
        client_id: str | None = None,
    ) -> str:
        """Return a new access token; only its digest is stored."""
        token = secrets.token_urlsafe(32)
        grant = Grant(user_id, _join(scopes), self._from_now(seconds), None)
        self.oauth_store.add_token(digest(token), grant, client_id, self.now_us())
        return token

    def issue_code(self, user_id: int, scopes: Iterable[Scope], client_id: str, redirect_url: str) -> str:
        """Return a new code of the server-side flow, valid for one client and redirect URL."""
        code = secrets.token_urlsafe(32)
        grant = Grant(user_id, _join(scopes), self._from_now(CODE_SECONDS), None)
        self.oauth_store.add_code(digest(code), grant, client_id, redirect_url, self.now_us())
        return code

    def redeem(self, client_id: str, code: str, redirect_url: str | None) -> TokenPair:
        """Exchange a code for tokens, or raise the reason why it is refused."""
        access, refresh, pair = self._make_pair()
        found = self.oauth_store.redeem(digest(code), client_id, redirect_url, pair, self.now_us())
        if isinstance(found, Grant):
            return TokenPair(_to_caller(found), access, refresh)
        raise found  # after the transaction: inside, it would roll back the revocation after a second use

    def refresh(self, client_id: str, refresh_token: str) -> TokenPair:
        """Replace the tokens of a refresh token, or raise RefreshError."""
        access, refresh, pair = self._make_pair()
        found = self.oauth_store.refresh(digest(refresh_token), client_id, pair)
        if found is None:
            raise RefreshError
        return TokenPair(_to_caller(found), access, refresh)

    def authenticate(self, token: str) -> Caller:
        """Return the caller of an access token, or raise the reason why it is refused."""
        grant = self.oauth_store.find_access_token(digest(token))
        if grant is None:
            raise InvalidTokenError
        if grant.ended is not None:
            raise RevokedTokenError if grant.ended == EndReason.REVOKED else DeletedTokenError
        if grant.expires_us <= self.now_us():
            raise ExpiredTokenError
        return _to_caller(grant)

    def expire(self, token: str) -> None:
        """Expire a token now."""
        if not self.oauth_store.expire(digest(token), self.now_us()):
            raise SettingError("This sandbox has issued no such token.")

    def now_us(self) -> int:
        """Return the time of the clock in microseconds since 1970."""
        return self._from_now(0)

    def _from_now(self, seconds: float) -> int:
        return round((self._clock() + seconds) * 1_000_000)

    def _make_pair(self) -> tuple[str, str, Pair]:
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        return access, refresh, Pair(digest(access), digest(refresh), self._from_now(SERVER_TOKEN_SECONDS))


def _join(scopes: Iterable[Scope]) -> str:
    return " ".join(sorted(set(scopes)))


def _to_caller(grant: Grant) -> Caller:
    scopes = frozenset(Scope(word) for word in grant.scopes.split())
    return Caller(grant.user_id, scopes, grant.client_id, grant.application)
