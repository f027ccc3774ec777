"""Secrets that repr, str and pickle never expose, and the access token."""

from __future__ import annotations

import operator
import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final, NoReturn

from p2p_analytics.auth._tracebacks import hide_frames
from p2p_analytics.errors import ConfigurationError, TokenError

_SHAPE: Final = re.compile(r"[\x21-\x7e]{1,4096}", re.ASCII)


class Secret:
    """A text that cannot be printed, pickled, compared or copied by accident: a refresh token, a client secret.

    Parameters
    ----------
    value : str
        The secret itself.

    Raises
    ------
    ConfigurationError
        The value is not a string.

    Notes
    -----
    The value is stored XORed with random bytes, so that a tool that prints attributes does not show it.
    That prevents accidents only: code in the same process can call :meth:`reveal`.
    """

    __slots__ = ("_key", "_masked")

    @hide_frames
    def __init__(self, value: str) -> None:
        if not isinstance(value, str):
            raise ConfigurationError(f"A secret cannot be of the type {type(value).__name__}: pass a string.")
        text = value.encode("utf-8", "surrogatepass")
        self._key = secrets.token_bytes(len(text))
        self._masked = bytes(map(operator.xor, text, self._key))

    def reveal(self) -> str:
        """Return the secret itself, for the request or the store that needs it."""
        return bytes(map(operator.xor, self._masked, self._key)).decode("utf-8", "surrogatepass")

    def __repr__(self) -> str:
        """Return the class name and asterisks."""
        return f"<{type(self).__name__} ***>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        """Return the formatted ``repr``."""
        return format(repr(self), spec)

    def __reduce__(self) -> NoReturn:
        """Raise a TypeError, so that no cache or copy holds the secret."""
        raise TypeError(f"{type(self).__name__}: a secret cannot be pickled or copied; pass the object itself.")

    __hash__ = None  # type: ignore[assignment]  # unhashable, so no cache uses it as a key

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same object; comparing values would leak them."""
        return self is other


class AccessToken(Secret):
    """Access token: the secret that authorises requests for one user's data.

    Parameters
    ----------
    value : str
        The token as the service issued it.
    scopes : iterable of str, optional
        The scopes of the token, if known (document: "Scopes named").
    expires_at : datetime, optional
        Aware instant after which the token is no longer sent.

    Raises
    ------
    TokenError
        The value is empty, or contains whitespace or other characters that no token has.
    """

    __slots__ = ("expires_at", "scopes")

    @hide_frames
    def __init__(self, value: str, *, scopes: Iterable[str] = (), expires_at: datetime | None = None) -> None:
        if not isinstance(value, str) or not _SHAPE.fullmatch(value):
            raise TokenError("Not an access token: it must be one word without whitespace. Sign in again to get one.")
        if "://" in value:
            raise TokenError("The value is an address, not a token: pass it to token_from_redirect.")
        if expires_at is not None and expires_at.tzinfo is None:
            raise ConfigurationError("expires_at must be an aware datetime, such as datetime.now(UTC).")
        super().__init__(value)
        self.scopes = frozenset(scopes)
        self.expires_at = expires_at

    def require_unexpired(self, now: datetime) -> None:
        """Raise a TokenError if the token has expired."""
        if self.expires_at is not None and now >= self.expires_at:
            raise TokenError(
                f"The token expired at {self.expires_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC: sign in again."
            )
