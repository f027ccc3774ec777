"""Which next link may be followed.

A ``next`` link is response data, not configuration: it continues the list it came with, on the
same origin and path, or the list ends in an error (document: "Pagination object").
"""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, urljoin, urlsplit

from p2p_analytics.errors import PaginationError
from p2p_analytics.vocabulary import TOKEN_PARAMETER

_DEFAULT_PORTS = {"http": 80, "https": 443}


def next_parameters(link: str, list_url: str) -> dict[str, str]:
    """Return the parameters of a next link, without a token.

    Parameters
    ----------
    link : str
        ``pagination.next`` as the service sent it.
    list_url : str
        The address of the list that it must continue.

    Raises
    ------
    PaginationError
        The link leads to another host, scheme, port or path, or cannot be read as one address.
    """
    if not link.isprintable() or "\\" in link or " " in link:
        raise _refused("holds characters that no address has")
    try:
        there, here = urlsplit(urljoin(list_url, link)), urlsplit(list_url)
        same_origin = _origin(there) == _origin(here)
    except ValueError:
        raise _refused("cannot be read") from None
    if "@" in there.netloc or not same_origin:
        raise _refused("leads to another host")
    if there.path != here.path:
        raise _refused("leads to another list")
    return {name: value for name, value in parse_qsl(there.query) if name.lower() != TOKEN_PARAMETER}


def _origin(address: SplitResult) -> tuple[str, str | None, int | None]:
    return address.scheme, address.hostname, address.port or _DEFAULT_PORTS.get(address.scheme)


def _refused(reason: str) -> PaginationError:
    return PaginationError(f"The service's next link {reason}, so it is not followed and the list is incomplete.")
