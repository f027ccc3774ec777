"""Validation of next links.

A ``next`` link is response data, not configuration: it must continue its own list on the same origin and path, or the
list ends in an error (document: "Pagination object").
"""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, parse_qsl, urljoin, urlsplit

from p2p_analytics.errors import PaginationError
from p2p_analytics.vocabulary import TOKEN_PARAMETER

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def parse_next_link(link: str, list_url: str) -> dict[str, str]:
    """Return the parameters of a next link, without a token.

    Parameters
    ----------
    link : str
        ``pagination.next`` as sent by the service.
    list_url : str
        Address of the list that the link must continue.

    Raises
    ------
    PaginationError
        The link leads to another host, scheme, port or path, or is not a valid address.
    """
    if not link.isprintable() or "\\" in link or " " in link:
        raise _build_error("holds characters that no address has")
    try:
        link_url, base = urlsplit(urljoin(list_url, link)), urlsplit(list_url)
        same_origin = _get_origin(link_url) == _get_origin(base)
    except ValueError:
        raise _build_error("cannot be read") from None
    if "@" in link_url.netloc or not same_origin:
        raise _build_error("leads to another host")
    if link_url.path != base.path:
        raise _build_error("leads to another list")
    return {name: value for name, value in parse_qsl(link_url.query) if name.lower() != TOKEN_PARAMETER}


def _get_origin(address: SplitResult) -> tuple[str, str | None, int | None]:
    return address.scheme, address.hostname, address.port or _DEFAULT_PORTS.get(address.scheme)


def _build_error(reason: str) -> PaginationError:
    return PaginationError(f"The service's next link {reason}, so it is not followed and the list is incomplete.")
