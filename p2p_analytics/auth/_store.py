"""Where a sign-in is kept: one private file, or the system's keyring. Each holds one sign-in, to one service."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import stat
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from p2p_analytics import settings
from p2p_analytics.auth._sealing import sealed
from p2p_analytics.auth._token import AccessToken, Secret
from p2p_analytics.errors import ConfigurationError, P2PAnalyticsError, TokenError, describe_os_error, how_to_install
from p2p_analytics.files import hold_lock, require_replaceable

if TYPE_CHECKING:
    from collections.abc import Iterator

log = logging.getLogger(__name__)

_FILE: Final = "sign-in.json"
_KEYRING_ENTRY: Final = "p2p_analytics", "sign-in"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_LOCK_SECONDS: Final = 60.0
_LARGEST_FILE: Final = 2**16


@dataclass(frozen=True, slots=True)
class SignIn:
    """A token with what belongs to it.

    Attributes
    ----------
    base_url : str
        The service that gave the token; to no other it is sent.
    token : AccessToken
    client_id : str, optional
        The application that the user agreed to.
    refresh_token : Secret, optional
        What the next token can be had for (document: "Server-side flow").
    ident : str
        The same for all tokens that came of one sign-in, so that no other user's is taken for the next.
    """

    base_url: str
    token: AccessToken
    client_id: str | None = None
    refresh_token: Secret | None = None
    ident: str = field(default_factory=lambda: secrets.token_hex(8))


class Store(Protocol):
    """A place that keeps one sign-in."""

    name: str

    def load(self) -> SignIn | None:
        """Return the sign-in that is kept, None where there is none that can be read."""

    def save(self, sign_in: SignIn) -> None:
        """Keep a sign-in instead of the one before."""

    def delete(self) -> bool:
        """Forget the sign-in; tell whether there was one."""


class FileStore:
    """The state file: the user's alone from its first byte, and replaced whole."""

    def __init__(self) -> None:
        self._folder = settings.state_dir()
        self._path = self._folder / _FILE
        self.name = f"the state file {self._path}"

    @sealed
    def load(self) -> SignIn | None:
        """Return the sign-in that is kept.

        A file that others could read is made private, and one that is broken is set aside; both are logged.

        Raises
        ------
        TokenError
            The file is not the user's own, or the folder is one that others can write into.
        """
        try:
            return self._load()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            reason = describe_os_error(error)
            raise TokenError(f"Cannot read {self.name} ({reason}): delete it and sign in again.") from None

    def _load(self) -> SignIn | None:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            self._require_private_folder()
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
                raise TokenError(f"{self._path} is no file of yours, so no token is taken from it: delete it.")
            if about.st_mode & _OTHERS:
                os.fchmod(descriptor, 0o600)
                log.warning("Others could read %s; it is private now. If that matters, sign in again.", self.name)
            sign_in = _decoded(file.read(_LARGEST_FILE))
        if sign_in is None:
            broken = self._path.with_suffix(".broken")
            self._path.replace(broken)
            log.warning("%s cannot be read and is set aside as %s: sign in again.", self.name, broken.name)
        return sign_in

    @sealed
    def save(self, sign_in: SignIn) -> None:
        """Keep a sign-in instead of the one before; a reader sees either, never a part.

        Raises
        ------
        ConfigurationError
            The file cannot be written; the one before stays.
        """
        temporary = self._folder / f".{_FILE}.{secrets.token_hex(8)}"
        try:
            settings.make_private(self._folder)
            self._require_private_folder()
            require_replaceable(self._path)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(_encoded(sign_in))
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(self._path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            reason = describe_os_error(error)
            raise ConfigurationError(
                f"Cannot write {self.name} ({reason}): set {settings.STATE_DIR_VARIABLE} to another folder."
            ) from None

    def delete(self) -> bool:
        """Delete the file, and what was set aside; tell whether there was one."""
        found = False
        for path in (self._path, self._path.with_suffix(".broken")):
            try:
                path.unlink()
                found = True
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                reason = describe_os_error(error)
                raise ConfigurationError(f"Cannot delete {path} ({reason}): delete it yourself.") from None
        return found

    def _require_private_folder(self) -> None:
        if not settings.is_private(self._folder):
            raise TokenError(
                f"Others can write into {self._folder}, so no token is kept there: "
                f"take that right away, or set {settings.STATE_DIR_VARIABLE} to another folder."
            )


class KeyringStore:
    """The system's keyring, where the extra ``keyring`` is installed and the system has one."""

    name = "the keyring"

    @sealed
    def load(self) -> SignIn | None:
        """Return the sign-in that is kept; what cannot be read counts as none."""
        text = _ask_keyring("get_password")
        return None if text is None else _decoded(text.encode())

    @sealed
    def save(self, sign_in: SignIn) -> None:
        """Keep a sign-in instead of the one before."""
        _ask_keyring("set_password", sign_in)

    @sealed
    def delete(self) -> bool:
        """Forget the sign-in; tell whether there was one."""
        if _ask_keyring("get_password") is None:
            return False
        _ask_keyring("delete_password")
        return True


class KeyringUnavailableError(P2PAnalyticsError):
    """A keyring is not installed, not there or locked."""


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Keep other processes from changing what is kept, for the time of the block.

    Raises
    ------
    TokenError
        Another process has held the lock for a minute.
    ConfigurationError
        The folder cannot be written.
    """
    folder = settings.state_dir()
    with contextlib.ExitStack() as stack:
        try:
            settings.make_private(folder)
            stack.enter_context(hold_lock(folder / "sign-in.lock", seconds=_LOCK_SECONDS))
        except BlockingIOError:
            raise TokenError("Another process is busy with the sign-in and does not end: stop it.") from None
        except OSError as error:
            reason = describe_os_error(error)
            raise ConfigurationError(
                f"Cannot write into {folder} ({reason}): set {settings.STATE_DIR_VARIABLE} to another folder."
            ) from None
        yield


def _ask_keyring(name: str, *sign_ins: SignIn) -> str | None:
    """Call one of the keyring's functions for our entry."""
    try:
        import keyring
    except ImportError:
        raise KeyringUnavailableError(f"No keyring is installed: {how_to_install('keyring')}.") from None
    try:
        found: str | None = getattr(keyring, name)(*_KEYRING_ENTRY, *(_encoded(one).decode() for one in sign_ins))
    except Exception as error:  # noqa: BLE001 - backends raise what the libraries below them do
        raise KeyringUnavailableError(
            f"The keyring cannot be used ({type(error).__name__}): leave it out, or unlock or set it up."
        ) from None
    return found


def _encoded(sign_in: SignIn) -> bytes:
    token, refresh = sign_in.token, sign_in.refresh_token
    return json.dumps(
        {
            "base_url": sign_in.base_url,
            "access_token": token.reveal(),
            "expires_at": token.expires_at and token.expires_at.astimezone(UTC).isoformat(),
            "scopes": sorted(token.scopes),
            "client_id": sign_in.client_id,
            "refresh_token": refresh and refresh.reveal(),
            "ident": sign_in.ident,
        },
        indent=1,
    ).encode()


def _decoded(content: bytes) -> SignIn | None:
    try:
        kept = json.loads(content)
        expires_at = None if kept["expires_at"] is None else datetime.fromisoformat(kept["expires_at"])
        texts = [kept["base_url"], kept["ident"], *kept["scopes"]]
        optional = [kept["client_id"], kept["refresh_token"]]
        if any(not isinstance(text, str) for text in texts + [text for text in optional if text is not None]):
            return None
        return SignIn(
            base_url=kept["base_url"],
            token=AccessToken(kept["access_token"], scopes=kept["scopes"], expires_at=expires_at),
            client_id=kept["client_id"],
            refresh_token=None if kept["refresh_token"] is None else Secret(kept["refresh_token"]),
            ident=kept["ident"],
        )
    except (ValueError, KeyError, TypeError, RecursionError, P2PAnalyticsError):
        return None
