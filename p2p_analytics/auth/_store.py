"""Stores for one sign-in to one service: a private file, or the system's keyring."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import secrets
import stat
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Final, TypeAlias

from p2p_analytics import settings
from p2p_analytics.auth._token import AccessToken, Secret
from p2p_analytics.auth._tracebacks import hide_frames
from p2p_analytics.errors import ConfigurationError, P2PAnalyticsError, TokenError, describe_os_error, how_to_install
from p2p_analytics.files import hold_lock, require_replaceable

log = logging.getLogger(__name__)

_FILE: Final = "sign-in.json"
_KEYRING_ENTRY: Final = "p2p_analytics", "sign-in"
_GROUP_AND_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_LARGEST_FILE: Final = 2**16


@dataclass(frozen=True, slots=True)
class Owner:
    """The user who signed in, as the service named them then; a field that it did not send is None."""

    user_id: str | None = None
    username: str | None = None
    display_name: str | None = None


@dataclass(frozen=True, slots=True)
class SignIn:
    """A token with the data needed to use and renew it.

    Attributes
    ----------
    base_url : str
        The service that issued the token, the only one that it is sent to.
    token : AccessToken
    client_id : str, optional
        The application that the user authorised.
    refresh_token : Secret, optional
        The secret that is exchanged for the next token (document: "Server-side flow").
    ident : str
        Identifier shared by all tokens renewed from one sign-in; another sign-in in the store has another.
    owner : Owner, optional
        The user who signed in; None if the token does not permit to read it.
    """

    base_url: str
    token: AccessToken
    client_id: str | None = None
    refresh_token: Secret | None = None
    ident: str = field(default_factory=lambda: secrets.token_hex(8))
    owner: Owner | None = None


class FileStore:
    """The state file: accessible to its owner only from its creation on, and replaced atomically."""

    def __init__(self) -> None:
        self._folder = settings.state_dir()
        self._path = self._folder / _FILE
        self.name = f"the state file {self._path}"

    @hide_frames
    def load(self) -> SignIn | None:
        """Return the stored sign-in.

        A file that others could read is made private, and a broken file is renamed; both are logged.

        Raises
        ------
        TokenError
            The file belongs to another user, or others can write into its folder.
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
                raise TokenError(f"{self._path} is not a regular file of yours, so it is not used: delete it.")
            if about.st_mode & _GROUP_AND_OTHERS:
                os.fchmod(descriptor, 0o600)
                log.warning(
                    "Other users could read %s. It is private now; if its token may have been read, sign in again.",
                    self.name,
                )
            sign_in = _decode(file.read(_LARGEST_FILE))
        if sign_in is None:
            broken = self._path.with_suffix(".broken")
            self._path.replace(broken)
            log.warning("%s is broken and was renamed to %s: sign in again.", self.name, broken.name)
        return sign_in

    @hide_frames
    def save(self, sign_in: SignIn) -> None:
        """Store a sign-in in place of the previous one, atomically.

        Raises
        ------
        ConfigurationError
            The file cannot be written; the previous one is kept.
        """
        temporary = self._folder / f".{_FILE}.{secrets.token_hex(8)}"
        try:
            settings.make_private(self._folder)
            self._require_private_folder()
            require_replaceable(self._path)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(_encode(sign_in))
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(self._path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise _refuse_write(f"Cannot write {self.name}", error) from None

    def delete(self) -> bool:
        """Delete the file and the renamed broken one, and return whether there was any."""
        found = False
        for path in (self._path, self._path.with_suffix(".broken")):
            try:
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    path.unlink()
                    found = True
            except OSError as error:
                reason = describe_os_error(error)
                raise ConfigurationError(f"Cannot delete {path} ({reason}): delete it yourself.") from None
        return found

    def _require_private_folder(self) -> None:
        if not settings.is_private(self._folder):
            raise TokenError(
                f"Other users can write into {self._folder}, so no token is stored there: "
                f"remove their write permission, or set {settings.STATE_DIR_VARIABLE} to another folder."
            )


class KeyringStore:
    """The system's keyring; needs the extra ``keyring`` and a system that has one."""

    name = "the keyring"

    @hide_frames
    def load(self) -> SignIn | None:
        """Return the stored sign-in, None if there is none that can be read."""
        text = _call_keyring("get_password")
        return None if text is None else _decode(text.encode())

    @hide_frames
    def save(self, sign_in: SignIn) -> None:
        """Store a sign-in in place of the previous one."""
        _call_keyring("set_password", sign_in)

    @hide_frames
    def delete(self) -> bool:
        """Delete the stored sign-in, and return whether there was one."""
        if _call_keyring("get_password") is None:
            return False
        _call_keyring("delete_password")
        return True


SignInStore: TypeAlias = FileStore | KeyringStore


class KeyringUnavailableError(P2PAnalyticsError):
    """The keyring is not installed, not available or locked."""


@contextlib.contextmanager
def lock_sign_in(seconds: float = 60.0) -> Iterator[None]:
    """Hold the lock under which processes change the stored sign-in.

    Raises
    ------
    TokenError
        Another process holds the lock for more than these seconds.
    ConfigurationError
        The folder cannot be written.
    """
    folder = settings.state_dir()
    with contextlib.ExitStack() as stack:
        try:
            settings.make_private(folder)
            stack.enter_context(hold_lock(folder / "sign-in.lock", seconds=seconds))
        except BlockingIOError:
            raise TokenError(
                f"Another process has been changing the sign-in for {seconds:g} seconds: stop it, then try again."
            ) from None
        except OSError as error:
            raise _refuse_write(f"Cannot write into {folder}", error) from None
        yield


def _refuse_write(what: str, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"{what} ({describe_os_error(error)}): set {settings.STATE_DIR_VARIABLE} to another folder."
    )


def _call_keyring(name: str, *sign_ins: SignIn) -> str | None:
    """Call a function of the keyring library for the entry of this package."""
    try:
        import keyring
    except ImportError:
        raise KeyringUnavailableError(f"No keyring is installed: {how_to_install('keyring')}.") from None
    try:
        found: str | None = getattr(keyring, name)(*_KEYRING_ENTRY, *(_encode(one).decode() for one in sign_ins))
    except Exception as error:  # noqa: BLE001 - backends raise exceptions of other libraries
        raise KeyringUnavailableError(
            f"The keyring cannot be used ({type(error).__name__}): unlock it or set it up, or sign in without it."
        ) from None
    return found


def _encode(sign_in: SignIn) -> bytes:
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
            "owner": sign_in.owner and asdict(sign_in.owner),
        },
        indent=1,
    ).encode()


def _decode(content: bytes) -> SignIn | None:
    try:
        stored = json.loads(content)
        expires_at = None if stored["expires_at"] is None else datetime.fromisoformat(stored["expires_at"])
        texts = [stored["base_url"], stored["ident"], *stored["scopes"]]
        owner = stored["owner"]
        optional = [stored["client_id"], stored["refresh_token"], *(owner or {}).values()]
        if any(not isinstance(text, str) for text in texts + [text for text in optional if text is not None]):
            return None
        return SignIn(
            base_url=stored["base_url"],
            token=AccessToken(stored["access_token"], scopes=stored["scopes"], expires_at=expires_at),
            client_id=stored["client_id"],
            refresh_token=None if stored["refresh_token"] is None else Secret(stored["refresh_token"]),
            ident=stored["ident"],
            owner=None if owner is None else Owner(**owner),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, P2PAnalyticsError):
        return None
