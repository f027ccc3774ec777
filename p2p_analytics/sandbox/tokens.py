"""Access tokens: made at random, kept as SHA-256 digests only, ended by the wall clock.

The town's own time stands still, so that its payments are always the same. The life of a token is
real time (document: "Authentication", 30 minutes), from a clock that a test may replace.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from typing import TYPE_CHECKING, NamedTuple

from p2p_analytics.sandbox.errors import ExpiredTokenError, InvalidTokenError, MissingScopeError, SettingError
from p2p_analytics.sandbox.store import Grant, Store
from p2p_analytics.vocabulary import CLIENT_TOKEN_SECONDS, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Caller(NamedTuple):
    """Who asks, and what the token permits."""

    user_id: int
    scopes: frozenset[Scope]

    def needs(self, scope: Scope) -> None:
        """Refuse the request unless the token carries the scope."""
        if scope not in self.scopes:
            raise MissingScopeError(scope)


class Tokens:
    """The tokens of one sandbox."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def issue(self, user_id: int, scopes: Iterable[Scope], seconds: float = CLIENT_TOKEN_SECONDS) -> str:
        """Return a new token; this is the only moment at which the sandbox knows it."""
        token = secrets.token_urlsafe(32)
        words = " ".join(sorted(set(scopes)))
        self._store.add_token(_digest(token), Grant(user_id, words, self._now_us() + round(seconds * 1_000_000)))
        return token

    def caller(self, token: str) -> Caller:
        """Return who a token stands for, or refuse it."""
        grant = self._store.grant(_digest(token))
        if grant is None:
            raise InvalidTokenError
        if grant.expires_us <= self._now_us():
            raise ExpiredTokenError
        return Caller(grant.user_id, frozenset(Scope(word) for word in grant.scopes.split()))

    def expire(self, token: str) -> None:
        """End a token now."""
        if not self._store.end_token(_digest(token), self._now_us()):
            raise SettingError("This sandbox has issued no such token.")

    def _now_us(self) -> int:
        return round(self._clock() * 1_000_000)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()
