"""Renewal of a stored sign-in before its access token expires.

A refresh invalidates both old tokens. So processes refresh one at a time, under a lock, after reading the store again,
and store the new tokens before they use them.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from datetime import UTC, datetime, timedelta
from typing import Final, Self

from p2p_analytics.auth import AccessToken, FoundToken, SignIn, SignInStore, lock_sign_in
from p2p_analytics.client import oauth
from p2p_analytics.errors import NotSignedIn, P2PAnalyticsError, ServiceError

log = logging.getLogger(__name__)

_RENEW_AHEAD: Final = timedelta(days=1)
_RETRY_DELAY: Final = timedelta(hours=1)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class TokenRenewal:
    """Token source of a stored sign-in that has a refresh token."""

    def __init__(self, store: SignInStore, sign_in: SignIn, timeout: tuple[float, float]) -> None:
        self._store = store
        self._sign_in = sign_in
        self._timeout = timeout
        self._lock = threading.Lock()
        self._not_before = datetime.min.replace(tzinfo=UTC)

    @classmethod
    def from_found(cls, found: FoundToken, timeout: tuple[float, float]) -> Self | None:
        """Return the token source of a token that was found, None if the token cannot be renewed."""
        if found.store is None or found.sign_in is None or found.sign_in.refresh_token is None:
            return None
        return cls(found.store, found.sign_in, timeout)

    def get_token(self, refused: AccessToken | None) -> AccessToken:
        """Return the current token, renewed if it expires within a day.

        If the current token was ``refused``, another process may have renewed it: then the stored token is returned.

        Raises
        ------
        P2PAnalyticsError
            The token has expired and cannot be renewed. Before expiry, a failure is only logged.
        """
        with self._lock:
            if refused is self._sign_in.token:
                with contextlib.suppress(NotSignedIn):
                    self._adopt(self._store.load())
            elif self._expires_within(_RENEW_AHEAD) and datetime.now(UTC) >= self._not_before:
                try:
                    with lock_sign_in():
                        if not self._adopt(self._store.load()):
                            # Fails here, before the old tokens are used up, if the store is not writable.
                            self._store.save(self._sign_in)
                            self._sign_in = oauth.refresh(self._sign_in, timeout=self._timeout)
                            self._store.save(self._sign_in)
                except P2PAnalyticsError as error:
                    may_retry = isinstance(error, ServiceError) and error.retryable  # nothing was sent
                    self._not_before = datetime.now(UTC) + _RETRY_DELAY if may_retry else _NEVER
                    if self._expires_within(timedelta(0)):
                        raise
                    log.warning("The sign-in could not be renewed: %s", error)
            return self._sign_in.token

    def _expires_within(self, ahead: timedelta) -> bool:
        expires_at = self._sign_in.token.expires_at
        return expires_at is not None and expires_at - datetime.now(UTC) <= ahead

    def _adopt(self, stored: SignIn | None) -> bool:
        """Use the stored sign-in if another process has renewed it; return whether it has."""
        if stored is None or stored.ident != self._sign_in.ident:  # it may belong to another user
            raise NotSignedIn("The stored sign-in was deleted or replaced: create a new Client.")
        if stored.token.reveal() == self._sign_in.token.reveal():
            return False
        self._sign_in = stored
        return True
