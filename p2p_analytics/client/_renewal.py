"""A token that is renewed before its end, together with where it is kept.

A refresh replaces both tokens, so two processes must not do it at once, and what comes of it has to
be kept before the old tokens are forgotten: a lock and the store are asked first, then the service.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Self

from p2p_analytics.auth import lock_sign_in
from p2p_analytics.client import oauth
from p2p_analytics.errors import NotSignedIn, P2PAnalyticsError, ServiceError

if TYPE_CHECKING:
    from p2p_analytics.auth import AccessToken, FoundToken, SignIn, SignInStore

log = logging.getLogger(__name__)

_AHEAD: Final = timedelta(days=1)
_PAUSE: Final = timedelta(hours=1)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)


class Renewal:
    """The current token of a sign-in that is kept with a refresh token."""

    def __init__(self, store: SignInStore, sign_in: SignIn, timeout: tuple[float, float]) -> None:
        self._store = store
        self._sign_in = sign_in
        self._timeout = timeout
        self._guard = threading.Lock()
        self._not_before = datetime.min.replace(tzinfo=UTC)

    @classmethod
    def of(cls, found: FoundToken, timeout: tuple[float, float]) -> Self | None:
        """Return the renewal of a token that was found, None where it cannot be renewed."""
        if found.store is None or found.sign_in is None or found.sign_in.refresh_token is None:
            return None
        return cls(found.store, found.sign_in, timeout)

    def token(self, *, refused: AccessToken | None = None) -> AccessToken:
        """Return the current token, renewed where a day or less of it is left.

        After one was ``refused``, another process may have renewed it: then that result is taken.

        Raises
        ------
        P2PAnalyticsError
            The token has expired and cannot be renewed; while it lasts, that is only logged.
        """
        with self._guard:
            if refused is self._sign_in.token:
                with contextlib.suppress(NotSignedIn):
                    self._take(self._store.load())
            elif self._ends_within(_AHEAD) and datetime.now(UTC) >= self._not_before:
                self._renew()
            return self._sign_in.token

    def _ends_within(self, ahead: timedelta) -> bool:
        expires_at = self._sign_in.token.expires_at
        return expires_at is not None and expires_at - datetime.now(UTC) <= ahead

    def _renew(self) -> None:
        try:
            with lock_sign_in():
                if not self._take(self._store.load()):
                    self._store.save(self._sign_in)  # what cannot be written now could not be written afterwards
                    self._sign_in = oauth.refresh(self._sign_in, timeout=self._timeout)
                    self._store.save(self._sign_in)
        except P2PAnalyticsError as error:
            again = isinstance(error, ServiceError) and error.retryable  # nothing was sent
            self._not_before = datetime.now(UTC) + _PAUSE if again else _NEVER
            if self._ends_within(timedelta(0)):
                raise
            log.warning("The sign-in could not be renewed: %s", error)

    def _take(self, kept: SignIn | None) -> bool:
        """Take what another process has made of this very sign-in; tell whether it has."""
        if kept is None or kept.ident != self._sign_in.ident:  # another one may be another user's
            raise NotSignedIn("The sign-in that was kept is gone or is another one now: make a new Client.")
        if kept.token.reveal() == self._sign_in.token.reveal():
            return False
        self._sign_in = kept
        return True
