"""Settings: the service's address, folders and privacy mode, from an argument or else an environment variable.

No address is the default: this package names no real host.
"""

from __future__ import annotations

import ipaddress
import os
import stat
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

import platformdirs

from p2p_analytics.errors import ConfigurationError, describe_os_error
from p2p_analytics.vocabulary import VERSION_PATH

BASE_URL_VARIABLE: Final = "P2P_BASE_URL"
CLIENT_ID_VARIABLE: Final = "P2P_CLIENT_ID"
CA_BUNDLE_VARIABLES: Final = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
CACHE_DIR_VARIABLE: Final = "P2P_CACHE_DIR"
STATE_DIR_VARIABLE: Final = "P2P_STATE_DIR"
PRIVACY_VARIABLE: Final = "P2P_PRIVACY"
STRICT: Final = "strict"

Privacy: TypeAlias = bool | Literal["strict"]


def base_url(value: str | None = None, *, give: str | None = None) -> str:
    """Return the service's base address, ending in the version path (document: "Versioning").

    Parameters
    ----------
    value : str, optional
        An ``https`` address; plain ``http`` is for this machine's loopback only. ``/v1`` is added
        if it is missing. By default, the environment variable ``P2P_BASE_URL``.
    give : str, optional
        Advice in the error for a missing address; by default that for users of Python.

    Raises
    ------
    ConfigurationError
        The address is missing or invalid.
    """
    text = (value or os.environ.get(BASE_URL_VARIABLE, "")).strip()
    if not text:
        if give is not None:
            raise ConfigurationError(f"No base URL: {give} or set {BASE_URL_VARIABLE}.")
        raise ConfigurationError(
            f"No base URL: pass base_url=... or set {BASE_URL_VARIABLE}; without access to the service, read statement "
            "files with p2p.read_statements(...).history(), or try p2p.sandbox.SandboxServer()."
        )
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ConfigurationError("The base URL cannot be read: write it like https://host/v1.") from None
    # No message quotes the text: the user may have given a token or a password instead.
    if parts.scheme not in {"http", "https"} or not host:
        raise ConfigurationError("The base URL must be a whole address like https://host/v1.")
    if "@" in parts.netloc or parts.query or parts.fragment or not text.isprintable() or "\\" in text:
        raise ConfigurationError("The base URL must be scheme, host and path alone: no user, query or fragment.")
    if parts.scheme == "http" and not is_loopback(host):
        raise ConfigurationError(f"The base URL of {host} must use https: plain http is for loopback only.")
    path = parts.path.rstrip("/")
    path = path if path.endswith(VERSION_PATH) else path + VERSION_PATH
    literal = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{literal}{f':{port}' if port else ''}{path}"


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine's loopback."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def client_id(value: str | None = None, *, give: str = "pass client_id=...") -> str:
    """Return the application's client id, from the argument or ``P2P_CLIENT_ID``; ``give`` is as in `base_url`."""
    text = (value or os.environ.get(CLIENT_ID_VARIABLE, "")).strip()
    if not text:
        raise ConfigurationError(f"No client id: {give} or set {CLIENT_ID_VARIABLE}.")
    return text


def ca_bundle() -> str | None:
    """Return the certificates' path from ``REQUESTS_CA_BUNDLE`` or ``CURL_CA_BUNDLE``; None if neither is set."""
    variable = next((name for name in CA_BUNDLE_VARIABLES if os.environ.get(name)), None)
    if variable is None:
        return None
    path = os.environ[variable]
    if not (Path(path).is_file() or Path(path).is_dir()):  # reading a named pipe would block
        fault = "is neither a file nor a folder" if Path(path).exists() else "does not exist"
        raise ConfigurationError(f"{variable} names {path}, which {fault}: correct it or unset it.")
    return path


def cache_dir(value: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder of the response caches; a new one is created private to the user."""
    if value is not None and not isinstance(value, (str, os.PathLike)):
        raise ConfigurationError(f"cache_dir is a folder, None for your usual one, or False for none, not {value!r}.")
    chosen = value or os.environ.get(CACHE_DIR_VARIABLE)
    chosen = chosen or platformdirs.user_cache_dir("p2p_analytics", appauthor=False)
    return _private_folder(chosen, "cache", "choose another cache_dir")


def state_dir() -> Path:
    """Return the path of the folder for persistent data, which may not exist yet."""
    chosen = os.environ.get(STATE_DIR_VARIABLE) or platformdirs.user_state_dir("p2p_analytics", appauthor=False)
    return Path(chosen).expanduser().absolute()


def private_state_dir() -> Path:
    """Return the folder for persistent data; a new one is created private to the user."""
    return _private_folder(state_dir(), "state", f"set {STATE_DIR_VARIABLE} to another one")


def _private_folder(chosen: str | os.PathLike[str], what: str, instead: str) -> Path:
    folder = Path(chosen).expanduser()
    try:
        make_private(folder)
    except OSError as error:
        reason = describe_os_error(error)
    else:
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
        reason = "it cannot be written"
    raise ConfigurationError(f"The {what} folder {folder} cannot be used ({reason}): {instead}.")


def make_private(folder: Path) -> None:
    """Create a folder and its missing parents, private to the user whatever the umask.

    A folder that exists keeps its mode.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        try:
            path.mkdir(mode=0o700)
            path.chmod(0o700)  # the umask may have removed a bit
        except FileExistsError:  # another process created it in the meantime, or it is a file
            if not path.is_dir():
                raise


def is_private(folder: Path) -> bool:
    """Return whether only the user and the administrator can create files in a folder."""
    status = folder.stat()
    return status.st_uid in {os.geteuid(), 0} and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def privacy(value: Privacy | None = None) -> Privacy:
    """Return the privacy mode: the argument, else ``P2P_PRIVACY``, else off.

    Returns
    -------
    bool or "strict"
        False for real names and amounts, True for invented ones, "strict" for invented ones and dates of months.

    Raises
    ------
    ConfigurationError
        The value is another one; a typing error must not turn privacy off.
    """
    if value is None:
        modes: dict[str, Privacy] = {"": False, "0": False, "1": True, STRICT: STRICT}
        value = modes.get(os.environ.get(PRIVACY_VARIABLE, "").strip())
        if value is None:
            raise ConfigurationError(
                f"{PRIVACY_VARIABLE} is 1 for privacy mode, strict for the strict one, or 0, and nothing else."
            )
    if not isinstance(value, bool) and value != STRICT:
        raise ConfigurationError(
            f'privacy is True, "strict", False, or None for what {PRIVACY_VARIABLE} says, not {value!r}.'
        )
    return value
