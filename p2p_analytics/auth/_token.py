"""Secrets that never show themselves; the access token is the one that says whose data may be read."""

from __future__ import annotations

import operator
import re
import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NoReturn

from p2p_analytics.auth._sealing import sealed
from p2p_analytics.errors import ConfigurationError, TokenError

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHAPE: Final = re.compile(r"[\x21-\x7e]{1,4096}", re.ASCII)


class Secret:
    """A text that cannot be printed, pickled, compared or copied by accident: a refresh token, a client's secret.

    Parameters
    ----------
    value : str
        The secret itself.

    Raises
    ------
    ConfigurationError
        The value is not a text.

    Notes
    -----
    The text is stored combined with random bytes, so that a tool that prints attributes shows nothing of it.
    That protects from accidents alone: code in the same process can call :meth:`reveal`.
    """

    __slots__ = ("_key", "_masked")

    @sealed
    def __init__(self, value: str) -> None:
        if not isinstance(value, str):
            raise ConfigurationError(f"A secret cannot be of the type {type(value).__name__}: pass a text.")
        text = value.encode("utf-8", "surrogatepass")
        self._key = secrets.token_bytes(len(text))
        self._masked = bytes(map(operator.xor, text, self._key))

    def reveal(self) -> str:
        """Return the secret itself, for the one place that puts it on the wire."""
        return bytes(map(operator.xor, self._masked, self._key)).decode("utf-8", "surrogatepass")

    def __repr__(self) -> str:
        """Show that there is a secret, and nothing of it."""
        return f"<{type(self).__name__} ***>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        """Show no more than ``repr`` does."""
        return format(repr(self), spec)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied, so that no store or cache holds the secret."""
        raise TypeError(f"{type(self).__name__}: a secret cannot be pickled or copied; pass the object itself.")

    __hash__ = None  # type: ignore[assignment]  # not a dictionary key, so no cache is keyed by it

    def __eq__(self, other: object) -> bool:
        """Be equal to itself alone, so that comparing tells nothing."""
        return self is other


class AccessToken(Secret):
    """The secret that says whose data may be read, and for how long.

    Parameters
    ----------
    value : str
        The token as the service gave it.
    scopes : iterable of str, optional
        What the token permits, where known (document: "Scopes named").
    expires_at : datetime, optional
        Aware instant after which it is not sent any more.

    Raises
    ------
    TokenError
        The value is empty, or holds blanks or other characters that no token has.
    """

    __slots__ = ("expires_at", "scopes")

    @sealed
    def __init__(self, value: str, *, scopes: Iterable[str] = (), expires_at: datetime | None = None) -> None:
        if not isinstance(value, str) or not _SHAPE.fullmatch(value):
            raise TokenError("That is no access token: a token is one word without blanks; sign in again to get one.")
        if "://" in value:
            raise TokenError("That is an address, not a token: pass it to token_from_redirect.")
        if expires_at is not None and expires_at.tzinfo is None:
            raise ConfigurationError("expires_at must be an aware datetime, such as datetime.now(UTC).")
        super().__init__(value)
        self.scopes = frozenset(scopes)
        self.expires_at = expires_at

    def require_unexpired(self, now: datetime) -> None:
        """Raise a TokenError if the token's time is over."""
        if self.expires_at is not None and now >= self.expires_at:
            raise TokenError(
                f"The token expired at {self.expires_at.astimezone(UTC):%Y-%m-%d %H:%M} UTC: sign in again."
            )
